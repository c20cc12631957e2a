package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// mustObject reports whether a turn of the role needs an objection to be valid: a reviewer's, unless the rules disable
// that, and any turn of a first-edition role.
func mustObject(c *protocol.Config, role string) bool {
	r := c.Roles.At(role)
	return r.FirstEdition() || r.WriteAuthority == protocol.ReviewOnly && c.Rules.Challenge()
}

// ObjectionFaults checks a result against the challenge rule.
func objectionFaults(c *protocol.Config, role string, r *protocol.TurnResult) []string {
	if len(r.Objections) > 0 || !mustObject(c, role) {
		return nil
	}
	if c.Roles.At(role).FirstEdition() {
		return []string{"the role " + role + " is of the first edition and must raise at least one objection"}
	}
	return []string{"the role " + role + " is review-only and must raise at least one objection"}
}

// recordObjections records the ids of an accepted turn's objections, and which of them are open.
func (s *step) recordObjections(h protocol.HistoryEntry) {
	ids := clone(s.run.ObjectionIDs)
	for _, o := range h.Objections {
		ids[o.ID] = true
	}
	s.run.ObjectionIDs = ids
	foldObjections(s.st, h)
}

// catchUp updates the open objections from the history: for turns that another program accepted, and for records from
// before they were kept.
func catchUp(st *protocol.State, history []protocol.HistoryEntry) {
	turns := accepted(history)
	if len(turns) == 0 || turns[len(turns)-1].TurnID == st.ObjectionsThrough {
		return
	}
	from := 1 + slices.IndexFunc(turns, func(h protocol.HistoryEntry) bool { return h.TurnID == st.ObjectionsThrough })
	for _, h := range turns[from:] {
		foldObjections(st, h)
	}
}

// OpenObjections are the unresolved objections of a run, oldest first.
func OpenObjections(run Run) []protocol.OpenObjection {
	st := run.State
	st.OpenObjections = slices.Clone(st.OpenObjections)
	catchUp(&st, run.History)
	return st.OpenObjections
}

// maxStatement bounds how much of an objection's statement the state repeats.
const maxStatement = 300

// foldObjections applies an accepted turn's objections to the state. A later entry for an objection changes its status,
// raises but never lowers its severity, and changes neither who raised it nor its statement.
func foldObjections(st *protocol.State, h protocol.HistoryEntry) {
	st.ObjectionsThrough = h.TurnID
	for _, o := range h.Objections {
		o.Status = or(o.Status, protocol.ObjectionRaised)
		i := slices.IndexFunc(st.OpenObjections, func(x protocol.OpenObjection) bool { return x.ID == o.ID })
		switch {
		case protocol.ObjectionSettled(o.Status):
			if i >= 0 {
				st.OpenObjections = slices.Delete(st.OpenObjections, i, i+1)
			}
		case i >= 0:
			x := &st.OpenObjections[i]
			x.Status = o.Status
			if rank(o.Severity) > rank(x.Severity) {
				x.Severity = o.Severity
			}
		default:
			if r := []rune(o.Statement); len(r) > maxStatement {
				o.Statement = string(r[:maxStatement]) + "..."
			}
			st.OpenObjections = append(st.OpenObjections, protocol.OpenObjection{Objection: o, TurnID: h.TurnID, Role: h.Role, Phase: h.Phase,
				RaisedAt: h.AcceptedAt})
		}
	}
}

func rank(severity string) int { return slices.Index(protocol.Severities(), severity) }

// lastWord is the run's last entry for an objection, merged with the one that raised it; nil if there is none.
func (s *step) lastWord(id string) (raised *protocol.OpenObjection) {
	for _, h := range accepted(s.run.History) {
		for _, o := range h.Objections {
			if o.ID != id {
				continue
			}
			if raised == nil {
				raised = &protocol.OpenObjection{Objection: o, TurnID: h.TurnID, Role: h.Role, Phase: h.Phase, RaisedAt: h.AcceptedAt}
			} else if rank(o.Severity) > rank(raised.Severity) {
				raised.Severity = o.Severity
			}
		}
	}
	return raised
}

// speaksOf reports whether an objection of a result is a known one with the same id: it changes its status or repeats
// it.
func speaksOf(o protocol.Objection, known *protocol.OpenObjection) bool {
	if known == nil {
		return false
	}
	plain := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return o.Status != "" && o.Status != protocol.ObjectionRaised || plain(o.Statement) == plain(known.Statement)
}

