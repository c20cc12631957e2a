package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
)

func TestRenderDenialOnce(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	r := NewRenderer(&App{Out: &out, Err: &err, NoColor: true}, false, nil)
	for _, b := range []execution.Body{execution.ApprovalDenied{ID: "q", Reason: "denied by the user"}, execution.ToolError{ToolCallID: "c", ToolName: "Write", Error: "denied by the user"}} {
		r.Event(execution.Event{Body: b})
	}
	if got := strings.TrimSpace(err.String()); got != "denied by the user" {
		t.Errorf("%q", got)
	}
}

// TestRenderUnasked: what the approval mode answers by itself is no question to a person.
func TestRenderUnasked(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	r := NewRenderer(&App{Out: &out, Err: &err, NoColor: true}, false, nil)
	r.Unasked = true
	for _, b := range []execution.Body{execution.ApprovalRequired{ID: "q", Action: "Bash", Detail: "ls"}, execution.ApprovalGranted{ID: "q", Detail: "approval mode yolo"}} {
		r.Event(execution.Event{Body: b})
	}
	if err.Len() > 0 {
		t.Errorf("%q", err.String())
	}
}

func TestRenderRetry(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]execution.Retry{
		"another attempt":          {},
		"attempt 2":                {Attempt: 2},
		"attempt 2 of 5 in 1.5s":   {Attempt: 2, MaxAttempts: 5, DelayMs: 1500},
		"another attempt in 250ms": {DelayMs: 250, MaxAttempts: 3},
	} {
		if got := retryText(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFit: a line that fits keeps its text, others end within the width, also with characters of two columns.
func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"hello", 5, "hello"}, {"hello you", 6, "hello…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"a日", 2, "a…"},
		{"e\u0301a", 2, "e\u0301a"}, {"🙂🙂🙂", 5, "🙂🙂…"}, {"", 3, ""},
	} {
		got := Fit(c.in, c.columns)
		if got != c.want || Columns(got) > c.columns {
			t.Errorf("%q in %d columns: %q (%d), want %q", c.in, c.columns, got, Columns(got), c.want)
		}
	}
}

// TestToolLines: a call that is over is one line with what it changed, reads in a row are one, and a failed command shows the end of its
// output. Without folding the line comes when the call begins.
func TestToolLines(t *testing.T) {
	t.Parallel()
	if filepath.Separator != '/' {
		t.Skip("SKIPPED: the paths are those of Unix")
	}
	ready := func(id, name, input string) execution.Body {
		return execution.ToolCallReady{ToolCallID: id, ToolName: name, Input: json.RawMessage(input)}
	}
	over := func(id string) execution.Body { return execution.ToolResultEvent{ToolCallID: id} }
	read := func(id, path string) []execution.Body {
		return []execution.Body{ready(id, "Read", `{"path":"`+path+`"}`), over(id), execution.FileRead{ToolCallID: id, Path: path}}
	}
	events := slices.Concat(
		read("1", "/work/a.go"), read("2", "/work/sub/b.go"), read("3", "/etc/c"), read("4", "/work/d.go"),
		[]execution.Body{
			ready("5", "Write", `{"file_path":"/work/new.go","content":"x\ny\n"}`), over("5"), execution.FileCreate{ToolCallID: "5", Path: "/work/new.go"},
			ready("6", "Edit", `{"file_path":"/work/new.go","old_string":"x","new_string":"z\nz"}`), execution.FilePatch{ToolCallID: "6", Path: "/work/new.go", Diff: "--- a\n+++ b\n@@\n-x\n+z\n+z\n"}, over("6"),
			ready("7", "Bash", `{"command":"go test"}`), execution.ShellStdoutDelta{ToolCallID: "7", Delta: "1\n2\n"}, execution.ShellStderrDelta{ToolCallID: "7", Delta: "3\n4\n"},
			execution.ShellExit{ToolCallID: "7", ExitCode: 1}, execution.ToolError{ToolCallID: "7", ToolName: "Bash", Error: "exit 1"},
			execution.MCPToolCallStart{ToolCallID: "8", Server: "db", ToolName: "query", Input: json.RawMessage(`{"query":"q"}`)}, execution.MCPToolError{ToolCallID: "8", Error: "no table"},
			ready("9", "Patch", `{}`), over("9"), execution.FileWrite{ToolCallID: "9", Path: "/work/a"}, execution.FileDelete{ToolCallID: "9", Path: "/work/b"},
		}, read("10", "/work/a.go"), []execution.Body{execution.TextDelta{Delta: "done\n"}, ready("11", "Bash", `{"command":"sleep"}`),
			execution.Finished{Result: execution.Result{Status: execution.StatusCompleted, Agent: "x"}}})
	for fold, want := range map[bool]string{
		true: `✓ read 4 files a.go, sub/b.go, /etc/c, …
✓ Write new.go +2
✓ Edit new.go +2 -1
✗ Bash go test  exit code 1
  │ 2
  │ 3
  │ 4
✗ db/query q: no table
✓ Patch
  ~ a
  - b
✓ read a.go
done
● Bash sleep`,
		false: `● Read a.go
● Read sub/b.go
● Read /etc/c
● Read d.go
● Write new.go
  + new.go +2
● Edit new.go
  ~ new.go +2 -1
● Bash go test
  exit code 1
  ✗ Bash: exit 1
● db/query q
  ✗ db/query: no table
● Patch
  ~ a
  - b
● Read a.go
done
● Bash sleep`,
	} {
		var out bytes.Buffer
		r := NewRenderer(&App{Out: &out, Err: &out, NoColor: true}, false, nil)
		r.Dir = "/work"
		if fold {
			r.Fold()
		}
		for _, b := range events {
			r.Event(execution.Event{Body: b})
		}
		got, _, _ := strings.Cut(out.String(), "\nx · ")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fold %v: (-want +got)\n%s", fold, diff)
		}
	}
}
