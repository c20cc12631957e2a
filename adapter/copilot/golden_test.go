package copilot

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

// stopped is the exit of the native program after a signal: it says that all went well.
var stopped = process.Exit{Stopped: true}

var transcripts = map[string]transcript{
	"err400":                  {exit: process.Exit{Code: 1}},
	"live_401":                {exit: process.Exit{Code: 1}},
	"live_404":                {exit: process.Exit{Code: 1}},
	"live_429":                {exit: process.Exit{Code: 1}},
	"live_toolong":            {exit: process.Exit{Code: 1}},
	"live_mcp":                {request: func(r *execution.Request) { r.Run.MCPServers = []execution.MCPServer{{Name: "echo"}} }},
	"sig_group_hang_sigint":   {exit: process.Exit{Code: -1, Signal: "SIGINT"}},
	"sig_native_hang_sigterm": {exit: stopped},
	"sig_native_tool_sigterm": {exit: stopped},
	"tool_sigint":             {exit: process.Exit{Code: -1, Signal: "SIGINT"}},
}

func request() execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t", Message: execution.Message{Text: "hello"}}
}

// TestGoldens replays every transcript.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) < 25 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, res := replayFile(t, file, transcripts[name])
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".events", render(t, events, res))
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			checkOrder(t, events)
		})
	}
	for name := range transcripts {
		if !used[name] {
			t.Errorf("there is no transcript %s", name)
		}
	}
}

// replayFile replays a transcript with the session that it was recorded with.
func replayFile(t *testing.T, file string, tr transcript) ([]execution.Event, execution.Result) {
	t.Helper()
	req := request()
	if tr.request != nil {
		tr.request(&req)
	}
	stdout := readTestdata(t, file)
	p := newParser(req).(*parser)
	p.session = "00000000-0000-4000-8000-000000000001"
	for line := range bytes.Lines(stdout) {
		var v struct {
			SessionID string `json:"sessionId"`
		}
		if json.Unmarshal(line, &v) == nil && v.SessionID != "" {
			p.session = v.SessionID
		}
	}
	outputs := map[string][]byte{}
	if usage, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".usage.json"); err == nil {
		outputs[usageFile] = usage
	}
	return cliagent.ReplayOutputs(p, outputs, stdout, nil, tr.exit, false)
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
			if !open || steps[""] || texts[""] {
				bad = "a turn ends that never began, or in the middle of something"
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
			if !texts[e.Parent] || !strings.HasSuffix(b.Accumulated, b.Delta) {
				bad = "text without a message_start, or the delta is not the end of what is accumulated"
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
			if !tools[b.ToolCallID] || !json.Valid(b.Output) {
				bad = "a result of a call that never was, or that is no JSON"
			}
		}
		if bad != "" {
			t.Errorf("event %d %s: %s", i, e.Body.Type(), bad)
		}
	}
}
