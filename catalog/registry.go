// Package catalog finds the agents of a program by name and detects what this machine has of them: whether they
// are installed, in which version, whether they are logged in, how to install them, and which of them this
// process runs inside.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
)

// Source says where an agent comes from.
type Source string

// The sources of an agent.
const (
	SourceBuiltin       Source = "built-in"
	SourcePlugin        Source = "plugin"
	SourceConfiguration Source = "configuration"
	SourceExternal      Source = "external"
)

// Registry finds agents by name. It is a lookup table, not an owner: what Get returned stays usable after the
// agent was replaced or removed. It is safe for concurrent use.
type Registry struct {
	host     adapter.Host
	stateDir string // of KeepIn

	mu       sync.Mutex
	agents   map[string]*record
	names    map[string]string // names and aliases by lower-case form
	running  map[*detection]struct{}
	refused  map[string]error // names that cannot be used, and why
	broken   error            // why the configuration's agents are not known
	finder   Finder           // nil for none
	warnings []string         // about agents of the configuration
}

// Declared are the agents of a configuration.
type Declared struct {
	Agents  []adapter.Descriptor
	Refused map[string]error // names that must not be used, and why; also names of other agents
	// Broken is why the configuration cannot be read: the error of unknown names.
	Broken   error
	Warnings []string // about agents that are ignored
	Finder   Finder   // asked for names that are otherwise unknown; nil for none
}

// Finder finds agents that are not registered: programs on PATH, and agents behind another Drawbar. It is safe for concurrent use.
type Finder interface {
	// Find describes the agent of a name and may start its program. The error matches fs.ErrNotExist if there is none.
	Find(name string) (adapter.Descriptor, error)
	// List returns the agents that Find would find, with name, command and protocol only, and why others are passed over.
	// It starts nothing.
	List() (found []adapter.Descriptor, passed []string)
}

// Declare adds the agents of a configuration. One that is invalid, or whose name another agent has, is refused when it is
// named. Refused names are not listed.
func (r *Registry) Declare(declared Declared) {
	var services []adapter.Adapter
	for _, d := range declared.Agents {
		d = d.Clone()
		if _, err := r.registered(d.Name); err == nil {
			e := execution.Errorf(execution.CodeConfig, "the configuration describes an agent %s, which is the name of a built-in one", d.Name)
			r.refuse(d.Name, e.WithHint("give it another name in the configuration"))
			continue
		}
		var f faults
		a := f.validate(d)
		if err := r.register(&record{descriptor: d, source: SourceConfiguration, made: func() (adapter.Adapter, error) { return a, nil }}, f); err != nil {
			r.refuse(d.Name, err)
		} else if d.IsService() {
			services = append(services, a)
		}
	}
	r.offer(services)
	for name, why := range declared.Refused {
		r.refuse(name, why)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken, r.warnings, r.finder = declared.Broken, declared.Warnings, declared.Finder
}

// KeepIn makes agents keep what is Drawbar's to keep in this state directory, an absolute path. It must be called before agents run.
func (r *Registry) KeepIn(dir string) { r.stateDir = dir }

// offer gives the services of the configuration to the built-in agents that work over services.
func (r *Registry) offer(services []adapter.Adapter) {
	if len(services) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, rec := range r.agents {
		if rec.source != SourceBuiltin || !rec.descriptor.Programless() {
			continue
		}
		with := *rec
		with.made = sync.OnceValues(func() (adapter.Adapter, error) {
			a, err := rec.made()
			if u, ok := adapter.As[adapter.ServiceUser](a); ok && err == nil {
				a = u.UseServices(services)
			}
			return a, err
		})
		r.agents[name] = &with
	}
}

// External lists the agents of the Finder, and says why others are passed over: registered agents win. It starts nothing.
func (r *Registry) External() (list []Info, passed []string) {
	if r.finder == nil {
		return nil, nil
	}
	found, passed := r.finder.List()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range found {
		if rec := r.find(d.Name); rec != nil && !rec.found {
			passed = append(passed, fmt.Sprintf("%s is not used: the name %s belongs to an agent from another source (%s)", d.Command, d.Name, rec.source))
			continue
		}
		d = d.Clone()
		list = append(list, Info{Agent: d.Name, DisplayName: d.DisplayName, Command: d.Command, Source: sourceOf(d), Kind: d.Kind(), Protocol: d.Protocol})
	}
	return list, passed
}

// findExternal asks the Finder for an agent and registers it.
func (r *Registry) findExternal(name string) (*record, error) {
	d, err := r.finder.Find(name)
	if err != nil {
		return nil, err
	}
	d = d.Clone()
	var f faults
	a := f.validate(d)
	rec := &record{descriptor: d, source: sourceOf(d), found: true, made: func() (adapter.Adapter, error) { return a, nil }}
	return rec, r.register(rec, f)
}

// sourceOf returns the source of an agent of the Finder.
func sourceOf(d adapter.Descriptor) Source {
	if d.Protocol == adapter.ProtocolDrawbar {
		return SourceConfiguration
	}
	return SourceExternal
}

// Problems says which agents of the configuration cannot be used, and why.
func (r *Registry) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.warnings)
	for _, name := range slices.Sorted(maps.Keys(r.refused)) {
		list = append(list, r.refused[name].Error())
	}
	if r.broken != nil {
		list = append(list, r.broken.Error())
	}
	return list
}

