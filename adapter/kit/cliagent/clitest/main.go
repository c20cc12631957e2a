package clitest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
)

// Main is the TestMain of an adapter: with a scenario in the variable, the test binary acts as the agent's program;
// otherwise it runs the tests and checks for leaked goroutines.
func Main(m *testing.M, variable string, play func(scenario string, args []string) (exit int, err error)) {
	process.MaybeKeeper()
	hookrelay.MaybeRelay()
	if scenario := os.Getenv(variable); scenario != "" {
		code, err := play(scenario, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	testenv.Setup(6)
	goleak.VerifyTestMain(m)
}
