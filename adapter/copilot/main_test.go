package copilot

import (
	"os"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
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
	process.MaybeKeeper() // it may have the launcher's variable too, and so may a hook
	hookrelay.MaybeRelay()
	if os.Getenv(launcherVar) != "" {
		playLauncher()
	}
	clitest.Main(m, fakeVar, playFake)
}
