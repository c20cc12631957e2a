package claude

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

var transcripts = map[string]clitest.Run{
	"new_budget":                   {Exit: process.Exit{Code: 1}},
	"new_json_schema":              {Request: wantsAnswer},
	"new_err400":                   {Exit: process.Exit{Code: 1}},
	"new_err401":                   {Exit: process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}},
	"new_err429_forever_max2":      {Exit: process.Exit{Code: 1}},
	"new_err500_forever_max2":      {Exit: process.Exit{Code: 1}},
	"new_session_2_resume":         {Request: func(r *execution.Request) { r.Run.SessionID = "3f9f1b1e-0f2c-4b7c-9f0f-0d6cbd6b7a11" }},
	"new_midstream_sigterm":        {Exit: process.Exit{Code: 143, Stopped: true}},
	"old_err400":                   {Exit: process.Exit{Code: 1}},
	"old_max_turns":                {Request: func(r *execution.Request) { r.Run.MaxTurns = 2 }, Exit: process.Exit{Code: 1}},
	"old_noauth":                   {Exit: process.Exit{Code: 1}},
	"old_json_schema":              {Request: wantsAnswer},
	"old_session_3_fork":           {Request: func(r *execution.Request) { r.Run.ForkSessionID = "daeb0051-afae-4026-a58f-0c6436b7a5e8" }},
	"old_session_6_resume_unknown": {Request: func(r *execution.Request) { r.Run.SessionID = "b6b4bbfa-94a9-4809-a03d-2fd07a3e8651" }, Exit: process.Exit{Code: 1}},
	"old_root_skip_refused": {Exit: process.Exit{Code: 1,
		StderrTail: "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n"}},
	"live_schemaexh2": {Request: wantsAnswer, Exit: process.Exit{Code: 1}},
	"live_unkbad":     {Request: func(r *execution.Request) { r.Run.SessionID = "not-a-uuid" }, Exit: process.Exit{Code: 1}},
	"live_refusal":    {Exit: process.Exit{Code: 1}},
	"live_maxtok":     {Exit: process.Exit{Code: 1}},
	"live_toolong":    {Exit: process.Exit{Code: 1}},
	"live_noconn":     {Exit: process.Exit{Code: 1}},
	"live_rl429":      {Exit: process.Exit{Code: 1}},
}

func wantsAnswer(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}`)
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
	Pattern: "testdata/golden/*.jsonl", Least: 35, Runs: transcripts, Check: check,
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		return cliagent.Replay(newParser(r.Request), r.Stdout, nil, r.Exit, false)
	},
}

func check(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
}

// TestTextWithoutItsMessage: a piece of a text whose message's begin is lost belongs to a turn all the same.
func TestTextWithoutItsMessage(t *testing.T) {
	t.Parallel()
	line := `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}`
	events, _ := cliagent.Replay(newParser(request()), []byte(line), nil, process.Exit{}, false)
	var got []execution.EventType
	for _, e := range events {
		got = append(got, e.Body.Type())
	}
	if want := "[turn_start message_start text_delta]"; len(got) < 3 || fmt.Sprint(got[:3]) != want {
		t.Errorf("the events are %v, want %s first", got, want)
	}
}
