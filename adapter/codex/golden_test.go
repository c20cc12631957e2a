package codex

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

func newRequest() execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t", Message: execution.Message{Text: "hello"}}
}

func wantsAnswer(r *execution.Request) {
	r.Run.OutputSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)
}

// execCase is what a recorded run of codex exec was asked for and how its process ended.
type execCase struct {
	request func(*execution.Request)
	exit    process.Exit
}

var failed = process.Exit{Code: 1}

var execCases = map[string]execCase{
	"plain": {}, "multi": {}, "shell": {}, "mcp": {}, "mcp_flatname": {}, "err429_then_ok": {}, "err500_then_ok": {}, "deny_never": {},
	"write_file_patch_custom": {}, "builtin_noauth": {}, "shell_sandbox_readonly": {}, "shell_sandbox_workspace": {}, "cut": {},
	"subagent": {}, "web_search": {},
	"schema":                   {request: wantsAnswer},
	"schema_no_json":           {request: wantsAnswer},
	"err429_forever":           {exit: failed},
	"malformed":                {exit: failed},
	"noauth":                   {exit: failed},
	"session_5_resume_unknown": {exit: failed},
	"nongit_refused":           {exit: failed},
	"tool_sigint":              {exit: failed},
	"hang_sigint":              {exit: process.Exit{Code: 1, Stopped: true}},
	"e401":                     {exit: failed},
	"e500":                     {exit: failed},
	"e400":                     {exit: failed},
	"e404":                     {exit: failed},
	"context":                  {exit: failed},
	"usage_limit":              {exit: failed},
	"quota":                    {exit: failed},
	"bad_config":               {exit: failed},
	"bad_sandbox":              {exit: failed},
	"bad_flag":                 {exit: process.Exit{Code: 2}},
	"bad_approval":             {exit: failed},
	"untrusted":                {exit: failed},
	"bad_provider":             {exit: failed},
	"no_home":                  {exit: failed},
	"no_schema_file":           {exit: failed},
	"no_instructions_file":     {exit: failed},
}

// TestExecGoldens replays recorded runs of codex exec.
func TestExecGoldens(t *testing.T) {
	used := map[string]bool{}
	for _, file := range glob(t, "testdata/exec/*.jsonl") {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, known := execCases[name]
			if !known {
				t.Fatal("the transcript is in no table")
			}
			req := newRequest()
			if c.request != nil {
				c.request(&req)
			}
			stderr, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".stderr")
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			events, res := cliagent.Replay(newExecParser(req), read(t, file), stderr, c.exit, false)
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".events", render(t, events, res))
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			checkOrder(t, events)
			checkUsage(t, events, res)
		})
	}
	for name := range execCases {
		if !used[name] {
			t.Errorf("there is no transcript %s", name)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
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
	line := func(head string, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(head + " ")
		b.Write(body)
		b.WriteByte('\n')
	}
	for _, e := range events {
		head := string(e.Body.Type())
		if e.Parent != "" {
			head += " from " + e.Parent
		}
		line(head, e.Body)
	}
	line("result", res)
	return b.Bytes()
}

// checkOrder holds the events against the order that every adapter owes.
func checkOrder(t *testing.T, events []execution.Event) {
	t.Helper()
	open, session := false, false
	ready, ended, shell := map[string]bool{}, map[string]bool{}, map[string]bool{}
	texts, steps, asked := map[string]*strings.Builder{}, map[string]bool{}, map[execution.QuestionID]bool{}
	begin := func(id string) string {
		if ready[id] {
			return "a call begins twice"
		}
		ready[id] = true
		return ""
	}
	end := func(id string) string {
		if !ready[id] || ended[id] {
			return "a call ends that does not run"
		}
		ended[id] = true
		return ""
	}
	for i, e := range events {
		bad := ""
		if group := execution.EventGroup(e.Body.Type()); !open && strings.Contains(" text thinking tool file shell mcp subagent ", " "+group+" ") {
			t.Errorf("event %d %s lies in no turn", i, e.Body.Type())
		}
		switch b := e.Body.(type) {
		case execution.SessionStart:
			session = true
		case execution.TurnStart:
			if open || !session {
				bad = "a turn begins in a turn, or before the session"
			}
			open = true
			clear(texts)
		case execution.TurnEnd:
			if !open {
				bad = "a turn ends that never began"
			}
			open = false
			clear(steps)
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
			if texts[e.Parent] != nil {
				bad = "a text begins in a text"
			}
			texts[e.Parent] = &strings.Builder{}
		case execution.TextDelta:
			if text := texts[e.Parent]; text == nil {
				bad = "text without a message_start"
			} else if text.WriteString(b.Delta); text.String() != b.Accumulated {
				bad = "accumulated is not the sum of the deltas"
			}
		case execution.MessageStop:
			if text := texts[e.Parent]; text == nil || text.String() != b.Text {
				bad = "the text that ends is not the one that was said"
			}
			texts[e.Parent] = nil
		case execution.ThinkingStart:
			if texts[e.Parent] != nil {
				bad = "a thought within a text"
			}
		case execution.ToolCallReady:
			if !json.Valid(b.Input) {
				bad = "the input is no JSON"
			}
			bad += begin(b.ToolCallID)
		case execution.MCPToolCallStart:
			bad = begin(b.ToolCallID)
		case execution.ToolResultEvent:
			if !json.Valid(b.Output) {
				bad = "the output is no JSON"
			}
			bad += end(b.ToolCallID)
		case execution.ToolError:
			bad = end(b.ToolCallID)
		case execution.MCPToolResult:
			bad = end(b.ToolCallID)
		case execution.MCPToolError:
			bad = end(b.ToolCallID)
		case execution.ShellStart:
			if !ready[b.ToolCallID] || ended[b.ToolCallID] {
				bad = "a command outside its call"
			}
			shell[b.ToolCallID] = true
		case execution.ShellStdoutDelta:
			if !shell[b.ToolCallID] || ended[b.ToolCallID] {
				bad = "output outside its command"
			}
		case execution.ShellExit:
			if !shell[b.ToolCallID] || ended[b.ToolCallID] {
				bad = "an exit outside its command"
			}
		case execution.FileCreate:
			if !ended[b.ToolCallID] {
				bad = "a file before the end of its call"
			}
		case execution.FilePatch:
			if !ended[b.ToolCallID] {
				bad = "a file before the end of its call"
			}
		case execution.FileDelete:
			if !ended[b.ToolCallID] {
				bad = "a file before the end of its call"
			}
		case execution.ApprovalRequired:
			if asked[b.ID] {
				bad = "asked twice"
			}
			asked[b.ID] = true
		case execution.InputRequired:
			if asked[b.ID] {
				bad = "asked twice"
			}
			asked[b.ID] = true
		case execution.TokenUsage:
			if b.InputTokens < 0 || b.OutputTokens < 0 || b.CachedTokens < 0 {
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
	for _, e := range events {
		if b, ok := e.Body.(execution.TokenUsage); ok {
			u = u.Add(total(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens, CacheWrite: b.CacheWriteTokens}))
		}
		if _, ok := e.Body.(execution.CostEvent); ok {
			t.Error("a price that codex did not state")
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
