package cline

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as the agent, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_CLINE"
	stateVar = "FAKE_CLINE_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if scenario := os.Getenv(fakeVar); scenario != "" {
		if len(os.Args) != 2 || os.Args[1] != "--acp" || os.Getenv("CLINE_SESSION_BACKEND_MODE") != "local" {
			os.Exit(2)
		}
		a := &acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(stateVar), Answer: untold}
		os.Exit(a.Serve())
	}
	goleak.VerifyTestMain(m)
}

// untold states no tokens.
func untold(int) acptest.Fields { return acptest.Fields{} }
