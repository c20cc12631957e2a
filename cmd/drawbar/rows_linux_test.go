package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Items of a batch have a row each while they run, however wide the terminal is; what stays on the screen are their results.
func TestRowsOfABatch(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 100} {
		dir := t.TempDir()
		env := stage(t, dir)
		items := `{"id":"first","prompt":"go"}` + "\n" + `{"id":"second","prompt":"go"}` + "\n" + `{"id":"third","prompt":"go"}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "work", "items.jsonl"), []byte(items), 0o600); err != nil {
			t.Fatal(err)
		}
		script := `{"turns":[{"match":{"contains":"go"},"tools":[{"name":"shell","input":{"command":"sleep 1; : ` + strings.Repeat("long ", 60) + `"}}],"repeat":true},{"text":"Done.","repeat":true}]}`
		s := onTerminalIn(t, dir, env, columns, "", script, "batch", "items.jsonl", "harness/anthropic/model-x", "--jobs", "2", "--yolo")
		at := s.Await(0, "batch · ")
		s.Await(at, " · shell sleep")
		if code := s.Exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		rows := regexp.MustCompile(`(?m)^  (first|second|third) +harness[^\r\n\x1b]+`).FindAllString(s.Shown(), -1)
		for _, row := range rows {
			if n := len([]rune(row)); n >= int(columns) {
				t.Errorf("%d characters on %d columns: %q", n, columns, row)
			}
		}
		left := screenOf(s.Shown())
		if len(rows) < 4 || strings.Count(left, "✓ ") != 3 || strings.Contains(left, "batch") || strings.Contains(left, "shell sleep") {
			t.Errorf("%d rows on %d columns; left on the screen:\n%s", len(rows), columns, left)
		}
	}
}

// screenOf is what a terminal shows at the end of an output whose lines do not wrap.
func screenOf(output string) string {
	lines, row := []string{""}, 0
	output = strings.ReplaceAll(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(output, ""), "\r\n", "\n")
	for part := range strings.SplitSeq(output, "") {
		lines[row] += part
		switch line := lines[row]; {
		case part == "\n":
			lines[row] = strings.TrimSuffix(line, "\n")
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		case part == "\r", strings.HasSuffix(line, "\x1b[K"):
			lines[row] = ""
		case strings.HasSuffix(line, "\x1b[J"):
			lines[row], lines = "", lines[:row+1]
		case part == "A" && strings.Contains(line, "\x1b["):
			text, up, _ := strings.Cut(line, "\x1b[")
			n, _ := strconv.Atoi(strings.TrimSuffix(up, "A"))
			lines[row], row = text, row-n
		}
	}
	return strings.Join(lines, "\n")
}

// --markdown lays out what the agent wrote on a terminal, live and from the record, and leaves it as it is elsewhere.
func TestMarkdownOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	s := onTerminalIn(t, dir, env, 40, "", `{"turns":[{"text":"- one and words that are more than fit here\n\n| a | b |\n|---|---|\n| long cell | 2 |\n"}]}`, "run", "claude", "--markdown", "--run-id", "01JD0000000000000000000001", "hi")
	const list, row = "• one and words that are more than fit\r\n  here\r\n", "\r\nlong cell  2\r\n"
	if code := s.Exit(); code != 0 || !strings.Contains(s.Shown(), list) || !strings.Contains(s.Shown(), row) {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	for _, words := range [][]string{{"logs", "01JD", "--markdown"}, {"attach", "01JD", "--markdown"}} {
		s := onTerminalIn(t, dir, env, 40, "", "", words...)
		if code := s.Exit(); code != 0 || !strings.Contains(s.Shown(), list) || !strings.Contains(s.Shown(), row) {
			t.Errorf("%v: exit code %d:\n%q", words, code, s.Shown())
		}
	}
	cmd := exec.Command(s.cmd.Path, "logs", "01JD", "--markdown")
	cmd.Dir, cmd.Env = s.cmd.Dir, env
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "- one and words that are more than fit here\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// Tasks of a roadmap have a row each while they run; what stays on the screen are their results.
func TestRowsOfARoadmap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	work := filepath.Join(dir, "work")
	adapter := filepath.Join(work, ".claude", "agents", "adapters", "slow.sh")
	if err := os.MkdirAll(filepath.Dir(adapter), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{adapter: "#!/bin/sh\ntest \"$1\" = health && exit 0\nsleep 1\necho pass > \"$3/result\"\n",
		filepath.Join(work, "ROADMAP.md"): "- [ ] The first " + strings.Repeat("long ", 30) + "#T1 (agent: slow)\n  - Files: a\n- [ ] The second #T2 (agent: slow)\n  - Files: b\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = work, env
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s := onTerminalIn(t, dir, env, 80, "", "", "roadmap", "run", "--trust")
	at := s.Await(0, "roadmap · ")
	s.Await(at, " · slow works")
	if code := s.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left := screenOf(s.Shown()); strings.Count(left, "  review  slow") != 2 || strings.Contains(left, "slow works") || strings.Contains(left, "panic") {
		t.Errorf("left on the screen:\n%s", left)
	}
}
