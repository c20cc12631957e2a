package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
)

// The keys below are made up; their pieces are joined here so that no scanner takes them for real ones.
var keys = map[string]string{
	"openai":     "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5q",
	"anthropic":  "sk-" + "ant-api03-aaaaBBBBccccDDDD1111",
	"github":     "ghp_" + "abcdefghij0123456789abcdefghij012345",
	"github new": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
	"gitlab":     "glpat-" + "abcdefghij0123456789",
	"aws":        "AKIA" + "IOSFODNN7EXAMPLE",
	"slack":      "xoxb-" + "123456789012-abcdef",
	"google":     "AIza" + "SyA0123456789abcdefghijklmnopqrstuv",
	"npm":        "npm_" + "abcdefghij0123456789abcdefghij012345",
	"jwt":        "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
}

// shape makes the deltas of one kind of stream: its piece, and the text so far where the kind states one.
type shape func(piece, whole string) execution.Body

var shapes = map[string]shape{
	"text":        func(d, a string) execution.Body { return execution.TextDelta{Delta: d, Accumulated: a} },
	"thinking":    func(d, a string) execution.Body { return execution.ThinkingDelta{Delta: d, Accumulated: a} },
	"wrong whole": func(d, a string) execution.Body { return execution.TextDelta{Delta: d, Accumulated: "> " + a} },
	"input": func(d, a string) execution.Body {
		return execution.ToolInputDelta{ToolCallID: "c", Delta: d, InputAccumulated: a}
	},
	"stdout": func(d, _ string) execution.Body { return execution.ShellStdoutDelta{ToolCallID: "c", Delta: d} },
	"stderr": func(d, _ string) execution.Body { return execution.ShellStderrDelta{ToolCallID: "c", Delta: d} },
}

// calling begins a tool call that a text can be the output of.
var calling = []execution.Body{execution.ToolCallStart{ToolCallID: "c", ToolName: "sh"}, execution.ToolCallReady{ToolCallID: "c", ToolName: "sh", Input: json.RawMessage(`{}`)},
	execution.ShellStart{ToolCallID: "c", Command: "sh"}}

// streamed is what a run shows of a text that its agent says in pieces of the given size.
func streamed(t *testing.T, text string, size int, known []string, make shape) string {
	t.Helper()
	said := 0
	b := backend(func(c *at.Call) execution.Result {
		opened(c)
		switch make("", "").(type) {
		case execution.ToolInputDelta:
			c.Emit(calling[0])
		case execution.ShellStdoutDelta, execution.ShellStderrDelta:
			c.Emit(calling...)
		}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			said += n
			c.EmitEvent(execution.Event{Body: make(rest[:n], text[:said]), Raw: json.RawMessage(fmt.Sprintf("%q", rest[:n]))})
			c.Emit(execution.Debug{Level: execution.DebugInfo, Message: "between"})
			rest = rest[n:]
		}
		return at.Completed()
	})
	_, events := run(t, b, request("x"), agent.Options{Secrets: known})
	var joined, raw strings.Builder
	for _, e := range events {
		_, d, ok := deltas.Of(e)
		if !ok {
			continue
		}
		joined.WriteString(d)
		var line string
		_ = json.Unmarshal(e.Raw, &line)
		raw.WriteString(line)
		if acc, _ := deltas.Accumulated(e.Body); acc != "" && strings.TrimPrefix(acc, "> ") != joined.String() {
			t.Fatalf("the text so far is %q, want %q", acc, joined.String())
		}
	}
	for _, secret := range append(known, keys["anthropic"][10:]) {
		if strings.Contains(raw.String(), secret) {
			t.Errorf("the agent's own lines have %q", secret)
		}
	}
	return joined.String()
}

// A model says a key in pieces of a few letters: no piece shows it, the stream must not either.
func TestSecretsInStreams(t *testing.T) {
	t.Parallel()
	const known = "the-known ☃ value"
	for kind, body := range shapes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= 7; size++ {
				text := "key " + keys["anthropic"] + " and " + known + ", Bearer abcdefgh12345678; sk-learn the-known ☃ vault ghp_"
				want := "key [REDACTED] and [REDACTED], Bearer [REDACTED]; sk-learn the-known ☃ vault ghp_"
				if got := streamed(t, text, size, []string{known}, body); got != want {
					t.Errorf("pieces of %d: got %q, want %q", size, got, want)
				}
			}
			if got := streamed(t, "tail "+keys["github"], 5, nil, body); got != "tail [REDACTED]" {
				t.Errorf("at the end: got %q", got)
			}
		})
	}
}

