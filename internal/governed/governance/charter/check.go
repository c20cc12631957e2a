package charter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Check checks a configuration, as declared, against every rule, and returns all errors and warnings, in the order of
// the file.
func Check(c *protocol.Config) []Problem {
	text, err := protocol.Marshal(c)
	if err != nil {
		return []Problem{{Severity: SeverityError, Type: SyntaxInvalid, Message: err.Error()}}
	}
	_, problems := Decode(text)
	for i := range problems {
		problems[i].Line, problems[i].Column = 0, 0
	}
	return problems
}

// Decode parses the text of agentxchain.json and returns every problem with its line and column. The configuration is
// nil if the text is not a JSON object; with other errors it contains what could be read, and must not be run.
func Decode(data []byte) (*protocol.Config, []Problem) {
	root, fault := parse(data)
	if fault != nil {
		return nil, []Problem{*fault}
	}
	k := &checker{doc: root}
	if old := root.Get("version"); !root.Has("schema_version") && old != nil && string(old.Text) == "3" {
		k.add(Problem{Type: WrongSchemaVersion, Field: "version", Message: "is 3: this is an ungoverned project of an older kind",
			Hint:   "drawbar govern migrate",
			Detail: map[string]any{"expected_version": protocol.ConfigVersion, "actual_version": "3"}})
		k.locate(data)
		return nil, k.list
	}
	k.shape(Keys(), root, "")
	var text bytes.Buffer
	root.Render(&text)
	var c protocol.Config
	if err := json.Unmarshal(text.Bytes(), &c); err != nil {
		k.add(Problem{Type: WrongType, Message: "cannot be read: " + err.Error()})
		k.locate(data)
		return nil, k.list
	}
	if kit := root.Get("workflow_kit"); kit != nil && kit.Kind == "null" {
		c.WorkflowKit = &protocol.WorkflowKit{} // null opts out, as {} does
	}
	k.c = &c
	k.all()
	k.locate(data)
	return &c, k.list
}

// checker is one check: the tree of the text and the configuration parsed from it.
type checker struct {
	findings
	doc *shape.Value
	c   *protocol.Config
}

func (k *checker) all() {
	k.version()
	k.project()
	k.roles()
	k.adapters()
	k.runtimes()
	k.legality()
	k.routing()
	k.gates()
	k.hooks()
	k.policies()
	k.approval()
	k.kit()
	k.money()
	k.notifications()
	k.schedules()
	k.prompts()
}

// locate adds positions to the problems and sorts them by position.
func (k *checker) locate(data []byte) {
	places := map[string]int{}
	var walk func(v *shape.Value, field string)
	walk = func(v *shape.Value, field string) {
		for _, m := range v.Members {
			at := shape.Path(field, m.Key)
			if first, twice := places[at]; !twice || m.At > first {
				places[at] = m.At // the last of several duplicates: it is the one to remove
			}
			walk(m.Value, at)
		}
		for i, it := range v.Items {
			places[shape.Item(field, i)] = it.At
			walk(it, shape.Item(field, i))
		}
	}
	walk(k.doc, "")
	offsets := make(map[*Problem]int, len(k.list))
	sorted := make([]*Problem, len(k.list))
	for i := range k.list {
		p := &k.list[i]
		sorted[i] = p
		field := p.Field
		at, ok := places[field]
		for !ok && field != "" {
			field = parent(field)
			at, ok = places[field]
		}
		if !ok {
			at = k.doc.At
		}
		offsets[p] = at
	}
	slices.SortStableFunc(sorted, func(a, b *Problem) int { return offsets[a] - offsets[b] })
	list := make([]Problem, len(sorted))
	line, column, from := 1, 1, 0
	for i, p := range sorted { // one walk through the text for all problems
		for to := offsets[p]; from < to; {
			r, n := utf8.DecodeRune(data[from:])
			from += n
			if column++; r == '\n' {
				line, column = line+1, 1
			}
		}
		p.Line, p.Column = line, column
		list[i] = *p
	}
	k.list = list
}

// parent is the field that has the field in it.
func parent(field string) string {
	quoted := false
	for i := len(field) - 1; i > 0; i-- {
		switch field[i] {
		case '"':
			quoted = !quoted
		case '.', '[':
			if !quoted {
				return field[:i]
			}
		}
	}
	return ""
}

