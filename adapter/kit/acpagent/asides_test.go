package acpagent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// converse replays what an agent says to initialize, session/new and the prompts of a conversation, with updates between them.
func converse(t *testing.T, spec Spec, req execution.Request, lines ...string) ([]execution.Event, execution.Result) {
	t.Helper()
	opening := []string{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`,
	}
	spec.Name = "fake"
	req.Message.Text = "hi"
	return cliagent.Replay(spec.NewParser(req), []byte(strings.Join(append(opening, lines...), "\n")), nil, process.Exit{}, false)
}

func update(kind, rest string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind + `",` + rest + `}}}`
}

func chunk(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return update("agent_message_chunk", `"content":{"type":"text","text":`+string(b)+`}`)
}

const turnOver = `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`

// TestAsides: what the program says itself is no part of the answer, and may be how the turn ended.
func TestAsides(t *testing.T) {
	t.Parallel()
	spec := Spec{Aside: func(text string) (Aside, bool) {
		switch text {
		case "!note":
			return Aside{Message: "a note"}, true
		case "!again":
			return Aside{Message: "once more", Retry: execution.CodeProvider}, true
		case "!no":
			return Aside{Message: "it failed", Failed: execution.CodeAuth}, true
		}
		return Aside{}, false
	}}
	call := update("tool_call", `"toolCallId":"c","title":"x","kind":"read","status":"completed"`)
	for _, tc := range []struct {
		name   string
		lines  []string
		status execution.Status
		text   string
		retry  int
	}{
		{"none", []string{chunk("all "), chunk("well")}, execution.StatusCompleted, "all well", 0},
		{"a note ends a text", []string{chunk("one"), chunk("!note"), chunk("two")}, execution.StatusCompleted, "two", 0},
		{"a retry", []string{chunk("!again"), chunk("!again"), chunk("done")}, execution.StatusCompleted, "done", 2},
		{"a failure", []string{chunk("half"), chunk("!again"), chunk("!no")}, execution.StatusFailed, "", 1},
		{"a failure that passed", []string{chunk("!no"), chunk("done")}, execution.StatusCompleted, "done", 0},
		{"a failure before a tool", []string{chunk("!no"), call}, execution.StatusCompleted, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			events, res := converse(t, spec, execution.Request{}, append(tc.lines, turnOver)...)
			text := ""
			if res.Output != nil {
				text = res.Output.Text
			}
			if res.Status != tc.status || text != tc.text || res.Retries != tc.retry {
				t.Errorf("%s %q, %d retries: %+v", res.Status, text, res.Retries, res.Error)
			}
			if tc.status == execution.StatusFailed && res.Error.ErrorCode() != execution.CodeAuth {
				t.Errorf("%+v", res.Error)
			}
			for _, e := range events {
				if d, ok := e.Body.(execution.TextDelta); ok && strings.HasPrefix(d.Delta, "!") {
					t.Errorf("%q is taken for the model's", d.Delta)
				}
			}
		})
	}
}

// TestFailedTextOfALaterTurn: what a turn used is not what the turns before it used.
func TestFailedTextOfALaterTurn(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "fake", FailedText: func(text string, spent execution.Usage) (execution.ErrorCode, bool) {
		return execution.CodeProvider, text == "it broke" && spent.IsZero()
	}}
	for usage, want := range map[string]execution.Status{"": execution.StatusFailed, `,"usage":{"inputTokens":1,"outputTokens":1}`: execution.StatusCompleted} {
		p := spec.NewParser(execution.Request{Message: execution.Message{Text: "hi"}})
		s := cliagent.NewSink(false)
		p.Open(s)
		for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":9,"outputTokens":9}}}`} {
			p.Line(process.Stdout, []byte(line), s)
		}
		if err := p.Command(execution.Say{ID: "1", Text: "more"}, s); err != nil {
			t.Fatal(err)
		}
		p.Line(process.Stdout, []byte(chunk("it broke")), s)
		p.Line(process.Stdout, []byte(`{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"`+usage+`}}`), s)
		if res := p.Exit(process.Exit{}, s); res.Status != want {
			t.Errorf("usage %q: %s, want %s", usage, res.Status, want)
		}
	}
}

