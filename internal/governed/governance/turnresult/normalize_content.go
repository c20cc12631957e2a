package turnresult

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// decisions fills in ids by position, statement and rationale from the fields that agents use for them, and a known
// category.
func (p *pass) decisions() {
	list, ok := items(p.raw.At("decisions"))
	if !ok {
		return
	}
	renamed := map[string]string{}
	changed := p.ids("decisions", list, "DEC", protocol.DecisionPattern(), renamed)
	for i, raw := range list {
		d, ok := members(raw)
		if !ok {
			continue
		}
		before := len(p.changes)
		field := shape.Item("decisions", i)
		p.copyText(field, &d, "statement", "decision", "description", "summary", "title")
		p.copyText(field, &d, "rationale", "reason", "why", "description", "decision", "statement")
		if c, _ := text(d.At("category")); !slices.Contains(protocol.Categories(), c) {
			p.member(field, &d, "category", encode("implementation"), "missing_category_defaulted")
		}
		if old, ok := text(d.At("overrides")); ok && renamed[old] != "" {
			p.member(field, &d, "overrides", encode(renamed[old]), "reference_to_rewritten_id_rewritten")
		}
		if len(p.changes) > before {
			list[i], changed = encode(d), true
		}
	}
	if changed {
		p.raw.Set("decisions", encode(list))
	}
}

// objections fills in ids by position, and the statement from summary or detail.
func (p *pass) objections() {
	list, ok := items(p.raw.At("objections"))
	if !ok {
		return
	}
	changed := p.ids("objections", list, "OBJ", protocol.ObjectionPattern(), map[string]string{})
	for i, raw := range list {
		o, ok := members(raw)
		if !ok {
			continue
		}
		before := len(p.changes)
		p.copyText(shape.Item("objections", i), &o, "statement", "summary", "detail")
		if len(p.changes) > before {
			list[i], changed = encode(o), true
		}
	}
	if changed {
		p.raw.Set("objections", encode(list))
	}
}

// ids replaces a malformed or duplicate id by the id of its element's position, or by the next free one. Renamed ids
// are added to renamed.
func (p *pass) ids(key string, list []json.RawMessage, prefix string, pattern *regexp.Regexp, renamed map[string]string) bool {
	taken := map[string]bool{}
	objects := make([]*object, len(list))
	keep := make([]bool, len(list))
	for i, raw := range list {
		o, ok := members(raw)
		if !ok {
			continue
		}
		objects[i] = &o
		if id, _ := text(o.At("id")); pattern.MatchString(id) && !taken[id] {
			taken[id], keep[i] = true, true
		}
	}
	changed, free := false, 1
	for i, o := range objects {
		if o == nil || keep[i] {
			continue
		}
		id := fmt.Sprintf("%s-%03d", prefix, i+1)
		for ; taken[id]; free++ {
			id = fmt.Sprintf("%s-%03d", prefix, free)
		}
		taken[id] = true
		old, isText := text(o.At("id"))
		if isText && old != "" && !pattern.MatchString(old) {
			renamed[old] = id
		}
		p.member(shape.Item(key, i), o, "id", encode(id), "invalid_"+strings.TrimSuffix(key, "s")+"_id_rewritten")
		list[i], changed = encode(*o), true
	}
	return changed
}

// member sets a key of an element and lists the change; the caller writes the element back.
func (p *pass) member(field string, o *object, key string, value json.RawMessage, rationale string) {
	p.list(field+"."+key, o.At(key), value, rationale)
	o.Set(key, value)
}

// copyText fills an empty text of an element from the first non-empty one of others.
func (p *pass) copyText(field string, o *object, key string, from ...string) {
	raw := o.At(key)
	if _, isText := text(raw); filled(raw) != "" || protocol.Is(raw) && !isText {
		return
	}
	for _, f := range from {
		if s := filled(o.At(f)); s != "" {
			p.member(field, o, key, encode(s), "copied_from_"+f)
			return
		}
	}
}

// checkStatus derives a missing status of a verification from its exit code. A failing command among the evidence makes
// it fail.
func (p *pass) checkStatus() {
	v, ok := members(p.raw.At("verification"))
	if !ok || protocol.Is(v.At("status")) {
		return
	}
	status := protocol.VerificationSkipped
	if code, ok := number(v.At("exit_code")); ok {
		status = protocol.VerificationFail
		if code == 0 && !failing(v) {
			status = protocol.VerificationPass
		}
	}
	p.put("verification", &v, "status", encode(status), "verification_status_inferred_from_exit_code")
}

// failing reports whether the machine evidence has a command that did not exit with 0.
func failing(v object) bool {
	list, _ := items(v.At("machine_evidence"))
	return slices.ContainsFunc(list, func(raw json.RawMessage) bool {
		e, _ := members(raw)
		code, ok := number(e.At("exit_code"))
		return ok && code != 0
	})
}

var failureWords = lazy.Regexp(`(?i)fail|error|broken|crash|timeout|timed.out|non.?zero|exit|return|\bred\b|false`)

// evidence moves entries that are notes, not commands, into the summary; a produced file without a disposition is an
// artifact. A note that mentions a failure stays where it is, and so do all notes next to a failing command: in the
// summary they could explain it away.
func (p *pass) evidence() {
	v, ok := members(p.raw.At("verification"))
	if !ok {
		return
	}
	p.produced(&v)
	list, ok := items(v.At("machine_evidence"))
	if raw := v.At("evidence_summary"); !ok || failing(v) || protocol.Is(raw) && protocol.Kind(raw) != "string" {
		return
	}
	kept := []json.RawMessage{}
	var notes []string
	for i, raw := range list {
		e, ok := members(raw)
		if !ok || !protocol.Is(e.At("type")) || protocol.Is(e.At("command")) || protocol.Is(e.At("exit_code")) || failureWords().Match(raw) {
			kept = append(kept, raw)
			continue
		}
		note := noteOf(e)
		p.list(shape.Item("verification.machine_evidence", i), raw, null, "evidence_note_moved_to_summary")
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return
	}
	if s := filled(v.At("evidence_summary")); s != "" {
		notes = append([]string{s}, notes...)
	}
	v.Set("machine_evidence", encode(kept))
	p.put("verification", &v, "evidence_summary", encode(strings.Join(notes, "; ")), "evidence_notes_added")
}

