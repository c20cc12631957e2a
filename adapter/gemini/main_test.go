package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

// fakeVar names the scenario that the test binary plays as Gemini, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_GEMINI"
	stateVar = "FAKE_GEMINI_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, playFake) }
