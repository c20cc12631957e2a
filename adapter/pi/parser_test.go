package pi

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestFailures are the messages of failed model calls and starts: recorded ones, and those of Pi's source.
func TestFailures(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]execution.ErrorCode{
		`401: {"code":"invalid_api_key","message":"bad key","type":"authentication_error"}`: execution.CodeAuth,
		`429: {"message":"slow down","type":"rate_limit_error"}`:                            execution.CodeRateLimited,
		`500: {"message":"oops","type":"api_error"}`:                                        execution.CodeProvider,
		`400: {"message":"This model maximum context length is 1000 tokens"}`:               execution.CodeContextExceeded,
		`404: {"message":"The model nope does not exist"}`:                                  cliagent.CodeOfStatus(404),
		"Stream ended without finish_reason":                                                execution.CodeProvider,
		"terminated":                                                                        execution.CodeProvider,
		"No API key found for openai.\n\nUse /login to log in":                              execution.CodeAuth,
		"":              execution.CodeProvider,
		"something new": execution.CodeProvider,
	} {
		if f := failureOf(message); f.Code != want || f.Message == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("%q: %+v, want %s", message, f, want)
		}
	}
}

// TestOldNode: Pi crashes in an old Node.js before it does anything.
func TestOldNode(t *testing.T) {
	t.Parallel()
	const said = "import { createRequire, enableCompileCache } from \"node:module\";\nSyntaxError: The requested module 'node:module' does not provide an export named 'enableCompileCache'\n\nNode.js v20.20.2\n"
	_, res := cliagent.Replay(newParser(request()), nil, []byte(said), process.Exit{Code: 1, StderrTail: said}, false)
	if res.Error == nil || res.Error.ErrorCode() != execution.CodeAgentNotInstalled || !strings.Contains(res.Error.Metadata["hint"].(string), neededNode) {
		t.Errorf("got %+v", res.Error)
	}
}

// conversation is a parser whose session is open, with what it writes.
type conversation struct {
	t *testing.T
	p *parser
	s *cliagent.Sink
}

func converse(t *testing.T) *conversation {
	c := &conversation{t, newParser(request()).(*parser), cliagent.NewSink(false)}
	c.p.Open(c.s)
	c.print(`{"id":"state","type":"response","command":"get_state","success":true,"data":{"sessionId":"s"}}`)
	return c
}

func (c *conversation) print(lines ...string) {
	for _, l := range lines {
		c.p.Line(process.Stdout, []byte(l), c.s)
	}
}

func (c *conversation) do(cmd execution.Command) {
	c.t.Helper()
	if err := c.p.Command(cmd, c.s); err != nil {
		c.t.Errorf("%T: %v", cmd, err)
	}
}

// wrote returns the types of the records written since the last call, with ids of messages.
func (c *conversation) wrote() string {
	var list []string
	for _, w := range c.s.TakeWrites() {
		var r struct{ Type, Message string }
		if err := json.Unmarshal(w, &r); err != nil {
			c.t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(r.Type+" "+r.Message))
	}
	return strings.Join(list, ", ")
}

func (c *conversation) events() string {
	var list []string
	for _, e := range c.s.Take() {
		b, err := json.Marshal(e.Body)
		if err != nil {
			c.t.Fatal(err)
		}
		list = append(list, string(e.Body.Type())+string(b))
	}
	return strings.Join(list, "\n")
}

