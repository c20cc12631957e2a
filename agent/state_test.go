package agent_test

import (
	"testing"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestLegalTransition(t *testing.T) {
	t.Parallel()
	states := []execution.RunState{execution.StateSpawned, execution.StateRunning, execution.StatePaused, execution.StateInterrupted,
		execution.StateAborted, execution.StateTimedOut, execution.StateCompleted, execution.StateCrashed, execution.StateKilled}
	// rows: from, columns: to, in the order above
	table := []string{
		".x..xx.x.", // spawned
		"..xxxxxxx", // running
		".x..xx...", // paused
		".x..x.xx.", // interrupted
		".........", // aborted
		".........", // timed-out
		".........", // completed
		".........", // crashed
		".........", // killed
	}
	for i, from := range states {
		for j, to := range states {
			if got, want := agent.LegalTransition(from, to), table[i][j] == 'x'; got != want {
				t.Errorf("%s to %s: got %v, want %v", from, to, got, want)
			}
		}
	}
	if agent.LegalTransition("", execution.StateRunning) || agent.LegalTransition(execution.StateRunning, "") {
		t.Error("an unknown state has transitions")
	}
}
