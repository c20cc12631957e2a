package coordinator

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

// maxConfig bounds agentxchain-multi.json in bytes.
const maxConfig = 4 << 20

// Fault is one fault of agentxchain-multi.json.
type Fault struct {
	Code    string // as the public conformance suite names it, such as workstream_cycle
	Field   string // empty for the whole file
	Message string
}

func (f Fault) String() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

var (
	validID       = lazy.Regexp(`^[a-z0-9_-]+$`)
	validPhase    = lazy.Regexp(`^[a-z][a-z0-9_-]*$`)
	validFile     = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	validRef      = lazy.Regexp(`^ctx_[a-z0-9_-]+$`)
	validDecision = lazy.Regexp(`^DEC-\d+$`)
)

// defaultPhases are those of a configuration without routing.
var defaultPhases = []string{"planning", "implementation", "qa"}

// checker collects faults.
type checker struct {
	c      *protocol.CoordinatorConfig
	faults []Fault
}

func (k *checker) add(code, field, format string, args ...any) {
	k.faults = append(k.faults, Fault{code, field, fmt.Sprintf(format, args...)})
}

// Parse reads agentxchain-multi.json. It returns every fault.
func Parse(data []byte) (*protocol.CoordinatorConfig, []Fault) {
	k := &checker{c: &protocol.CoordinatorConfig{}}
	if kind := protocol.Kind(data); kind != "object" {
		k.add("config_invalid", "", "it must be an object, not %s", kind)
		return nil, k.faults
	}
	if err := json.Unmarshal(data, k.c); err != nil {
		k.add("config_invalid", "", "%v", err)
		return nil, k.faults
	}
	k.keys(data)
	c := k.c
	if c.SchemaVersion != protocol.CoordinatorVersion {
		k.add("schema_version_invalid", "schema_version", "it must be %q", protocol.CoordinatorVersion)
	}
	if strings.TrimSpace(c.Project.ID) == "" {
		k.add("project_id_invalid", "project.id", "it is missing")
	}
	if strings.TrimSpace(c.Project.Name) == "" {
		k.add("project_name_invalid", "project.name", "it is missing")
	}
	k.repos()
	k.workstreams()
	k.cycles()
	k.routing()
	k.gates()
	if len(k.faults) > 0 {
		return nil, k.faults
	}
	return c, nil
}

// keys refuses keys that nothing reads: a misspelt barrier must not be taken for none.
func (k *checker) keys(data []byte) {
	known := func(at string, raw json.RawMessage, names ...string) {
		var o protocol.Ordered[json.RawMessage]
		if json.Unmarshal(raw, &o) != nil {
			return
		}
		for _, name := range o.Keys() {
			if !slices.Contains(names, name) {
				k.add("config_invalid", strings.TrimPrefix(at+"."+name, "."), "the key is unknown; known are %s", strings.Join(names, ", "))
			}
		}
	}
	var top struct {
		Project                            json.RawMessage
		Repos, Workstreams, Routing, Gates protocol.Ordered[json.RawMessage]
		Hooks                              json.RawMessage
	}
	if json.Unmarshal(data, &top) != nil {
		return // reported already
	}
	known("", data, "$schema", "schema_version", "project", "repos", "workstreams", "routing", "gates", "hooks")
	known("project", top.Project, "id", "name", "goal", "description")
	for id, raw := range top.Repos.All() {
		known("repos."+id, raw, "path", "default_branch", "required")
	}
	for id, raw := range top.Workstreams.All() {
		known("workstreams."+id, raw, "phase", "repos", "entry_repo", "depends_on", "completion_barrier", "interface_alignment", "named_decisions")
	}
	for id, raw := range top.Routing.All() {
		known("routing."+id, raw, "entry_workstream")
	}
	for id, raw := range top.Gates.All() {
		known("gates."+id, raw, "requires_human_approval", "requires_repos")
	}
	if protocol.Is(top.Hooks) {
		for _, p := range charter.Errors(charter.Hooks(top.Hooks, protocol.CoordinatorHookPhases())) {
			k.add("hooks_invalid", p.Field, "%s", p.Message)
		}
	}
}

func (k *checker) repos() {
	if k.c.Repos.Len() == 0 {
		k.add("repos_invalid", "repos", "at least one repository is needed")
	}
	for id, r := range k.c.Repos.All() {
		at := "repos." + id
		if !validID().MatchString(id) {
			k.add("repo_id_invalid", at, "an id has only a-z, 0-9, - and _")
		}
		if strings.TrimSpace(r.Path) == "" {
			k.add("repo_path_invalid", at+".path", "it is missing")
		}
	}
}

