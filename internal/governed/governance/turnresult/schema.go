package turnresult

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
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

// What a required key should hold, for the message about one that is missing.
var wanted = map[string]string{
	"schema_version": `the string "1.0"`, "run_id": "the run's id from ASSIGNMENT.json", "turn_id": "the turn's id from ASSIGNMENT.json",
	"role": "the role's id from ASSIGNMENT.json", "runtime_id": "the runtime's id from ASSIGNMENT.json", "status": list(statuses),
	"summary": "a sentence about what was done", "decisions": "an array of decisions, which may be empty",
	"objections":    "an array of objections, which only some roles may leave empty",
	"files_changed": "an array of the paths of changed files, which may be empty", "verification": `an object with "status": ` + list(checkStatuses),
	"artifact": `an object with "type": ` + list(artifactTypes), "proposed_next_role": "the role that should follow, or human",
}

// schemaStage checks names, types and vocabularies. When keys are missing, they are all it reports.
func schemaStage(s *subject, f *faults) {
	for _, key := range required {
		if !s.Raw.Has(key) {
			f.add("missing_field", key, "is missing", wanted[key])
		}
	}
	if len(f.list) > 0 {
		return
	}
	_, respelled := resultShape.respell("", s.Raw)
	for _, c := range respelled {
		f.add("ambiguous_key", c.Field, "a key differs from a known one in case only", "the key as the protocol spells it")
	}
	if v, ok := text(s.get("schema_version")); !ok || v != protocol.ResultVersion {
		f.add("schema_version_invalid", "schema_version", "is "+shown(s.get("schema_version")), `the string "1.0"`)
	}
	for _, key := range []string{"run_id", "turn_id", "runtime_id", "summary"} {
		f.filled(key, s.get(key))
	}
	f.pattern("role", s.get("role"), protocol.RolePattern(), "invalid_format", "lower case letters, digits, _ and -")
	if next := s.get("proposed_next_role"); !placeholder(filled(next)) {
		f.pattern("proposed_next_role", next, protocol.RolePattern(), "invalid_format", "the id of a role, or human")
	}
	f.enum("status", s.get("status"), statuses)
	f.each("decisions", s.get("decisions"), f.decision)
	f.each("objections", s.get("objections"), f.objection)
	f.texts("files_changed", s.get("files_changed"), true)
	f.texts("artifacts_created", s.get("artifacts_created"), false)
	f.verification(s.get("verification"))
	if a, ok := f.object("artifact", s.get("artifact")); ok {
		f.enum("artifact.type", a.At("type"), artifactTypes)
		f.optional("artifact.ref", a.At("ref"), "string")
	}
	f.optional("phase_transition_request", s.get("phase_transition_request"), "string")
	f.optional("run_completion_request", s.get("run_completion_request"), "boolean")
	f.optional("needs_human_reason", s.get("needs_human_reason"), "string")
	f.optional("intent_id", s.get("intent_id"), "string")
	f.cost(s.get("cost"))
	f.adapterMeta(s.get("adapter_meta"))
	if protocol.Is(s.get("delegations")) {
		f.each("delegations", s.get("delegations"), f.delegation)
	}
	if protocol.Is(s.get("proposed_changes")) {
		f.each("proposed_changes", s.get("proposed_changes"), func(field string, o object) {
			f.optional(field+".path", o.At("path"), "string")
			f.optional(field+".action", o.At("action"), "string")
			f.optional(field+".content", o.At("content"), "string")
		})
	}
	f.placeholders(s)
}