func (r *Registry) refuse(name string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = map[string]error{}
	}
	r.refused[name] = why
}

// record is one registered agent. Everything but the detection is immutable.
type record struct {
	descriptor adapter.Descriptor
	made       func() (adapter.Adapter, error) // creates and checks the adapter on the first call
	source     Source
	found      bool // by the Finder
	warning    string
	detection  *detection // the latest, guarded by Registry.mu
}

// Info describes a registered agent without accessing the machine (agent-mux specification, AgentAdapterInfo).
type Info struct {
	Agent       string `json:"agent"`
	DisplayName string `json:"displayName"`
	Command     string `json:"cliCommand"`
	MinVersion  string `json:"minVersion,omitempty"`
	Source      Source `json:"source"`
	Kind        string `json:"kind"`                    // Descriptor.Kind
	Protocol    string `json:"protocol,omitempty"`      // set for an agent without an adapter of its own
	Documented  string `json:"documentation,omitempty"` // the document that the adapter follows, if it was never exercised
}

// Entry is a registered agent. The caller owns it; the adapter serves concurrent executions.
type Entry struct {
	Descriptor adapter.Descriptor
	Adapter    adapter.Adapter
	Source     Source
	Warning    string // for a debug event of each run: a plugin replaced a built-in adapter; else empty
}

// Capabilities returns what the agent's adapter declares, with every omission made explicit.
func (e Entry) Capabilities() execution.Capabilities { return adapter.CapabilitiesOf(e.Adapter) }

// RefusedModel returns why a model that is the default of every agent does not apply to this one, empty if it does.
func (e Entry) RefusedModel(model string) string {
	n, ok := adapter.As[adapter.Negotiator](e.Adapter)
	if !ok || model == "" {
		return ""
	}
	reasons, _ := call(func() []execution.Reason { // a panic is one of the run, too
		return n.Negotiate(execution.Request{Run: execution.RunOptions{Agent: e.Descriptor.Name, Model: model}})
	})
	for _, r := range reasons {
		if r.Severity == execution.SeverityBlocking && r.Capability == "model" {
			return fmt.Sprintf("%s cannot be given a model: the default model %s does not apply", e.Descriptor.Name, model)
		}
	}
	return ""
}

// NewRegistry returns a registry of the given built-in agents, whose detection inspects h. The last of two
// agents with the same name wins. NewRegistry panics if two agents claim the same alias, because that is a
// programming error. Other errors in a descriptor are returned when the agent is first needed, so that starting
// a program does not check unused agents.
func NewRegistry(builtins []adapter.Descriptor, h adapter.Host) *Registry {
	copies := make([]adapter.Descriptor, len(builtins))
	for i, d := range builtins {
		copies[i] = d.Clone()
	}
	return registryOf(copies, h)
}

// Builtins is NewRegistry of adapter.Builtins. It copies none of them, which takes longer than the rest of creating a registry.
func Builtins(h adapter.Host) *Registry { return registryOf(adapter.Builtins(), h) }

