package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/transport/process"
)

// foreign names a decision in a state that another program wrote which only a person may make: to pass a gate, or to
// raise the budget. Any program that writes files could have written it; AgentXchain leaves no more evidence when a
// person approves with it.
//
// adopt says that a person accepts the state anyway. That does not pass a gate that names its approvers or needs
// several.
func foreign(c *protocol.Config, sealed, now *protocol.State, adopt bool) error {
	if adopt {
		if gate := passedGate(c, sealed, now); gate != "" {
			if g, _ := c.Gate(gate); g.OnlyPerson() {
				return execution.Errorf(execution.CodeInvalidStateTransition, "%s says that gate %s passed, but only its approvers can decide that, with drawbar", protocol.StateFile, gate).
					WithHint("restore the state: cp %s/archive/state.json %s; then an approver types: %s", protocol.Dir, protocol.StateFile, governance.NextApprove)
			}
		}
		return nil
	}
	what := ""
	if gate := passedGate(c, sealed, now); gate != "" {
		what = fmt.Sprintf("that gate %s passed, although it waits for a person", gate)
	} else if raised(c, sealed, now) {
		what = "that more budget is left than there was"
	}
	if what == "" {
		return nil
	}
	return execution.Errorf(execution.CodeInvalidStateTransition, "%s was written by another program and says %s: drawbar did not see anyone decide that", protocol.StateFile, what).
		WithHint("if a person did, with agentxchain: drawbar govern restart --adopt-state; otherwise: cp %s/archive/state.json %s", protocol.Dir, protocol.StateFile)
}

// passedGate is a gate for people that is passed now and was not before.
func passedGate(c *protocol.Config, sealed, now *protocol.State) string {
	before := sealed
	if sealed.ID() != now.ID() {
		before = &protocol.State{}
		if phases := c.Phases(); len(phases) > 0 {
			before.Phase = phases[0]
		}
	}
	asked := func(gate string) bool {
		return before.PendingTransition != nil && before.PendingTransition.Gate == gate || before.PendingCompletion != nil && before.PendingCompletion.Gate == gate
	}
	for _, name := range c.Phases() {
		phase, _ := c.Phase(name)
		id := phase.ExitGate
		g, ok := c.Gate(id)
		if !ok || !g.RequiresHumanApproval && !g.OnlyPerson() {
			continue
		}
		if agreed(before, now, id) {
			return id
		}
		passed := now.PhaseGateStatus.At(id) == "passed" && before.PhaseGateStatus.At(id) != "passed"
		left := before.Phase == name && now.Phase != name && before.PhaseGateStatus.At(id) != "passed"
		ended := now.Phase == name && now.Status == protocol.RunCompleted && before.Status != protocol.RunCompleted
		if (passed || left || ended) && (asked(id) || g.Credentialed || g.OnlyPerson() || !auto(c, name, ended)) {
			return id
		}
	}
	return ""
}

// agreed reports whether a pending gate has more approvals than before.
func agreed(before, now *protocol.State, gate string) bool {
	count := func(s *protocol.State) int {
		switch {
		case s.PendingTransition != nil && s.PendingTransition.Gate == gate:
			return len(s.PendingTransition.Approvals)
		case s.PendingCompletion != nil && s.PendingCompletion.Gate == gate:
			return len(s.PendingCompletion.Approvals)
		}
		return 0
	}
	return count(now) > count(before)
}

// auto reports whether the approval policy may pass the gate of a phase without a person.
func auto(c *protocol.Config, from string, end bool) bool {
	p := c.ApprovalPolicy
	switch {
	case p == nil:
		return false
	case end:
		return p.RunCompletion != nil && p.RunCompletion.Action == "auto_approve"
	case p.PhaseTransitions == nil:
		return false
	}
	i := slices.IndexFunc(p.PhaseTransitions.Rules, func(r protocol.TransitionRule) bool { return r.FromPhase == "" || r.FromPhase == from })
	if i >= 0 {
		return p.PhaseTransitions.Rules[i].Action == "auto_approve"
	}
	return p.PhaseTransitions.Default == "auto_approve"
}

// raised reports whether a state has more budget left than it may.
func raised(c *protocol.Config, sealed, now *protocol.State) bool {
	const cent = 0.01 // programs round differently
	a, b := sealed.BudgetStatus, now.BudgetStatus
	if sealed.ID() != now.ID() {
		limit := (*float64)(nil)
		if c.Budget != nil {
			limit = c.Budget.PerRunMaxUSD
		}
		return limit != nil && (b.RemainingUSD == nil || *b.RemainingUSD > *limit+cent)
	}
	return b.SpentUSD < a.SpentUSD-cent/10 || a.RemainingUSD != nil && (b.RemainingUSD == nil || *b.RemainingUSD > *a.RemainingUSD+cent/10)
}

// livingWorker describes a worker that still runs although the command that started it was killed; AgentXchain leaves
// its workers running. It is empty if there is none, or if another program has its process id by now.
func livingWorker(turn *protocol.Turn) string {
	if turn.WorkerPID < 2 || turn.Status != protocol.TurnRunning && turn.Status != protocol.TurnDispatched && turn.Status != protocol.TurnStarting || !pid.Alive(turn.WorkerPID) {
		return ""
	}
	if at := turn.WorkerAttachedAt; !at.IsZero() {
		if began, ok := process.Started(turn.WorkerPID); ok && began.After(at.Add(clockSlack)) {
			return ""
		}
	}
	return fmt.Sprintf("the worker of turn %s (process %d) is still running, but the program that started it is not", turn.TurnID, turn.WorkerPID)
}

// afterwards runs hooks that can no longer object. One that tampered with the record still blocks the run.
func (t *transaction) afterwards(ctx context.Context, phase, turn string, payload map[string]any) {
	out, err := t.runHooks(ctx, phase, turn, payload)
	if err != nil {
		t.e.warn(err.Error()) // it can only advise
		return
	}
	if !strings.HasSuffix(out.Code, "_tamper") {
		return
	}
	t.e.warn(out.Message)
	t.tampered = out.Code
	if t.state().Status == protocol.RunCompleted {
		return // the run has ended and cannot be blocked; the audit records it
	}
	if _, err := t.objected(ctx, phase, turn, out); err != nil {
		t.e.warn(err.Error())
	}
}
