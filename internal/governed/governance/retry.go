package governance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Attempts is how often a turn of the role may be tried, in total. A role of the first edition may set its own
// max_retries, which counts what comes after the first attempt.
func Attempts(c *protocol.Config, role string) int {
	r := c.Roles.At(role)
	var own struct {
		MaxRetries *int `json:"max_retries"`
	}
	if r.FirstEdition() && len(r.AdapterConfig) > 0 && json.Unmarshal(r.AdapterConfig, &own) == nil && own.MaxRetries != nil {
		return max(0, *own.MaxRetries) + 1
	}
	return c.Rules.Attempts()
}

// RejectedName is the name of the rejected result of an attempt under dispatch/rejected.
func RejectedName(turn string, attempt int, now protocol.Time) string {
	return turn + "-attempt-" + strconv.Itoa(attempt) + "-" + strings.NewReplacer(":", "-", ".", "-").Replace(now.String()) + ".json"
}

func (in RejectTurn) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if s.st.Status != protocol.RunActive && s.st.Status != protocol.RunBlocked {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "cannot reject a turn: the run is %s", s.st.Status)
	}
	if strings.TrimSpace(in.Reason) == "" {
		return refuse(CodeInvalidInput, `drawbar govern reject --turn `+t.TurnID+` --reason "..."`, "a rejection needs a reason")
	}
	conflicted := t.Status == protocol.TurnConflicted && t.ConflictState != nil
	if conflicted {
		s.noteDecision("conflict_rejected", t.TurnID, map[string]any{"reason": in.Reason, "conflicting_files": t.ConflictState.Error.ConflictingFiles,
			"detection_count": t.ConflictState.DetectionCount})
		t.ConflictContext, t.ConflictState.Status = raw(conflictContext(t)), "rejected"
	}
	why := protocol.Rejection{Reason: in.Reason, ValidationErrors: notNil(in.Errors), FailedStage: string(in.Stage)}
	// A conflict does not use up the turn's attempts: the third conflict stops it.
	if in.Reassign && conflicted || t.Attempt < Attempts(s.run.Config, t.AssignedRole) {
		s.again(t, why, in.Baseline)
		return nil
	}
	s.exhaust(t, why)
	return nil
}

// exhaust asks a person to decide about a turn without attempts left.
func (s *step) exhaust(t *protocol.Turn, why protocol.Rejection) {
	why.TurnID, why.Attempt, why.RejectedAt = t.TurnID, t.Attempt, s.now
	t.LastRejection = &why
	s.failTurn(t, protocol.TurnFailed, "retries_exhausted")
	s.add(KeepRejected{t.TurnID, RejectedName(t.TurnID, t.Attempt, s.now)})
	s.st.Escalation = &protocol.Escalation{FromRole: t.AssignedRole, FromTurnID: t.TurnID, Reason: why.Reason, ValidationErrors: why.ValidationErrors,
		EscalatedAt: s.now}
	s.emit("turn_rejected", eventOf(t), map[string]any{"reason": why.Reason, "failed_stage": why.FailedStage, "errors": why.ValidationErrors,
		"retrying": false, "escalated": true, "attempt": t.Attempt})
	s.emit("escalation_raised", eventOf(t), map[string]any{"reason": why.Reason, "from_role": t.AssignedRole, "source": "retries_exhausted"})
	s.block(blockage{on: "escalation:retries-exhausted:" + t.AssignedRole, category: "retries_exhausted", turn: t.TurnID, detail: why.Reason})
}

