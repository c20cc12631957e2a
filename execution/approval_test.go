package execution

import (
	"encoding/json"
	"testing"
)

// What a person may change of a call is its command, or the text that it writes; the rest of its input stays.
func TestText(t *testing.T) {
	t.Parallel()
	shell, edit := ToolUse{Kind: ToolShell, Command: "rm x"}, ToolUse{Kind: ToolEdit, Paths: []string{"x"}}
	for _, c := range []struct {
		use               ToolUse
		input, text, want string // want is empty if nothing can be changed
	}{
		{shell, `{"cmd":"rm x","n":1}`, "rm x", `{"cmd":"new","n":1}`},
		{shell, `{"cmd":["rm","x"]}`, "", ""},
		{edit, `{"path":"x","content":""}`, "", `{"content":"new","path":"x"}`},
		{edit, `{"old_string":"a","new_string":"b"}`, "b", `{"new_string":"new","old_string":"a"}`},
		{edit, `{"content":null,"newText":"b"}`, "b", `{"content":null,"newText":"new"}`},
		{edit, `{"patch":"@@"}`, "", ""},
		{edit, `[]`, "", ""},
		{ToolUse{Kind: ToolRead}, `{"content":"b"}`, "", ""},
	} {
		q := ApprovalRequired{Editable: true, Use: c.use, Input: json.RawMessage(c.input)}
		text, ok := q.Text()
		input, can := q.WithText("new")
		if text != c.text || string(input) != c.want || ok != (c.want != "") || can != ok {
			t.Errorf("%s: %q, %s", c.input, text, input)
		}
		if _, ok := q.WithCommand("new"); ok != (can && c.use.Kind == ToolShell) {
			t.Errorf("%s: WithCommand: %v", c.input, ok)
		}
		q.Editable = false
		if _, ok := q.Text(); ok {
			t.Errorf("%s: the agent runs calls only as they are", c.input)
		}
	}
}
