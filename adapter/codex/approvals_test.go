package codex

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

const (
	commandStarted = `{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c1","command":"rm x","cwd":"/w","processId":null,"status":"inProgress"}}}`
	commandAsked   = `{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c1","command":"rm x","cwd":"/w","reason":"why","networkApprovalContext":null}}`
	patchAsked     = `{"id":1,"method":"item/fileChange/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c2","reason":null,"grantRoot":null}}`
	grantAsked     = `{"id":2,"method":"item/permissions/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c3","cwd":"/w","reason":"r","permissions":{"network":{"enabled":true},"fileSystem":null}}}`
	toolAsked      = `{"id":"s-3","method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"m","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"t","tool_params":{"a":1}},"message":"Allow?","requestedSchema":{"type":"object","properties":{}}}}`
	urlAsked       = `{"id":4,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":null,"serverName":"m","mode":"url","message":"Log in","url":"https://x.example","elicitationId":"e"}}`
	yesAsked       = `{"id":5,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"m","mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}`
	formAsked      = `{"id":6,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U","serverName":"m","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"},"size":{"type":"number"},"ok":{"type":"boolean"},"tags":{"type":"array"}}}}}`
	inputAsked     = `{"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"T","turnId":"U","itemId":"c4","questions":[{"id":"q1","question":"Which?","options":[{"label":"A","description":"a"}]},{"id":"q2","question":"Why?","options":null}]}}`
)

// TestAnswers: what a decision becomes in Codex's words, for every kind of question.
func TestAnswers(t *testing.T) {
	t.Parallel()
	yes, no := execution.Decision{Approve: true}, execution.Decision{Reason: "no"}
	text := func(s string) execution.Decision { return execution.Decision{Approve: true, Text: s} }
	for _, tt := range []struct {
		name, line string
		decisions  []execution.Decision
		want       string
	}{
		{"command", commandAsked, []execution.Decision{yes}, `0 {"decision":"accept"}`},
		{"command refused", commandAsked, []execution.Decision{no}, `0 {"decision":"decline"}`},
		{"command changed", commandAsked, []execution.Decision{{Approve: true, Input: json.RawMessage(`{"command":"ls"}`)}}, `0 {"decision":"decline"}`},
		{"patch", patchAsked, []execution.Decision{yes}, `1 {"decision":"accept"}`},
		{"patch refused", patchAsked, []execution.Decision{no}, `1 {"decision":"decline"}`},
		{"permissions", grantAsked, []execution.Decision{yes}, `2 {"permissions":{"network":{"enabled":true},"fileSystem":null},"scope":"turn"}`},
		{"permissions refused", grantAsked, []execution.Decision{no}, `2 {"permissions":{},"scope":"turn"}`},
		{"tool", toolAsked, []execution.Decision{yes}, `"s-3" {"action":"accept","content":{}}`},
		{"tool refused", toolAsked, []execution.Decision{no}, `"s-3" {"action":"decline"}`},
		{"address", urlAsked, []execution.Decision{yes}, `4 {"action":"accept","content":{}}`},
		{"address refused", urlAsked, []execution.Decision{no}, `4 {"action":"decline"}`},
		{"confirmation", yesAsked, []execution.Decision{yes}, `5 {"action":"accept","content":{}}`},
		{"form", formAsked, []execution.Decision{text("Bob"), text(" 42 "), text("1.5"), text("yes"), text("a\nb")},
			`6 {"action":"accept","content":{"age":42,"name":"Bob","ok":true,"size":1.5,"tags":["a","b"]}}`},
		{"form refused", formAsked, []execution.Decision{text("Bob"), no, text("1.5"), text("no"), text("a")}, `6 {"action":"decline"}`},
		{"form filled in wrong", formAsked, []execution.Decision{text("Bob"), text("old"), text("1.5"), text("no"), text("a")}, `6 {"action":"decline"}`},
		{"input", inputAsked, []execution.Decision{text("A"), text("because\nof it")}, `7 {"answers":{"q1":{"answers":["A"]},"q2":{"answers":["because\nof it"]}}}`},
		{"input refused", inputAsked, []execution.Decision{text("A"), no}, `7 {"answers":{"q1":{"answers":["A"]},"q2":{"answers":[]}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, s := began(t, nil)
			feed(p, s, commandStarted)
			s.Take()
			feed(p, s, tt.line)
			var ids []execution.QuestionID
			for _, e := range s.Take() {
				switch b := e.Body.(type) {
				case execution.ApprovalRequired:
					ids = append(ids, b.ID)
				case execution.InputRequired:
					ids = append(ids, b.ID)
				}
			}
			if len(ids) != len(tt.decisions) {
				t.Fatalf("%d questions, want %d", len(ids), len(tt.decisions))
			}
			for i, id := range ids {
				expectSaid(t, s) // nothing before the last answer
				do(t, p, s, execution.Answer{ID: id, Decision: tt.decisions[i]})
			}
			expectSaid(t, s, tt.want)
			if err := p.Command(execution.Answer{ID: ids[0], Decision: yes}, s); execution.CodeOf(err) != execution.CodeInteractionNotFound {
				t.Errorf("a second answer: %v", err)
			}
			feed(p, s, `{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":0}}`)
			for _, e := range s.Take() {
				if _, ok := e.Body.(execution.QuestionWithdrawn); ok {
					t.Error("an answered question is withdrawn")
				}
			}
		})
	}
}

