package pi

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

const resumed = "01a20976-e7f1-7468-8caa-afd571bc9a3d"

// transcripts are the runs that did not simply succeed, or that had more than a prompt.
var transcripts = map[string]clitest.Run{
	"fork":           {Request: func(r *execution.Request) { r.Run.ForkSessionID = resumed }},
	"resume":         {Request: func(r *execution.Request) { r.Run.SessionID = resumed }},
	"sigterm":        {Exit: process.Exit{Code: 143, Stopped: true}},
	"unknownsession": {Request: func(r *execution.Request) { r.Run.SessionID = resumed }, Exit: process.Exit{Code: 1}},
}

func request() execution.Request { return clitest.Request() }

// TestGoldens replays every transcript.
func TestGoldens(t *testing.T) { goldens.Test(t) }

// TestDamaged replays them with one line lost or twice, and cut off.
func TestDamaged(t *testing.T) {
	goldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"agent_settled"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`)})
}

// TestDifferential holds what is made of mutated recordings.
func TestDifferential(t *testing.T) { goldens.TestDifferential(t) }

var goldens = clitest.Goldens{
	Pattern: "testdata/golden/*.jsonl", Least: 18, Runs: transcripts,
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		r.Exit.StderrTail = string(r.Stderr)
		events, res := cliagent.Replay(newParser(r.Request), r.Stdout, r.Stderr, r.Exit, false)
		if res.Error != nil {
			e := *res.Error
			e.Stderr = ""
			res.Error = &e
		}
		return events, res
	},
	Check: func(t *testing.T, events []execution.Event, res execution.Result) {
		clitest.CheckOrder(t, events)
		clitest.CheckUsage(t, events, res)
	},
}