func (k *checker) workstreams() {
	c := k.c
	if c.Workstreams.Len() == 0 {
		k.add("workstreams_invalid", "workstreams", "at least one workstream is needed")
	}
	phases := defaultPhases
	if c.Routing.Len() > 0 {
		phases = c.Routing.Keys()
	}
	for id, w := range c.Workstreams.All() {
		at := "workstreams." + id
		if !validID().MatchString(id) {
			k.add("workstream_id_invalid", at, "an id has only a-z, 0-9, - and _")
		}
		if !slices.Contains(phases, w.Phase) {
			k.add("workstream_phase_invalid", at+".phase", "%q must be one of %s", w.Phase, strings.Join(phases, ", "))
		}
		if len(w.Repos) == 0 {
			k.add("workstream_repos_invalid", at+".repos", "at least one repository is needed")
		}
		for i, r := range w.Repos {
			switch {
			case slices.Contains(w.Repos[:i], r):
				k.add("workstream_repo_duplicate", at+".repos", "%q appears twice", r)
			case !c.Repos.Has(r):
				k.add("workstream_repo_unknown", at+".repos", "%q is not in repos", r)
			}
		}
		if !slices.Contains(w.Repos, w.EntryRepo) {
			k.add("workstream_entry_repo_mismatch", at+".entry_repo", "%q must be one of the workstream's repos", w.EntryRepo)
		}
		if w.DependsOn == nil {
			k.add("workstream_depends_on_invalid", at+".depends_on", "it must be a list; [] for none")
		}
		for _, d := range w.DependsOn {
			if !c.Workstreams.Has(d) {
				k.add("workstream_dependency_unknown", at+".depends_on", "%q is not in workstreams", d)
			}
		}
		if !slices.Contains(protocol.BarrierTypes(), w.CompletionBarrier) {
			k.add("workstream_completion_barrier_invalid", at+".completion_barrier", "%q must be one of %s", w.CompletionBarrier, listed(protocol.BarrierTypes()))
		}
		k.decisions(at, w)
	}
}

