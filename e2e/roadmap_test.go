//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRoadmap: ten tasks by the programs of three vendors, in the order of their dependencies. One goes beyond what it declares, and is
// blocked; the work of the others is committed, and nothing else changes.
func TestRoadmap(t *testing.T) {
	only(t, "claude", func(t *testing.T, claude kit) {
		of := func(name string) kit { return kits[slices.IndexFunc(kits, func(k kit) bool { return k.name == name })] }
		agents := []kit{claude, of("codex"), of("gemini")}
		const tasks, bad = 10, 10
		var turns, lines []string
		for i := 1; i <= tasks; i++ {
			k, file := agents[i%3], fmt.Sprintf("made-%d.txt", i)
			write := fmt.Sprintf("printf %d > %s && echo wrote-%d-now", i, file, i)
			if i == bad {
				write += " && echo x > other.txt"
			}
			done := fmt.Sprintf(`{"match":{"contains":"wrote-%d-now"},"text":"done %d","repeat":true}`, i, i)
			call := fmt.Sprintf(`{"match":{"contains":"# T%d: "},"tools":[%s]}`, i, k.shell(write))
			turns = append(turns, done, call, call) // the second is for another attempt
			depends := ""
			if i == 5 {
				depends = "(depends: #T1, #T2) "
			}
			if i == 6 {
				depends = "(depends: #T5) "
			}
			lines = append(lines, fmt.Sprintf("- [ ] Make %s %s#T%d (agent: %s)\n  - **Files**: `%s` (create)\n", file, depends, i, k.name, file))
		}
		// What says that a task is done comes first: it is in the same conversation as the task.
		slices.SortStableFunc(turns, func(a, b string) int {
			first := func(s string) int {
				if strings.Contains(s, `"text"`) {
					return 0
				}
				return 1
			}
			return first(a) - first(b)
		})
		l := newLab(t, claude, `{"turns":[`+strings.Join(append(turns, `{"text":"a title","repeat":true}`), ",")+`]}`)
		for _, k := range agents[1:] {
			l.kit = k
			l.redirect(l.server.URL())
		}
		if err := os.WriteFile(filepath.Join(l.work, "ROADMAP.md"), []byte("# Roadmap\n\n"+strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@example.org"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
			l.git(args...)
		}
		o := l.command("roadmap", "run", "--approve", "yolo", "--jobs", "3")
		if o.code != 1 {
			t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		text, err := os.ReadFile(filepath.Join(l.work, "ROADMAP.md"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(lines, "")
		want = strings.ReplaceAll(want, "- [ ] Make", "- [~] Make")
		want = strings.Replace(want, fmt.Sprintf("- [~] Make made-%d.txt", bad), fmt.Sprintf("- [!] Make made-%d.txt", bad), 1)
		if got := strings.TrimPrefix(string(text), "# Roadmap\n\n"); got != want {
			t.Errorf("%s\n%s%s", got, o.stdout, o.stderr)
		}
		log := strings.Split(l.git("log", "--format=%s"), "\n")
		at := func(id string) int {
			return slices.IndexFunc(log, func(s string) bool { return strings.HasPrefix(s, id+":") })
		}
		if len(log) != tasks || at("T6") > at("T5") || at("T5") > at("T1") || at("T5") > at("T2") || at("T10") >= 0 {
			t.Errorf("log: %q", log)
		}
		for i := 1; i < bad; i++ {
			if got := l.git("show", fmt.Sprintf("HEAD:made-%d.txt", i)); got != fmt.Sprint(i) {
				t.Errorf("made-%d.txt: %q", i, got)
			}
		}
		if got := l.git("status", "--porcelain"); got != "M ROADMAP.md" {
			t.Errorf("status: %q", got)
		}
		if got := l.git("worktree", "list"); strings.Contains(got, "\n") {
			t.Errorf("worktrees: %s", got)
		}
		l.noSurvivors()
		if t.Failed() {
			for id := range strings.FieldsSeq(l.command("ps", "--all", "--quiet").stdout) {
				t.Logf("%s\n%s", id, l.command("logs", id).stdout)
			}
		}
	})
}
