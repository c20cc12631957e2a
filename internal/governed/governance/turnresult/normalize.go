package turnresult

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// steps correct common mistakes of agents, in the protocol's order; the numbers are those of the original. Its step 13
// is left out: it declared the exit code of a failing command to be the expected one. Such a result is a fault of the
// verification stage. No step turns a failing check into a passing one.
var steps = []func(*pass){
	(*pass).keys,          // keys in another case
	(*pass).runID,         // 1
	(*pass).files,         // 2, 9
	(*pass).lists,         // 3
	(*pass).runtimeID,     // 4
	(*pass).summary,       // 5
	(*pass).artifact,      // 6
	(*pass).nextRole,      // 7
	(*pass).words,         // 8
	(*pass).decisions,     // 10
	(*pass).checkStatus,   // 11
	(*pass).evidence,      // 12
	(*pass).artifactType,  // 14
	(*pass).emptyArtifact, // 15
	(*pass).objections,    // 16
	(*pass).status,        // 17
	(*pass).artifacts,     // 18
	(*pass).gateName,      // 19
	(*pass).affirmative,   // 20
	(*pass).reviewEnd,     // 21
	(*pass).skipping,      // 22
	(*pass).backward,      // 23
	(*pass).legalRole,     // 24
}

// Normalize corrects a result and lists every change. The steps are repeated until nothing changes, since a later one
// may enable an earlier one: it is idempotent. in.Raw is not changed.
func Normalize(in Input) (protocol.RawResult, []protocol.Change) {
	p := newPass(in)
	for range 4 {
		before := len(p.changes)
		for _, step := range steps {
			step(p)
		}
		if len(p.changes) == before {
			break
		}
	}
	return p.raw, p.changes
}

// pass is a result on its way through the steps, with the data that they depend on.
type pass struct {
	raw     object
	changes []protocol.Change

	run, turn, runtime string
	turnRun            string
	role               string
	roles              []string
	authority          protocol.Authority
	phases             []string
	phase              int // index in phases, or -1
	routing            func(phase string) (protocol.Phase, bool)
	gates              func(id string) bool
	allowed            []string
	review             bool // the operator's word
	child, unmet       bool // a delegated turn; a review of delegations that lack decisions
}

func newPass(in Input) *pass {
	p := &pass{raw: in.Raw.Clone(), phase: -1, review: in.NormalizeArtifact,
		routing: func(string) (protocol.Phase, bool) { return protocol.Phase{}, false }, gates: func(string) bool { return false }}
	if in.Turn != nil {
		p.turn, p.runtime, p.role, p.turnRun = in.Turn.TurnID, in.Turn.RuntimeID, in.Turn.AssignedRole, in.Turn.RunID
		p.child = protocol.Is(in.Turn.DelegationContext)
		p.unmet = len(unmet(in.Turn)) > 0
	}
	if p.role == "" {
		p.role = filled(p.raw.At("role"))
	}
	if in.Config != nil {
		p.roles = in.Config.Roles.Keys()
		p.authority = in.Config.Roles.At(p.role).WriteAuthority
		p.phases = in.Config.Phases()
		p.routing = in.Config.Phase
		p.gates = func(id string) bool { _, ok := in.Config.Gate(id); return ok }
	}
	if in.State != nil {
		p.run = in.State.ID()
		p.phase = slices.Index(p.phases, in.State.Phase)
		if r, ok := p.routing(in.State.Phase); ok {
			p.allowed = r.AllowedNextRoles
		}
	}
	return p
}

// set replaces a value of the result and lists the change; original is the previous value in full.
func (p *pass) set(key string, value json.RawMessage, rationale string) {
	p.list(key, p.raw.At(key), value, rationale)
	p.raw.Set(key, value)
}

// drop removes a value of the result and lists the change.
func (p *pass) drop(key, rationale string) {
	p.list(key, p.raw.At(key), null, rationale)
	p.raw.Delete(key)
}

func (p *pass) list(field string, original, normalized json.RawMessage, rationale string) {
	p.changes = append(p.changes, protocol.Change{Field: field, Original: orNull(original), Normalized: orNull(normalized), Rationale: rationale})
}

// next is the phase after the current one; empty for the last and an unknown one.
func (p *pass) next() string {
	if p.phase < 0 || p.phase+1 >= len(p.phases) {
		return ""
	}
	return p.phases[p.phase+1]
}

