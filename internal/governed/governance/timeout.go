package governance

import (
	"fmt"
	"slices"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// Scopes of a timeout.
const (
	ScopeTurn  = "turn"
	ScopePhase = "phase"
	ScopeRun   = "run"
)

// Actions of a timeout.
const (
	TimeoutEscalate  = "escalate"
	TimeoutWarn      = "warn"
	TimeoutSkipPhase = "skip_phase"
)

// Overdue is an expired limit.
type Overdue struct {
	Scope          string
	TurnID         string // of a turn
	Action         string
	LimitMinutes   float64
	ElapsedMinutes float64
}

// Timeouts are the configured limits that have expired at a moment: those of active turns first, then the phase, then
// the run.
func Timeouts(run Run, now protocol.Time) []Overdue {
	st := &run.State
	if run.Config == nil || st.Status == protocol.RunIdle || st.Status == protocol.RunCompleted {
		return nil
	}
	var due []Overdue
	for id, t := range st.ActiveTurns.All() {
		begin := t.StartedAt
		if begin.IsZero() {
			begin = t.AssignedAt
		}
		due = overdue(due, run, Overdue{Scope: ScopeTurn, TurnID: id}, begin, now)
	}
	due = overdue(due, run, Overdue{Scope: ScopePhase}, st.PhaseEnteredAt, now)
	return overdue(due, run, Overdue{Scope: ScopeRun}, st.CreatedAt, now)
}

// overdue adds a limit that has expired since begin.
func overdue(due []Overdue, run Run, o Overdue, begin, now protocol.Time) []Overdue {
	limit, action := timeoutOf(run, o.Scope)
	if limit == nil || begin.IsZero() || now.Sub(begin.Time) < minutes(*limit) {
		return due
	}
	o.Action, o.LimitMinutes, o.ElapsedMinutes = action, *limit, now.Sub(begin.Time).Round(time.Second).Minutes()
	return append(due, o)
}

// timeoutOf is the limit of a scope, nil for none, and the action when it expires. A phase's own limit overrides the
// general one.
func timeoutOf(run Run, scope string) (limit *float64, action string) {
	if t := run.Config.Timeouts; t != nil {
		action = t.Action
		switch scope {
		case ScopeTurn:
			limit = t.PerTurnMinutes
		case ScopePhase:
			limit = t.PerPhaseMinutes
		case ScopeRun:
			limit = t.PerRunMinutes
		}
	}
	if p, ok := run.Config.Phase(run.State.Phase); ok && scope == ScopePhase {
		if p.TimeoutMinutes != nil {
			limit = p.TimeoutMinutes
		}
		action = or(p.TimeoutAction, action)
	}
	return limit, or(action, TimeoutEscalate)
}

// overdue checks the limits of the turn, the phase and the run when a turn is accepted.
func (s *step) overdue(a *acceptance) {
	if s.st.Status == protocol.RunCompleted {
		return
	}
	begin := a.turn.StartedAt
	if begin.IsZero() {
		begin = a.turn.AssignedAt
	}
	due := overdue(nil, s.run, Overdue{Scope: ScopeTurn, TurnID: a.TurnID}, begin, s.now)
	for _, o := range Timeouts(s.run, s.now) {
		if o.Scope != ScopeTurn {
			due = append(due, o)
		}
	}
	for _, o := range due {
		if o.Action == TimeoutWarn || s.st.Status == protocol.RunActive {
			s.timeout(o, a.GateFiles)
		}
	}
}

func (in TimedOut) apply(s *step) *Refused {
	if !slices.Contains([]string{ScopeTurn, ScopePhase, ScopeRun}, in.Scope) {
		return refuse(CodeInvalidInput, NextCommand(s.run), "a timeout is one of turn, phase or run, not %q", in.Scope)
	}
	if s.st.Status == protocol.RunIdle {
		return refuse(CodeInvalidTransition, NextStep, "no run has been started")
	}
	if in.Scope == ScopeTurn {
		if _, r := s.active(in.TurnID); r != nil {
			return r
		}
	}
	limit, action := timeoutOf(s.run, in.Scope)
	o := Overdue{Scope: in.Scope, TurnID: in.TurnID, Action: or(in.Action, action)}
	if limit != nil {
		o.LimitMinutes = *limit
	}
	if s.st.Status != protocol.RunActive {
		// A person is already being asked.
		o.Action = TimeoutWarn
	}
	s.timeout(o, in.GateFiles)
	return nil
}

// timeout applies the action of an expired limit.
func (s *step) timeout(o Overdue, files map[string]string) {
	more := map[string]any{"scope": o.Scope, "action": o.Action, "limit_minutes": o.LimitMinutes, "elapsed_minutes": o.ElapsedMinutes}
	switch {
	case o.Action == TimeoutWarn:
		s.noteType("timeout_warning", o.TurnID, more)
		s.warn("timeout:"+o.Scope, s.timeoutText(o))
		return
	case o.Action == TimeoutSkipPhase && o.Scope == ScopePhase:
		why := s.skip(files, s.timeoutText(o))
		if why == "" {
			return
		}
		more["reason"] = why
	}
	s.noteType("timeout", o.TurnID, more)
	s.block(blockage{on: "timeout:" + o.Scope, category: "timeout", detail: s.timeoutText(o), turn: o.TurnID})
}

func (s *step) timeoutText(o Overdue) string {
	what := map[string]string{ScopeTurn: "the turn " + o.TurnID, ScopePhase: "the phase " + s.st.Phase, ScopeRun: "the run"}[o.Scope]
	return fmt.Sprintf("%s has passed its limit of %g minutes", what, o.LimitMinutes)
}

// skip leaves the phase as if the last accepted turn had requested the next one. Its gate decides as always: a person's
// approval is requested, never skipped. A refusal is returned and recorded.
func (s *step) skip(files map[string]string, reason string) string {
	phases := s.run.Config.Phases()
	i := slices.Index(phases, s.st.Phase)
	last := ""
	if n := len(s.run.History); n > 0 {
		last = s.run.History[n-1].TurnID
	}
	fail := func(why string) string {
		s.noteType("timeout_skip_failed", "", map[string]any{"from_phase": s.st.Phase, "reason": why})
		return why
	}
	switch {
	case !s.drained():
		return fail("turns or delegations are active")
	case i < 0 || i == len(phases)-1:
		return fail("no phase follows " + s.st.Phase)
	}
	from, to := s.st.Phase, phases[i+1]
	d := gate.PhaseExit(s.gateInput(last, to, files))
	switch d.Action {
	case gate.Advance:
		s.noteType("timeout_skip", "", map[string]any{"from_phase": from, "to_phase": to, "gate_id": d.GateID, "reason": reason})
		s.autoApproved(d, "phase_transition", last)
		s.advance(to, d.GateID, "timeout_skip", last)
	case gate.AwaitingHumanApproval:
		s.noteType("timeout_skip", "", map[string]any{"from_phase": from, "to_phase": to, "gate_id": d.GateID, "reason": reason})
		s.awaitTransition(protocol.PendingPhase{From: from, To: to, Gate: d.GateID, RequestedByTurn: last, RequestedAt: s.now})
	default:
		if d.Action == gate.GateFailed {
			s.gateFailed(d, "phase_transition", last, s.now)
		}
		return fail("its gate does not pass")
	}
	return ""
}