// kind reports a value of another type.
func (f *faults) kind(field string, raw json.RawMessage, want string) {
	f.add("invalid_type", field, "is "+article(protocol.Kind(raw)), article(want))
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

// optional checks the type of a value that may be absent or null.
func (f *faults) optional(field string, raw json.RawMessage, want string) {
	if k := protocol.Kind(raw); protocol.Is(raw) && k != want {
		f.kind(field, raw, want+" or null")
	}
}

func (f *faults) object(field string, raw json.RawMessage) (object, bool) {
	o, ok := members(raw)
	switch {
	case ok:
	case protocol.Kind(raw) == "object":
		f.add("ambiguous_key", field, "a key stands twice in it", "every key once")
	default:
		f.kind(field, raw, "object")
	}
	return o, ok
}

// maxEntries is more decisions or objections than anybody reads of one turn.
const maxEntries = 1000

// each checks an array of objects.
func (f *faults) each(field string, raw json.RawMessage, check func(string, object)) {
	list, ok := items(raw)
	if !ok {
		f.kind(field, raw, "array")
		return
	}
	if len(list) > maxEntries {
		f.add("too_many", field, fmt.Sprintf("has %d entries", len(list)), fmt.Sprintf("at most %d: what matters", maxEntries))
		return
	}
	for i, e := range list {
		if o, ok := f.object(at(field, i), e); ok {
			check(at(field, i), o)
		}
	}
}

// texts checks an array of strings.
func (f *faults) texts(field string, raw json.RawMessage, must bool) {
	if !must && !protocol.Is(raw) {
		return
	}
	list, ok := items(raw)
	if !ok {
		f.kind(field, raw, "array")
		return
	}
	for i, e := range list {
		if protocol.Kind(e) != "string" {
			f.kind(at(field, i), e, "string")
		}
	}
}

// filled checks a string that must say something.
func (f *faults) filled(field string, raw json.RawMessage) bool {
	s, ok := text(raw)
	switch {
	case !ok:
		f.kind(field, raw, "string")
	case strings.TrimSpace(s) == "":
		f.add("empty_required_field", field, "is blank", "a text")
	default:
		return true
	}
	return false
}

func (f *faults) pattern(field string, raw json.RawMessage, pattern *regexp.Regexp, kind, expected string) {
	s, ok := text(raw)
	switch {
	case !ok:
		f.kind(field, raw, "string")
	case !pattern.MatchString(s):
		f.add(kind, field, "is "+quoted(s), expected)
	}
}

func (f *faults) enum(field string, raw json.RawMessage, values []string) {
	s, ok := text(raw)
	switch {
	case !ok:
		f.kind(field, raw, "string")
	case !slices.Contains(values, s):
		f.add("invalid_enum_value", field, "is "+quoted(s), list(values))
	}
}

const decisionID = "DEC- and digits, such as DEC-001"

func (f *faults) decision(field string, d object) {
	f.pattern(field+".id", d.At("id"), protocol.DecisionPattern(), "invalid_decision_id_format", decisionID)
	f.enum(field+".category", d.At("category"), protocol.Categories())
	f.filled(field+".statement", d.At("statement"))
	f.filled(field+".rationale", d.At("rationale"))
	if raw := d.At("durability"); protocol.Is(raw) {
		f.enum(field+".durability", raw, durabilities)
	}
	if raw := d.At("overrides"); protocol.Is(raw) {
		f.pattern(field+".overrides", raw, protocol.DecisionPattern(), "invalid_decision_id_format", decisionID)
		if id, _ := text(d.At("id")); filled(raw) == id && id != "" {
			f.add("self_override", field+".overrides", "a decision overrides itself", "the id of an earlier decision")
		}
	}
}

func (f *faults) objection(field string, o object) {
	f.pattern(field+".id", o.At("id"), protocol.ObjectionPattern(), "invalid_objection_id_format", "OBJ- and digits, such as OBJ-001")
	f.enum(field+".severity", o.At("severity"), protocol.Severities())
	f.filled(field+".statement", o.At("statement"))
	if raw := o.At("status"); protocol.Is(raw) {
		f.enum(field+".status", raw, protocol.ObjectionStatuses())
	}
	f.optional(field+".against_turn_id", o.At("against_turn_id"), "string")
}

func (f *faults) verification(raw json.RawMessage) {
	v, ok := f.object("verification", raw)
	if !ok {
		return
	}
	if !v.Has("status") {
		f.add("missing_field", "verification.status", "is missing", list(checkStatuses))
	} else {
		f.enum("verification.status", v.At("status"), checkStatuses)
	}
	f.optional("verification.commands", v.At("commands"), "array")
	f.optional("verification.evidence_summary", v.At("evidence_summary"), "string")
	f.optional("verification.machine_evidence", v.At("machine_evidence"), "array")
	f.optional("verification.produced_files", v.At("produced_files"), "array")
}

func (f *faults) cost(raw json.RawMessage) {
	if !protocol.Is(raw) {
		return
	}
	c, ok := f.object("cost", raw)
	if !ok {
		return
	}
	for _, key := range []string{"input_tokens", "output_tokens"} {
		if raw := c.At(key); protocol.Is(raw) {
			if n, ok := integer(raw); !ok || n < 0 {
				f.add("invalid_value", "cost."+key, "is "+shown(raw), "a whole number that is not negative")
			}
		}
	}
	if raw := c.At("usd"); protocol.Is(raw) {
		if n, ok := number(raw); !ok || n < 0 || math.IsInf(n, 0) {
			f.add("invalid_value", "cost.usd", "is "+shown(raw), "a number that is not negative")
		}
	}
}

func (f *faults) adapterMeta(raw json.RawMessage) {
	if !protocol.Is(raw) {
		return
	}
	if _, ok := f.object("adapter_meta", raw); !ok {
		return
	}
	var m protocol.AdapterMeta
	if err := json.Unmarshal(raw, &m); err != nil {
		f.add("invalid_type", "adapter_meta", err.Error(), "model, tokens, cost, latency and retries as numbers and texts")
	}
}

func (f *faults) delegation(field string, d object) {
	f.pattern(field+".id", d.At("id"), protocol.DelegationPattern(), "invalid_delegation_id_format", "del- and three digits, such as del-001")
	f.pattern(field+".to_role", d.At("to_role"), protocol.RolePattern(), "invalid_format", "the id of a role")
	f.filled(field+".charter", d.At("charter"))
	contract := field + ".acceptance_contract"
	if entries, ok := items(d.At("acceptance_contract")); !ok || len(entries) == 0 {
		f.add("invalid_value", contract, "is "+emptyOr(d.At("acceptance_contract")), "an array with at least one condition")
	} else {
		for i, e := range entries {
			f.filled(at(contract, i), e)
		}
	}
	raw := d.At("required_decision_ids")
	if !protocol.Is(raw) {
		return
	}
	ids := field + ".required_decision_ids"
	entries, ok := items(raw)
	if !ok || len(entries) == 0 {
		f.add("invalid_value", ids, "is "+emptyOr(raw), "an array with at least one decision id, or none at all")
		return
	}
	seen := map[string]bool{}
	for i, e := range entries {
		f.pattern(at(ids, i), e, protocol.DecisionPattern(), "invalid_decision_id_format", decisionID)
		if id, ok := text(e); ok && seen[id] {
			f.add("duplicate_required_decision_id", at(ids, i), fmt.Sprintf("%s stands twice", quoted(id)), "every id once")
		} else if ok {
			seen[id] = true
		}
	}
}

func emptyOr(raw json.RawMessage) string {
	if list, ok := items(raw); ok && len(list) == 0 {
		return "empty"
	}
	return article(protocol.Kind(raw))
}

var placeholderPattern = lazy.Regexp(`^<[^>]+>$`)

// placeholder reports whether a text is one of the template's that was never filled in.
func placeholder(s string) bool { return placeholderPattern().MatchString(strings.TrimSpace(s)) }

// placeholders checks the texts that the template leaves to the agent.
func (f *faults) placeholders(s *subject) {
	check := func(field string, raw json.RawMessage) {
		if t, ok := text(raw); ok && placeholder(t) {
			f.add("unfilled_placeholder", field, "still is the template's "+quoted(t), "what the placeholder asks for")
		}
	}
	within := func(key string, names ...string) {
		entries, _ := items(s.get(key))
		for i, e := range entries {
			o, _ := members(e)
			for _, n := range names {
				check(at(key, i)+"."+n, o.At(n))
			}
		}
	}
	all := func(field string, raw json.RawMessage) {
		entries, _ := items(raw)
		for i, e := range entries {
			check(at(field, i), e)
		}
	}
	check("summary", s.get("summary"))
	check("proposed_next_role", s.get("proposed_next_role"))
	within("decisions", "statement", "rationale")
	within("objections", "against_turn_id", "statement")
	all("files_changed", s.get("files_changed"))
	within("proposed_changes", "path", "content")
	v := s.verification()
	all("verification.commands", v.At("commands"))
	check("verification.evidence_summary", v.At("evidence_summary"))
	evidence, _ := items(v.At("machine_evidence"))
	for i, e := range evidence {
		o, _ := members(e)
		check(at("verification.machine_evidence", i)+".command", o.At("command"))
	}
}