// last reports whether the current phase is the last one.
func (p *pass) last() bool { return p.phase >= 0 && p.phase == len(p.phases)-1 }

func (p *pass) reviewOnly() bool { return p.authority == protocol.ReviewOnly }

func (p *pass) completed() bool {
	return filled(p.raw.At("status")) == string(protocol.ResultCompleted)
}

// request is the requested phase.
func (p *pass) request() string { return filled(p.raw.At("phase_transition_request")) }

func (p *pass) completion() bool { return isTrue(p.raw.At("run_completion_request")) }

// filesListed reports whether files_changed lists anything.
func (p *pass) filesListed() bool {
	l, _ := items(p.raw.At("files_changed"))
	return len(l) > 0
}

// allowedRole is the first role that may follow, other than this one.
func (p *pass) allowedRole() string {
	for _, r := range p.allowed {
		if r != p.role {
			return r
		}
	}
	if len(p.allowed) > 0 {
		return p.allowed[0]
	}
	return ""
}

// bad reports whether the result itself contains an obstacle: a failed check, or a blocking objection. Nothing is then
// inferred in its favour.
func (p *pass) bad() bool {
	if v, ok := members(p.raw.At("verification")); ok && filled(v.At("status")) == protocol.VerificationFail {
		return true
	}
	objections, _ := items(p.raw.At("objections"))
	return slices.ContainsFunc(objections, func(raw json.RawMessage) bool {
		o, _ := members(raw)
		return filled(o.At("severity")) == "blocking"
	})
}

func (p *pass) keys() {
	raw, changes := respell(table(), "", p.raw)
	p.raw = raw
	p.changes = append(p.changes, changes...)
}

// runID adds a missing run_id if the result clearly belongs to this turn.
func (p *pass) runID() {
	if p.run == "" || p.turn == "" || p.turnRun != "" && p.turnRun != p.run {
		return
	}
	if turn, _ := text(p.raw.At("turn_id")); turn != p.turn {
		return
	}
	if run, _ := text(p.raw.At("run_id")); run != p.run {
		p.set("run_id", encode(p.run), "run_id_rewritten_from_active_turn_context")
	}
}

// files handles the other spellings of files_changed, objects instead of paths, paths with detours, and the staged
// result itself, which every turn writes.
func (p *pass) files() {
	if modified := p.raw.At("files_modified"); !p.raw.Has("files_changed") && protocol.Kind(modified) == "array" {
		p.set("files_changed", modified, "files_modified_renamed_to_files_changed")
		p.raw.Delete("files_modified")
	}
	entries, ok := items(p.raw.At("files_changed"))
	if !ok {
		return
	}
	kept := make([]json.RawMessage, 0, len(entries))
	changed := false
	for i, e := range entries {
		field := shape.Item("files_changed", i)
		if o, ok := members(e); ok {
			if name, ok := text(o.At("path")); ok {
				changed = true
				p.list(field, e, encode(name), "files_changed_object_to_string")
				e = encode(name)
			}
		}
		name, ok := text(e)
		if !ok {
			kept = append(kept, e)
			continue
		}
		if p.ownStaging(name) {
			changed = true
			p.list(field, e, null, "own_staged_result_removed")
			continue
		}
		if clean, fault := LexicalPath(name); fault == nil && clean != name {
			changed = true
			p.list(field, e, encode(clean), "path_cleaned")
			e = encode(clean)
		}
		kept = append(kept, e)
	}
	if changed {
		p.raw.Set("files_changed", encode(kept))
	}
}