// registryOf is NewRegistry for completed descriptors, which the registry takes over.
func registryOf(builtins []adapter.Descriptor, h adapter.Host) *Registry {
	r := &Registry{host: h.Complete(), agents: map[string]*record{}, names: map[string]string{}, running: map[*detection]struct{}{}}
	for _, d := range builtins {
		if err := r.register(&record{descriptor: d, source: SourceBuiltin, made: sync.OnceValues(func() (adapter.Adapter, error) {
			var f faults
			return f.validate(d), f.err(d.Name)
		})}, faults{}); err != nil {
			panic(err)
		}
	}
	return r
}

// Register adds a plugin agent, or replaces the agent of the same name: a built-in one with a Warning in its
// Entry, a plugin silently. Detection results of that name are discarded; active runs keep the old adapter.
// Either all of d is registered or nothing: the VALIDATION_ERROR lists every problem. Register calls New and
// Capabilities, and performs no I/O.
func (r *Registry) Register(d adapter.Descriptor) error {
	d = d.Clone()
	var f faults
	a := f.validate(d) // calls the adapter's code, which may use this registry: not under the lock
	return r.register(&record{descriptor: d, source: SourcePlugin, made: func() (adapter.Adapter, error) { return a, nil }}, f)
}

// register adds rec unless f has problems or its names refer to other agents.
func (r *Registry) register(rec *record, f faults) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := rec.descriptor
	f.collisions(d, r.names)
	if err := f.err(d.Name); err != nil {
		return err
	}
	if old := r.agents[d.Name]; old != nil {
		if old.source == SourceBuiltin && rec.source == SourcePlugin {
			rec.warning = fmt.Sprintf("agent %s: a plugin replaces the built-in adapter", d.Name)
		}
		r.remove(old)
	}
	r.agents[d.Name] = rec
	r.names[d.Name] = d.Name
	for _, alias := range d.Aliases {
		r.names[alias] = d.Name
	}
	return nil
}

// Unregister removes an agent, by name or alias. Active runs continue; new ones, and a second Unregister, get
// UNKNOWN_AGENT.
func (r *Registry) Unregister(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.find(name)
	if rec == nil {
		return r.unknown(name)
	}
	r.remove(rec)
	return nil
}

func (r *Registry) remove(rec *record) {
	delete(r.agents, rec.descriptor.Name)
	delete(r.names, rec.descriptor.Name)
	for _, alias := range rec.descriptor.Aliases {
		delete(r.names, alias)
	}
}

// List describes all agents, sorted by name. It performs no I/O and never fails; without agents it is empty,
// not nil.
func (r *Registry) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Info, 0, len(r.agents))
	for _, name := range slices.Sorted(maps.Keys(r.agents)) {
		if r.refused[name] != nil {
			continue
		}
		rec := r.agents[name]
		d := rec.descriptor
		list = append(list, Info{Agent: d.Name, DisplayName: d.DisplayName, Command: d.Command, MinVersion: d.MinVersion, Source: rec.source,
			Kind: d.Kind(), Protocol: d.Protocol, Documented: d.Documented})
	}
	return list
}

// Listed is List without the agents that have no adapter of their own and whose program is not on PATH. It starts nothing.
func (r *Registry) Listed() []Info {
	return slices.DeleteFunc(r.List(), func(i Info) bool {
		return i.Protocol != "" && !(adapter.Descriptor{Protocol: i.Protocol}).IsService() && !r.present(i.Command)
	})
}

func (r *Registry) present(command string) bool {
	_, err := r.host.LookPath(command)
	return err == nil
}

// records returns the records of the listed agents, sorted by name.
func (r *Registry) records() []*record {
	infos := r.Listed()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*record, 0, len(infos))
	for _, i := range infos {
		if rec := r.agents[i.Agent]; rec != nil { // unregistered meanwhile
			list = append(list, rec)
		}
	}
	return list
}

