package qwen

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

var (
	failedExit = process.Exit{Code: 1}
	bySignal   = func(name string) process.Exit { return process.Exit{Code: -1, Signal: name, Stopped: true} }
	resumes    = func(id string) func(*execution.Request) {
		return func(r *execution.Request) { r.Run.SessionID = id }
	}
)

// transcripts are the runs that did not simply succeed, or that had more than a prompt.
var transcripts = map[string]clitest.Run{
	"live_err400":                  {Exit: failedExit},
	"live_err401":                  {Exit: failedExit},
	"live_garbage":                 {Exit: failedExit},
	"live_schema":                  {Request: wantsBird},
	"live_schema_missing":          {Request: wantsBird, Exit: failedExit},
	"new_badflag":                  {Exit: failedExit},
	"new_err500_forever":           {Exit: failedExit},
	"new_malformed":                {Exit: failedExit},
	"new_max_turns":                {Request: func(r *execution.Request) { r.Run.MaxTurns = 2 }, Exit: process.Exit{Code: 53}},
	"new_session_2_resume":         {Request: resumes("11111111-1111-4111-8111-111111111111")},
	"new_sig_direct_hang_sigint":   {Exit: process.Exit{Code: 130, Stopped: true}},
	"new_sig_direct_tool_sigint":   {Exit: process.Exit{Code: 130, Stopped: true}},
	"new_sig_direct_tool_sigterm":  {Exit: process.Exit{Code: 0, Stopped: true}}, // a code of 0 after a signal proves nothing
	"new_sig_group_hang_sigterm":   {Exit: bySignal("SIGTERM")},
	"new_sig_group_tool_sigint":    {Exit: bySignal("SIGINT")},
	"new_sig_pid_hang_sigint":      {Exit: bySignal("SIGINT")},
	"new_sig_pid_tool_sigterm":     {Exit: bySignal("SIGTERM")},
	"old_badflag":                  {Exit: failedExit},
	"old_err429_forever":           {Exit: bySignal("SIGKILL")},
	"old_hang_sigterm":             {Exit: bySignal("SIGTERM")},
	"old_noauth":                   {Exit: failedExit},
	"old_session_2_resume":         {Request: resumes("11111111-1111-4111-8111-111111111111")},
	"old_session_4_resume_unknown": {Request: resumes("dabb275e-3525-4b7f-9276-ea609b4fd7da"), Exit: failedExit},
	"old_session_5_reuse_id":       {Exit: failedExit},
}

func wantsBird(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"bird":{"type":"string"}},"required":["bird"]}`)
}

func request() execution.Request { return clitest.Request() }

// TestGoldens replays every transcript.
func TestGoldens(t *testing.T) { goldens.Test(t) }

// TestDamaged replays them with one line lost or twice, and cut off.
func TestDamaged(t *testing.T) {
	goldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"subtype":"success"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`, `"result"`)})
}

// TestDifferential holds what is made of mutated recordings.
func TestDifferential(t *testing.T) { goldens.TestDifferential(t) }

var goldens = clitest.Goldens{
	Pattern: "testdata/golden/*.jsonl", Least: 40, Runs: transcripts,
	Unknown: func(name string) bool {
		return strings.HasSuffix(name, "_badflag") || strings.HasPrefix(name, "old_session")
	},
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		r.Exit.StderrTail = string(r.Stderr)
		events, res := cliagent.Replay(newParser(r.Request), r.Stdout, r.Stderr, r.Exit, false)
		if res.Error != nil {
			e := *res.Error
			e.Stderr = ""
			delete(e.Metadata, "stderr")
			res.Error = &e
		}
		return events, res
	},
	Check: func(t *testing.T, events []execution.Event, res execution.Result) {
		clitest.CheckOrder(t, events)
		clitest.CheckUsage(t, events, res)
	},
}
