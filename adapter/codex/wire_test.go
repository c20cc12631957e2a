package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// wireCases are what the recorded conversations with codex app-server were asked for. Each was held by this parser with
// the real program.
var wireCases = map[string]func(*execution.Request){
	"text": mayAsk, "deny": denies, "retry_ok": mayAsk, "e401": mayAsk, "e429": mayAsk, "e500": mayAsk,
	"e400": mayAsk, "badconfig": mayAsk, "subagent": mayAsk, "conversation": interactive, "approvals": interactive, "input": interactive,
	"interrupt": interactive,
	"resume": func(r *execution.Request) {
		mayAsk(r)
		r.Message.Text, r.Run.SessionID, r.Instructions.SystemPrompt = "go on", "SESSION", "BE TERSE"
	},
	"fork":            func(r *execution.Request) { mayAsk(r); r.Message.Text, r.Run.ForkSessionID = "go on", "SESSION" },
	"fork_interrupt":  func(r *execution.Request) { interactive(r); r.Message.Text, r.Run.ForkSessionID = "go on", "SESSION" },
	"unknown_session": func(r *execution.Request) { mayAsk(r); r.Message.Text, r.Run.SessionID = "go on", "SESSION" },
	"tools": func(r *execution.Request) {
		interactive(r)
		r.Tools = []execution.Tool{{Name: "look"}, {Name: "ask", RequiresApproval: true}}
		r.Run.MCPServers = []execution.MCPServer{{Name: "drawbar", Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:8080/mcp",
			Headers: map[string]string{"Authorization": "Bearer dummy-token"}}}
	},
	"mcp": func(r *execution.Request) {
		interactive(r)
		r.Run.MCPServers = []execution.MCPServer{
			{Name: "ech", Transport: execution.MCPStdio, Command: "/usr/bin/python3", Args: []string{"/srv/mcp.py"}, Env: map[string]string{"TOKEN": "not-a-secret"}},
			{Name: "gone", Transport: execution.MCPStdio, Command: "/nonexistent-server"}}
	},
	"shell": func(r *execution.Request) {
		r.Run.ApprovalMode = execution.ApprovalYolo
		r.Run.MCPServers = []execution.MCPServer{{Name: "ech", Transport: execution.MCPStdio, Command: "/usr/bin/python3", Args: []string{"/srv/mcp.py"}}}
	},
	"schema": func(r *execution.Request) {
		mayAsk(r)
		wantsAnswer(r)
		r.Run.ThinkingEffort = execution.EffortMax
	},
	"attachments": func(r *execution.Request) {
		mayAsk(r)
		r.Message.Attachments = []execution.Attachment{{FilePath: "/work-dir/a.png"}, {MimeType: "image/png", Base64: pixel}, {MimeType: "text/plain", Name: "n.txt", Base64: "aGVsbG8gdGV4dA=="}}
		r.Instructions = execution.Instructions{SystemPrompt: "SYSTEM", DeveloperPrompt: "DEVELOPER"}
		r.Run.SystemPromptMode = execution.SystemPromptReplace
	},
	"login":     func(r *execution.Request) { mayAsk(r); r.Run.Env = map[string]string{"CODEX_API_KEY": "dummy-key"} },
	"ephemeral": func(r *execution.Request) { mayAsk(r); r.Run.NoSession = true },
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

func mayAsk(r *execution.Request) {
	r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
}
func interactive(r *execution.Request) { r.Run.Interactive = true }
func denies(r *execution.Request)      { r.Run.ApprovalMode = execution.ApprovalDeny }

// conversationTest replays a recorded conversation: what Codex said is fed to the parser, what the parser says must be what
// was said then.
type conversationTest struct {
	t       *testing.T
	p       *appParser
	s       *cliagent.Sink
	written []string // by the parser, and not yet met in the recording
	events  []execution.Event
	said    int
}

func (c *conversationTest) collect() {
	c.events = append(c.events, c.s.Take()...)
	for _, w := range c.s.TakeWrites() {
		c.written = append(c.written, string(w))
	}
}

func (c *conversationTest) command(cmd execution.Command) {
	c.t.Helper()
	if err := c.p.Command(cmd, c.s); err != nil {
		c.t.Errorf("%T: %v", cmd, err)
	}
	c.collect()
}

// client meets a line that the parser must say, of its own or because somebody says something to it.
func (c *conversationTest) client(line string) {
	c.t.Helper()
	if len(c.written) == 0 {
		c.cause(line)
	}
	if len(c.written) == 0 {
		c.t.Errorf("the parser does not say %s", line)
		return
	}
	var got, want any
	if json.Unmarshal([]byte(c.written[0]), &got) != nil || json.Unmarshal([]byte(line), &want) != nil {
		c.t.Fatalf("no JSON: %s or %s", c.written[0], line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("the parser says something else (-want +got):\n%s", diff)
	}
	c.written = c.written[1:]
}

// cause does what made the parser say the line when it was recorded.
func (c *conversationTest) cause(line string) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Input []inputItem }
		Result struct {
			Decision    string
			Action      string
			Permissions map[string]any
			Content     map[string]any
			Answers     map[string]struct{ Answers []string }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.t.Fatalf("%v in %s", err, line)
	}
	switch m.Method {
	case "turn/start", "turn/steer":
		c.said++
		c.command(execution.Say{ID: execution.InputID(fmt.Sprint("input-", c.said)), Text: m.Params.Input[0].Text, When: execution.WhenNow})
	case "turn/interrupt":
		c.command(execution.Interrupt{})
	case "":
		r := c.p.requests[string(m.ID)]
		if r == nil {
			c.t.Errorf("codex does not wait for %s", line)
			return
		}
		for _, q := range r.questions {
			d := execution.Decision{Approve: m.Result.Decision == "accept" || m.Result.Action == "accept" || len(m.Result.Permissions) > 0}
			if a := m.Result.Answers[q.key].Answers; len(a) > 0 {
				d.Text = a[0]
			}
			if text, ok := m.Result.Content[q.key].(string); ok {
				d.Text = text
			}
			c.command(execution.Answer{ID: q.id, Decision: d})
		}
	}
}

