package claude

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

// fakeVar names the scenario that the test binary plays as Claude Code, stateVar the folder where it keeps sessions.
const (
	fakeVar  = "FAKE_CLAUDE"
	stateVar = "FAKE_CLAUDE_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, playFake) }