func (in ReissueTurn) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if s.st.Status != protocol.RunActive && s.st.Status != protocol.RunBlocked {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "cannot reissue a turn: the run is %s", s.st.Status)
	}
	if r := s.freshID(in.NewTurnID); r != nil {
		return r
	}
	reason := or(strings.TrimSpace(in.Reason), "reissued")
	s.st.TurnSequence++
	base := in.Baseline
	n := &protocol.Turn{TurnID: in.NewTurnID, RunID: s.st.ID(), AssignedRole: t.AssignedRole, Status: protocol.TurnAssigned, Attempt: t.Attempt + 1,
		AssignedAt: s.now, DeadlineAt: s.deadline(t.AssignedRole), RuntimeID: s.run.Config.Roles.At(t.AssignedRole).RuntimeID(), Baseline: &base,
		AssignedSequence: s.st.TurnSequence, ReissuedFrom: t.TurnID, Worktree: in.Worktree, LastRejection: t.LastRejection,
		ConflictContext: t.ConflictContext, DelegationContext: t.DelegationContext, DelegationReview: t.DelegationReview,
		IntakeContext: t.IntakeContext, Coordinator: t.Coordinator}
	if n.RuntimeID == "" {
		n.RuntimeID = t.RuntimeID
	}
	h := protocol.HistoryEntry{TurnID: t.TurnID, RunID: s.st.ID(), Role: t.AssignedRole, Phase: s.st.Phase, RuntimeID: t.RuntimeID,
		Status: protocol.StatusReissued, Summary: "reissued as " + in.NewTurnID + ": " + reason, Decisions: []protocol.Decision{},
		Objections: []protocol.Objection{}, FilesChanged: []string{}, ArtifactsCreated: []string{}, ConcurrentWith: notNil(t.ConcurrentWith),
		AssignedSequence: t.AssignedSequence, Attempt: t.Attempt, StartedAt: t.StartedAt, AcceptedAt: s.now}
	s.run.History = append(s.run.History[:len(s.run.History):len(s.run.History)], h)
	s.add(AppendHistory{h})
	more := map[string]any{"new_turn_id": in.NewTurnID, "reason": reason, "old_status": t.Status, "old_runtime_id": t.RuntimeID, "new_runtime_id": n.RuntimeID}
	s.noteDecision("turn_reissued", t.TurnID, more)
	s.emit("turn_reissued", eventOf(n), map[string]any{"old_turn_id": t.TurnID, "reason": reason, "old_status": t.Status})
	if g := in.Ghosts; g != nil {
		s.emit("auto_retried_ghost", eventOf(n), map[string]any{"attempt": g.Attempt, "max_retries_per_run": g.Most, "old_turn_id": t.TurnID, "new_turn_id": n.TurnID,
			"failure_type": t.FailureReason, "runtime_id": n.RuntimeID})
	}
	s.st.ActiveTurns.Delete(t.TurnID)
	s.st.BudgetReservations.Delete(t.TurnID)
	s.join(n)
	s.reserve(n.TurnID, n.AssignedRole)
	s.relinkDelegation(t.TurnID, n.TurnID)
	s.resolveRaised(t.TurnID, protocol.StatusReissued)
	s.add(Archive{t.TurnID})
	return nil
}

// Ghost returns the turn that blocks the run because its worker gave no sign of life; nil if it is not that.
func Ghost(st *protocol.State) *protocol.Turn {
	why := st.BlockedReason
	if st.Status != protocol.RunBlocked || why == nil || why.Category != "ghost_turn" || why.TurnID == nil {
		return nil
	}
	t := st.ActiveTurns.At(*why.TurnID)
	if t == nil || t.Status != protocol.TurnFailedStart || t.FailureReason != "runtime_spawn_failed" && t.FailureReason != "stdout_attach_failed" {
		return nil
	}
	return t
}

func (in GhostsExhausted) apply(s *step) *Refused {
	t := Ghost(s.st)
	if t == nil || t.TurnID != in.TurnID {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "turn %s does not block the run", in.TurnID)
	}
	s.emit("ghost_retry_exhausted", eventOf(t), map[string]any{"attempts": in.Most, "max_retries_per_run": in.Most, "failure_type": t.FailureReason, "runtime_id": t.RuntimeID})
	s.st.BlockedReason.Recovery.Detail = fmt.Sprintf("Auto-retry exhausted after %d/%d attempts (%s). %s", in.Most, in.Most, t.FailureReason, s.st.BlockedReason.Recovery.Detail)
	return nil
}