func (k *checker) version() {
	v := k.doc.Get("schema_version")
	got := any(nil)
	if v.Is() {
		if v.Kind == "string" {
			got = v.Str()
		} else {
			got = string(v.Text)
		}
	}
	if got == any(protocol.ConfigVersion) && v.Kind == "string" || got == any("4") && v.Kind == "number" {
		return
	}
	message := fmt.Sprintf("is %v, which this version does not support", got)
	if got == nil {
		message = "is missing"
	}
	k.add(Problem{Type: WrongSchemaVersion, Field: "schema_version", Message: message, Hint: fmt.Sprintf("write %q", protocol.ConfigVersion),
		Detail: map[string]any{"expected_version": protocol.ConfigVersion, "actual_version": got}})
}

func (k *checker) project() {
	if b := k.c.Project.DefaultBranch; strings.HasPrefix(b, "-") || strings.ContainsAny(b, " ~^:?*[\\") {
		k.invalid("project.default_branch", "", "%q is not a valid branch name", b)
	}
}

func (k *checker) roles() {
	if k.c.Roles.Len() == 0 && k.doc.Has("roles") && k.doc.Get("roles").Kind == "object" {
		k.add(Problem{Type: MissingField, Field: "roles", Message: "declares no role", Hint: "a run needs at least one"})
	}
	runtimes := k.c.Runtimes.Keys()
	for id, r := range k.c.Roles.All() {
		field := shape.Path("roles", id)
		if id == protocol.Human {
			k.invalid(field, "rename the role", "human is a person, not a role")
		}
		if r.FirstEdition() {
			k.firstEdition(id, r)
			continue
		}
		doc := k.doc.Get("roles").Get(id)
		for _, need := range []struct{ key, hint string }{
			{"title", "name of the role"}, {"mandate", "purpose of the role"},
			{"write_authority", "one of authoritative, proposed, review_only"}, {"runtime", "the id of a runtime"},
		} {
			if v := doc.Get(need.key); !v.Is() {
				k.missing(shape.Path(field, need.key), need.hint)
			}
		}
		if len(r.AdapterConfig) > 0 {
			k.add(Problem{Type: MissingField, Field: shape.Path(field, "adapter"), Message: "is missing, but adapter_config is present",
				Hint: "name the adapter, or move the settings to a runtime"})
		}
		if r.Runtime != "" && !k.c.Runtimes.Has(r.Runtime) {
			k.undeclared(UndeclaredRuntime, shape.Path(field, "runtime"), "runtime", r.Runtime, "runtimes", runtimes)
		}
	}
}

// firstEdition checks a role that contains its own settings.
func (k *checker) firstEdition(id string, r protocol.Role) {
	field := shape.Path("roles", id)
	if r.Runtime != "" {
		k.warn(UnusedKey, shape.Path(field, "runtime"), "remove it, or remove adapter", "has no effect beside adapter")
	}
	if !slices.Contains(Adapters(), r.Adapter) {
		if !k.c.Adapters.Has(r.Adapter) {
			k.undeclared(UndeclaredAdapter, shape.Path(field, "adapter"), "adapter", r.Adapter, "adapters", append(Adapters(), k.c.Adapters.Keys()...))
		}
		return
	}
	at := shape.Path(field, "adapter_config")
	v := k.doc.Get("roles").Get(id).Get("adapter_config")
	if !v.Is() {
		for _, key := range adapterNode(r.Adapter).Keys {
			if key.Required {
				k.missing(shape.Path(at, key.Name), key.Doc)
			}
		}
		return
	}
	k.shape(adapterNode(r.Adapter), v, at)
	if r.Adapter == protocol.RuntimeAPIProxy && v.Kind == "object" {
		provider, base := v.Get("provider").Str(), v.Get("base_url").Str()
		known := slices.Contains(Providers(), provider)
		if provider != "" && !known && base == "" {
			k.invalid(shape.Path(at, "provider"), "one of "+strings.Join(Providers(), ", ")+", or another with base_url", "cannot be %q", provider)
		}
		if base != "" {
			k.address(shape.Path(at, "base_url"), base)
		}
		if provider != "ollama" && v.Get("api_key_env").Str() == "" {
			k.missing(shape.Path(at, "api_key_env"), "the name of the variable with the API key")
		}
		k.variable(shape.Path(at, "api_key_env"), v.Get("api_key_env"))
	}
	if r.Adapter == protocol.RuntimeLocalCLI && v.Kind == "object" {
		k.command(at, v, "args")
	}
}

