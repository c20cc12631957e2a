package qwen

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// transcript is what a recorded run was asked for and how its process ended.
type transcript struct {
	request func(*execution.Request)
	exit    process.Exit
}

var (
	failedExit = process.Exit{Code: 1}
	bySignal   = func(name string) process.Exit { return process.Exit{Code: -1, Signal: name, Stopped: true} }
	resumes    = func(id string) func(*execution.Request) {
		return func(r *execution.Request) { r.Run.SessionID = id }
	}
)

// transcripts are the runs that did not simply succeed, or that had more than a prompt.
var transcripts = map[string]transcript{
	"live_err400":                  {exit: failedExit},
	"live_err401":                  {exit: failedExit},
	"live_garbage":                 {exit: failedExit},
	"live_schema":                  {request: wantsBird},
	"live_schema_missing":          {request: wantsBird, exit: failedExit},
	"new_badflag":                  {exit: failedExit},
	"new_err500_forever":           {exit: failedExit},
	"new_malformed":                {exit: failedExit},
	"new_max_turns":                {request: func(r *execution.Request) { r.Run.MaxTurns = 2 }, exit: process.Exit{Code: 53}},
	"new_session_2_resume":         {request: resumes("11111111-1111-4111-8111-111111111111")},
	"new_sig_direct_hang_sigint":   {exit: process.Exit{Code: 130, Stopped: true}},
	"new_sig_direct_tool_sigint":   {exit: process.Exit{Code: 130, Stopped: true}},
	"new_sig_direct_tool_sigterm":  {exit: process.Exit{Code: 0, Stopped: true}}, // a code of 0 after a signal proves nothing
	"new_sig_group_hang_sigterm":   {exit: bySignal("SIGTERM")},
	"new_sig_group_tool_sigint":    {exit: bySignal("SIGINT")},
	"new_sig_pid_hang_sigint":      {exit: bySignal("SIGINT")},
	"new_sig_pid_tool_sigterm":     {exit: bySignal("SIGTERM")},
	"old_badflag":                  {exit: failedExit},
	"old_err429_forever":           {exit: bySignal("SIGKILL")},
	"old_hang_sigterm":             {exit: bySignal("SIGTERM")},
	"old_noauth":                   {exit: failedExit},
	"old_session_2_resume":         {request: resumes("11111111-1111-4111-8111-111111111111")},
	"old_session_4_resume_unknown": {request: resumes("dabb275e-3525-4b7f-9276-ea609b4fd7da"), exit: failedExit},
	"old_session_5_reuse_id":       {exit: failedExit},
}

func wantsBird(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"bird":{"type":"string"}},"required":["bird"]}`)
}

func request() execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t", Message: execution.Message{Text: "hello"}}
}

// TestGoldens replays every transcript.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) < 40 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".jsonl")
		name := filepath.Base(base)
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout := readTestdata(t, file)
			stderr, err := os.ReadFile(base + ".stderr")
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			tr := transcripts[name]
			req := request()
			if tr.request != nil {
				tr.request(&req)
			}
			tr.exit.StderrTail = string(stderr)
			events, res := cliagent.Replay(newParser(req), stdout, stderr, tr.exit, false)
			compareGolden(t, base+".events", render(t, events, res))
			if res.UnknownLines != 0 && !strings.HasSuffix(name, "_badflag") && !strings.HasPrefix(name, "old_session") {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			checkOrder(t, events)
			checkUsage(t, events, res)
		})
	}
	for name := range transcripts {
		if !used[name] {
			t.Errorf("there is no transcript %s", name)
		}
	}
}

func readTestdata(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *updateGoldens {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("differs from %s; rewrite it with -update if that is right (-want +got):\n%s", file, diff)
	}
}

// render writes one line per event and one for the result.
func render(t *testing.T, events []execution.Event, res execution.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	line := func(kind string, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(kind + " ")
		b.Write(body)
		b.WriteByte('\n')
	}
	for _, e := range events {
		kind := string(e.Body.Type())
		if e.Parent != "" {
			kind += " from " + e.Parent
		}
		line(kind, e.Body)
	}
	if res.Error != nil {
		e := *res.Error
		e.Stderr = ""
		delete(e.Metadata, "stderr")
		res.Error = &e
	}
	line("result", res)
	return b.Bytes()
}

// checkOrder holds the events against the order that every adapter owes: what begins ends, and nothing is said outside of it.
func checkOrder(t *testing.T, events []execution.Event) {
	t.Helper()
	open, session := false, false
	tools, spans := map[string]bool{}, map[string]bool{}
	span := func(i int, e execution.Event, what string, begins bool) {
		key := what + e.Parent
		if spans[key] == begins {
			t.Errorf("event %d %s: a %s begins in one, or ends without one", i, e.Body.Type(), what)
		}
		spans[key] = begins
	}
	for i, e := range events {
		bad := ""
		switch b := e.Body.(type) {
		case execution.SessionStart:
			session = true
		case execution.TurnStart:
			if open || !session {
				bad = "a turn begins in a turn, or before the session"
			}
			open = true
		case execution.TurnEnd:
			if !open {
				bad = "a turn ends that never began"
			}
			open = false
		case execution.StepStart:
			span(i, e, "step", true)
		case execution.StepEnd:
			span(i, e, "step", false)
		case execution.MessageStart:
			span(i, e, "text", true)
		case execution.MessageStop:
			span(i, e, "text", false)
		case execution.ThinkingStart:
			span(i, e, "thought", true)
		case execution.ThinkingStop:
			span(i, e, "thought", false)
		case execution.TextDelta:
			if !spans["text"+e.Parent] || !strings.HasSuffix(b.Accumulated, b.Delta) {
				bad = "text outside of a message, or that is not the end of what is accumulated"
			}
		case execution.ToolCallReady:
			tools[b.ToolCallID] = true
			if !json.Valid(b.Input) {
				bad = "the input is no JSON"
			}
		case execution.MCPToolCallStart:
			tools[b.ToolCallID] = true
		case execution.ToolResultEvent:
			if !tools[b.ToolCallID] {
				bad = "a result of a call that never was"
			}
		}
		if bad != "" {
			t.Errorf("event %d %s: %s", i, e.Body.Type(), bad)
		}
	}
}

// checkUsage adds up the increments: together they are the total of the result.
func checkUsage(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	var u execution.Usage
	for _, e := range events {
		if b, ok := e.Body.(execution.TokenUsage); ok {
			u = u.Add(sum(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens}))
		}
	}
	want := execution.Usage{}
	if res.Usage != nil {
		want = *res.Usage
	}
	if u != want {
		t.Errorf("the increments are %+v, the result says %+v", u, want)
	}
}
