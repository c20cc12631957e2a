package clitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// notes takes down what a check complains of.
type notes struct {
	testing.TB
	said []string
}

func (n *notes) Helper() {}

func (n *notes) Errorf(format string, args ...any) {
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

func TestCheckOrder(t *testing.T) {
	begin := []execution.Body{execution.SessionStart{}, execution.TurnStart{}}
	done := execution.TurnEnd{Reason: execution.TurnCompleted}
	call := execution.ToolCallReady{ToolCallID: "1", Input: json.RawMessage(`{}`)}
	result := execution.ToolResultEvent{ToolCallID: "1", Output: json.RawMessage(`""`)}
	for _, tc := range []struct {
		name string
		of   []execution.Body
		want string // what is complained of, nothing if empty
	}{
		{"a text", []execution.Body{execution.StepStart{}, execution.MessageStart{}, execution.TextDelta{Delta: "a", Accumulated: "a"},
			execution.TextDelta{Delta: "b", Accumulated: "ab"}, execution.MessageStop{Text: "ab"}, execution.StepEnd{}, done}, ""},
		{"a call", []execution.Body{call, execution.ShellStart{ToolCallID: "1"}, execution.ShellExit{ToolCallID: "1"}, result, execution.FileCreate{ToolCallID: "1"}, done}, ""},
		{"a turn that fails in a step", []execution.Body{execution.StepStart{}, execution.TurnEnd{Reason: execution.TurnFailed}, execution.TurnStart{}, execution.StepStart{}}, ""},
		{"a turn in a turn", []execution.Body{execution.TurnStart{}}, "starts within a turn"},
		{"a text behind the turn", []execution.Body{done, execution.MessageStart{}}, "outside any turn"},
		{"an end of no turn", []execution.Body{done, done}, "ends that never started"},
		{"a turn that completes in a step", []execution.Body{execution.StepStart{}, done}, "something open"},
		{"a step in a step", []execution.Body{execution.StepStart{}, execution.StepStart{}}, "in a step"},
		{"an end of no step", []execution.Body{execution.StepEnd{}}, "never started"},
		{"a text in a text", []execution.Body{execution.MessageStart{}, execution.MessageStart{}}, "in a text"},
		{"a delta of no text", []execution.Body{execution.TextDelta{}}, "without a message_start"},
		{"a wrong sum", []execution.Body{execution.MessageStart{}, execution.TextDelta{Delta: "a", Accumulated: "ba"}}, "sum of the deltas"},
		{"another text at its end", []execution.Body{execution.MessageStart{}, execution.MessageStop{Text: "a"}}, "differs from the deltas"},
		{"a thought within a text", []execution.Body{execution.MessageStart{}, execution.ThinkingStart{}}, "within a text"},
		{"an end of no thought", []execution.Body{execution.ThinkingStop{}}, "never started"},
		{"a call with a wrong input", []execution.Body{execution.ToolCallReady{Input: json.RawMessage("{")}}, "input is not JSON"},
		{"a call that begins twice", []execution.Body{call, execution.MCPToolCallStart{ToolCallID: "1"}}, "starts twice"},
		{"a result of no call", []execution.Body{result}, "not open"},
		{"a second end", []execution.Body{call, result, execution.MCPToolError{ToolCallID: "1"}}, "not open"},
		{"output of no command", []execution.Body{call, execution.ShellStdoutDelta{ToolCallID: "1"}}, "outside its command"},
		{"a command behind its call", []execution.Body{call, result, execution.ShellStart{ToolCallID: "1"}}, "outside its call"},
		{"a file before the end of its call", []execution.Body{call, execution.FilePatch{ToolCallID: "1"}}, "before the end"},
		{"a question twice", []execution.Body{execution.ApprovalRequired{ID: "1"}, execution.InputRequired{ID: "1"}}, "asked twice"},
		{"tokens below nothing", []execution.Body{execution.TokenUsage{OutputTokens: -1}}, "decrease"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &notes{TB: t}
			var events []execution.Event
			for _, b := range append(begin[:2:2], tc.of...) {
				events = append(events, execution.Event{Body: b})
			}
			CheckOrder(n, events)
			if said := strings.Join(n.said, "; "); (tc.want == "") != (said == "") || !strings.Contains(said, tc.want) {
				t.Errorf("it says %q, want %q", said, tc.want)
			}
		})
	}
}

func TestCheckUsage(t *testing.T) {
	usd := 0.5
	events := []execution.Event{{Body: execution.TokenUsage{InputTokens: 3, OutputTokens: 2}}, {Body: execution.TokenUsage{CachedTokens: 1}},
		{Body: execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &usd, execution.CostFromAgent)}}}
	for _, tc := range []struct {
		usage execution.Usage
		usd   float64
		fails bool
	}{
		{execution.Usage{Input: 3, Output: 2, Cached: 1, Total: 6}, usd, false},
		{execution.Usage{Input: 3, Output: 2, Cached: 2, Total: 7}, usd, true},
		{execution.Usage{Input: 3, Output: 2, Cached: 1, Total: 6}, 2 * usd, true},
	} {
		n := &notes{TB: t}
		cost := execution.CostOf(tc.usage, &tc.usd, execution.CostFromAgent)
		CheckUsage(n, events, execution.Result{Usage: &tc.usage, Cost: &cost})
		if (len(n.said) > 0) != tc.fails {
			t.Errorf("%+v for %v: it says %q", tc.usage, tc.usd, n.said)
		}
	}
}
