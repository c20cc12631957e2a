package acp

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as an agent, stateVar the folder where it keeps its sessions. With lateVar
// it shows the history of a session that it loads behind the answer.
const (
	lateVar  = "FAKE_ACP_LATE"
	fakeVar  = "FAKE_ACP"
	stateVar = "FAKE_ACP_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if scenario := os.Getenv(fakeVar); scenario != "" {
		a := &acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(stateVar), HistoryLate: os.Getenv(lateVar) != ""}
		if len(os.Args) != 3 || os.Args[1] != "--acp" || os.Args[2] != "an argument" {
			os.Exit(2) // a word of the command line was split, joined or lost
		}
		os.Exit(a.Serve())
	}
	goleak.VerifyTestMain(m)
}
