//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// answer reads the envelope of a command with --json.
func answer[T any](l *lab, args ...string) T {
	l.t.Helper()
	o := l.command(append(args, "--json")...)
	var e struct {
		OK   bool
		Data T
	}
	if err := json.Unmarshal([]byte(o.stdout), &e); err != nil || !e.OK || o.code != 0 {
		l.t.Fatalf("drawbar %s: exit %d, %v\nstdout: %s\nstderr: %s", strings.Join(args, " "), o.code, err, o.stdout, o.stderr)
	}
	return e.Data
}

type listing struct {
	Sessions []history.Summary
	Problems []history.Problem
}

// contents are the files and databases below a directory that have sessions in them, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".jsonl", ".db", ".db-wal", ".sqlite", ".sqlite-wal"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSessions: what the agent wrote is listed, shown, searched and exported, nothing of it changes, and the session that
// was found is resumed and forked by the agent's own program.
func TestSessions(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if k.drives != "" {
			newLab(t, k, `{"turns":[{"text":"x"}]}`).keepsNoSessions()
			return
		}
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"thinking":"a thought of mine","text":"I look at the quokka.","tools":[%s]},{"text":"The word is quokka."},
			{"text":"It was the quokka."},{"text":"Another way."}]}`, k.shell("echo wombat; exit 0")))
		first := l.run("--approve", "yolo", "--tag", "zoo", "remember the quokka")
		first.completed(t)
		home := l.home
		if k.inside {
			home = filepath.Join(l.root, "state", "drawbar", "sessions")
		}
		before := contents(t, home)
		if len(before) == 0 {
			t.Fatal("the agent left no session file")
		}

		found := answer[listing](l, "sessions", "list", "--agent", k.name)
		if len(found.Sessions) != 1 || len(found.Problems) != 0 {
			t.Fatalf("listed %+v", found)
		}
		s := found.Sessions[0]
		if s.SessionID != first.result.SessionID || s.Title == "" || s.Cwd != l.work || s.Model == "" || s.TurnCount == nil || *s.TurnCount != 1 ||
			!slices.Equal(s.Tags, []string{"zoo"}) || time.Since(s.UpdatedAt) > 10*time.Minute || len(s.Problems) != 0 {
			t.Errorf("the summary is %+v, the session %s", s, first.result.SessionID)
		}
		if n := len(answer[listing](l, "sessions", "list", "--tag", "zoo", "--cwd", l.work, "--since", "1h", "--model", s.Model).Sessions); n != 1 {
			t.Errorf("%d sessions with every filter", n)
		}

		shown := answer[history.Session](l, "sessions", "show", s.UnifiedID)
		said, thought, results := "", "", ""
		var calls int
		for _, m := range shown.Messages {
			if m.Role == history.RoleAssistant {
				said += m.Content + "|"
				thought += m.Thinking
				calls += len(m.ToolCalls)
			}
			if m.ToolResult != nil {
				results += m.ToolResult.Output
			}
		}
		if said != "I look at the quokka.|The word is quokka.|" || !strings.Contains(strings.ReplaceAll(thought, "\n", " "), "a thought of mine") || calls != 1 || !strings.Contains(results, "wombat") {
			t.Errorf("said %q, thought %q, %d calls, results %q", said, thought, calls, results)
		}
		if k.ownTokens == "" && (shown.Usage == nil || shown.Usage.Total != first.result.Usage.Total) || shown.Messages[0].Content != "remember the quokka" {
			t.Errorf("usage %+v, the run's is %+v; first message %q", shown.Usage, first.result.Usage, shown.Messages[0].Content)
		}
		if len(shown.UnknownRecords) > 0 || len(shown.Problems) > 0 {
			t.Errorf("unknown records %v, problems %v", shown.UnknownRecords, shown.Problems)
		}

		if hits := answer[struct{ Total int }](l, "sessions", "search", "WOMBAT"); hits.Total != 1 {
			t.Errorf("%d sessions have what the tool said", hits.Total)
		}
		if o := l.command("sessions", "export", s.UnifiedID); o.code != 0 || !strings.Contains(o.stdout, "The word is quokka.") {
			t.Errorf("export: %d %s", o.code, o.stderr)
		}
		for path, text := range contents(t, home) {
			if before[path] != text {
				t.Errorf("%s was changed by reading it", path)
			}
		}

		// The agent's own program goes on with what was found.
		second := l.run("--session", s.UnifiedID, "which word?")
		second.completed(t)
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "remember the quokka") {
			t.Error("the resumed session does not know what was said before")
		}
		if again := answer[history.Session](l, "sessions", "show", s.UnifiedID); *again.TurnCount != 2 {
			t.Errorf("%d turns after the second", *again.TurnCount)
		}
		forked := l.run("--fork", s.UnifiedID, "another way")
		if !k.can(t).Agent.CanFork {
			partly(t, "a session cannot be forked; refused before anything starts: --fork")
			forked.want(t, execution.StatusUnsupported, execution.CodeCapability, execution.ExitCapability)
			return
		}
		forked.completed(t)
		fork := answer[history.Session](l, "sessions", "show", k.name+":"+forked.result.SessionID)
		if fork.ForkedFrom != s.SessionID || *fork.TurnCount != 3 || fork.Messages[0].Content != "remember the quokka" {
			t.Errorf("the fork has %d turns, is forked from %q, and begins with %q", *fork.TurnCount, fork.ForkedFrom, fork.Messages[0].Content)
		}
		d := answer[struct{ Unchanged, Added, Removed int }](l, "sessions", "diff", s.UnifiedID, fork.UnifiedID)
		if d.Added != 2 || d.Removed != 0 || d.Unchanged < 5 {
			t.Errorf("the fork differs by %+v", d)
		}
	})
}

// TestSessionsWatch: a session that the agent is writing becomes events as it goes on.
func TestSessionsWatch(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"text":"first"},{"text":"working","tools":[%s]},{"text":"second"}]}`, k.shell("echo wombat")))
		o := l.run("begin")
		o.completed(t)
		if refused := l.command("sessions", "watch", k.name+":"+o.result.SessionID, "--json", "--quiet-for", "1s"); refused.code == execution.ExitCapability {
			unsupported(t, "refused: its session file is written anew, so it cannot be followed")
			return
		}
		done := make(chan outcome, 1)
		go func() {
			done <- l.command("sessions", "watch", k.name+":"+o.result.SessionID, "--json", "--quiet-for", "20s")
		}()
		time.Sleep(2 * time.Second)
		l.run("--approve", "yolo", "--session", o.result.SessionID, "go on").completed(t)
		w := <-done
		var prompts, said, tools []string
		for line := range strings.Lines(w.stdout) {
			var e execution.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			switch b := e.Body.(type) {
			case execution.InputQueued:
				prompts = append(prompts, b.Text)
			case execution.MessageStop:
				said = append(said, b.Text)
			case execution.ToolResultEvent:
				tools = append(tools, string(b.Output))
			}
		}
		if w.code != 0 || !slices.Equal(prompts, []string{"go on"}) || !slices.Equal(said, []string{"working", "second"}) || len(tools) != 1 || !strings.Contains(tools[0], "wombat") {
			t.Errorf("exit %d, prompts %q, said %q, tools %q\n%s", w.code, prompts, said, tools, w.stderr)
		}
	})
}

// keepsNoSessions checks that a bridge's sessions are listed as those of the agent that it drives.
func (l *lab) keepsNoSessions() {
	l.t.Helper()
	unsupported(l.t, "its sessions are those of "+l.kit.drives+": drawbar sessions list --agent "+l.kit.drives)
	o := l.run("--approve", "yolo", "hi")
	o.completed(l.t)
	found := answer[listing](l, "sessions", "list", "--agent", l.kit.drives)
	if len(found.Sessions) != 1 || found.Sessions[0].SessionID != o.result.SessionID {
		l.t.Errorf("session %s, listed %+v", o.result.SessionID, found)
	}
	if o := l.command("sessions", "list", "--agent", l.kit.name); o.code != execution.ExitCapability {
		l.t.Errorf("sessions of %s: exit %d\n%s", l.kit.name, o.code, o.stdout)
	}
}
