package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/transport/pty/ptytest"
)

// The keys of a live shell complete commands, agents, the words of flags, keys of the configuration and runs.
func TestShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []struct{ name, setUp string }{
		{"bash --noprofile --norc -i", "source <(drawbar completion bash)"},
		{"zsh -f -i", "autoload -Uz compinit && compinit -u -D && source <(drawbar completion zsh)"},
		{"fish --no-config -i", "drawbar completion fish | source"},
	} {
		words := strings.Fields(shell.name)
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip("SKIPPED: this machine has no", words[0])
			}
			dir := t.TempDir()
			env := stage(t, dir)
			run := exec.Command(filepath.Join(dir, "bin", "drawbar"), "run", "claude", "hi", "--run-id", "01JD0000000000000000000001")
			run.Dir, run.Env = filepath.Join(dir, "work"), env
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Mkdir(filepath.Join(run.Dir, "one"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(words[0], words[1:]...) //nolint:gosec // the shells above
			cmd.Dir, cmd.Env = run.Dir, append(env, "TERM=xterm", "PS1=> ")
			s := ptytest.Start(t, cmd, 200, "")
			s.Type(shell.setUp + "; echo rea''dy\r")
			at := s.Await(0, "ready\r")
			for _, c := range [][2]string{
				{"drawbar worktr", "drawbar worktrees"},
				{"drawbar run cla", "drawbar run claude"},
				{"drawbar run --approve re", "drawbar run --approve reads"},
				{"drawbar run --approve=re", "drawbar run --approve=reads"},
				{"drawbar config get defaultA", "drawbar config get defaultAgent"},
				{"drawbar config set approvalMode yo", "drawbar config set approvalMode yolo"},
				{"drawbar run --cwd ./on", "drawbar run --cwd ./one"},
				{"drawbar logs 01JD", "drawbar logs 01JD0000000000000000000001"},
			} {
				s.Type(c[0] + "\t")
				time.Sleep(700 * time.Millisecond) // shells drop or paste what is typed while they complete
				s.Type("\x01echo :''\r")           // at the beginning of the line
				at = s.Await(at, ":"+c[1])
			}
			s.Type("exit\r")
			s.Exit()
		})
	}
}
