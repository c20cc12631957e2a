package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
)

var (
	began  = time.Now().Add(-time.Minute)
	asking = execution.ApprovalRequired{ID: "q1", Action: "run a command", ToolName: "Bash", Detail: "touch it",
		Use: execution.ToolUse{Kind: execution.ToolShell, Command: "touch it"}}
)

func event(at time.Duration, b execution.Body) execution.Event {
	return execution.Event{Time: began.Add(at), Body: b}
}

// example are a run that waits, one that works, and one that has ended.
func example() []row {
	rows := []row{
		{run: runstore.Run{ID: "A", Agent: "claude", Cwd: "/w", Prompt: "build it"}, short: "01K9Z3AA", branch: "main"},
		{run: runstore.Run{ID: "B", Agent: "codex", Cwd: "/w", Prompt: "test it \x1b[2J"}, short: "01K9Z3BB", window: 1000},
		{run: runstore.Run{ID: "C", Agent: "gemini", Cwd: "/v", Prompt: "深い文字列の長い指示"}, short: "01K9Z3CC"},
	}
	noWindow := func(string, string) int64 { return 1000 }
	for i, events := range [][]execution.Body{
		{asking},
		{execution.StepStart{}, execution.TokenUsage{InputTokens: 400, OutputTokens: 100}, execution.ToolCallReady{ToolCallID: "t", ToolName: "Write", Input: json.RawMessage(`{"file_path":"/w/a.go"}`)},
			execution.FileWrite{Path: "/w/a.go"}, execution.FilePatch{Path: "/w/a.go"}, execution.FileCreate{Path: "/w/b.go"}, execution.FileDelete{Path: "/w/c.go"}},
		{execution.Finished{Result: execution.Result{Status: execution.StatusCompleted, TurnCount: 1}}},
	} {
		for _, b := range events {
			rows[i].changed = map[string]bool{}
			rows[i].event(event(0, b), noWindow)
		}
	}
	return rows
}

// TestTable: no line is wider than the terminal, and what is shown first is shown on a narrow one.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		shows []string
	}{
		{40, []string{"RUN", "STATE"}}, {60, []string{"DOING", "? Bash touch it", "Write a.go"}}, {80, []string{"COST", "CONTEXT", "50%"}},
		{120, []string{"FILES", "TOKENS", "MEMORY", "BRANCH", "main"}}, {200, []string{"BRANCH"}},
	} {
		head, lines := table(example(), c.width, began.Add(time.Minute))
		all := strings.Join(append(lines, head), "\n")
		for _, want := range c.shows {
			if !strings.Contains(all, want) {
				t.Errorf("%d columns: no %q in\n%s", c.width, want, all)
			}
		}
		for _, l := range append(lines, head) {
			if n := cli.Columns(l); n > c.width-3 {
				t.Errorf("%d columns: a line of %d: %q", c.width, n, l)
			}
			if strings.ContainsRune(l, 0x1b) {
				t.Errorf("a control character: %q", l)
			}
		}
	}
}

// stage is a screen whose calls to runs are noted.
type stage struct {
	*screen
	calls   []string
	pending []control.PendingQuestion
	fault   error
}

func newStage() *stage {
	st := &stage{pending: []control.PendingQuestion{{ID: "q1", Approval: true, Text: "run a command", Always: "Bash(touch:*)"}}}
	st.screen = &screen{app: &cli.App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}, ctx: context.Background(), width: 100, height: 30, rows: example(), now: began,
		do: func(_ context.Context, _ string, c control.Call) (control.Reply, error) {
			if c.Verb == "status" {
				return control.Reply{Pending: st.pending}, nil
			}
			d := ""
			if c.Decision != nil {
				d = fmt.Sprintf("%s %v %s%s%s", c.Question, c.Decision.Approve, c.Decision.Text, c.Decision.Reason, c.Decision.Always)
			}
			st.calls = append(st.calls, strings.TrimSpace(c.Verb+" "+c.Text+d))
			return control.Reply{}, st.fault
		},
		diff: func(_ context.Context, dir string) (string, error) {
			return strings.Repeat("+ line of "+dir+"\n", 100), st.fault
		}}
	return st
}

// press presses keys, a word each: the name of a key, or text. Commands are carried out at once.
func (st *stage) press(keys ...string) {
	special := map[string]tea.Key{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "backspace": {Code: tea.KeyBackspace},
		"down": {Code: tea.KeyDown}, "pgdown": {Code: tea.KeyPgDown}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}}
	for _, word := range keys {
		list := []tea.Key{special[word]}
		if _, ok := special[word]; !ok {
			list = nil
			for _, r := range word {
				list = append(list, tea.Key{Code: r, Text: string(r)})
			}
		}
		for _, k := range list {
			if _, cmd := st.Update(tea.KeyPressMsg(k)); cmd != nil {
				st.Update(cmd())
			}
		}
	}
}