// TestFailedNotice: a failure that the program put into its message is the outcome of the turn, and not its text.
func TestFailedNotice(t *testing.T) {
	t.Parallel()
	spec := Spec{Notice: func(update jsonscan.Value) (Notice, bool) {
		return Notice{Message: "bad key", Failed: execution.CodeAuth}, !update.Get("messageId").Exists()
	}}
	for last, want := range map[string]execution.Status{chunk("error"): execution.StatusFailed,
		update("agent_message_chunk", `"messageId":"m","content":{"type":"text","text":"after all"}`): execution.StatusCompleted} {
		_, res := converse(t, spec, execution.Request{}, chunk("error"), last, turnOver)
		if res.Status != want || want == execution.StatusFailed && (res.Error.ErrorCode() != execution.CodeAuth || res.Output != nil) {
			t.Errorf("%s: %s %+v %+v", last, res.Status, res.Error, res.Output)
		}
	}
}

// TestRunningTotal: an agent that states what its process used so far is not counted twice.
func TestRunningTotal(t *testing.T) {
	t.Parallel()
	answer := func(id, in string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"end_turn","usage":{"inputTokens":` + in + `,"outputTokens":1}}}`
	}
	for total, want := range map[bool]int64{true: 250, false: 350} {
		spec := Spec{Name: "fake", RunningTotal: total}
		p := spec.NewParser(execution.Request{Message: execution.Message{Text: "hi"}})
		s := cliagent.NewSink(false)
		p.Open(s)
		for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`, answer("3", "100")} {
			p.Line(process.Stdout, []byte(line), s)
		}
		if err := p.Command(execution.Say{ID: "1", Text: "more"}, s); err != nil {
			t.Fatal(err)
		}
		p.Line(process.Stdout, []byte(answer("4", "250")), s)
		if res := p.Exit(process.Exit{}, s); res.Usage == nil || res.Usage.Input != want {
			t.Errorf("running total %v: %+v, want %d", total, res.Usage, want)
		}
	}
}

// TestServersAsArguments: servers that the command line names are not named again, and what the agent says of HTTP is not asked.
func TestServersAsArguments(t *testing.T) {
	t.Parallel()
	req := execution.Request{Message: execution.Message{Text: "hi"}}
	req.Run.MCPServers = []execution.MCPServer{{Name: "files", Transport: execution.MCPStreamableHTTP, URL: "http://h"}}
	for inArgs, want := range map[bool]string{true: `"mcpServers":[]`, false: ""} {
		spec := Spec{Name: "fake", MCPInArgs: inArgs}
		p := spec.NewParser(req)
		s := cliagent.NewSink(false)
		p.Open(s)
		p.Line(process.Stdout, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`), s)
		var sent string
		for _, w := range s.TakeWrites() {
			sent += string(w)
		}
		if opened := strings.Contains(sent, "session/new"); opened != inArgs || !strings.Contains(sent, want) {
			t.Errorf("in arguments %v: sent %s", inArgs, sent)
		}
	}
}

// TestFailedCommand: a command that exits with another code than 0 failed, even in a tool that worked.
func TestFailedCommand(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 3} {
		spec := Spec{Shell: func(*ToolCall) (Shell, bool) { return Shell{Command: "x", Output: "out", ExitCode: &code}, true }}
		events, _ := converse(t, spec, execution.Request{}, update("tool_call", `"toolCallId":"c","title":"x","kind":"execute","status":"completed"`), turnOver)
		results, errs := 0, 0
		for _, e := range events {
			switch e.Body.(type) {
			case execution.ToolResultEvent:
				results++
			case execution.ToolError:
				errs++
			}
		}
		if failed := code != 0; failed != (errs == 1) || failed == (results == 1) {
			t.Errorf("code %d: %d results, %d errors", code, results, errs)
		}
	}
}