// A stream that stops in the middle of what may be a secret keeps nothing back for long, and gives nothing telling away.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first, kept, later, want string }{
		{"telling", "a the-known", "a [REDACTED]", "-value b", "[REDACTED] b"},
		{"telling, but nothing", "a the-known", "a [REDACTED]", " b", " b"},
		{"harmless", "a the", "a the", "-known-value b", "[REDACTED] b"},
		{"harmless and nothing", "a the", "a the", " end", " end"},
		{"nothing kept", "a word", "a word", " c", " c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := backend(func(call *at.Call) execution.Result {
					opened(call)
					call.Emit(calling...)
					call.Emit(execution.ShellStdoutDelta{ToolCallID: "c", Delta: c.first}, execution.Debug{Message: "behind"})
					_ = call.Sleep(time.Minute)
					call.Emit(execution.ShellStdoutDelta{ToolCallID: "c", Delta: c.later})
					return at.Completed()
				})
				var mu sync.Mutex
				texts, behind := "", false
				seen := agent.OnAny(func(e execution.Event) {
					mu.Lock()
					defer mu.Unlock()
					if _, piece, ok := deltas.Of(e); ok {
						texts += piece
					}
					_, ok := e.Body.(execution.Debug)
					behind = behind || ok
				})
				r := start(t, b, request("x"), agent.Options{Secrets: []string{"the-known-value"}, Handlers: []agent.Handler{seen}})
				so := func(d time.Duration) (string, bool) {
					time.Sleep(d)
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					return texts, behind
				}
				early, passed := so(time.Millisecond)
				if kept := c.name != "nothing kept"; kept != (early == "") || kept == passed {
					t.Errorf("at once: got %q, behind it: %v", early, passed)
				}
				if late, passed := so(time.Second); late != c.kept || !passed {
					t.Errorf("after a second: got %q, want %q; behind it: %v", late, c.kept, passed)
				}
				finish(t, r)
				if texts != c.kept+c.want {
					t.Errorf("then got %q, want %q", texts, c.kept+c.want)
				}
			})
		})
	}
}

// TestHoldIsBounded: neither many events behind a kept one nor a long secret are kept for the whole time.
func TestHoldIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(calling...)
			c.Emit(execution.ShellStdoutDelta{ToolCallID: "c", Delta: "eyJ"})
			for range many {
				c.Emit(execution.Debug{})
			}
			_ = c.Sleep(time.Millisecond)
			c.Emit(execution.ShellStdoutDelta{ToolCallID: "c", Delta: "eyJ" + strings.Repeat("a", 1<<18)}, execution.Log{Line: "behind"})
			_ = c.Sleep(time.Hour)
			return at.Completed()
		})
		n, log := 0, false
		r := start(t, b, request("x"), agent.Options{Handlers: []agent.Handler{agent.OnAny(func(e execution.Event) {
			switch e.Body.(type) {
			case execution.Debug:
				n++
			case execution.Log:
				log = true
			}
		})}})
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if n != many || !log {
			t.Errorf("%d of %d events behind a kept one came; behind a long text: %v", n, many, log)
		}
		finish(t, r)
	})
}

// TestQuestionIsNotHeld: nobody waits for a question because the text before it ends like a key.
func TestQuestionIsNotHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var asked time.Duration
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(calling...)
			c.Emit(execution.ShellStdoutDelta{ToolCallID: "c", Delta: "it begins with eyJ"})
			_, _ = c.Ask(approvalOf("q"))
			ended(c)
			return at.Completed()
		})
		opts := agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
			return execution.Decision{Approve: true}
		},
			Handlers: []agent.Handler{agent.On(func(execution.Event, execution.ApprovalRequired) { asked = time.Since(begun) })}}
		run(t, b, request("x"), opts)
		if asked != 0 {
			t.Errorf("the question was kept back for %v", asked)
		}
	})
}

