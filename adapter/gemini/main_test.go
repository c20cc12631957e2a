package gemini

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/hookrelay"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as Gemini, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_GEMINI"
	stateVar = "FAKE_GEMINI_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	hookrelay.MaybeRelay()
	if scenario := os.Getenv(fakeVar); scenario != "" {
		code, err := playFake(scenario, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
