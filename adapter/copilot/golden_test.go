package copilot

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// stopped is the exit of the native program after a signal: it says that all went well.
var stopped = process.Exit{Stopped: true}

var transcripts = map[string]clitest.Run{
	"err400":                  {Exit: process.Exit{Code: 1}},
	"live_401":                {Exit: process.Exit{Code: 1}},
	"live_404":                {Exit: process.Exit{Code: 1}},
	"live_429":                {Exit: process.Exit{Code: 1}},
	"live_toolong":            {Exit: process.Exit{Code: 1}},
	"live_mcp":                {Request: func(r *execution.Request) { r.Run.MCPServers = []execution.MCPServer{{Name: "echo"}} }},
	"sig_group_hang_sigint":   {Exit: process.Exit{Code: -1, Signal: "SIGINT"}},
	"sig_native_hang_sigterm": {Exit: stopped},
	"sig_native_tool_sigterm": {Exit: stopped},
	"tool_sigint":             {Exit: process.Exit{Code: -1, Signal: "SIGINT"}},
}

func request() execution.Request { return clitest.Request() }

// TestGoldens replays every transcript.
func TestGoldens(t *testing.T) { goldens.Test(t) }

// TestDamaged replays them with one line lost or twice, and cut off.
func TestDamaged(t *testing.T) {
	goldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"type":"result"`), Usage: clitest.Has(`Tokens"`), Text: clitest.Has(`"content"`, `"deltaContent"`)})
}

// TestDifferential holds what is made of mutated recordings.
func TestDifferential(t *testing.T) { goldens.TestDifferential(t) }

var goldens = clitest.Goldens{
	Pattern: "testdata/golden/*.jsonl", Least: 25, Runs: transcripts, Replay: replay,
	Check: func(t *testing.T, events []execution.Event, _ execution.Result) {
		clitest.CheckOrder(t, events)
		checkClosed(t, events)
	},
}

// replay replays a transcript with the session that it was recorded with.
func replay(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
	p := newParser(r.Request).(*parser)
	p.session = "00000000-0000-4000-8000-000000000001"
	for line := range bytes.Lines(r.Stdout) {
		var v struct {
			SessionID string `json:"sessionId"`
		}
		if json.Unmarshal(line, &v) == nil && v.SessionID != "" {
			p.session = v.SessionID
		}
	}
	outputs := map[string][]byte{}
	if usage, err := os.ReadFile(r.Base + ".usage.json"); err == nil {
		outputs[usageFile] = usage
	}
	return cliagent.ReplayOutputs(p, outputs, r.Stdout, nil, r.Exit, false)
}

// checkClosed holds that no turn ends in the middle of something, not even one that fails.
func checkClosed(t *testing.T, events []execution.Event) {
	t.Helper()
	open := 0
	for i, e := range events {
		if e.Parent != "" {
			continue
		}
		switch e.Body.(type) {
		case execution.StepStart, execution.MessageStart, execution.ThinkingStart:
			open++
		case execution.StepEnd, execution.MessageStop, execution.ThinkingStop:
			open--
		case execution.TurnEnd:
			if open != 0 {
				t.Errorf("event %d: a turn ends in the middle of something", i)
			}
		}
	}
}
