package gemini

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

func yolo(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }

// oneShotCase is what a recorded run was asked for and how its process ended.
type oneShotCase struct {
	request func(*execution.Request)
	exit    process.Exit
}

var oneShotCases = map[string]oneShotCase{
	"plain": {}, "deny_shell_default": {}, "plan_mode": {}, "model_unknown": {}, "system_replace": {}, "write_auto_edit": {},
	"model_override":    {request: func(r *execution.Request) { r.Run.Model = "gemini-2.5-flash" }},
	"shell":             {request: yolo},
	"write_file":        {request: yolo},
	"multi":             {request: yolo},
	"mcp":               {request: yolo},
	"mcp_user_settings": {request: yolo},
	"session_2_resume":  {request: func(r *execution.Request) { r.Run.SessionID = "cf5c6b07-1e34-4da0-ba09-29d0c4ad72ac" }},
	// The exit code of a refused request is its status modulo 256.
	"err400":                   {exit: process.Exit{Code: 144}},
	"err401":                   {exit: process.Exit{Code: 145}},
	"malformed":                {exit: process.Exit{Code: 1}},
	"noauth":                   {exit: process.Exit{Code: 41}},
	"auth_via_system_settings": {exit: process.Exit{Code: 41}},
	"session_5_resume_unknown": {exit: process.Exit{Code: 42}},
	"session_6_reuse_id":       {exit: process.Exit{Code: 42}},
	"badflag":                  {exit: process.Exit{Code: 1}},
	"err429_forever":           {exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	"err500_forever":           {exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	"hang_sigterm":             {exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	// Gemini exits with 0 when it is stopped.
	"sig_norelaunch_hang_sigint":  {exit: process.Exit{Code: 0, Stopped: true}},
	"sig_norelaunch_tool_sigterm": {request: yolo, exit: process.Exit{Code: 0, Stopped: true}},
}

// TestOneShotGoldens replays recorded runs of gemini --output-format stream-json.
func TestOneShotGoldens(t *testing.T) {
	used := map[string]bool{}
	for _, file := range glob(t, "testdata/oneshot/*.jsonl") {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, known := oneShotCases[name]
			if !known {
				t.Fatal("the transcript is in no table")
			}
			req := newRequest()
			if c.request != nil {
				c.request(&req)
			}
			stderr := read(t, strings.TrimSuffix(file, ".jsonl")+".stderr")
			events, res := cliagent.Replay(newOneShot(req), read(t, file), stderr, c.exit, false)
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".events", render(t, events, res))
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			checkUsage(t, events, res)
		})
	}
	for name := range oneShotCases {
		if !used[name] {
			t.Errorf("there is no transcript %s", name)
		}
	}
}

// wireCase is a recorded conversation.
type wireCase struct {
	request func(*execution.Request)
	answer  bool // to every question
}

func interactive(r *execution.Request) { r.Run.Interactive = true }

var wireCases = map[string]wireCase{
	"acp_plain": {request: interactive},
	"acp_mcp": {answer: true, request: func(r *execution.Request) {
		r.Run.MCPServers = []execution.MCPServer{{Name: "echo", Transport: execution.MCPStdio, Command: "echo"}}
	}},
	"acp_permission_nofs_allow":  {request: interactive, answer: true},
	"acp_permission_nofs_reject": {request: interactive},
}

// TestConversationGoldens replays recorded conversations over the Agent Client Protocol, as far as their first turn: what Gemini said
// then is fed to the parser, whose own requests have other numbers.
func TestConversationGoldens(t *testing.T) {
	for name, c := range wireCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := newRequest()
			req.Run.Cwd = "/work-dir/" + name
			c.request(&req)
			p, s := newConversation(req), cliagent.NewSink(false)
			p.Open(s)
			var events []execution.Event
			take := func() {
				for _, e := range s.Take() {
					events = append(events, e)
					if q, ok := e.Body.(execution.ApprovalRequired); ok {
						if err := p.Command(execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: c.answer}}, s); err != nil {
							t.Error(err)
						}
					}
				}
			}
			for _, line := range conversationLines(t, "testdata/wire/"+name+".wire.jsonl") {
				p.Line(process.Stdout, line, s)
				take()
			}
			take()
			for _, w := range s.TakeWrites() {
				if bytes.Contains(w, []byte(`"readTextFile":true`)) || bytes.Contains(w, []byte("authenticate")) {
					t.Errorf("said %s", w)
				}
			}
			_ = p.Command(execution.EndInput{}, s)
			res := p.Exit(process.Exit{Stopped: true}, s)
			take()
			compareGolden(t, "testdata/wire/"+name+".events", render(t, events, res))
			checkUsage(t, events, res)
		})
	}
}

// conversationLines is what Gemini said up to the end of its first turn, with its answers numbered as the parser asks.
func conversationLines(t *testing.T, file string) (lines [][]byte) {
	t.Helper()
	answers := 0
	for line := range bytes.Lines(read(t, file)) {
		var record struct {
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		if record.Dir != "agent->client" {
			continue
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(record.Msg, &m); err != nil {
			t.Fatal(err)
		}
		if m["method"] == nil {
			answers++
			m["id"], _ = json.Marshal(answers)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
		if answers == 3 {
			break
		}
	}
	if answers != 3 {
		t.Fatalf("%s has %d answers, want those to initialize, session/new and session/prompt", file, answers)
	}
	return lines
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
		line(string(e.Body.Type()), e.Body)
	}
	line("result", res)
	return b.Bytes()
}

// checkUsage adds up the increments: together they are the totals of the result.
func checkUsage(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	var u execution.Usage
	for _, e := range events {
		if b, ok := e.Body.(execution.TokenUsage); ok {
			u = u.Add(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens,
				Total: b.InputTokens + b.OutputTokens + b.CachedTokens})
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
