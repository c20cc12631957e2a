package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func newRequest() execution.Request { return clitest.Request() }

func yolo(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }

var oneShotCases = map[string]clitest.Run{
	"plain": {}, "deny_shell_default": {}, "plan_mode": {}, "model_unknown": {}, "system_replace": {}, "write_auto_edit": {},
	"model_override":    {Request: func(r *execution.Request) { r.Run.Model = "gemini-2.5-flash" }},
	"shell":             {Request: yolo},
	"write_file":        {Request: yolo},
	"multi":             {Request: yolo},
	"mcp":               {Request: yolo},
	"mcp_user_settings": {Request: yolo},
	"session_2_resume":  {Request: func(r *execution.Request) { r.Run.SessionID = "cf5c6b07-1e34-4da0-ba09-29d0c4ad72ac" }},
	// The exit code of a refused request is its status modulo 256.
	"err400":                   {Exit: process.Exit{Code: 144}},
	"err401":                   {Exit: process.Exit{Code: 145}},
	"malformed":                {Exit: process.Exit{Code: 1}},
	"noauth":                   {Exit: process.Exit{Code: 41}},
	"auth_via_system_settings": {Exit: process.Exit{Code: 41}},
	"session_5_resume_unknown": {Exit: process.Exit{Code: 42}},
	"session_6_reuse_id":       {Exit: process.Exit{Code: 42}},
	"badflag":                  {Exit: process.Exit{Code: 1}},
	"err429_forever":           {Exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	"err500_forever":           {Exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	"hang_sigterm":             {Exit: process.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}},
	// Gemini exits with 0 when it is stopped.
	"sig_norelaunch_hang_sigint":  {Exit: process.Exit{Code: 0, Stopped: true}},
	"sig_norelaunch_tool_sigterm": {Request: yolo, Exit: process.Exit{Code: 0, Stopped: true}},
}

// TestOneShotGoldens replays recorded runs of gemini --output-format stream-json.
func TestOneShotGoldens(t *testing.T) { oneShotGoldens.Test(t) }

// TestDamagedRuns replays them with one line lost or twice, and cut off.
func TestDamagedRuns(t *testing.T) {
	oneShotGoldens.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"status":"success"`), Usage: clitest.Has(`_tokens"`), Text: clitest.Has(`"content"`)})
}

// TestDifferential holds what is made of mutated recordings.
func TestDifferential(t *testing.T) { oneShotGoldens.TestDifferential(t) }

var oneShotGoldens = clitest.Goldens{
	Pattern: "testdata/oneshot/*.jsonl", Least: 10, Runs: oneShotCases, Listed: true, Check: check,
	Replay: func(t *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		if r.Stderr == nil {
			t.Fatalf("there is no %s.stderr", r.Base)
		}
		return cliagent.Replay(newOneShot(r.Request), r.Stdout, r.Stderr, r.Exit, false)
	},
}

func check(t *testing.T, events []execution.Event, res execution.Result) {
	t.Helper()
	clitest.CheckOrder(t, events)
	clitest.CheckUsage(t, events, res)
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
			events, res := c.replay(t, name, conversationLines(t, clitest.Read(t, "testdata/wire/"+name+".wire.jsonl")))
			clitest.Compare(t, "testdata/wire/"+name+".events", clitest.Render(t, events, res))
			check(t, events, res)
		})
	}
}

// replay feeds the lines to a parser and answers its questions.
func (c wireCase) replay(t *testing.T, name string, lines [][]byte) ([]execution.Event, execution.Result) {
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
	for _, line := range lines {
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
	return events, res
}

// TestDifferentialConversations holds what is made of mutated conversations.
func TestDifferentialConversations(t *testing.T) {
	clitest.Goldens{
		Pattern: "testdata/wire/*.jsonl", Least: 4,
		Stdout: func(t testing.TB, recording []byte) []byte {
			return append(bytes.Join(conversationLines(t, recording), []byte("\n")), '\n')
		},
		Replay: func(t *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
			name := strings.TrimSuffix(r.Name, ".wire")
			return wireCases[name].replay(t, name, bytes.Split(r.Stdout, []byte("\n")))
		},
	}.TestDifferential(t)
}

// conversationLines is what Gemini said up to the end of its first turn, with its answers numbered as the parser asks.
func conversationLines(t testing.TB, recording []byte) (lines [][]byte) {
	t.Helper()
	answers := 0
	for line := range bytes.Lines(recording) {
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
		t.Fatalf("%d answers, want those to initialize, session/new and session/prompt", answers)
	}
	return lines
}
