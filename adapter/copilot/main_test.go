package copilot

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/hookrelay"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as Copilot CLI, stateVar the folder where it keeps sessions; with
// launcherVar it is the script around it.
const (
	fakeVar     = "FAKE_COPILOT"
	stateVar    = "FAKE_COPILOT_STATE"
	launcherVar = "FAKE_COPILOT_LAUNCHER"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	hookrelay.MaybeRelay()
	if os.Getenv(launcherVar) != "" {
		playLauncher()
	}
	if scenario := os.Getenv(fakeVar); scenario != "" {
		code, err := playFake(scenario, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
