package turnresult

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// The enumerations of a result.
var (
	statuses = []string{string(protocol.ResultCompleted), string(protocol.ResultBlocked), string(protocol.ResultNeedsHuman),
		string(protocol.ResultFailed)}
	checkStatuses = []string{protocol.VerificationPass, protocol.VerificationFail, protocol.VerificationSkipped}
	artifactTypes = []string{protocol.ArtifactWorkspace, protocol.ArtifactPatch, protocol.ArtifactCommit, protocol.ArtifactReview}
	dispositions  = []string{"artifact", "ignore"}
	durabilities  = []string{"run", "repo"}
)

const (
	maxEntries         = 1000 // the largest number of decisions or objections of one turn
	placeholderPattern = `^<[^>]+>$`
)

// Keys is the shape of a result: the keys of its type, their values, and the additional keys that normalization reads.
// It is shared and must not be changed.
func Keys() *shape.Node { return table() }

var table = sync.OnceValue(func() *shape.Node {
	n := shape.Of(reflect.TypeFor[protocol.TurnResult]())
	text, role, decision := shape.Text(""), shape.Named("", protocol.RolePattern().String()), shape.Named("", protocol.DecisionPattern().String())
	said := shape.Node{Kind: shape.String, Not: placeholderPattern} // what the template leaves to the agent
	maySay, next, many := said.AnyText(), role, shape.Node{MaxItems: maxEntries}
	next.Not = placeholderPattern
	for _, r := range []struct {
		path, want string // want: of required keys that are requested by name
		must       bool
		shape.Node
	}{
		{"schema_version", `the string "1.0"`, true, shape.One("", protocol.ResultVersion)},
		{"run_id", "the run's id from ASSIGNMENT.json", true, text},
		{"turn_id", "the turn's id from ASSIGNMENT.json", true, text},
		{"role", "the role's id from ASSIGNMENT.json", true, role},
		{"runtime_id", "the runtime's id from ASSIGNMENT.json", true, text},
		{"status", list(statuses), true, shape.One("", statuses...)},
		{"summary", "one sentence on what was done", true, said},
		{"decisions", "an array of decisions, which may be empty", true, many},
		{"objections", "an array of objections, which only some roles may leave empty", true, many},
		{"files_changed", "an array of the paths of changed files, which may be empty", true, shape.ListOf("", maySay)},
		{"verification", `an object with "status": ` + list(checkStatuses), true, shape.Node{}},
		{"artifact", `an object with "type": ` + list(artifactTypes), true, shape.Node{}},
		{"proposed_next_role", "the role that should follow, or human", true, next},
		{"decisions.id", "", true, decision},
		{"decisions.category", "", true, shape.One("", protocol.Categories()...)},
		{"decisions.statement", "", true, said},
		{"decisions.rationale", "", true, said},
		{"decisions.durability", "", false, shape.One("", durabilities...)},
		{"decisions.overrides", "", false, decision},
		{"objections.id", "", true, shape.Named("", protocol.ObjectionPattern().String())},
		{"objections.severity", "", true, shape.One("", protocol.Severities()...)},
		{"objections.statement", "", true, said},
		{"objections.status", "", false, shape.One("", protocol.ObjectionStatuses()...)},
		{"objections.against_turn_id", "", false, maySay},
		{"verification.status", list(checkStatuses), true, shape.One("", checkStatuses...)},
		{"verification.commands", "", false, shape.ListOf("", said)},
		{"verification.evidence_summary", "", false, maySay},
		{"verification.machine_evidence.command", "", true, said},
		{"verification.machine_evidence.exit_code", "", true, shape.Node{}},
		{"verification.produced_files.path", "", true, text},
		{"verification.produced_files.disposition", "", false, shape.One("", dispositions...)},
		{"artifact.type", "", true, shape.One("", artifactTypes...)},
		{"cost.input_tokens", "", false, shape.Whole("", 0)},
		{"cost.output_tokens", "", false, shape.Whole("", 0)},
		{"cost.usd", "", false, shape.AtLeast("", 0)},
		{"delegations", "", false, many},
		{"delegations.id", "", true, shape.Named("", protocol.DelegationPattern().String())},
		{"delegations.to_role", "", true, role},
		{"delegations.charter", "", true, text},
		{"delegations.acceptance_contract", "", true, shape.ListOf("", text).AtLeastItems(1)},
		{"delegations.required_decision_ids", "", false, shape.ListOf("", decision).AtLeastItems(1)},
		{"proposed_changes", "", false, many},
		{"proposed_changes.path", "", false, maySay},
		{"proposed_changes.content", "", false, maySay},
	} {
		k := n.Inside(r.path)
		k.Required = r.must
		if r.Kind == "" {
			r.Node.Kind, r.Node.Keys, r.Node.Of = k.Kind, k.Keys, k.Of
		}
		r.Node.Want = r.want
		k.Node = r.Node
	}
	n.Also = []string{"files_modified", "milestone", "milestone_title"}
	n.Inside("decisions").Of.Also = []string{"decision", "description", "summary", "title", "reason", "why"}
	n.Inside("objections").Of.Also = []string{"summary", "detail"}
	n.Inside("verification").Also = []string{"exit_code"}
	n.Inside("verification.machine_evidence").Of.Also = []string{"type"}
	return &n
})