func (c *conversation) expect(what, got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

const settledLine = `{"type":"agent_settled"}`

// TestEarlyInterrupt: an interrupt that Pi gets before it works on the prompt is lost there, so it is repeated.
func TestEarlyInterrupt(t *testing.T) {
	t.Parallel()
	c := converse(t)
	c.do(execution.Interrupt{})
	c.expect("at once", c.wrote(), "get_state, prompt hello, abort")
	c.print(`{"type":"agent_start"}`)
	c.expect("again", c.wrote(), "abort")
	c.print(`{"type":"agent_settled","aborted":true}`)
	if got := c.events(); !strings.Contains(got, `turn_end{"turnIndex":0,"reason":"interrupted"}`) {
		t.Errorf("got %s", got)
	}
}

// TestPromptOfAnExtension: a prompt that an extension takes ends its turn; no run says that it is settled.
func TestPromptOfAnExtension(t *testing.T) {
	t.Parallel()
	c := converse(t)
	c.do(execution.Say{ID: "a", Text: "next", When: execution.WhenNextTurn})
	c.wrote()
	c.print(`{"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"handled"}}`)
	if got := c.events(); !strings.Contains(got, `turn_end{"turnIndex":0,"reason":"completed"}`) {
		t.Errorf("got %s", got)
	}
	c.expect("the next turn", c.wrote(), "prompt next")
	c.print(`{"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}`, `{"type":"agent_settled","aborted":true}`)
	if got := c.events(); !strings.Contains(got, `turn_end{"turnIndex":1,"reason":"interrupted"}`) {
		t.Errorf("got %s", got)
	}
}

// TestSteering: a message for the running turn waits in Pi's queue; none is lost or delivered twice, whatever comes
// between.
func TestSteering(t *testing.T) {
	t.Parallel()
	say := func(id, text string, when execution.When) execution.Say {
		return execution.Say{ID: execution.InputID(id), Text: text, When: when}
	}
	t.Run("taken", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "left", execution.WhenNow))
		c.do(say("b", "later", execution.WhenNextTurn))
		c.expect("written", c.wrote(), "get_state, prompt hello, steer left")
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":true}`,
			`{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"left"}]}}`)
		if got := c.events(); !strings.Contains(got, `input_taken{"inputId":"a","steered":true`) {
			t.Errorf("got %s", got)
		}
		c.print(settledLine)
		c.expect("the next turn", c.wrote(), "prompt later")
	})
	t.Run("the turn ends before Pi confirms it", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "left", execution.WhenNow))
		c.wrote()
		c.print(settledLine)
		c.expect("not confirmed", c.wrote(), "")
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":true}`)
		c.expect("confirmed", c.wrote(), "clear_queue")
		c.print(`{"id":"clear","type":"response","command":"clear_queue","success":true,"data":{"steering":["left"],"followUp":[]}}`)
		c.expect("returned", c.wrote(), "prompt left")
	})
	t.Run("an interrupt keeps it for the next turn", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "left", execution.WhenNow))
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":true}`)
		c.wrote()
		c.do(execution.Interrupt{})
		c.expect("interrupt", c.wrote(), "clear_queue, abort")
		c.print(`{"id":"clear","type":"response","command":"clear_queue","success":true,"data":{"steering":["left"]}}`, settledLine)
		c.expect("returned", c.wrote(), "prompt left")
	})
	t.Run("Pi expands it", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "/skill:x", execution.WhenNow))
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":true}`, `{"type":"message_end","message":{"role":"user","content":"all of it"}}`, settledLine,
			`{"id":"clear","type":"response","command":"clear_queue","success":true,"data":{"steering":[]}}`)
		if got := c.events(); !strings.Contains(got, `input_taken{"inputId":"a","steered":true`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an extension takes it", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "/x", execution.WhenNow))
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":true,"data":{"disposition":"handled"}}`)
		if got := c.events(); !strings.Contains(got, `input_taken{"inputId":"a","steered":true`) {
			t.Errorf("got %s", got)
		}
		c.wrote()
		c.print(settledLine)
		c.expect("nothing to take back", c.wrote(), "")
	})
	t.Run("refused", func(t *testing.T) {
		c := converse(t)
		c.do(say("a", "/x", execution.WhenNow))
		c.print(`{"id":"steer-1","type":"response","command":"steer","success":false,"error":"no"}`)
		if got := c.events(); !strings.Contains(got, `input_cancelled{"inputId":"a"`) {
			t.Errorf("got %s", got)
		}
	})
}

// TestInterruptBeforeTheSession interrupts a run whose session is not known yet.
func TestInterruptBeforeTheSession(t *testing.T) {
	t.Parallel()
	c := &conversation{t, newParser(request()).(*parser), cliagent.NewSink(false)}
	c.p.Open(c.s)
	c.do(execution.Interrupt{})
	c.print(`{"id":"state","type":"response","command":"get_state","success":true,"data":{"sessionId":"s"}}`)
	c.expect("written", c.wrote(), "get_state, prompt hello, abort")
	c.print(settledLine)
	if err := c.p.Command(execution.Interrupt{}, c.s); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
		t.Errorf("nothing runs: %v", err)
	}
}