func (k *checker) legality() {
	n := Normalize(k.c)
	for id, r := range n.Roles.All() {
		rt, ok := n.Runtimes.Get(r.Runtime)
		if !ok || !slices.Contains(authorities(), string(r.WriteAuthority)) || !slices.Contains(RuntimeTypes(), rt.Type) {
			continue
		}
		field := shape.Path("roles", id, "runtime")
		if r.FirstEdition() {
			field = shape.Path("roles", id, "adapter")
		}
		switch {
		case WritePath(r.WriteAuthority, rt) == PathInvalid:
			k.add(Problem{Type: IllegalRuntime, Field: field, Message: fmt.Sprintf("the role is %s, but a runtime of type %s cannot write files", r.WriteAuthority, rt.Type),
				Hint:   "make the role proposed or review_only, or give it a runtime of type manual, local_cli, agent or mcp",
				Detail: map[string]any{"write_authority": string(r.WriteAuthority), "runtime_type": rt.Type}})
		case r.WriteAuthority == protocol.ReviewOnly && rt.Type == protocol.RuntimeLocalCLI:
			k.warn(IllegalRuntime, field, "what it changes besides .planning/ and .agentxchain/reviews/ is refused at acceptance",
				"the role is review_only, but a local_cli program can write any file")
		}
	}
}

func authorities() []string {
	return []string{string(protocol.Authoritative), string(protocol.Proposed), string(protocol.ReviewOnly)}
}

func (k *checker) routing() {
	if k.c.Routing == nil {
		return
	}
	roles := k.c.Roles.Keys()
	people := append(slices.Clone(roles), protocol.Human)
	for name, p := range k.c.Routing.All() {
		field := shape.Path("routing", name)
		if p.EntryRole != "" && !k.c.Roles.Has(p.EntryRole) {
			k.undeclared(UndeclaredRole, shape.Path(field, "entry_role"), "role", p.EntryRole, "roles", roles)
		}
		for i, r := range p.AllowedNextRoles {
			if r != protocol.Human && !k.c.Roles.Has(r) {
				k.undeclared(UndeclaredRole, shape.Item(shape.Path(field, "allowed_next_roles"), i), "role", r, "roles", people)
			}
		}
		if p.ExitGate != "" && k.c.Gates != nil && !k.c.Gates.Has(p.ExitGate) {
			k.undeclared(UndeclaredGate, shape.Path(field, "exit_gate"), "gate", p.ExitGate, "gates", k.c.Gates.Keys())
		}
		if p.TimeoutAction != "" && p.TimeoutMinutes == nil && (k.c.Timeouts == nil || k.c.Timeouts.PerPhaseMinutes == nil) {
			k.warn(UnusedKey, shape.Path(field, "timeout_action"), "give timeout_minutes", "has no effect without a limit")
		}
	}
}

func (k *checker) gates() {
	if k.c.Gates == nil {
		return
	}
	for id, g := range k.c.Gates.All() {
		field := shape.Path("gates", id)
		for i, path := range g.RequiresFiles {
			k.path(shape.Item(shape.Path(field, "requires_files"), i), path)
		}
		if len(g.GateActions) > 0 && !g.RequiresHumanApproval {
			k.invalid(shape.Path(field, "gate_actions"), "set requires_human_approval to true", "run when a person approves, but the gate does not require approval")
		}
	}
}

// path checks the path of a file that the project has to contain.
func (k *checker) path(field, path string) {
	switch {
	case strings.TrimSpace(path) == "": // already reported
	case strings.HasPrefix(path, "/"), strings.Contains(path, `\`), len(path) > 1 && path[1] == ':':
		k.invalid(field, "write it relative to the project, with slashes", "%q is not a path inside the project", path)
	case slices.Contains(strings.Split(path, "/"), ".."):
		k.invalid(field, "write it relative to the project", "%q leads out of the project", path)
	}
}

func (k *checker) prompts() {
	for role, path := range k.c.Prompts.All() {
		field := shape.Path("prompts", role)
		if !k.c.Roles.Has(role) {
			k.warn(UndeclaredRole, field, "", "there is no role %q", role)
		}
		k.path(field, path)
	}
}
