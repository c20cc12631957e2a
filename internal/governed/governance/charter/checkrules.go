package charter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Hooks checks the hooks of another configuration, a JSON object with lists of hooks by phase. Problems have no positions.
func Hooks(data []byte, phases []string) []Problem {
	text, err := protocol.Marshal(map[string]json.RawMessage{"hooks": data})
	if err != nil {
		return []Problem{{Severity: SeverityError, Type: SyntaxInvalid, Field: "hooks", Message: err.Error()}}
	}
	root, fault := parse(text)
	if fault != nil {
		return []Problem{*fault}
	}
	k := &checker{doc: root, c: &protocol.Config{}}
	node := object("", key("hooks", hooksNode(phases)))
	k.shape(&node, root, "")
	if err := json.Unmarshal(text, k.c); err == nil { // otherwise its shape is reported
		k.hooks()
	}
	return k.list
}

func (k *checker) hooks() {
	for phase, list := range k.c.Hooks.All() {
		field := shape.Path("hooks", phase)
		doc := k.doc.Get("hooks").Get(phase)
		seen := map[string]bool{}
		for i, h := range list {
			at := shape.Item(field, i)
			if doc == nil || i >= len(doc.Items) || doc.Items[i].Kind != "object" {
				continue
			}
			entry := doc.Items[i]
			if h.Name != "" && seen[h.Name] {
				k.invalid(shape.Path(at, "name"), "", "%q is another hook's name in this phase", h.Name)
			}
			seen[h.Name] = true
			if h.Mode == "blocking" && (phase == protocol.HookAfterAcceptance || phase == protocol.HookOnEscalation) {
				k.invalid(shape.Path(at, "mode"), "make it advisory", "it is too late to block at %s", phase)
			}
			k.hook(at, entry, h)
		}
	}
}

func (k *checker) hook(at string, entry *shape.Value, h protocol.Hook) {
	refused := []string{"url", "method", "headers"}
	switch h.Type {
	case "process":
		if v := entry.Get("command"); !v.Is() || len(h.Command) == 0 {
			k.missing(shape.Path(at, "command"), "the program and its arguments, as a list")
		}
	case "http":
		refused = []string{"command"}
		k.need(at, entry, "url", "the address")
		k.address(shape.Path(at, "url"), h.URL)
	default:
		return
	}
	for _, key := range refused {
		if entry.Has(key) {
			k.warn(UnusedKey, shape.Path(at, key), "", "has no effect on a hook of type %s", h.Type)
		}
	}
}

// hasPhase knows the protocol's three default phases when there is no routing.
func (k *checker) hasPhase(name string) bool {
	if k.c.Routing == nil {
		return slices.Contains(k.c.Phases(), name)
	}
	return k.c.Routing.Has(name)
}

func (k *checker) policies() {
	seen := map[string]bool{}
	for i, p := range k.c.Policies {
		at := shape.Item("policies", i)
		if p.ID != "" && seen[p.ID] {
			k.invalid(shape.Path(at, "id"), "", "%q is another policy's id", p.ID)
		}
		seen[p.ID] = true
		k.params(at, p)
		if p.Scope == nil {
			continue
		}
		for j, name := range p.Scope.Phases {
			if !k.hasPhase(name) {
				k.warn(UndeclaredPhase, shape.Item(shape.Path(at, "scope", "phases"), j), "", "there is no phase %q", name)
			}
		}
		for j, name := range p.Scope.Roles {
			if !k.c.Roles.Has(name) {
				k.warn(UndeclaredRole, shape.Item(shape.Path(at, "scope", "roles"), j), "", "there is no role %q", name)
			}
		}
	}
}

// params checks the parameters that a policy's rule needs.
func (k *checker) params(at string, p protocol.Policy) {
	field := shape.Path(at, "params")
	have, ok := decodeRaw[protocol.Extra](p.Params)
	if len(p.Params) > 0 && !ok {
		k.add(Problem{Type: WrongType, Field: field, Message: "is not an object"})
		return
	}
	switch p.Rule {
	case "max_turns_per_phase", "max_total_turns", "max_consecutive_same_role":
		if n, ok := decodeRaw[int](have.At("limit")); !ok || n < 1 {
			k.invalid(shape.Path(field, "limit"), "1 or more", "%s needs a limit that is a whole number", p.Rule)
		}
	case "max_cost_per_turn":
		if x, ok := decodeRaw[float64](have.At("limit_usd")); !ok || x <= 0 {
			k.invalid(shape.Path(field, "limit_usd"), "more than 0", "%s needs a limit in US dollars", p.Rule)
		}
	case "require_status":
		known := []string{string(protocol.ResultCompleted), string(protocol.ResultBlocked), string(protocol.ResultNeedsHuman), string(protocol.ResultFailed)}
		list, ok := decodeRaw[[]string](have.At("allowed"))
		if !ok || len(list) == 0 {
			k.invalid(shape.Path(field, "allowed"), "a list of "+strings.Join(known, ", "), "require_status needs the states it allows")
		}
		for i, s := range list {
			if !slices.Contains(known, s) {
				k.invalid(shape.Item(shape.Path(field, "allowed"), i), "one of "+strings.Join(known, ", "), "cannot be %q", s)
			}
		}
	}
}

