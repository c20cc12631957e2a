package codex

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

// fakeVar names the scenario that the test binary plays as Codex, stateVar the folder where it keeps its threads.
const (
	fakeVar  = "FAKE_CODEX"
	stateVar = "FAKE_CODEX_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, playFake) }
