package agent

import (
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// transitions is the table of the agent-mux specification, run handle.
var transitions = map[execution.RunState][]execution.RunState{
	execution.StateSpawned:     {execution.StateRunning, execution.StateCrashed, execution.StateTimedOut, execution.StateAborted},
	execution.StateRunning:     {execution.StatePaused, execution.StateInterrupted, execution.StateAborted, execution.StateTimedOut, execution.StateCompleted, execution.StateCrashed, execution.StateKilled},
	execution.StatePaused:      {execution.StateRunning, execution.StateAborted, execution.StateTimedOut},
	execution.StateInterrupted: {execution.StateRunning, execution.StateCompleted, execution.StateCrashed, execution.StateAborted},
}

// LegalTransition reports whether a run may change from one state to another. Terminal states are final.
func LegalTransition(from, to execution.RunState) bool { return slices.Contains(transitions[from], to) }
