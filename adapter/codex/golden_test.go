package codex

import (
	"encoding/json"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func newRequest() execution.Request { return clitest.Request() }

func wantsAnswer(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)
}

var failed = clitest.Run{Exit: process.Exit{Code: 1}}

var printedCases = map[string]clitest.Run{"err429_forever": failed, "malformed": failed, "noauth": failed, "usage_limit": failed, "context": failed,
	"hang_sigint": {Exit: process.Exit{Code: 1, Stopped: true}}}

// TestPrintedGoldens replays recorded output of codex exec.
func TestPrintedGoldens(t *testing.T) { printedGoldens.Test(t) }

// TestDamagedOutput replays it with one line lost or twice, and cut off.
func TestDamagedOutput(t *testing.T) {
	printedGoldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"turn.completed"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`)})
}

// TestDifferential holds what is made of mutated output.
func TestDifferential(t *testing.T) { printedGoldens.TestDifferential(t) }

var printedGoldens = clitest.Goldens{
	Pattern: "testdata/exec/*.jsonl", Least: 10, Runs: printedCases, Check: check,
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		return cliagent.Replay(newPrinted(), r.Stdout, r.Stderr, r.Exit, false)
	},
}

func check(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
	for _, e := range events {
		if _, ok := e.Body.(execution.CostEvent); ok {
			t.Error("a price that codex did not state")
		}
	}
}
