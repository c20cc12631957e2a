package agent

import (
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// transitions is the table of the agent-mux specification, run handle.
var transitions = []struct {
	from execution.RunState
	to   []execution.RunState
}{
	{execution.StateSpawned, []execution.RunState{execution.StateRunning, execution.StateCrashed, execution.StateTimedOut, execution.StateAborted}},
	{execution.StateRunning, []execution.RunState{execution.StatePaused, execution.StateInterrupted, execution.StateAborted, execution.StateTimedOut, execution.StateCompleted, execution.StateCrashed, execution.StateKilled}},
	{execution.StatePaused, []execution.RunState{execution.StateRunning, execution.StateAborted, execution.StateTimedOut}},
	{execution.StateInterrupted, []execution.RunState{execution.StateRunning, execution.StateCompleted, execution.StateCrashed, execution.StateAborted}},
}

// LegalTransition reports whether a run may change from one state to another. Terminal states are final.
func LegalTransition(from, to execution.RunState) bool {
	for _, t := range transitions {
		if t.from == from {
			return slices.Contains(t.to, to)
		}
	}
	return false
}