// judged checks whether the role may change the status of known objections as its result says. It returns every
// correction.
func (s *step) judged(a *acceptance) (changes []protocol.Change) {
	for i := range a.result.Objections {
		o := &a.result.Objections[i]
		open := slices.IndexFunc(s.st.OpenObjections, func(x protocol.OpenObjection) bool { return x.ID == o.ID })
		if open < 0 || !protocol.ObjectionSettled(o.Status) {
			continue
		}
		status, why := s.mayResolve(a, s.st.OpenObjections[open], o.Status)
		if status != o.Status {
			changes = append(changes, protocol.Change{Field: "objections[" + o.ID + "].status", Original: raw(o.Status), Normalized: raw(status), Rationale: why})
			o.Status = status
		}
	}
	return changes
}

// mayResolve is the effective status after a turn's change. A blocking objection is resolved by the role that raised
// it, by a person, or by a role with higher decision authority.
func (s *step) mayResolve(a *acceptance, o protocol.OpenObjection, status string) (string, string) {
	role, person := a.turn.AssignedRole, a.runtime.Type == protocol.RuntimeManual
	mine, theirs := authority(s.run.Config, role), authority(s.run.Config, o.Role)
	director := role == "eng_director" || mine != nil && theirs != nil && *mine > *theirs
	why := ""
	switch {
	case status == protocol.ObjectionResolvedByHuman && !person:
		status, why = protocol.ObjectionResolved, "this turn was not done by a person"
	case status == protocol.ObjectionResolvedByDirector && !director:
		status, why = protocol.ObjectionResolved, "the decisions of the role "+role+" do not take precedence over those of "+o.Role
	}
	if o.Severity == protocol.SeverityBlocking && !person && !director && role != o.Role {
		status, why = protocol.ObjectionAcknowledged, "a blocking objection can be resolved only by the role that raised it, or by a person"
	}
	return status, why
}

// ruleObjection applies a person's ruling on an objection.
func (in RuleObjection) apply(s *step) *Refused {
	decision := map[string]string{protocol.ObjectionAcknowledged: "objection_acknowledged", protocol.ObjectionResolvedByHuman: "objection_resolved",
		protocol.ObjectionRaised: "objection_reopened"}[in.Status]
	if decision == "" {
		return refuse(CodeInvalidInput, NextObjections, "a person can acknowledge, resolve or reopen an objection, not set it to %q", in.Status)
	}
	if strings.TrimSpace(in.Reason) == "" {
		return refuse(CodeInvalidInput, `drawbar govern objections resolve `+or(in.ID, "OBJ-001")+` --reason "..."`, "a decision on an objection needs a reason")
	}
	known := s.lastWord(in.ID)
	if known == nil {
		return refuse(CodeUnknownObjection, NextObjections, "the run has no objection %q", in.ID).with("objection_id", in.ID)
	}
	i := slices.IndexFunc(s.st.OpenObjections, func(o protocol.OpenObjection) bool { return o.ID == in.ID })
	from := protocol.ObjectionResolved
	if i >= 0 {
		from = s.st.OpenObjections[i].Status
	}
	reopen := in.Status == protocol.ObjectionRaised
	switch {
	case i < 0 && !reopen:
		return refuse(CodeInvalidInput, "drawbar govern objections reopen "+in.ID+` --reason "..."`, "objection %s is already resolved", in.ID)
	case i >= 0 && reopen && from == protocol.ObjectionRaised:
		return refuse(CodeInvalidInput, NextObjections, "the objection %s is open", in.ID)
	case i >= 0 && in.Status == from:
		return refuse(CodeInvalidInput, NextObjections, "objection %s is already %s", in.ID, from)
	}
	switch {
	case protocol.ObjectionSettled(in.Status):
		s.st.OpenObjections = slices.Delete(s.st.OpenObjections, i, i+1)
	case i >= 0:
		s.st.OpenObjections[i].Status = in.Status
	default:
		known.Status = in.Status
		s.st.OpenObjections = append(s.st.OpenObjections, *known)
	}
	more := map[string]any{"objection_id": in.ID, "severity": known.Severity, "from": from, "status": in.Status, "reason": in.Reason}
	s.signed(more, in.By)
	s.noteDecision(decision, known.TurnID, more)
	s.emit("objection_updated", s.eventTurn(known.TurnID), more)
	if protocol.ObjectionSettled(in.Status) && known.Severity == protocol.SeverityBlocking {
		s.askAgain(in.GateFiles)
	}
	return nil
}

// signed adds who decided.
func (s *step) signed(more map[string]any, by protocol.Person) {
	more["by"] = by.String()
	if by.User != "" {
		more["by_user"] = by.User
	}
}

// BlockingObjections are the open objections of a run that keep gates from passing.
func BlockingObjections(run Run) []protocol.OpenObjection {
	st := protocol.State{OpenObjections: OpenObjections(run)}
	return st.Blocking()
}
