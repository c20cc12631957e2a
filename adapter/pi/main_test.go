package pi

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

// fakeVar names the scenario that the test binary plays as Pi, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_PI"
	stateVar = "FAKE_PI_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, playFake) }