// TestNoSecretIsShown: events, questions and results have no secret in them; what the agent and the tools are given is whole.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	const value = `p4ss "word" <of> mine`
	inJSON, _ := json.Marshal(value)
	input, _ := json.Marshal(map[string]string{"command": "curl -H 'Authorization: Bearer " + keys["openai"] + "' " + value})
	given := ""
	b := backend(func(c *at.Call) execution.Result {
		given = string(c.Request.Message.Text)
		c.Emit(execution.SessionStart{SessionID: "s-1"}, execution.TurnStart{},
			execution.ToolCallReady{ToolCallID: "c", ToolName: "sh", Input: input})
		answer, _ := c.Ask(execution.ApprovalRequired{ID: "q", Action: "run", Detail: value, ToolName: "sh", ToolCallID: "c", Input: input})
		c.Emit(execution.ToolResultEvent{ToolCallID: "c", ToolName: "sh", Output: inJSON},
			execution.Log{Line: "-----BEGIN PRIVATE KEY-----"}, execution.Log{Line: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"},
			execution.MessageStop{Text: value + " " + keys["slack"]}, execution.TurnEnd{})
		res := at.Failed(execution.CodeAuth, "refused "+keys["github"])
		res.Error.Stderr = keys["aws"]
		res.Metadata = map[string]any{"header": []any{"Bearer " + keys["gitlab"]}, keys["npm"]: 1, "answer": fmt.Sprint(answer)}
		return res
	})
	req := request("use " + value)
	req.Run.Interactive, req.Run.CollectEvents = true, true
	var asked []execution.ApprovalRequired
	var r *agent.Run
	ready := make(chan struct{})
	opts := agent.Options{Secrets: []string{value}, ResultMetadata: func() map[string]any { return map[string]any{"note": keys["google"]} },
		OnApproval: func(_ context.Context, q execution.ApprovalRequired) execution.Decision {
			<-ready
			asked = append(asked, q)
			for _, p := range r.Pending() {
				a, _ := p.Approval()
				asked = append(asked, a)
			}
			return execution.Decision{Approve: true}
		}}
	r = start(t, b, req, opts)
	_, err := r.Send("and "+value, "")
	close(ready) // not before: the run may end once it is answered
	if err != nil {
		t.Fatal(err)
	}
	r.CloseInput()
	res, events := finish(t, r)
	if want := "use " + value; given != want {
		t.Errorf("the agent was given %q, want %q", given, want)
	}
	all, err := json.Marshal(map[string]any{"events": events, "result": res, "asked": asked})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range keys {
		if strings.Contains(string(all), key) {
			t.Errorf("the %s key is shown", name)
		}
	}
	for _, form := range []string{`p4ss`, `of> mine`, "MIIE"} {
		if strings.Contains(string(all), form) {
			t.Errorf("%q is shown", form)
		}
	}
	if len(asked) != 2 || !slices.ContainsFunc(res.Events, func(e execution.Event) bool { return e.Body.Type() == execution.ToolCallReady{}.Type() }) {
		t.Errorf("%d questions, %d collected events", len(asked), len(res.Events))
	}
}

// TestHiddenInputIsNotGiven: an input in which a secret is hidden never becomes the input of the tool.
func TestHiddenInputIsNotGiven(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"command":"login ` + keys["npm"] + `"}`)
	b := backend(func(c *at.Call) execution.Result {
		opened(c)
		d, _ := c.Ask(execution.ApprovalRequired{ID: "q", Action: "run", Input: input})
		c.Emit(execution.Debug{Message: string(d.Input)})
		ended(c)
		return at.Completed()
	})
	ask := make(chan execution.ApprovalRequired, 1)
	r := start(t, b, conversation(), agent.Options{Handlers: []agent.Handler{agent.On(func(_ execution.Event, q execution.ApprovalRequired) { ask <- q })}})
	q := <-ask
	err := r.Answer(q.ID, execution.Decision{Approve: true, Input: json.RawMessage(strings.Replace(string(q.Input), "login", "logout", 1))})
	if execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "[REDACTED]") {
		t.Errorf("an answer with a hidden secret: %v", err)
	}
	if err := r.Answer(q.ID, execution.Decision{Approve: true, Input: json.RawMessage(`{"command":"logout"}`)}); err != nil {
		t.Error(err)
	}
	r.CloseInput()
	_, events := finish(t, r)
	if !slices.ContainsFunc(bodies[execution.Debug](events), func(d execution.Debug) bool { return d.Message == `{"command":"logout"}` }) {
		t.Error("the new input did not reach the agent")
	}

	echo := func(_ context.Context, q execution.ApprovalRequired) execution.Decision {
		return execution.Decision{Approve: true, Input: q.Input}
	}
	_, events = run(t, b, request("x"), agent.Options{OnApproval: echo})
	if denied := bodies[execution.ApprovalDenied](events); len(denied) != 1 || !strings.Contains(denied[0].Reason, "[REDACTED]") {
		t.Errorf("a callback that gives the hidden input back: %v", denied)
	}
}
