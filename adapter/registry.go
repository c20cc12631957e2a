package adapter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
)

// Source says where an agent of the registry comes from.
type Source string

// The sources of an agent.
const (
	SourceBuiltin Source = "built-in"
	SourcePlugin  Source = "plugin"
)

var builtins struct {
	mu   sync.Mutex
	list map[string]Descriptor
}

// Register adds a built-in agent to the list of this process. The init functions of the adapters call it; a program adds
// agents of its own with Registry.Register. A second agent of the same name takes the place of the first. An invalid
// descriptor is a mistake in the program, which NewRegistry finds: it does not cost each start of it. It is safe for concurrent use.
func Register(d Descriptor) {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	if builtins.list == nil {
		builtins.list = map[string]Descriptor{}
	}
	builtins.list[d.Name] = d.clone()
}

// Builtins is a copy of the list that Register fills, sorted by name.
func Builtins() []Descriptor {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	list := make([]Descriptor, 0, len(builtins.list))
	for _, name := range sortedKeys(builtins.list) {
		list = append(list, builtins.list[name].clone())
	}
	return list
}

// HostMarkers are the variables by which built-in agents tell their children where they run: their signals and traces.
func HostMarkers() (names []string) {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	for _, d := range builtins.list {
		names = append(append(names, d.HostSignals...), d.HostTraces...)
	}
	return names
}

// Registry knows agents by name. It is a lookup table and no owner: what Get returned stays usable after the agent was
// replaced or removed, and nothing here keeps a replaced adapter. It is safe for concurrent use.
type Registry struct {
	host Host

	mu      sync.Mutex
	agents  map[string]*record
	names   map[string]string // every name and alias, to the name
	running map[*detection]struct{}
}

// record is one registered agent. Everything but the detection is immutable.
type record struct {
	descriptor Descriptor
	adapter    Adapter
	source     Source
	warning    string
	detection  *detection // the latest, guarded by Registry.mu
}

// Info describes a registered agent without looking at the machine (agent-mux specification, AgentAdapterInfo).
type Info struct {
	Agent       string `json:"agent"`
	DisplayName string `json:"displayName"`
	Command     string `json:"cliCommand"`
	MinVersion  string `json:"minVersion,omitempty"`
	Source      Source `json:"source"`
}

// Entry is a registered agent. The caller owns it; the adapter serves concurrent executions.
type Entry struct {
	Descriptor Descriptor
	Adapter    Adapter
	Source     Source
	Warning    string // for a debug event of each run: a plugin took the place of a built-in adapter; else empty
}

// Capabilities is what the agent's adapter declares, with a word for what it leaves out.
func (e Entry) Capabilities() execution.Capabilities { return CapabilitiesOf(e.Adapter) }

// NewRegistry makes a registry of the given built-in agents, whose detection looks at h. Of two with one name the last
// wins. An invalid one is a mistake in the program: NewRegistry panics with all its faults.
func NewRegistry(builtins []Descriptor, h Host) *Registry {
	r := &Registry{host: h.complete(), agents: map[string]*record{}, names: map[string]string{}, running: map[*detection]struct{}{}}
	for _, d := range builtins {
		if err := r.register(d, SourceBuiltin); err != nil {
			panic(err)
		}
	}
	return r
}

// Register adds a plugin agent, or replaces the agent of the same name: a built-in one with a Warning in its Entry, a
// plugin silently. What was known of its installation is forgotten; active runs keep what they hold. Either all of d is
// registered or nothing: the VALIDATION_ERROR lists every fault. Register calls New and Capabilities, and does no I/O.
func (r *Registry) Register(d Descriptor) error { return r.register(d, SourcePlugin) }

func (r *Registry) register(d Descriptor, source Source) error {
	d = d.clone()
	var f faults
	a := f.validate(d) // calls the adapter's code, which may ask this registry: not under the lock

	r.mu.Lock()
	defer r.mu.Unlock()
	others := make(map[string]Descriptor, len(r.agents))
	for name, rec := range r.agents {
		others[name] = rec.descriptor
	}
	f.collisions(d, others)
	if err := f.err(d.Name); err != nil {
		return err
	}
	rec := &record{descriptor: d, adapter: a, source: source}
	if old := r.agents[d.Name]; old != nil {
		if old.source == SourceBuiltin && source == SourcePlugin {
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

// Unregister removes an agent, by name or alias. Active runs go on; new ones get UNKNOWN_AGENT, as does a second
// Unregister.
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

// List describes all agents, sorted by name. It does no I/O and never fails; without agents it is empty, not nil.
func (r *Registry) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Info, 0, len(r.agents))
	for _, name := range sortedKeys(r.agents) {
		rec := r.agents[name]
		d := rec.descriptor
		list = append(list, Info{Agent: d.Name, DisplayName: d.DisplayName, Command: d.Command, MinVersion: d.MinVersion, Source: rec.source})
	}
	return list
}

// Get finds an agent by name or alias, in any case. UNKNOWN_AGENT names the nearest agents in its hint.
func (r *Registry) Get(name string) (Entry, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Descriptor: rec.descriptor.clone(), Adapter: rec.adapter, Source: rec.source, Warning: rec.warning}, nil
}

// Capabilities is what an agent declares; the caller owns the copy. UNKNOWN_AGENT when there is none of that name.
func (r *Registry) Capabilities(name string) (execution.Capabilities, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return execution.Capabilities{}, err
	}
	c, err := call(func() execution.Capabilities { return CapabilitiesOf(rec.adapter) })
	if err != nil {
		return execution.Capabilities{}, &execution.Error{Code: execution.CodeInternal, Agent: rec.descriptor.Name,
			Message: fmt.Sprintf("ask agent %s for its capabilities: %v", rec.descriptor.Name, err)}
	}
	return c, nil
}

// InstallInstructions are the ways to install an agent on a platform: those for it and those for all, in the order of
// the descriptor. The empty platform is that of the registry's host; win32 is read as windows. Without any it is empty,
// not nil. UNKNOWN_AGENT when there is no agent of that name.
func (r *Registry) InstallInstructions(name, platform string) ([]InstallMethod, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return nil, err
	}
	platform = cmp.Or(strings.ToLower(strings.TrimSpace(platform)), r.host.Platform)
	if platform == "win32" {
		platform = "windows"
	}
	methods := []InstallMethod{}
	for _, m := range rec.descriptor.Install {
		if m.Platform == platform || m.Platform == "all" {
			methods = append(methods, m)
		}
	}
	return methods, nil
}

// Models are the models that an agent's descriptor lists; the caller owns the copy. An agent whose models are only known
// at run time has none: the list is empty, not nil. UNKNOWN_AGENT when there is no agent of that name.
func (r *Registry) Models(name string) ([]execution.Model, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return nil, err
	}
	return cloneModels(rec.descriptor.Models), nil
}

func (r *Registry) lookup(name string) (*record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.find(name); rec != nil {
		return rec, nil
	}
	return nil, r.unknown(name)
}

// find is nil for an unknown name. The caller holds mu.
func (r *Registry) find(name string) *record {
	return r.agents[r.names[strings.ToLower(strings.TrimSpace(name))]]
}

// unknown makes the error for a name that find does not know. The caller holds mu.
func (r *Registry) unknown(name string) error {
	e := execution.Errorf(execution.CodeUnknownAgent, "unknown agent %q", clip(name))
	e.Agent = clip(name)
	if meant := near.Words(name, r.names); len(meant) > 0 {
		return e.WithHint("did you mean %s? list the agents with: drawbar agents list", strings.Join(meant, " or "))
	}
	return e.WithHint("list the agents with: drawbar agents list")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