// ownStaging reports whether the path is this turn's staged result or lies next to it.
func (p *pass) ownStaging(name string) bool {
	name = strings.TrimPrefix(name, "./")
	if name == protocol.StagingDir+"/turn-result.json" {
		return true
	}
	if p.turn == "" {
		return false
	}
	rest, ok := strings.CutPrefix(name, protocol.StagingDir+"/"+p.turn+"/")
	return ok && rest != "" && !strings.ContainsAny(rest, `/\`) && rest != ".."
}

func (p *pass) lists() {
	for _, key := range []string{"decisions", "objections"} {
		if !protocol.Is(p.raw.At(key)) {
			p.set(key, encode([]string{}), "missing_"+key+"_array_defaulted")
		}
	}
}

func (p *pass) runtimeID() {
	raw := p.raw.At("runtime_id")
	if _, isText := text(raw); p.runtime != "" && (!protocol.Is(raw) || isText && filled(raw) == "") {
		p.set("runtime_id", encode(p.runtime), "missing_runtime_id_defaulted_from_context")
	}
}

func (p *pass) summary() {
	raw := p.raw.At("summary")
	if _, isText := text(raw); filled(raw) != "" || protocol.Is(raw) && !isText {
		return
	}
	who := p.role
	if who == "" {
		who = "agent"
	}
	if title := filled(p.raw.At("milestone_title")); title != "" {
		p.set("summary", encode(title), "missing_summary_synthesized_from_milestone_title")
	} else if m := filled(p.raw.At("milestone")); m != "" {
		p.set("summary", encode(who+" turn for "+m), "missing_summary_synthesized_from_milestone")
	} else {
		p.set("summary", encode(who+" turn completed"), "missing_summary_synthesized_from_fallback")
	}
}

// inferredArtifact is the type of an artifact without one: by files_changed, and by what the role may deliver.
func (p *pass) inferredArtifact() string {
	switch {
	case p.reviewOnly() || !p.filesListed() && p.authority != protocol.Proposed:
		return protocol.ArtifactReview
	case p.authority == protocol.Proposed:
		if changes, _ := items(p.raw.At("proposed_changes")); len(changes) > 0 || p.filesListed() {
			return protocol.ArtifactPatch
		}
		return protocol.ArtifactReview
	}
	return protocol.ArtifactWorkspace
}

func (p *pass) artifact() {
	if protocol.Kind(p.raw.At("artifact")) != "object" {
		p.set("artifact", encode(map[string]string{"type": p.inferredArtifact()}), "missing_artifact_inferred_from_files_changed")
	}
}

func (p *pass) nextRole() {
	raw := p.raw.At("proposed_next_role")
	if _, isText := text(raw); filled(raw) != "" || protocol.Is(raw) && !isText {
		return
	}
	role := p.allowedRole()
	if role == "" {
		role = protocol.Human
		if slices.Contains(p.roles, "pm") {
			role = "pm"
		}
	}
	p.set("proposed_next_role", encode(role), "missing_proposed_next_role_defaulted")
}

var statusWords = map[string]protocol.ResultStatus{"complete": protocol.ResultCompleted, "success": protocol.ResultCompleted,
	"done": protocol.ResultCompleted, "error": protocol.ResultFailed, "failure": protocol.ResultFailed}

var checkWords = map[string]string{"passed": protocol.VerificationPass, "failed": protocol.VerificationFail, "skip": protocol.VerificationSkipped}

// words replaces synonyms of the enumerations, among them those of the first edition and of the specification's own
// example.
func (p *pass) words() {
	if s, ok := text(p.raw.At("status")); ok {
		low := strings.ToLower(strings.TrimSpace(s))
		word, ok := statusWords[low]
		if !ok && slices.Contains(statuses, low) {
			word, ok = protocol.ResultStatus(low), true
		}
		if ok && s != string(word) {
			p.set("status", encode(word), "status_synonym_rewritten")
		}
	}
	p.within("verification", "status", func(s string) (string, string) {
		low := strings.ToLower(strings.TrimSpace(s))
		if word, ok := checkWords[low]; ok {
			return word, "verification_status_synonym_rewritten"
		}
		if slices.Contains(checkStatuses, low) {
			return low, "verification_status_synonym_rewritten"
		}
		return s, ""
	})
	p.within("artifact", "type", func(s string) (string, string) {
		low := strings.ToLower(strings.TrimSpace(s))
		if low == "code" {
			return protocol.ArtifactWorkspace, "artifact_type_code_read_as_workspace"
		}
		if slices.Contains(artifactTypes, low) {
			return low, "artifact_type_synonym_rewritten"
		}
		return s, ""
	})
}

// within rewrites a string of an object of the result.
func (p *pass) within(key, inner string, rewrite func(string) (string, string)) {
	o, ok := members(p.raw.At(key))
	if !ok {
		return
	}
	s, ok := text(o.At(inner))
	if !ok {
		return
	}
	if now, why := rewrite(s); now != s {
		p.put(key, &o, inner, encode(now), why)
	}
}

// put sets a key of an object of the result and lists the change.
func (p *pass) put(key string, o *object, inner string, value json.RawMessage, rationale string) {
	p.list(key+"."+inner, o.At(inner), value, rationale)
	o.Set(inner, value)
	p.raw.Set(key, encode(*o))
}
