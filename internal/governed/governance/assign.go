package governance

import (
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

func (in AssignTurn) apply(s *step) *Refused {
	if all := Guards(s.run, in.Role); len(all) > 0 {
		return &all[0]
	}
	if r := guardTree(s.run, in); r != nil {
		return r
	}
	if r := s.freshID(in.TurnID); r != nil {
		return r
	}
	for _, w := range ScopeOverlaps(s.run, in.Role) {
		s.warn(w.Code, w.Message)
	}
	for _, v := range outlook(s.run, in.Role) {
		s.warn("policy:"+v.Policy.ID, "the turn cannot be accepted as it stands: "+v.Message)
	}
	role := s.run.Config.Roles.At(in.Role)
	base := in.Baseline
	s.st.TurnSequence++
	t := &protocol.Turn{TurnID: in.TurnID, RunID: s.st.ID(), AssignedRole: in.Role, Status: protocol.TurnAssigned, Attempt: 1, AssignedAt: s.now,
		DeadlineAt: s.deadline(in.Role), RuntimeID: role.RuntimeID(), Baseline: &base, AssignedSequence: s.st.TurnSequence,
		IntakeContext: in.IntakeContext, Coordinator: in.Coordinator, Worktree: in.Worktree}
	s.join(t)
	s.reserve(in.TurnID, in.Role)
	s.linkDelegation(t)
	return nil
}

// freshID refuses a turn id that is empty or was used in this run.
func (s *step) freshID(id string) *Refused {
	if id == "" {
		return refuse(CodeInvalidInput, NextStep, "a turn needs an id")
	}
	used := s.st.ActiveTurns.Has(id)
	for _, h := range s.run.History {
		used = used || h.TurnID == id
	}
	if used {
		return refuse(CodeDuplicateTurn, NextStep, "turn %s already exists", id).with("turn_id", id)
	}
	return nil
}

// join adds an active turn and lists the other active turns in it.
func (s *step) join(t *protocol.Turn) {
	for id, other := range s.st.ActiveTurns.All() {
		t.ConcurrentWith = append(t.ConcurrentWith, id)
		other.ConcurrentWith = append(other.ConcurrentWith, t.TurnID)
	}
	s.st.ActiveTurns.Set(t.TurnID, t)
}

// deadline is the deadline of a turn of the role that starts now.
func (s *step) deadline(role string) protocol.Time {
	c := s.run.Config
	var limit time.Duration
	if c.Timeouts != nil && c.Timeouts.PerTurnMinutes != nil {
		limit = minutes(*c.Timeouts.PerTurnMinutes)
	}
	r := c.Roles.At(role)
	if rt, ok := s.run.runtime(r.RuntimeID()); ok && r.FirstEdition() && rt.TimeoutMS != nil && *rt.TimeoutMS > 0 {
		limit = time.Duration(*rt.TimeoutMS) * time.Millisecond
	}
	if limit == 0 {
		return protocol.Time{}
	}
	return protocol.At(s.now.Add(limit))
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