// TestKeys: every key does what the help says, with the chosen run.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys  []string
		calls []string
		shows string
	}{
		{[]string{"i"}, []string{"interrupt"}, "interrupted 01K9Z3AA"},
		{[]string{"down", "s", "leave it", "enter"}, []string{"steer leave it"}, "sent to the running turn: leave it"},
		{[]string{"s", "x", "esc"}, nil, "> 01K9Z3AA"},
		{[]string{"s", "enter"}, nil, "message to the running turn of claude"},
		{[]string{"s", "one twoo", "backspace", "enter"}, []string{"steer one two"}, ""},
		{[]string{"s", "one two", "ctrl+w", "enter"}, []string{"steer one"}, ""},
		{[]string{"s", "one two", "ctrl+u", "three", "enter"}, []string{"steer three"}, ""},
		{[]string{"a"}, nil, "touch it"},
		{[]string{"a", "y", "enter"}, []string{"answer q1 true"}, "approved: run a command"},
		{[]string{"enter", "a", "enter"}, []string{"answer q1 true Bash(touch:*)"}, "from now on in this run: Bash(touch:*)"},
		{[]string{"a", "n use it", "enter"}, []string{"answer q1 false use it"}, "denied: run a command"},
		{[]string{"a", "maybe", "enter"}, nil, `"maybe" is not an answer`},
		{[]string{"a", "maybe", "enter", "y", "enter"}, []string{"answer q1 true"}, "approved"},
		{[]string{"a", "?", "enter"}, nil, "allow this call"},
		{[]string{"a", "enter"}, nil, "Allow?"}, // a key that was pressed too often approves nothing
		{[]string{"down", "a"}, nil, "the run asks nothing"},
		{[]string{"G", "i"}, nil, "the run has ended: completed"},
		{[]string{"G", "g", "i"}, []string{"interrupt"}, ""},
		{[]string{"j", "j", "j", "k", "i"}, []string{"interrupt"}, "interrupted 01K9Z3BB"},
		{[]string{"/", "codex", "enter", "i"}, []string{"interrupt"}, "interrupted 01K9Z3BB"},
		{[]string{"/", "nosuch", "enter", "i"}, nil, "no run"},
		{[]string{"/", "nosuch", "enter", "esc", "i"}, []string{"interrupt"}, "interrupted 01K9Z3AA"},
		{[]string{"v"}, nil, "line 1 of 100"},
		{[]string{"v", "j", "pgdown"}, nil, "line 29 of 100"},
		{[]string{"v", "G"}, nil, "line 74 of 100"},
		{[]string{"v", "q"}, nil, "> 01K9Z3AA"},
	} {
		st := newStage()
		st.press(c.keys...)
		if shown := st.View().Content; !slices.Equal(st.calls, c.calls) || !strings.Contains(shown, c.shows) {
			t.Errorf("%q: %q, want %q and %q in\n%s", c.keys, st.calls, c.calls, c.shows, shown)
		}
	}
}

// TestQuestions: an answer is for the question that was shown, by its id.
func TestQuestions(t *testing.T) {
	t.Parallel()
	st := newStage()
	st.press("a", "y")
	rows := example()
	rows[0].asked[0].Body = execution.ApprovalRequired{ID: "q2", ToolName: "Bash", Action: "run another"}
	st.Update(polled{rows: rows, at: began})
	if st.press("enter"); len(st.calls) > 0 && strings.HasPrefix(st.calls[0], "answer") || st.mode == answering && cli.QuestionID(st.question.Body) != "q2" {
		t.Errorf("answered: %q", st.calls)
	}
	st = newStage()
	st.press("a")
	st.pending[0].ID = "q2" // the record is read later
	if st.press("y", "enter"); st.calls != nil || st.note != "the question does not wait any more" {
		t.Errorf("answered: %q, %q", st.calls, st.note)
	}
	st = newStage()
	st.rows[0].asked[0].Body = execution.InputRequired{ID: "q1", Question: "which colour?"}
	st.pending[0].Approval = false
	if st.press("a", "no red", "enter"); !slices.Equal(st.calls, []string{"answer q1 true no red"}) || st.note != "answered" {
		t.Errorf("a question: %q, %q", st.calls, st.note)
	}
	st = newStage()
	st.fault = errors.New("reach the run: gone")
	st.press("i")
	if !strings.Contains(st.View().Content, "reach the run: gone") {
		t.Error("the fault of a call is not shown")
	}
	if st.press("v"); st.mode == reading || st.note != "reach the run: gone" {
		t.Error("the fault of a difference is not shown")
	}
}

