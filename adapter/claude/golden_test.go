package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

var updateGoldens = flag.Bool("update", false, "rewrite the goldens")

// transcript is what a recorded run was asked for and how its process ended.
type transcript struct {
	request func(*execution.Request)
	exit    process.Exit
}

var transcripts = map[string]transcript{
	"new_budget":                   {exit: process.Exit{Code: 1}},
	"new_json_schema":              {request: wantsAnswer},
	"new_err400":                   {exit: process.Exit{Code: 1}},
	"new_err401":                   {exit: process.Exit{Code: -1, Signal: "SIGTERM", Stopped: true}},
	"new_err429_forever_max2":      {exit: process.Exit{Code: 1}},
	"new_err500_forever_max2":      {exit: process.Exit{Code: 1}},
	"new_session_2_resume":         {request: func(r *execution.Request) { r.Run.SessionID = "3f9f1b1e-0f2c-4b7c-9f0f-0d6cbd6b7a11" }},
	"new_midstream_sigterm":        {exit: process.Exit{Code: 143, Stopped: true}},
	"old_err400":                   {exit: process.Exit{Code: 1}},
	"old_max_turns":                {request: func(r *execution.Request) { r.Run.MaxTurns = 2 }, exit: process.Exit{Code: 1}},
	"old_noauth":                   {exit: process.Exit{Code: 1}},
	"old_json_schema":              {request: wantsAnswer},
	"old_session_3_fork":           {request: func(r *execution.Request) { r.Run.ForkSessionID = "daeb0051-afae-4026-a58f-0c6436b7a5e8" }},
	"old_session_6_resume_unknown": {request: func(r *execution.Request) { r.Run.SessionID = "b6b4bbfa-94a9-4809-a03d-2fd07a3e8651" }, exit: process.Exit{Code: 1}},
	"old_root_skip_refused": {exit: process.Exit{Code: 1,
		StderrTail: "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n"}},
	"live_schemaexh2": {request: wantsAnswer, exit: process.Exit{Code: 1}},
	"live_unkbad":     {request: func(r *execution.Request) { r.Run.SessionID = "not-a-uuid" }, exit: process.Exit{Code: 1}},
	"live_refusal":    {exit: process.Exit{Code: 1}},
	"live_maxtok":     {exit: process.Exit{Code: 1}},
	"live_toolong":    {exit: process.Exit{Code: 1}},
	"live_noconn":     {exit: process.Exit{Code: 1}},
	"live_rl429":      {exit: process.Exit{Code: 1}},
}

func wantsAnswer(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}`)
}

func request() execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t", Message: execution.Message{Text: "hello"}}
}

// TestGoldens replays every transcript, both in one go and, what must be the same, without its line ends.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) < 35 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout := readTestdata(t, file)
			tr := transcripts[name]
			req := request()
			if tr.request != nil {
				tr.request(&req)
			}
			events, res := cliagent.Replay(newParser(req), stdout, nil, tr.exit, false)
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".events", render(t, events, res))
			if res.UnknownLines != 0 {
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
	for _, e := range events {
		body, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(string(e.Body.Type()))
		if e.Parent != "" {
			b.WriteString(" from " + e.Parent)
		}
		b.WriteString(" ")
		b.Write(body)
		b.WriteByte('\n')
	}
	body, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("result ")
	b.Write(body)
	b.WriteByte('\n')
	return b.Bytes()
}

// checkOrder holds the events against the order that every adapter owes.
func checkOrder(t *testing.T, events []execution.Event) {
	t.Helper()
	open, session := false, false
	tools, texts, steps := map[string]bool{}, map[string]bool{}, map[string]bool{}
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
			if steps[e.Parent] {
				bad = "a step begins in a step"
			}
			steps[e.Parent] = true
		case execution.StepEnd:
			if !steps[e.Parent] {
				bad = "a step ends that never began"
			}
			steps[e.Parent] = false
		case execution.MessageStart:
			if texts[e.Parent] {
				bad = "a text begins in a text"
			}
			texts[e.Parent] = true
		case execution.TextDelta:
			if !texts[e.Parent] {
				bad = "text without a message_start"
			}
			if !strings.HasSuffix(b.Accumulated, b.Delta) {
				bad = "the delta is not the end of what is accumulated"
			}
		case execution.MessageStop:
			if !texts[e.Parent] {
				bad = "a text ends that never began"
			}
			texts[e.Parent] = false
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
		case execution.TokenUsage:
			if b.InputTokens < 0 || b.OutputTokens < 0 {
				bad = "tokens are taken back"
			}
		}
		if bad != "" {
			t.Errorf("event %d %s: %s", i, e.Body.Type(), bad)
		}
	}
}

// checkUsage adds up the increments: together they are the totals of the result.
func checkUsage(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	var u execution.Usage
	usd := 0.0
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.TokenUsage:
			u = u.Add(sum(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens, CacheWrite: b.CacheWriteTokens}))
		case execution.CostEvent:
			usd += *b.Cost.TotalUSD
		}
	}
	want := execution.Usage{}
	if res.Usage != nil {
		want = *res.Usage
	}
	if u != want {
		t.Errorf("the increments are %+v, the result says %+v", u, want)
	}
	stated := 0.0
	if res.Cost != nil && res.Cost.TotalUSD != nil {
		stated = *res.Cost.TotalUSD
	}
	if diff := usd - stated; diff > 1e-12 || diff < -1e-12 {
		t.Errorf("the increments cost %v, the result says %v", usd, stated)
	}
}
