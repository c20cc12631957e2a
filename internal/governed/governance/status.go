package governance

import (
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// moves are the legal changes of a run's status. Nothing leaves completed: StartRun creates a new run.
var moves = map[protocol.RunStatus][]protocol.RunStatus{
	protocol.RunIdle:      {protocol.RunActive},
	protocol.RunActive:    {protocol.RunActive, protocol.RunPaused, protocol.RunBlocked, protocol.RunCompleted},
	protocol.RunPaused:    {protocol.RunActive, protocol.RunBlocked, protocol.RunCompleted},
	protocol.RunBlocked:   {protocol.RunActive, protocol.RunPaused, protocol.RunBlocked},
	protocol.RunCompleted: {},
}

// canMove reports whether a run may change from one status to another. Completed is only reached through a passed gate.
func canMove(from, to protocol.RunStatus) bool { return slices.Contains(moves[from], to) }

// move changes the status; an illegal change refuses the whole input.
func (s *step) move(to protocol.RunStatus) {
	if !canMove(s.st.Status, to) {
		if s.illegal == nil {
			s.illegal = refuse(CodeInvalidTransition, NextCommand(s.run), "a run cannot go from %s to %s", s.st.Status, to)
		}
		return
	}
	s.st.Status = to
}

// StateChange is a change of the state by name, as the protocol's conformance suite requests it.
type StateChange struct {
	TargetStatus protocol.RunStatus     `json:"target_status"`
	Trigger      string                 `json:"trigger"` // gate_requires_human_approval or escalation
	Gate         *protocol.PendingPhase `json:"gate"`
	Reason       string                 `json:"reason"`
	RoleID       string                 `json:"role_id"`
	Overrides    map[string]any         `json:"candidate_overrides"`
}

// ApplyChange applies a change with the moves that Transition uses. A refused one returns the run unchanged.
func ApplyChange(run Run, now protocol.Time, c StateChange) (Run, *Refused) {
	s := newStep(run, now)
	if id, ok := c.Overrides["run_id"]; ok && s.st.RunID != nil && id != *s.st.RunID {
		return run, refuse(CodeImmutableField, NextRestart, "the run's id is %s and cannot change", *s.st.RunID).with("field", "run_id")
	}
	switch {
	case s.st.Status == protocol.RunCompleted:
		s.move(c.TargetStatus)
	case c.Trigger == "gate_requires_human_approval":
		p := protocol.PendingPhase{From: s.st.Phase}
		if c.Gate != nil {
			p = *c.Gate
		}
		s.awaitTransition(p)
	case c.Trigger == "escalation":
		turn := ""
		if ids := activeWith(s.st, c.RoleID); len(ids) > 0 {
			turn = ids[0]
		}
		s.block(blockage{on: "escalation:" + slug(c.Reason) + ":" + c.RoleID, category: c.Reason, turn: turn, detail: c.Reason})
	case c.Trigger != "":
		return run, refuse(CodeInvalidTransition, NextCommand(run), "unknown trigger %q", c.Trigger)
	case c.TargetStatus == protocol.RunCompleted:
		return run, refuse(CodeInvalidTransition, NextCommand(run), "a run is completed by its last gate, not from %s directly", s.st.Status)
	default:
		s.move(c.TargetStatus)
	}
	if s.illegal != nil {
		return run, s.illegal
	}
	return s.run, nil
}