func (k *checker) approval() {
	a := k.c.ApprovalPolicy
	if a == nil {
		return
	}
	if t := a.PhaseTransitions; t != nil {
		for i, r := range t.Rules {
			at := shape.Item("approval_policy.phase_transitions.rules", i)
			for _, ref := range []struct{ key, phase string }{{"from_phase", r.FromPhase}, {"to_phase", r.ToPhase}} {
				if ref.phase != "" && !k.hasPhase(ref.phase) {
					k.undeclared(UndeclaredPhase, shape.Path(at, ref.key), "phase", ref.phase, "routing", k.c.Phases())
				}
			}
			k.when(shape.Path(at, "when"), r.When)
		}
	}
	if a.RunCompletion != nil {
		k.when("approval_policy.run_completion.when", a.RunCompletion.When)
	}
}

func (k *checker) when(field string, w *protocol.ApprovalWhen) {
	if w == nil {
		return
	}
	for i, r := range w.RolesParticipated {
		if !k.c.Roles.Has(r) {
			k.warn(UndeclaredRole, shape.Item(shape.Path(field, "roles_participated"), i), "the condition is never met", "there is no role %q", r)
		}
	}
	if w.CredentialedGate != nil && *w.CredentialedGate {
		k.invalid(shape.Path(field, "credentialed_gate"), "write false, or omit it", "cannot be true: a credentialed gate always requires a person")
	}
}

func (k *checker) kit() {
	if k.c.WorkflowKit == nil {
		return
	}
	for phase, p := range k.c.WorkflowKit.Phases.All() {
		field := shape.Path("workflow_kit.phases", phase)
		if !k.hasPhase(phase) {
			k.warn(UndeclaredPhase, field, "", "routing has no phase %q", phase)
		}
		doc := k.doc.Get("workflow_kit").Get("phases").Get(phase)
		if !doc.Has("template") && !doc.Has("artifacts") {
			k.missing(shape.Path(field, "artifacts"), "or a template")
		}
		seen := map[string]bool{}
		for i, a := range p.Artifacts {
			at := shape.Item(shape.Path(field, "artifacts"), i)
			if a.Path != "" && seen[a.Path] {
				k.invalid(shape.Path(at, "path"), "", "%q is listed twice in this phase", a.Path)
			}
			seen[a.Path] = true
			k.path(shape.Path(at, "path"), a.Path)
			if a.Semantics == "section_check" && (a.SemanticsConfig == nil || len(a.SemanticsConfig.RequiredSections) == 0) {
				k.missing(shape.Path(at, "semantics_config", "required_sections"), "section_check needs headers")
			}
			if a.OwnedBy != "" && !k.c.Roles.Has(a.OwnedBy) {
				k.undeclared(UndeclaredRole, shape.Path(at, "owned_by"), "role", a.OwnedBy, "roles", k.c.Roles.Keys())
			}
		}
	}
}

func (k *checker) money() {
	b := k.c.Budget
	if b != nil && b.PerTurnMaxUSD != nil && b.PerRunMaxUSD != nil && *b.PerRunMaxUSD > 0 && *b.PerTurnMaxUSD > *b.PerRunMaxUSD {
		k.invalid("budget.per_turn_max_usd", fmt.Sprintf("at most %v", *b.PerRunMaxUSD), "is more than the whole run may cost")
	}
}

func (k *checker) notifications() {
	doc := k.doc.Get("notifications")
	for i, hook := range doc.Get("webhooks").List() {
		at := shape.Item("notifications.webhooks", i)
		k.address(shape.Path(at, "url"), hook.Get("url").Str())
	}
	last := 0.0
	for i, v := range doc.Get("approval_sla").Get("reminder_after_seconds").List() {
		if x, ok := number(v); ok {
			if x <= last {
				k.invalid(shape.Item("notifications.approval_sla.reminder_after_seconds", i), "", "does not come after the one before it")
			}
			last = x
		}
	}
}

func (k *checker) schedules() {
	doc := k.doc.Get("schedules")
	if doc == nil {
		return
	}
	for _, m := range doc.Members {
		if r := m.Value.Get("initial_role").Str(); r != "" && !k.c.Roles.Has(r) {
			k.undeclared(UndeclaredRole, shape.Path("schedules", m.Key, "initial_role"), "role", r, "roles", k.c.Roles.Keys())
		}
	}
}