// TestDialogs are the dialogs of extensions: each kind has its reply, and one without a turn is cancelled.
func TestDialogs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request  string
		decision execution.Decision
		event    string
		reply    string
	}{
		{`"method":"select","title":"Which?","options":["a","b"]`, execution.Decision{Text: "b"}, `"question":"Which?","context":"one of: a, b"`, `"value":"b"`},
		{`"method":"confirm","title":"Sure?","message":"gone"`, execution.Decision{Approve: true}, `"action":"Sure?","detail":"gone"`, `"confirmed":true`},
		{`"method":"confirm","title":"Sure?","message":"gone"`, execution.Decision{}, `"action":"Sure?"`, `"confirmed":false`},
		{`"method":"input","title":"Name?","placeholder":"p"`, execution.Decision{Text: "n"}, `"question":"Name?","context":"p"`, `"value":"n"`},
		{`"method":"editor","title":"Text?","prefill":"p"`, execution.Decision{}, `"question":"Text?","context":"p"`, `"cancelled":true`},
		{`"method":"input","title":"drawbar:tool","placeholder":"{\"id\":\"1\",\"tool\":\"bash\",\"input\":{\"command\":\"ls\"}}"`,
			execution.Decision{Approve: true, Input: json.RawMessage(`{"command":"pwd"}`)}, `"action":"run a command","detail":"ls"`, `"value":"{\"allow\":true,\"input\":{\"command\":\"pwd\"}}"`},
		{`"method":"input","title":"drawbar:tool","placeholder":"{\"id\":\"1\",\"tool\":\"bash\",\"input\":{}}"`,
			execution.Decision{Reason: "no"}, `"detail":"bash"`, `"value":"{\"allow\":false,\"reason\":\"no\"}"`},
	} {
		c := converse(t)
		c.s.TakeWrites()
		c.print(`{"type":"extension_ui_request","id":"q",` + tt.request + `}`)
		if got := c.events(); !strings.Contains(got, tt.event) {
			t.Errorf("%s: got %s", tt.request, got)
		}
		c.do(execution.Answer{ID: "q", Decision: tt.decision})
		if w := c.s.TakeWrites(); len(w) != 1 || !bytes.Contains(w[0], []byte(`"id":"q"`)) || !bytes.Contains(w[0], []byte(tt.reply)) {
			t.Errorf("%s: wrote %s, want %s", tt.request, w, tt.reply)
		}
		if err := c.p.Command(execution.Answer{ID: "q"}, c.s); execution.CodeOf(err) != execution.CodeInteractionNotFound {
			t.Errorf("a second answer: %v", err)
		}
		c.print(settledLine)
		c.s.TakeWrites()
		c.print(`{"type":"extension_ui_request","id":"q",` + tt.request + `}`)
		if w := c.s.TakeWrites(); len(w) != 1 || !bytes.Contains(w[0], []byte(`"cancelled":true`)) {
			t.Errorf("without a turn: %s", w)
		}
	}
}

// TestBudgetWithoutAPrice: a budget that cannot be kept ends the run.
func TestBudgetWithoutAPrice(t *testing.T) {
	t.Parallel()
	for cost, fails := range map[string]bool{`"cost":{"total":0}`: true, `"cost":{"total":0.5}`: false} {
		c := converse(t)
		c.p.req.Run.MaxBudgetUSD = new(1.0)
		c.print(`{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"stop","usage":{"input":1,"output":1,` + cost + `}}}`)
		if err := c.s.Failure(); (err != nil) != fails {
			t.Errorf("%s: %v", cost, err)
		}
	}
}

// FuzzParser: no input panics, lines are left alone, and events are bounded and in order.
func FuzzParser(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		c := &conversation{t, newParser(request()).(*parser), cliagent.NewSink(true)}
		c.p.Open(c.s)
		turns := 0
		check := func(line []byte) {
			events := c.s.Take()
			if len(events) > 64+len(line) {
				t.Fatalf("%d bytes made %d events", len(line), len(events))
			}
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.TurnStart:
					turns++
				case execution.TurnEnd:
					if turns--; turns < 0 {
						t.Fatal("a turn ends that never began")
					}
				case execution.TokenUsage:
					if b.InputTokens < 0 || b.OutputTokens < 0 {
						t.Fatalf("negative usage %+v", b)
					}
				}
			}
		}
		for line := range bytes.Lines(input) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			before := bytes.Clone(line)
			c.p.Line(process.Stdout, line, c.s)
			if !bytes.Equal(before, line) {
				t.Fatal("the parser changed its line")
			}
			check(line)
		}
		c.p.Exit(process.Exit{}, c.s)
		check(nil)
	})
}
