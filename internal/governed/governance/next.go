package governance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Commands in hints.
const (
	NextStep       = "drawbar govern step"
	NextResume     = "drawbar govern resume"
	NextStepResume = "drawbar govern step --resume"
	NextSubmit     = "drawbar govern submit"
	NextApprove    = "drawbar govern approve"
	NextRestart    = "drawbar govern restart"
	NextStatus     = "drawbar govern status"
	NextValidate   = "drawbar govern validate"
	NextCheckpoint = "drawbar govern checkpoint"
	NextGates      = "drawbar govern gates"
	NextObjections = "drawbar govern objections"
)

// NextCommand is the next command for a person to type. It is never empty.
func NextCommand(run Run) string {
	st := &run.State
	switch st.Status {
	case protocol.RunCompleted:
		return NextRestart
	case protocol.RunBlocked:
		if value(st.BlockedOn, "") == "budget:exhausted" && !Budget(run).Exhausted { // it was raised since
			return resumeCommand(run, blockedTurn(st))
		}
		if st.BlockedReason != nil && strings.HasPrefix(st.BlockedReason.Recovery.RecoveryAction, "drawbar ") {
			return st.BlockedReason.Recovery.RecoveryAction
		}
		if st.PendingTransition != nil || st.PendingCompletion != nil {
			return NextApprove
		}
		return resumeCommand(run, blockedTurn(st))
	case protocol.RunPaused:
		switch {
		case WaitsForNothing(st):
			return NextResume
		case len(BlockingObjections(run)) > 0:
			return NextObjections + " --open"
		}
		return NextApprove
	case protocol.RunActive:
		for _, t := range st.ActiveTurns.All() {
			if rt, _ := run.runtime(t.RuntimeID); rt.Type == protocol.RuntimeManual && handedOver(t) {
				return withTurn(st, NextSubmit, t.TurnID)
			}
			return turnCommand(st, t)
		}
	}
	return NextStep
}

// turnCommand is the command that a turn needs; another step by default.
func turnCommand(st *protocol.State, t *protocol.Turn) string {
	switch t.Status {
	case protocol.TurnConflicted:
		if c := t.ConflictState; c != nil && c.Error.SuggestedResolution == ResolutionHumanMerge {
			return "drawbar govern accept --turn " + t.TurnID + " --resolution " + ResolutionHumanMerge
		}
		return "drawbar govern reject --turn " + t.TurnID + " --reassign"
	case protocol.TurnFailedStart:
		return "drawbar govern reissue --turn " + t.TurnID + " --reason ghost"
	case protocol.TurnStalled:
		return "drawbar govern reissue --turn " + t.TurnID + " --reason stale"
	case protocol.TurnFailedAcceptance:
		return fmt.Sprintf("drawbar govern reject --turn %s --reason %q", t.TurnID, "the result was not acceptable")
	}
	if t.Status == protocol.TurnFailed {
		return withTurn(st, NextStepResume, t.TurnID)
	}
	return withTurn(st, NextStep, t.TurnID)
}

// handedOver reports whether the worker of a turn has its bundle.
func handedOver(t *protocol.Turn) bool {
	return t.Status == protocol.TurnDispatched || t.Status == protocol.TurnStarting || t.Status == protocol.TurnRunning
}

// resumeCommand continues a retained turn, or the run without one: a person's role is assigned again, an agent runs.
func resumeCommand(run Run, turn string) string {
	t := run.State.ActiveTurns.At(turn)
	if t == nil {
		return NextResume
	}
	if rt, ok := run.runtime(t.RuntimeID); ok && rt.Type == protocol.RuntimeManual {
		return withTurn(&run.State, NextResume, turn)
	}
	return withTurn(&run.State, NextStepResume, turn)
}

// withTurn adds the turn if the command would be ambiguous without it.
func withTurn(st *protocol.State, command, turn string) string {
	if turn == "" || st.ActiveTurns.Len() < 2 {
		return command
	}
	return command + " --turn " + turn
}

// budgetCommand raises the run's budget to twice what is spent or allowed, and continues.
func budgetCommand(run Run) string {
	limit := run.State.BudgetStatus.SpentUSD
	if b := run.Config.Budget; b != nil && b.PerRunMaxUSD != nil {
		limit = max(limit, *b.PerRunMaxUSD)
	}
	return fmt.Sprintf("drawbar govern config set budget.per_run_max_usd %d && %s", int64(math.Ceil(min(2*limit, 1e12))), NextResume)
}

func blockedTurn(st *protocol.State) string {
	if st.BlockedReason == nil || st.BlockedReason.TurnID == nil {
		return ""
	}
	return *st.BlockedReason.TurnID
}

// runtime is a runtime by its id.
func (r Run) runtime(id string) (protocol.Runtime, bool) {
	return r.Config.Runtimes.Get(id)
}

// activeWith lists the ids of the active turns of a role.
func activeWith(st *protocol.State, role string) []string {
	var ids []string
	for id, t := range st.ActiveTurns.All() {
		if t.AssignedRole == role {
			ids = append(ids, id)
		}
	}
	return slices.Clip(ids)
}