func listed(types []protocol.BarrierType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// decisions checks the decisions that a barrier asks for.
func (k *checker) decisions(at string, w protocol.Workstream) {
	key := string(w.CompletionBarrier)
	if w.CompletionBarrier != protocol.BarrierAlignment && w.CompletionBarrier != protocol.BarrierDecisions {
		return
	}
	code := "workstream_" + key
	by := w.Decisions()
	if by == nil {
		k.add(code+"_invalid", at+"."+key+".decision_ids_by_repo", "it is missing: the barrier %s needs the decisions of each repository", key)
		return
	}
	for _, r := range w.Repos {
		field := at + "." + key + ".decision_ids_by_repo." + r
		if len(by[r]) == 0 {
			k.add(code+"_repo_missing", field, "it must name at least one decision")
		}
		for i, id := range by[r] {
			switch {
			case !validDecision().MatchString(id):
				k.add(code+"_decision_invalid", field, "%q must have the form DEC-123", id)
			case slices.Contains(by[r][:i], id):
				k.add(code+"_decision_duplicate", field, "%q appears twice", id)
			}
		}
	}
	for _, r := range slices.Sorted(maps.Keys(by)) {
		if !slices.Contains(w.Repos, r) {
			k.add(code+"_repo_unknown", at+"."+key+".decision_ids_by_repo."+r, "it is not one of the workstream's repos")
		}
	}
}

// cycles refuses workstreams that wait for each other.
func (k *checker) cycles() {
	const entered, left = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(id string)
	visit = func(id string) {
		switch state[id] {
		case left:
			return
		case entered:
			loop := append(slices.Clone(path[slices.Index(path, id):]), id)
			k.add("workstream_cycle", "workstreams."+id+".depends_on", "workstreams wait for each other: %s", strings.Join(loop, " -> "))
			return
		}
		state[id] = entered
		path = append(path, id)
		w, _ := k.c.Workstreams.Get(id)
		for _, d := range w.DependsOn {
			if k.c.Workstreams.Has(d) {
				visit(d)
			}
		}
		path = path[:len(path)-1]
		state[id] = left
	}
	for id := range k.c.Workstreams.All() {
		visit(id)
	}
	phases := k.c.Phases()
	for id, w := range k.c.Workstreams.All() {
		for _, d := range w.DependsOn {
			on, ok := k.c.Workstreams.Get(d)
			if at, of := slices.Index(phases, w.Phase), slices.Index(phases, on.Phase); ok && at >= 0 && of > at {
				k.add("workstream_dependency_later", "workstreams."+id+".depends_on", "%q belongs to the later phase %s, so it could never begin", d, on.Phase)
			}
		}
	}
}

func (k *checker) routing() {
	for phase, r := range k.c.Routing.All() {
		at := "routing." + phase
		if !validPhase().MatchString(phase) {
			k.add("routing_phase_invalid", at, "a phase begins with a letter and has only a-z, 0-9, - and _")
		}
		if r.EntryWorkstream == "" {
			continue
		}
		w, ok := k.c.Workstreams.Get(r.EntryWorkstream)
		switch {
		case !ok:
			k.add("routing_entry_workstream_unknown", at+".entry_workstream", "%q is not in workstreams", r.EntryWorkstream)
		case w.Phase != phase:
			k.add("routing_phase_mismatch", at+".entry_workstream", "%q belongs to phase %s", r.EntryWorkstream, w.Phase)
		}
	}
}

func (k *checker) gates() {
	for id, g := range k.c.Gates.All() {
		at := "gates." + id
		if id != protocol.InitiativeGate {
			k.add("gate_unknown", at, "nothing asks for this gate; the gate at the end is %s, and every phase ends with one of its own", protocol.InitiativeGate)
		}
		for i, r := range g.RequiresRepos {
			switch {
			case slices.Contains(g.RequiresRepos[:i], r):
				k.add("gate_requires_repo_duplicate", at+".requires_repos", "%q appears twice", r)
			case !k.c.Repos.Has(r):
				k.add("gate_requires_repo_unknown", at+".requires_repos", "%q is not in repos", r)
			}
		}
	}
}

// place is a repository on this machine.
type place struct {
	id, path string // the path as configured
	root     string
	required bool
}

// workspace is a configuration and where its repositories are.
type workspace struct {
	root   string
	config *protocol.CoordinatorConfig
	places []place
}

// Find returns the workspace of a folder: the nearest one upwards with agentxchain-multi.json.
func Find(dir string) (string, error) {
	root, err := repofile.Above(dir, protocol.CoordinatorConfigFile)
	switch {
	case err != nil:
		return "", execution.Errorf(execution.CodeConfig, "find %s: %w", protocol.CoordinatorConfigFile, err)
	case root == "":
		return "", execution.Errorf(execution.CodeConfig, "%s and the folders above have no %s", dir, protocol.CoordinatorConfigFile).
			WithHint("write one; an example: drawbar govern multi --help")
	}
	return root, nil
}

// load reads the configuration and looks for the repositories.
func load(root string) (*workspace, error) {
	file := filepath.Join(root, protocol.CoordinatorConfigFile)
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxConfig {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxConfig)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.CoordinatorConfigFile, err).WithHint("check the file: %s", file)
	}
	c, faults := Parse(data)
	w := &workspace{root: root, config: c}
	if len(faults) == 0 {
		faults = w.locate()
	}
	if len(faults) > 0 {
		lines := make([]string, len(faults))
		for i, f := range faults {
			lines[i] = f.String()
		}
		return nil, execution.Errorf(execution.CodeConfig, "%s: %s", protocol.CoordinatorConfigFile, strings.Join(lines, "; ")).WithHint("correct %s", file)
	}
	return w, nil
}

// locate finds the folder of every repository.
func (w *workspace) locate() (faults []Fault) {
	seen := map[string]string{}
	for id, r := range w.config.Repos.All() {
		at := "repos." + id + ".path"
		root := filepath.FromSlash(strings.TrimSpace(r.Path))
		if !filepath.IsAbs(root) {
			root = filepath.Join(w.root, root)
		}
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			faults = append(faults, Fault{"repo_path_missing", at, fmt.Sprintf("there is no folder %s", root)})
			continue
		}
		if info, err := os.Stat(filepath.Join(real, protocol.ConfigFile)); err != nil || !info.Mode().IsRegular() {
			faults = append(faults, Fault{"repo_not_governed", at, fmt.Sprintf("%s has no %s; to make one: drawbar govern --cwd %s init", real, protocol.ConfigFile, r.Path)})
			continue
		}
		if other, taken := seen[real]; taken {
			faults = append(faults, Fault{"repo_path_duplicate", at, "it is the folder of " + other + ", too"})
			continue
		}
		seen[real] = id
		w.places = append(w.places, place{id: id, path: r.Path, root: real, required: r.Required == nil || *r.Required})
	}
	return faults
}