// Get returns an agent by name or alias, case-insensitive. UNKNOWN_AGENT suggests similar agents in its hint.
func (r *Registry) Get(name string) (Entry, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return Entry{}, err
	}
	a, err := rec.made()
	if err != nil {
		return Entry{}, err
	}
	if k, ok := adapter.As[adapter.StateKeeper](a); ok && r.stateDir != "" {
		a = k.KeepIn(r.stateDir)
	}
	return Entry{Descriptor: rec.descriptor.Clone(), Adapter: a, Source: rec.source, Warning: rec.warning}, nil
}

// Capabilities returns what an agent declares; the caller owns the copy. The error is UNKNOWN_AGENT.
func (r *Registry) Capabilities(name string) (execution.Capabilities, error) {
	e, err := r.Get(name)
	if err != nil {
		return execution.Capabilities{}, err
	}
	c, err := call(e.Capabilities)
	if err != nil {
		return execution.Capabilities{}, &execution.Error{Code: execution.CodeInternal, Agent: e.Descriptor.Name,
			Message: fmt.Sprintf("ask agent %s for its capabilities: %v", e.Descriptor.Name, err)}
	}
	return c, nil
}

// InstallInstructions returns the ways to install an agent on a platform: those for the platform and those for
// all, in the descriptor's order. An empty platform is the registry's host; win32 means windows. The list may
// be empty, never nil. The error is UNKNOWN_AGENT.
func (r *Registry) InstallInstructions(name, platform string) ([]adapter.InstallMethod, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return nil, err
	}
	platform = cmp.Or(strings.ToLower(strings.TrimSpace(platform)), r.host.Platform)
	if platform == "win32" {
		platform = "windows"
	}
	methods := []adapter.InstallMethod{}
	for _, m := range rec.descriptor.Install {
		if m.Platform == platform || m.Platform == "all" {
			methods = append(methods, m)
		}
	}
	return methods, nil
}

// Models returns the models in an agent's descriptor; the caller owns the copy. For an agent whose models are
// known only at run time the list is empty, not nil. The error is UNKNOWN_AGENT.
func (r *Registry) Models(name string) ([]execution.Model, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return nil, err
	}
	return rec.descriptor.Clone().Models, nil
}

func (r *Registry) lookup(name string) (*record, error) {
	rec, err := r.registered(name)
	plain := strings.ToLower(strings.TrimSpace(name))
	if rec != nil || r.finder == nil || !isName(plain, 64) || execution.CodeOf(err) != execution.CodeUnknownAgent {
		return rec, err
	}
	found, why := r.findExternal(plain)
	switch {
	case why == nil:
		return found, nil
	case errors.Is(why, fs.ErrNotExist) && execution.CodeOf(why) == execution.CodeInternal: // no program, not one that fails to start
		return nil, err
	}
	return nil, why
}

// registered is lookup without the Finder.
func (r *Registry) registered(name string) (*record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.refused[strings.ToLower(strings.TrimSpace(name))]; why != nil {
		return nil, why
	}
	if rec := r.find(name); rec != nil {
		return rec, nil
	}
	if r.broken != nil {
		return nil, r.broken
	}
	return nil, r.unknown(name)
}

// find returns nil for an unknown name. The caller holds mu.
func (r *Registry) find(name string) *record {
	return r.agents[r.names[strings.ToLower(strings.TrimSpace(name))]]
}

// unknown returns the error for a name that find does not know. The caller holds mu.
func (r *Registry) unknown(name string) error {
	e := execution.Errorf(execution.CodeUnknownAgent, "unknown agent %q", clip(name))
	e.Agent = clip(name)
	hint := "list the agents with: drawbar agents list --all"
	if meant := near.Words(name, r.names); len(meant) > 0 {
		hint = fmt.Sprintf("did you mean %s? %s", strings.Join(meant, " or "), hint)
	}
	var open []string // agents that take any program
	for _, other := range slices.Sorted(maps.Keys(r.agents)) {
		if d := r.agents[other].descriptor; d.Command == "" && !d.Programless() {
			open = append(open, fmt.Sprintf("drawbar run %s \"what to do\" -- COMMAND [ARGS...]", other))
		}
	}
	if len(open) > 0 {
		hint += "; a program that has no name here: " + strings.Join(open, ", or ")
	}
	return e.WithHint("%s", hint)
}