// formats are the fault types of texts that do not match, with the expectation.
var formats = sync.OnceValue(func() map[string][2]string {
	return map[string][2]string{
		protocol.RolePattern().String():       {"invalid_format", "a role id: lower-case letters, digits, _ and -"},
		protocol.DecisionPattern().String():   {"invalid_decision_id_format", "DEC- and digits, such as DEC-001"},
		protocol.ObjectionPattern().String():  {"invalid_objection_id_format", "OBJ- and digits, such as OBJ-001"},
		protocol.DelegationPattern().String(): {"invalid_delegation_id_format", "del- and three digits, such as del-001"},
	}
})

// schemaStage checks names, types and enumerations. If keys are missing, it reports only those.
func schemaStage(s *subject, f *faults) {
	for i := range table().Keys {
		if k := &table().Keys[i]; k.Required && !s.Raw.Has(k.Name) {
			f.add("missing_field", k.Name, "is missing", k.Want)
		}
	}
	if len(f.list) > 0 {
		return
	}
	f.shapes(s, false)
	decisions, _ := items(s.get("decisions"))
	for i, e := range decisions {
		d, _ := members(e)
		if id := filled(d.At("id")); id != "" && filled(d.At("overrides")) == id {
			f.add("self_override", shape.Item("decisions", i)+".overrides", "a decision overrides itself", "the id of an earlier decision")
		}
	}
	delegations, _ := items(s.get("delegations"))
	for i, e := range delegations {
		d, _ := members(e)
		ids, _ := items(d.At("required_decision_ids"))
		for j, id := range ids {
			if slices.ContainsFunc(ids[:j], func(other json.RawMessage) bool { return string(other) == string(id) }) {
				f.add("duplicate_required_decision_id", shape.Item(shape.Item("delegations", i)+".required_decision_ids", j), string(id)+" appears twice", "unique ids")
			}
		}
	}
}

// shapes reports what does not match the table: faults in its lists in the verification stage, others in the schema
// stage.
func (f *faults) shapes(s *subject, evidence bool) {
	for _, x := range table().Check(shape.Parse(encode(s.Raw)), "") {
		inside := strings.HasPrefix(x.Field, "verification.") && strings.Contains(x.Field, "[") && x.Wrong != shape.OtherCase && x.Wrong != shape.Forbidden
		if inside == evidence {
			f.shape(x)
		}
	}
}

// shape words a fault for results.
func (f *faults) shape(x shape.Fault) {
	n, raw := x.Node, json.RawMessage(x.Value.Raw())
	kind := string(n.Kind)
	if n.Kind == shape.List {
		kind = "array"
	}
	switch x.Wrong {
	case shape.Unknown:
	case shape.Missing:
		if x.Value == nil && n.Want != "" {
			f.add("missing_field", x.Field, "is missing", n.Want)
			return
		}
		f.misfit(n, x.Field, raw, kind)
	case shape.WrongKind:
		f.misfit(n, x.Field, raw, kind)
	case shape.NotWhole, shape.TooLarge, shape.Outside, shape.TooFew:
		f.misfit(n, x.Field, raw, "")
	case shape.IsBlank:
		f.add("empty_required_field", x.Field, "is blank", "a text")
	case shape.Forbidden:
		f.add("unfilled_placeholder", x.Field, "is still the template's "+quoted(x.Value.Str()), "the value that the placeholder describes")
	case shape.NotOneOf:
		if x.Field == "schema_version" {
			f.add("schema_version_invalid", x.Field, "is "+shown(raw), n.Want)
			return
		}
		f.add("invalid_enum_value", x.Field, "is "+quoted(x.Value.Str()), list(n.Enum))
	case shape.NoMatch:
		format := formats()[n.Pattern]
		f.add(format[0], x.Field, "is "+quoted(x.Value.Str()), format[1])
	case shape.TooMany:
		f.add("too_many", x.Field, fmt.Sprintf("has %d entries", len(x.Value.Items)), fmt.Sprintf("at most %d: the important ones", n.MaxItems))
	case shape.Twice:
		f.add("ambiguous_key", x.Field, "stands twice", "unique keys")
	case shape.OtherCase:
		f.add("ambiguous_key", x.Field, "a key differs from a known one only in case", x.Like)
	}
}

// misfit reports a value of another type, or one that is out of bounds.
func (f *faults) misfit(n *shape.Node, field string, raw json.RawMessage, kind string) {
	switch {
	case field == "schema_version":
		f.add("schema_version_invalid", field, "is "+shown(raw), n.Want)
	case n.MinItems > 0:
		is := article(protocol.Kind(raw))
		if kind == "" {
			is = "empty"
		}
		f.add("invalid_value", field, "is "+is, "an array with at least one entry")
	case n.Kind == shape.Integer || n.Kind == shape.Number:
		what, expected := "invalid_type", "a number"
		if n.Kind == shape.Integer {
			expected = "a whole number"
		}
		if n.Min != nil {
			what, expected = "invalid_value", expected+" that is not negative"
		}
		f.add(what, field, "is "+shown(orNull(raw)), expected)
	default:
		f.add("invalid_type", field, "is "+article(protocol.Kind(raw)), article(kind))
	}
}

func article(kind string) string {
	switch kind {
	case "null", "nothing":
		return kind
	case "object", "array":
		return "an " + kind
	}
	return "a " + kind
}

// placeholder reports whether a text is a placeholder of the template.
func placeholder(s string) bool { return shape.Matches(placeholderPattern, strings.TrimSpace(s)) }
