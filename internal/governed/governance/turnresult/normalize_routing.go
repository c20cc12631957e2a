package turnresult

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// gateName replaces the name of an exit gate in a request by the phase after that gate, or by the end of the run after
// the last. A blank request is removed.
func (p *pass) gateName() {
	if s, ok := text(p.raw.At("phase_transition_request")); ok && strings.TrimSpace(s) == "" {
		p.set("phase_transition_request", null, "blank_phase_request_removed")
	} else if ok && strings.TrimSpace(s) != s {
		p.set("phase_transition_request", encode(strings.TrimSpace(s)), "phase_request_trimmed")
	}
	gate := p.request()
	if gate == "" || p.completion() || slices.Contains(p.phases, gate) || !p.gates(gate) {
		return
	}
	for i, phase := range p.phases {
		if r, _ := p.routing(phase); r.ExitGate != gate {
			continue
		}
		if i+1 < len(p.phases) {
			p.set("phase_transition_request", encode(p.phases[i+1]), "gate_name_read_as_phase")
			return
		}
		p.set("phase_transition_request", null, "gate_name_read_as_run_completion")
		p.set("run_completion_request", encode(true), "gate_name_read_as_run_completion")
		return
	}
}

var (
	harmlessPhrases = lazy.Regexp(`\b(no|without( any)?|zero) (open |remaining |known |further )?block(ers?|ing \w+)\b|\bnon-?blocking\b|\bunblocked\b`)
	affirmativeWord = lazy.Regexp(`\b(approved?|approves|ship|ready|pass|passe[sd]|good|accepted|acceptable|green|proceed|completed?|done|lgtm|satisfie[sd]|signed[ -]?off)\b`)
	// A question, a condition and a wish for a person are not an approval, whatever else they contain.
	hinderingWord = lazy.Regexp(`\b(critical|securit|fail|block|cannot|regress|vulnerab|reject|unsafe|broken|bug|need|requir|decid|decision|question|unclear|ambiguous|unknown|whether|confirm|await|wait|until|unless|missing|lack|incomplete|credential|unable|human|person|operator|choose|choice|conflict|concern|risk|issue|problem|error|wrong|except)|` +
		`\b(can't|can not|must|not|never|no|nobody|which|who|what|when|where|how|before|if|or|ask|please|should|but|access|todo)\b|n't\b|\?`)
)

// affirmative completes the turn of a reviewer who asks for a person only to report that all is well.
func (p *pass) affirmative() {
	reason, isText := text(p.raw.At("needs_human_reason"))
	if !p.reviewOnly() || p.phase < 0 || !isText || filled(p.raw.At("status")) != string(protocol.ResultNeedsHuman) || p.held() {
		return
	}
	if protocol.Kind(p.raw.At("run_completion_request")) == "boolean" && !p.completion() {
		return
	}
	low := harmlessPhrases().ReplaceAllString(strings.ToLower(reason), "good")
	if !affirmativeWord().MatchString(low) || hinderingWord().MatchString(low) {
		return
	}
	const why = "affirmative_review_read_as_completed"
	p.set("status", encode(protocol.ResultCompleted), why)
	p.drop("needs_human_reason", why)
	p.moveOn(why)
}

// held reports whether nothing may be inferred in the turn's favour: its own text is against it, it is a delegated
// turn, it delegates, or it reviews work that lacks decisions.
func (p *pass) held() bool {
	delegations, _ := items(p.raw.At("delegations"))
	return p.bad() || p.child || p.unmet || len(delegations) > 0
}

// moveOn requests the next phase, or in the last one the end of the run, if the turn requests neither.
func (p *pass) moveOn(why string) {
	if p.request() != "" || p.completion() {
		return
	}
	if p.last() {
		p.set("run_completion_request", encode(true), why)
	} else if next := p.next(); next != "" {
		p.set("phase_transition_request", encode(next), why)
	}
}

// reviewEnd advances the run when a reviewer has completed and requests nothing.
func (p *pass) reviewEnd() {
	if !p.reviewOnly() || !p.completed() || protocol.Is(p.raw.At("run_completion_request")) || p.request() != "" || p.held() {
		return
	}
	if raw := p.raw.At("phase_transition_request"); protocol.Is(raw) && protocol.Kind(raw) != "string" {
		return
	}
	p.moveOn("lifecycle_request_inferred_for_completed_review")
}

// skipping replaces a writer's request that skips a phase by one for the next phase, and adjusts the next role.
func (p *pass) skipping() {
	if p.reviewOnly() || p.authority == "" || !p.completed() || p.phase < 0 || p.completion() {
		return
	}
	asked := p.request()
	i := slices.Index(p.phases, asked)
	if i <= p.phase+1 {
		return
	}
	next := p.next()
	p.set("phase_transition_request", encode(next), "skipped_phase_corrected_to_next")
	target, _ := p.routing(asked)
	entry, _ := p.routing(next)
	role := filled(p.raw.At("proposed_next_role"))
	if role == target.EntryRole && role != entry.EntryRole && slices.Contains(p.allowed, entry.EntryRole) {
		p.set("proposed_next_role", encode(entry.EntryRole), "next_role_realigned_with_phase")
	}
}

// backward replaces a reviewer's request for an unknown or earlier phase by one to advance.
func (p *pass) backward() {
	asked := p.request()
	if !p.reviewOnly() || !p.completed() || p.phase < 0 || asked == "" || p.completion() || p.held() {
		return
	}
	if i := slices.Index(p.phases, asked); i > p.phase {
		return
	}
	const why = "invalid_phase_request_corrected"
	if next := p.next(); next != "" {
		p.set("phase_transition_request", encode(next), why)
		return
	}
	p.set("phase_transition_request", null, why)
	p.set("run_completion_request", encode(true), why)
}

// legalRole corrects the next role: a person after the end, else a role that may follow a completed turn.
func (p *pass) legalRole() {
	raw := p.raw.At("proposed_next_role")
	role, isText := text(raw)
	if !isText {
		return
	}
	if p.reviewOnly() && p.completion() && p.request() == "" {
		if role != protocol.Human {
			p.set("proposed_next_role", encode(protocol.Human), "next_role_of_run_completion")
		}
		return
	}
	if !p.completed() || role == protocol.Human || placeholder(role) || len(p.allowed) == 0 || slices.Contains(p.allowed, role) {
		return
	}
	if next := p.next(); next != "" && p.request() == next && followsIn(p.routing, next, role) {
		return // it is proposed for the requested phase
	}
	p.set("proposed_next_role", encode(p.allowedRole()), "routing_illegal_for_phase_"+p.phases[p.phase])
}

// followsIn reports whether routing lets a role have the first turn of a phase.
func followsIn(routing func(string) (protocol.Phase, bool), phase, role string) bool {
	r, ok := routing(phase)
	return ok && (role == r.EntryRole || slices.Contains(r.AllowedNextRoles, role))
}
