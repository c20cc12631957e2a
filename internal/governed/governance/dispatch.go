package governance

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/drawbar/drawbar/govern/protocol"
)

// exitTemporary is sysexits' EX_TEMPFAIL: the process asks to be retried.
const exitTemporary = 75

// active finds an active turn.
func (s *step) active(id string) (*protocol.Turn, *Refused) {
	if t := s.st.ActiveTurns.At(id); t != nil {
		return t, nil
	}
	return nil, refuse(CodeTurnNotActive, NextStatus, "the turn %q is not active", id).with("turn_id", id)
}

func (in TakeUp) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if !t.DeadlineAt.IsZero() && s.now.After(t.DeadlineAt.Time) {
		t.DeadlineAt = s.deadline(t.AssignedRole)
	}
	if in.Baseline != nil {
		t.Baseline = new(*in.Baseline)
	}
	return nil
}

func (in Dispatched) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if r := guardStatus(s.run); r != nil {
		return r
	}
	switch t.Status {
	case protocol.TurnAssigned, protocol.TurnRetrying, protocol.TurnDispatched, protocol.TurnStarting, protocol.TurnRunning, protocol.TurnFailed:
	default:
		return refuse(CodeInvalidTransition, turnCommand(s.st, t), "cannot dispatch turn %s: it is %s", t.TurnID, t.Status)
	}
	rt, _ := s.run.runtime(t.RuntimeID)
	ready := t.Status == protocol.TurnDispatched && t.WorkerAttachedAt.IsZero() // and no worker has started
	again := ready || rt.Type == protocol.RuntimeManual && handedOver(t)
	t.Status, t.RuleFiles = protocol.TurnDispatched, in.Rules
	if t.StartedAt.IsZero() {
		t.StartedAt = s.now
	}
	t.WorkerAttachedAt, t.WorkerPID, t.FirstOutputAt, t.FirstOutputStream = protocol.Time{}, 0, protocol.Time{}, ""
	if again {
		return nil // the same attempt, waited for again
	}
	t.DispatchedAt = s.now
	s.emit("turn_dispatched", eventOf(t), map[string]any{"runtime_id": t.RuntimeID, "attempt": t.Attempt, "deadline_at": t.DeadlineAt})
	return nil
}

func (in WorkerAttached) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	t.WorkerAttachedAt, t.WorkerPID = s.now, in.PID
	if t.Status == protocol.TurnDispatched {
		t.Status = protocol.TurnStarting
	}
	return nil
}

func (in FirstOutput) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if t.FirstOutputAt.IsZero() {
		t.FirstOutputAt, t.FirstOutputStream = s.now, in.Stream
	}
	if t.Status == protocol.TurnDispatched || t.Status == protocol.TurnStarting {
		t.Status = protocol.TurnRunning
	}
	return nil
}

func (in DispatchFailed) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	class := in.Class
	if class == "" || class == "exit" {
		class = "exit-" + strconv.Itoa(in.ExitCode)
	}
	on := "dispatch:" + class
	detail := in.Detail
	if detail == "" {
		detail = "the runtime " + t.RuntimeID + " ended without a result (" + class + ")"
	}
	limit := Attempts(s.run.Config, t.AssignedRole)
	if in.Transient || in.ExitCode == exitTemporary {
		if t.Attempt < limit {
			s.again(t, protocol.Rejection{Reason: on, ValidationErrors: []string{detail}, FailedStage: "dispatch"}, in.Baseline)
			return nil
		}
		detail += fmt.Sprintf(" (attempt %d of %d)", t.Attempt, limit)
	}
	s.failTurn(t, protocol.TurnFailed, on)
	b := blockage{on: on, category: "dispatch_error", detail: detail, turn: t.TurnID}
	if slices.Contains([]string{"auth_failure", "missing_credentials", "claude_auth_failed", "codex_auth_failed"}, in.Class) {
		b.human = "needs_credential"
	}
	s.block(b)
	return nil
}

// again gives the turn another attempt.
func (s *step) again(t *protocol.Turn, why protocol.Rejection, base *protocol.Baseline) {
	why.TurnID, why.Attempt, why.RejectedAt = t.TurnID, t.Attempt, s.now
	if why.ValidationErrors == nil {
		why.ValidationErrors = []string{}
	}
	s.add(KeepRejected{t.TurnID, RejectedName(t.TurnID, t.Attempt, s.now)})
	s.emit("turn_rejected", eventOf(t), map[string]any{"reason": why.Reason, "failed_stage": why.FailedStage, "errors": why.ValidationErrors,
		"retrying": true, "attempt": t.Attempt, "next_attempt": t.Attempt + 1})
	t.Attempt++
	t.LastRejection = &why
	s.revive(t)
	if base != nil {
		t.Baseline, t.AssignedSequence = new(*base), s.st.TurnSequence
	}
	s.resolveRaised(t.TurnID, "turn_rejected")
}

// revive makes a turn ready to be dispatched again, with a new deadline and its reservation.
func (s *step) revive(t *protocol.Turn) {
	t.Status, t.FailedAt, t.FailureReason = protocol.TurnRetrying, protocol.Time{}, ""
	t.DeadlineAt = s.deadline(t.AssignedRole)
	if !s.st.BudgetReservations.Has(t.TurnID) {
		s.reserve(t.TurnID, t.AssignedRole)
	}
}

// failTurn sets a turn to a state that needs a decision.
func (s *step) failTurn(t *protocol.Turn, status protocol.TurnStatus, reason string) {
	t.Status, t.FailedAt, t.FailureReason = status, s.now, reason
}

func (in StartFailed) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	kind := ""
	switch {
	case t.Status == protocol.TurnDispatched:
		kind = "runtime_spawn_failed"
	case t.Status == protocol.TurnStarting || !t.WorkerAttachedAt.IsZero():
		kind = "stdout_attach_failed"
	case t.Status != protocol.TurnRunning && t.Status != protocol.TurnRetrying:
		return refuse(CodeInvalidTransition, turnCommand(s.st, t), "the turn %s is %s and was not starting", t.TurnID, t.Status)
	}
	detail := or(in.Detail, "the turn was dispatched, but its worker gave no sign of life")
	s.failTurn(t, protocol.TurnFailedStart, or(kind, "no_subprocess_output"))
	s.st.BudgetReservations.Delete(t.TurnID)
	payload := map[string]any{"failure_type": t.FailureReason, "runtime_id": t.RuntimeID, "detail": detail, "recommendation": turnCommand(s.st, t)}
	s.emit("turn_start_failed", eventOf(t), payload)
	if kind != "" {
		s.emit(kind, eventOf(t), payload)
	}
	s.block(blockage{on: "turn:failed_start:" + t.TurnID, category: "ghost_turn", detail: detail, turn: t.TurnID, recovery: turnCommand(s.st, t)})
	return nil
}

func (in Stalled) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if t.Status != protocol.TurnRunning && t.Status != protocol.TurnRetrying {
		return refuse(CodeInvalidTransition, turnCommand(s.st, t), "the turn %s is %s and was not running", t.TurnID, t.Status)
	}
	detail := or(in.Detail, "the turn stopped giving signs of life while it was running")
	s.failTurn(t, protocol.TurnStalled, "no_output_within_threshold")
	s.st.BudgetReservations.Delete(t.TurnID)
	s.emit("turn_stalled", eventOf(t), map[string]any{"runtime_id": t.RuntimeID, "detail": detail, "recommendation": turnCommand(s.st, t)})
	s.block(blockage{on: "turn:stalled:" + t.TurnID, category: "stale_turn", detail: detail, turn: t.TurnID, recovery: turnCommand(s.st, t)})
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
