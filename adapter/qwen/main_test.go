package qwen

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

// fakeVar names the scenario that the test binary plays as Qwen Code, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_QWEN"
	stateVar = "FAKE_QWEN_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, playFake) }
