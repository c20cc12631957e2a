package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestDecide: only a clear word decides.
func TestDecide(t *testing.T) {
	t.Parallel()
	edit := execution.ApprovalRequired{Editable: true, Use: execution.ToolUse{Kind: execution.ToolShell, Command: "rm -r x"}, Input: json.RawMessage(`{"command":"rm -r x","n":1}`)}.WithCommand
	for in, want := range map[string]execution.Decision{
		"e rm  x": {Approve: true, Input: json.RawMessage(`{"command":"rm  x","n":1}`)},
		"y":       {Approve: true}, " YES ": {Approve: true}, "n": {Reason: "denied by the user"}, "No, ": {Reason: "denied by the user"},
		"n use another file": {Reason: "use another file"}, "no, later": {Reason: "later"}, "a": {Approve: true, Always: "Read"}, "Always": {Approve: true, Always: "Read"},
	} {
		if got, reply := Decide(in, "Read", edit); reply != ReplyDecision || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
	for in, want := range map[string]Reply{"": ReplyUnclear, "yes please": ReplyUnclear, "use another file": ReplyUnclear, "ya": ReplyUnclear, "v": ReplyView, "?": ReplyHelp, "e": ReplyEdit, " Edit ": ReplyEdit} {
		if got, reply := Decide(in, "Read", edit); reply != want || got.Approve {
			t.Errorf("%q: %v, want %v", in, reply, want)
		}
	}
	if _, reply := Decide("a", "", edit); reply != ReplyUnclear {
		t.Error("always without a rule decides")
	}
	for _, q := range []execution.ApprovalRequired{{}, {Use: execution.ToolUse{Kind: execution.ToolShell, Command: "x"}, Input: json.RawMessage(`{"command":"x"}`)},
		{Editable: true, Use: execution.ToolUse{Kind: execution.ToolEdit}, Input: json.RawMessage(`{"command":"x"}`)},
		{Editable: true, Use: execution.ToolUse{Kind: execution.ToolShell, Command: "x"}, Input: json.RawMessage(`{"words":["x"]}`)}} {
		if d, reply := Decide("e ls", "", q.WithCommand); reply != ReplyUnclear || d.Approve {
			t.Errorf("%+v can be edited", q)
		}
	}
}

// TestSubject: a question shows a command in full, and a change as a diff with paths seen from the working directory.
func TestSubject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	edit := func(path, input string) execution.ApprovalRequired {
		return execution.ApprovalRequired{Detail: "d", Use: execution.ToolUse{Kind: execution.ToolEdit, Paths: []string{path}}, Input: json.RawMessage(input)}
	}
	for name, c := range map[string]struct {
		q    execution.ApprovalRequired
		want string
	}{
		"a command":     {execution.ApprovalRequired{Use: execution.ToolUse{Kind: execution.ToolShell, Command: "cat <<E\nx\nE\n"}}, "cat <<E\nx\nE"},
		"a new file":    {edit(filepath.Join(dir, "sub", "new.txt"), `{"content":"x\ny\n"}`), filepath.Join("sub", "new.txt") + "\n+ x\n+ y"},
		"a whole file":  {edit("old.txt", `{"content":"one\n2\nthree\n"}`), "old.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"},
		"a replacement": {edit("old.txt", `{"old_string":"two","new_string":"2"}`), "old.txt\n- two\n+ 2"},
		"a patch":       {edit("old.txt", `{"patch":"@@\n-a\n+b\n"}`), "old.txt\n@@\n-a\n+b"},
		"no input":      {edit("old.txt", ``), "old.txt"},
		"outside":       {edit("/etc/x", `{}`), "/etc/x"},
		"another tool":  {execution.ApprovalRequired{Detail: "the\nweb"}, "the web"},
		"not text":      {edit("old.txt", `{"content":5,"old":[]}`), "old.txt"},
	} {
		if got, cut := (Permission{Question: c.q, Dir: dir}).subject(false); strings.Join(got, "\n") != c.want || cut {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "\n"), c.want)
		}
	}
	long := Permission{Question: edit("n.txt", `{"content":"`+strings.Repeat(`x\n`, 40)+`"}`), Dir: dir}
	if got, cut := long.subject(false); len(got) != 1+shownHead+1+shownTail || !cut || got[1+shownHead] != "… 24 more lines" {
		t.Errorf("%q", got)
	}
	if got, cut := long.subject(true); len(got) != 41 || cut {
		t.Errorf("%q", got)
	}
}

// TestNumberedQuestion: a question says how many wait, if it is not the only one.
func TestNumberedQuestion(t *testing.T) {
	t.Parallel()
	r := NewRenderer(&App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}, false, nil)
	b := execution.ApprovalRequired{ID: "q", ToolName: "Write", Action: "change files"}
	if text := r.QuestionText(b, 3); !strings.Contains(text, "(1 of 3)") {
		t.Errorf("%q", text)
	}
	if text := r.QuestionText(b, 1); strings.Contains(text, " of ") {
		t.Errorf("%q", text)
	}
}