// TestApprovedCommandRuns: a command starts when it is approved, and one that is refused does not.
func TestApprovedCommandRuns(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		p, s := began(t, nil)
		feed(p, s, commandStarted, commandAsked)
		if got := types(s.Take()); got != "tool_call_start tool_call_ready approval_request" {
			t.Errorf("the events are %s", got)
		}
		do(t, p, s, execution.Answer{ID: "U/0", Decision: execution.Decision{Approve: approve}})
		if got, want := types(s.Take()), map[bool]string{true: "shell_start", false: ""}[approve]; got != want {
			t.Errorf("approved %v: the events are %q, want %q", approve, got, want)
		}
	}
}

// TestWithdrawn: what Codex no longer waits for cannot be answered.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"resolved":    `{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":0}}`,
		"interrupted": interrupted,
	} {
		p, s := began(t, nil)
		feed(p, s, commandStarted, commandAsked)
		s.Take()
		feed(p, s, line)
		withdrawn := 0
		for _, e := range s.Take() {
			if w, ok := e.Body.(execution.QuestionWithdrawn); ok && w.ID == "U/0" {
				withdrawn++
			}
		}
		if withdrawn != 1 {
			t.Errorf("%s: the question is withdrawn %d times", name, withdrawn)
		}
		if err := p.Command(execution.Answer{ID: "U/0", Decision: execution.Decision{Approve: true}}, s); execution.CodeOf(err) != execution.CodeInteractionNotFound {
			t.Errorf("%s: a late answer: %v", name, err)
		}
		if got := said(t, s); len(got) != 0 {
			t.Errorf("%s: a late answer says %q", name, got)
		}
	}
}

// TestWithdrawnInOrder: what a turn leaves unanswered is withdrawn in the order in which it was asked.
func TestWithdrawnInOrder(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	want := ""
	for i := range 9 {
		feed(p, s, fmt.Sprintf(`{"id":%d,"method":"item/fileChange/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"c%d"}}`, 20-i, i))
		want += fmt.Sprintf(" U/%d", 20-i)
	}
	s.Take()
	feed(p, s, interrupted)
	got := ""
	for _, e := range s.Take() {
		if w, ok := e.Body.(execution.QuestionWithdrawn); ok {
			got += " " + string(w.ID)
		}
	}
	if got != want {
		t.Errorf("withdrawn are%s, want%s", got, want)
	}
}

// TestSubagentAsks: a question of a sub-agent's is one of the run's, with its parent.
func TestSubagentAsks(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	feed(p, s, `{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"collabAgentToolCall","id":"c9","tool":"spawnAgent","status":"completed","prompt":"x","receiverThreadIds":["S"],"agentsStates":{}}}}`,
		`{"method":"turn/started","params":{"threadId":"S","turn":{"id":"V"}}}`)
	s.Take()
	feed(p, s, `{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"S","turnId":"V","itemId":"c2"}}`)
	asked := false
	for _, e := range s.Take() {
		if b, ok := e.Body.(execution.ApprovalRequired); ok {
			asked = e.Parent == "c9" && b.ID == "V/0"
		}
	}
	if !asked {
		t.Error("the question does not name its sub-agent")
	}
	do(t, p, s, execution.Answer{ID: "V/0", Decision: execution.Decision{Approve: true}})
	expectSaid(t, s, `0 {"decision":"accept"}`)
}