// TestScreen: it fits the terminal, whatever is on it, and leaves with what went wrong.
func TestScreen(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"a"}, {"a", "v", "enter"}, {"s", strings.Repeat("long ", 60)}, {"v"}, {"/", "x"}} {
		for _, size := range [][2]int{{20, 10}, {40, 10}, {60, 24}, {100, 12}, {200, 50}, {3, 2}} {
			st := newStage()
			st.rows[0].run.Prompt = strings.Repeat("深い ", 200)
			st.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			st.press(keys...)
			lines := strings.Split(st.View().Content, "\n")
			if len(lines) > size[1] {
				t.Errorf("%v %q: %d lines", size, keys, len(lines))
			}
			for _, l := range lines {
				if n := cli.Columns(l); n > size[0] && size[0] >= 20 {
					t.Errorf("%v %q: %d columns: %q", size, keys, n, l)
				}
			}
		}
	}
	st := newStage()
	if _, cmd := st.Update(polled{err: errors.New("broken")}); cmd == nil || st.err == nil {
		t.Error("it goes on after an error")
	}
}

// TestBoard: it follows records while they are written.
func TestBoard(t *testing.T) {
	t.Parallel()
	store, err := runstore.Open(t.TempDir(), runstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/fix/login\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := store.Begin(runstore.Meta{RunID: "01K9Z3AAAAAAAAAAAAAAAAAAAA", Agent: "claude", Cwd: dir, Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	b := &board{store: store, window: func(_, model string) int64 { return int64(len(model)) }}
	defer b.close()
	now, seq := time.Now(), uint64(0)
	shows := func(want func(row) bool, bodies ...execution.Body) {
		t.Helper()
		for _, body := range bodies {
			seq++
			w.Append(execution.Event{Seq: seq, Time: now, RunID: w.Run().ID, Agent: "claude", Body: body})
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			now = now.Add(listEvery)
			if err := b.poll(now); err != nil {
				t.Fatal(err)
			}
			rows := b.snapshot()
			if len(rows) == 1 && want(rows[0]) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v", rows)
			}
		}
	}
	is := func(state string) func(row) bool {
		return func(r row) bool { got, _ := r.state(); return got == state }
	}
	shows(func(r row) bool { return r.what() == "starting" && r.branch == "fix/login" && r.short != "" })
	shows(func(r row) bool { return r.window == 4 && r.model == "fast" }, execution.SessionStart{SessionID: "s", Model: "fast"})
	shows(is("waiting"), execution.TurnStart{}, asking)
	shows(is("running"), execution.ApprovalGranted{ID: "q1"})
	shows(is("paused"), execution.Paused{})
	shows(func(r row) bool { return r.what() == "continuing" && r.files == 1 }, execution.Resumed{}, execution.FileWrite{Path: "a"}, execution.FileWrite{Path: "a"})
	res := execution.Result{SchemaVersion: execution.SchemaVersion, RunID: w.Run().ID, Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeTimeout, "late")}
	seq++
	w.Append(execution.Event{Seq: seq, Time: now, RunID: w.Run().ID, Agent: "claude", Body: execution.Finished{Result: res}})
	if err := w.Finish(res); err != nil {
		t.Fatal(err)
	}
	shows(func(r row) bool { return r.ended != "" && r.asked == nil && strings.Contains(r.ended, "timed-out") })
}

// TestUnreadable: a record that cannot be read is shown as such, and not read again and again.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := runstore.Open(dir, runstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w, err := store.Begin(runstore.Meta{RunID: "01K9Z3BBBBBBBBBBBBBBBBBBBB", Agent: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	path := filepath.Join(dir, "runs", string(w.Run().ID), "events-0001.jsonl")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	b := &board{store: store, window: func(string, string) int64 { return 0 }}
	defer b.close()
	if err := b.poll(time.Now()); err != nil {
		t.Fatal(err)
	}
	if rows := b.snapshot(); len(rows) != 1 || rows[0].ended != "unreadable" || b.behind {
		t.Errorf("%+v", rows)
	}
}

// TestBranch: worktrees and detached heads have one too, and what is no repository has none.
func TestBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("main/.git/HEAD", "ref: refs/heads/main\n")
	write("main/sub/file", "")
	write("tree/.git", "gitdir: "+filepath.Join(dir, "main", ".git", "worktrees", "tree")+"\n")
	write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/work\n")
	write("relative/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write("detached/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("odd/.git", "nonsense\n")
	for of, want := range map[string]string{"main": "main", "main/sub": "main", "tree": "work", "relative": "work", "detached": "0123456789", "odd": ""} {
		if got := branchOf(filepath.Join(dir, filepath.FromSlash(of))); got != want {
			t.Errorf("%s: %q, want %q", of, got, want)
		}
	}
	if got := branchOf(""); got != "" {
		t.Errorf("no directory: %q", got)
	}
}