// noteOf is a note as a sentence: its type and its text.
func noteOf(e object) string {
	var parts []string
	for key, raw := range e.All() {
		if key == "type" || !protocol.Is(raw) {
			continue
		}
		s, ok := text(raw)
		if !ok {
			s = string(raw)
		}
		parts = append(parts, s)
	}
	kind, ok := text(e.At("type"))
	if !ok {
		kind = string(e.At("type"))
	}
	return strings.TrimSuffix(kind+": "+strings.Join(parts, ", "), ": ")
}

func (p *pass) produced(v *object) {
	list, ok := items(v.At("produced_files"))
	if !ok {
		return
	}
	before := len(p.changes)
	for i, raw := range list {
		f, ok := members(raw)
		if !ok {
			continue
		}
		had := len(p.changes)
		field := shape.Item("verification.produced_files", i)
		if !protocol.Is(f.At("disposition")) {
			p.member(field, &f, "disposition", encode("artifact"), "missing_disposition_defaulted")
		}
		p.cleanPath(field, &f)
		if len(p.changes) > had {
			list[i] = encode(f)
		}
	}
	if len(p.changes) > before {
		v.Set("produced_files", encode(list))
		p.raw.Set("verification", encode(*v))
	}
}

// cleanPath replaces the path of an element by its clean form.
func (p *pass) cleanPath(field string, o *object) {
	name, ok := text(o.At("path"))
	if !ok {
		return
	}
	if clean, fault := LexicalPath(name); fault == nil && clean != name {
		p.member(field, o, "path", encode(clean), "path_cleaned")
	}
}

func (p *pass) artifactType() {
	a, ok := members(p.raw.At("artifact"))
	if !ok {
		return
	}
	if !protocol.Is(a.At("type")) {
		p.put("artifact", &a, "type", encode(p.inferredArtifact()), "artifact_type_inferred_from_files_changed")
	}
	if ref, ok := text(a.At("ref")); ok && strings.TrimSpace(ref) == "" {
		p.put("artifact", &a, "ref", null, "empty_artifact_ref_removed")
	}
}

// emptyArtifact changes a workspace artifact without changed files to a review, if the turn says elsewhere that it
// changed nothing.
func (p *pass) emptyArtifact() {
	a, ok := members(p.raw.At("artifact"))
	if !ok || p.filesListed() || filled(a.At("type")) != protocol.ArtifactWorkspace {
		return
	}
	v, _ := members(p.raw.At("verification"))
	produced, _ := items(v.At("produced_files"))
	if slices.ContainsFunc(produced, func(raw json.RawMessage) bool {
		f, _ := members(raw)
		return filled(f.At("disposition")) == "artifact"
	}) {
		return
	}
	var reason string
	switch status := protocol.ResultStatus(filled(p.raw.At("status"))); {
	case p.review:
		reason = "operator_said_review"
	case p.request() != "" || p.completion():
		reason = "empty_files_changed_no_repo_mutation_declared"
	case p.reviewOnly():
		reason = "review_only_turn_changed_no_files"
	case status == protocol.ResultNeedsHuman && filled(p.raw.At("proposed_next_role")) == protocol.Human,
		status == protocol.ResultBlocked, status == protocol.ResultFailed:
		reason = "turn_stopped_without_changing_files"
	default:
		return
	}
	p.put("artifact", &a, "type", encode(protocol.ArtifactReview), reason)
}

func (p *pass) status() {
	if protocol.Is(p.raw.At("status")) {
		return
	}
	switch {
	case filled(p.raw.At("needs_human_reason")) != "":
		p.set("status", encode(protocol.ResultNeedsHuman), "status_inferred_from_needs_human_reason")
	case p.request() != "":
		p.set("status", encode(protocol.ResultCompleted), "status_inferred_from_phase_transition_request")
	case p.completion():
		p.set("status", encode(protocol.ResultCompleted), "status_inferred_from_run_completion_request")
	}
}

// artifacts replaces objects of artifacts_created by strings, and paths of proposed_changes by their clean form.
func (p *pass) artifacts() {
	if list, ok := items(p.raw.At("artifacts_created")); ok {
		changed := false
		for i, raw := range list {
			o, ok := members(raw)
			if !ok {
				continue
			}
			s, ok := text(o.At("path"))
			if !ok {
				if s, ok = text(o.At("name")); !ok {
					s = string(encode(o))
				}
			}
			p.list(shape.Item("artifacts_created", i), raw, encode(s), "artifact_object_to_string")
			list[i], changed = encode(s), true
		}
		if changed {
			p.raw.Set("artifacts_created", encode(list))
		}
	}
	if list, ok := items(p.raw.At("proposed_changes")); ok {
		before := len(p.changes)
		for i, raw := range list {
			if o, ok := members(raw); ok {
				had := len(p.changes)
				p.cleanPath(shape.Item("proposed_changes", i), &o)
				if len(p.changes) > had {
					list[i] = encode(o)
				}
			}
		}
		if len(p.changes) > before {
			p.raw.Set("proposed_changes", encode(list))
		}
	}
}