func wireRequest(name, recording string) execution.Request {
	req := newRequest()
	req.Run.Cwd, req.Run.Model = "/work-dir", "gpt-5.5"
	wireCases[name](&req)
	if id, _ := cliagent.SessionOf(req); id != "" {
		// The id is the recording's.
		_, rest, _ := strings.Cut(recording, `"threadId":"`)
		id, _, _ = strings.Cut(rest, `"`)
		if req.Run.SessionID != "" {
			req.Run.SessionID = id
		} else {
			req.Run.ForkSessionID = id
		}
	}
	return req
}

// TestWire holds the recorded conversations once more.
func TestWire(t *testing.T) {
	used := map[string]bool{}
	for _, file := range clitest.Glob(t, "testdata/wire/*.wire", 10) {
		name := strings.TrimSuffix(filepath.Base(file), ".wire")
		used[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if wireCases[name] == nil {
				t.Fatal("the recording is in no table")
			}
			recording := string(clitest.Read(t, file))
			req := wireRequest(name, recording)
			c := &conversationTest{t: t, p: newAppParser(req, req.Run.Env["CODEX_API_KEY"]), s: cliagent.NewSink(true)}
			c.p.Open(c.s)
			c.collect()
			if !req.Run.Interactive {
				c.command(execution.EndInput{})
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(recording, "\n"), "\n") {
				switch text := line[2:]; line[:2] {
				case "> ":
					c.client(text)
				case "! ":
					c.p.Line(process.Stderr, []byte(text), c.s)
				default:
					c.p.Line(process.Stdout, []byte(text), c.s)
				}
				c.collect()
			}
			if req.Run.Interactive {
				c.command(execution.EndInput{})
			}
			for _, w := range c.written {
				t.Errorf("the parser also says %s", w)
			}
			// A conversation that could not begin is ended by Sink.Fail, every other one by Sink.Done.
			if began := c.p.turns > 0; c.p.done != began {
				t.Errorf("the run is over: %v, a turn began: %v", c.p.done, began)
			}
			res := c.p.Exit(process.Exit{}, c.s)
			c.collect()
			for _, e := range c.events {
				if l, ok := e.Body.(execution.Log); ok {
					t.Errorf("a line is unknown: %s", l.Line)
				}
			}
			clitest.Compare(t, strings.TrimSuffix(file, ".wire")+".events", clitest.Render(t, c.events, res))
			check(t, c.events, res)
		})
	}
	for name := range wireCases {
		if !used[name] {
			t.Errorf("there is no recording %s", name)
		}
	}
}

// TestDamagedConversations replays what Codex said with one line lost or twice, and cut off.
func TestDamagedConversations(t *testing.T) {
	conversations.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"status":"completed"`), Usage: clitest.Has(`"tokenUsage"`), Text: clitest.Has(`"text"`, `"delta"`)})
}

// TestDifferentialConversations holds what is made of mutated conversations.
func TestDifferentialConversations(t *testing.T) { conversations.TestDifferential(t) }

var conversations = clitest.Goldens{
	Pattern: "testdata/wire/*.wire", Least: 10,
	Stdout: func(_ testing.TB, recording []byte) (said []byte) {
		for line := range bytes.Lines(recording) {
			if text, ok := bytes.CutPrefix(line, []byte("< ")); ok {
				said = append(said, text...)
			}
		}
		return said
	},
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		req := wireRequest(r.Name, string(r.Stdout))
		return cliagent.Replay(newAppParser(req, ""), r.Stdout, nil, r.Exit, false)
	},
}

// TestTurnWithoutItsBegin: the line that begins the turn is lost, and nothing else is.
func TestTurnWithoutItsBegin(t *testing.T) {
	t.Parallel()
	play := func(without string) (kinds []execution.EventType, res execution.Result, told bool) {
		recording := string(clitest.Read(t, "testdata/wire/shell.wire"))
		p, s := newAppParser(wireRequest("shell", recording), ""), cliagent.NewSink(false)
		p.Open(s)
		_ = p.Command(execution.EndInput{}, s)
		for line := range strings.Lines(recording) {
			if text, ok := strings.CutPrefix(line, "< "); ok && (without == "" || !strings.Contains(text, without)) {
				p.Line(process.Stdout, []byte(strings.TrimSuffix(text, "\n")), s)
			}
		}
		for _, e := range s.Take() {
			if d, is := e.Body.(execution.Debug); is {
				told = told || strings.Contains(d.Message, "is missing")
				continue
			}
			kinds = append(kinds, e.Body.Type())
		}
		return kinds, p.Exit(process.Exit{}, s), told
	}
	all, want, _ := play("")
	kinds, res, told := play(`"method":"turn/started"`)
	if diff := cmp.Diff(all, kinds); diff != "" || !told {
		t.Errorf("told %v, events (-want +got):\n%s", told, diff)
	}
	if want.Usage == nil || want.Output == nil || res.Usage == nil || *res.Usage != *want.Usage || res.Output == nil || res.Output.Text != want.Output.Text {
		t.Errorf("got %+v %+v, want %+v %+v", res.Usage, res.Output, want.Usage, want.Output)
	}
}
