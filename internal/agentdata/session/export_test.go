package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
	"github.com/google/go-cmp/cmp"
)

func exported() history.Session {
	turns, messages := 1, 4
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return history.Session{
		Summary: history.Summary{Agent: "claude", SessionID: "x", UnifiedID: "claude:x", Title: "# fix <it> `now`", CreatedAt: at, UpdatedAt: at.Add(time.Minute),
			TurnCount: &turns, MessageCount: &messages, Model: "opus", Usage: &execution.Usage{Input: 10, Output: 20, Total: 30}, Cost: &execution.Cost{TotalUSD: new(0.25), Source: execution.CostFromAgent},
			Tags: []string{"red"}, Cwd: "/work", ForkedFrom: "y", Path: "/p"},
		Messages: []history.Message{
			{Role: history.RoleUser, Content: "what does it say?", Timestamp: at},
			{Role: history.RoleAssistant, Content: "Look:\n\n```go\nx\n```", Thinking: "hm </details> ```", Model: "opus", ToolCalls: []history.ToolCall{
				{ToolCallID: "1", ToolName: "Read", Input: json.RawMessage(`{"path":"a"}`)}, {ToolCallID: "2", ToolName: "patch", Input: json.RawMessage(`"*** Begin\n` + "````" + `"`)}}},
			{Role: history.RoleTool, ToolResult: &history.ToolResult{ToolCallID: "1", ToolName: "Read", Output: "a `````fence````` b"}},
			{Role: history.RoleTool, ToolResult: &history.ToolResult{ToolCallID: "2", ToolName: "patch", Output: "no", IsError: true}, Inactive: true},
		},
		Subagents: []history.Subagent{{ID: "s1", Name: "helper", ToolCallID: "1", Messages: []history.Message{{Role: history.RoleUser, Content: "help"}}}},
	}
}

const wantMarkdown = "# \\# fix \\<it> \\`now\\`\n\n- session: `claude:x`\n- forked from: `y`\n- model: `opus`\n- directory: `/work`\n- created: `2026-11-20T12:00:00Z`\n" +
	"- updated: `2026-11-20T12:01:00Z`\n- tags: `red`\n\n## User\n\nwhat does it say?\n\n## Assistant\n\n<details>\n<summary>Thinking</summary>\n\n" +
	"````text\nhm </details> ```\n````\n\n</details>\n\nLook:\n\n```go\nx\n```\n\nCalls `Read`:\n\n```json\n{\n  \"path\": \"a\"\n}\n```\n\nCalls `patch`:\n\n" +
	"`````text\n*** Begin\n````\n`````\n\n## Tool: `Read`\n\n``````text\na `````fence````` b\n``````\n\n## Tool: `patch` (failed) (taken back)\n\n```text\nno\n```\n\n" +
	"## Sub-agent helper s1\n\n### User\n\nhelp\n\n---\n\n- tokens: 10 in, 20 out, 0 from the cache, 0 to the cache\n- cost: 0.2500 USD, as claude states it\n"

func TestExport(t *testing.T) {
	t.Parallel()
	s := exported()
	var b bytes.Buffer
	if err := Export(&b, s, sessions.Markdown); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantMarkdown, b.String()); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}

	b.Reset()
	if err := Export(&b, s, sessions.JSON); err != nil {
		t.Fatal(err)
	}
	var back history.Session
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	// Indenting is all that JSON may change.
	back.Messages[1].ToolCalls[0].Input = json.RawMessage(strings.Join(strings.Fields(string(back.Messages[1].ToolCalls[0].Input)), ""))
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("json does not come back (-want +got):\n%s", diff)
	}

	b.Reset()
	if err := Export(&b, s, sessions.JSONL); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(b.String()) {
		var l struct {
			Type, SessionID, SubagentID string
			Messages                    any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Messages != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds = append(kinds, l.Type+l.SessionID+l.SubagentID)
	}
	if got := strings.Join(kinds, " "); got != "sessionx message message message message subagent messages1" {
		t.Errorf("lines: %s", got)
	}
	if err := Export(&b, s, "html"); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("an unknown format: %v", err)
	}
}
