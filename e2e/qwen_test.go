//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// onlyQwen runs a test of what is Qwen's own. A slow one runs when DRAWBAR_E2E_FULL is set.
func onlyQwen(t *testing.T, slow bool, f func(t *testing.T, k kit)) {
	t.Helper()
	for _, k := range kits {
		if k.name == "qwen" {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				if slow && !full {
					t.Skip("not among the scenarios that every agent runs each time; DRAWBAR_E2E_FULL=1 runs it")
				}
				f(t, k)
			})
		}
	}
}

// bin puts a program in front of all others.
func (l *lab) bin(name, script string) {
	l.t.Helper()
	dir := filepath.Join(l.root, "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		l.t.Fatal(err)
	}
	l.env["PATH"] = dir + ":" + l.env["PATH"]
}

// TestQwenLauncherKilled: Qwen is a launcher and the program behind it. When the launcher is killed, nothing of it is left.
func TestQwenLauncherKilled(t *testing.T) {
	onlyQwen(t, true, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"never"}]}`, k.shell("tail -f /dev/null")))
		s := l.start("--approve", "yolo", "--timeout", "60s", "hang")
		await[execution.ToolCallReady](s)
		launcher, tool := 0, false
		for end := time.Now().Add(10 * time.Second); !tool && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			for _, p := range l.processes() {
				pid, command, _ := strings.Cut(p, " ")
				n, _ := strconv.Atoi(pid)
				tool = tool || strings.Contains(command, "tail -f")
				if strings.HasPrefix(command, "node ") && strings.Contains(command, "qwen") {
					launcher = n
				}
			}
		}
		if launcher == 0 || !tool {
			t.Fatalf("not what this test is about: %s", strings.Join(l.processes(), "\n"))
		}
		if err := syscall.Kill(launcher, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if o := s.end(); o.result.Status != execution.StatusFailed || o.code == 0 {
			t.Errorf("%s, exit %d", o.result.Status, o.code)
		}
		l.noSurvivors()
	})
}

// TestQwenNoNode: Qwen is a script for Node.js. Without it, or in one that is too old, it shows a line of the shell or a stack trace; the
// run says what is missing. Version 0.24.4 still runs in Node.js 20, so the old one stands in for Node.js 18.
func TestQwenNoNode(t *testing.T) {
	onlyQwen(t, false, func(t *testing.T, k kit) {
		for name, crash := range map[string]string{
			"missing": "",
			"old": `echo "file:///opt/qwen-code/cli.js:10" >&2
echo "SyntaxError: Invalid regular expression flags" >&2
printf '    at x (y.js:1:2)\n\nNode.js v18.19.0\n' >&2
exit 1
`,
		} {
			l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
			if err := os.Mkdir(filepath.Join(l.root, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"qwen": filepath.Join(programs, "qwen"), "sh": mustLook(t, "sh"), "env": mustLook(t, "env")} {
				if err := os.Symlink(target, filepath.Join(l.root, "bin", link)); err != nil {
					t.Fatal(err)
				}
			}
			l.env["PATH"] = filepath.Join(l.root, "bin")
			if crash != "" {
				if err := os.WriteFile(filepath.Join(l.root, "bin", "node"), []byte("#!/bin/sh\n"+crash), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			o := l.run("hi")
			if o.result.Error.ErrorCode() != execution.CodeAgentNotInstalled || !strings.Contains(o.result.Error.Message, "Node.js 22") || l.turns() != 0 {
				t.Errorf("%s: %s %+v", name, o.result.Status, o.result.Error)
			} else if hint, _ := o.result.Error.Metadata["hint"].(string); !strings.Contains(hint, "Node.js") {
				t.Errorf("%s: the hint is %q", name, hint)
			}
		}
	})
}

// TestQwenMemories: what Qwen asks its model on its own account is no part of what the run used.
func TestQwenMemories(t *testing.T) {
	onlyQwen(t, true, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"noted","repeat":true}]}`)
		file := filepath.Join(l.home, ".qwen", "settings.json")
		var settings map[string]any
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &settings)
		}
		if err != nil {
			t.Fatal(err)
		}
		settings["memory"] = map[string]bool{"enableManagedAutoMemory": true}
		if b, err = json.Marshal(settings); err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := l.run("remember that my favourite bird is the quail")
		o.completed(t)
		if n := len(l.model.Requests()); n < 2 {
			t.Fatalf("not what this test is about: %d requests", n)
		}
		if u := o.result.Usage; u == nil || u.Input <= 100 || u.Output <= 20 {
			t.Errorf("usage %+v, metadata %+v; %d requests", o.result.Usage, o.result.Metadata, len(l.model.Requests()))
		}
	})
}

// TestQwenRetry: a stream that breaks off is the failure that Qwen tells it tries again.
func TestQwenRetry(t *testing.T) {
	onlyQwen(t, true, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"one two three four","chunks":4,"cut":"mid-text"},{"text":" and the rest","repeat":true}]}`)
		o := l.run("hi")
		o.completed(t)
		if r := bodies[execution.Retry](o); len(r) != 1 || r[0].Code != execution.CodeProvider || o.result.Retries != 1 {
			t.Errorf("%+v, %d retries", r, o.result.Retries)
		}
	})
}

// TestQwenOldErrors: version 0.15.10 calls a failed call of the model API a success and says the failure in the model's place. What it
// wrote is replayed.
func TestQwenOldErrors(t *testing.T) {
	onlyQwen(t, false, func(t *testing.T, k kit) {
		for name, want := range map[string]struct {
			code execution.ErrorCode
			exit int
		}{"old_err401": {execution.CodeAuth, execution.ExitAuth}, "old_err500_forever": {execution.CodeProvider, -1}} {
			recorded, err := filepath.Abs(filepath.Join("../adapter/qwen/testdata/golden", name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t, k, `{"turns":[{"text":"never asked"}]}`)
			l.bin("qwen", `[ "$1" = --version ] && { echo 0.15.10; exit 0; }
cat >/dev/null
cat `+shellQuote(recorded)+"\n")
			o := l.run("hi")
			if o.result.Status != execution.StatusFailed || o.result.Error.ErrorCode() != want.code || want.exit >= 0 && o.code != want.exit || o.code == 0 {
				t.Errorf("%s: %s %+v, exit %d", name, o.result.Status, o.result.Error, o.code)
			}
			for _, d := range bodies[execution.TextDelta](o) {
				if strings.Contains(d.Accumulated, "API Error") {
					t.Errorf("%s: the failure is shown as an answer: %q", name, d.Accumulated)
				}
			}
		}
	})
}

// TestQwenSubagent: in a conversation, what a sub-agent says is its own, and one in the background has an end.
func TestQwenSubagent(t *testing.T) {
	onlyQwen(t, true, func(t *testing.T, k kit) {
		for _, background := range []bool{false, true} {
			call := fmt.Sprintf(`{"name":"agent","input":{"description":"look","prompt":"LOOK-AROUND","subagent_type":"general-purpose","run_in_background":%v}}`, background)
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s],"match":{"contains":"use a helper"}},{"text":"Found it.","match":{"contains":"LOOK-AROUND"}},{"text":"All done.","repeat":true}]}`, call))
			req := interactive("use a helper")
			req.Run.ApprovalMode = execution.ApprovalYolo
			c := l.talk(req, drawbar.RunOptions{})
			spawn := await[execution.SubagentSpawn](c)
			if ended := await[execution.SubagentResult](c); ended.SubagentID != spawn.SubagentID {
				t.Errorf("background %v: %+v of %+v", background, ended, spawn)
			}
			c.run.CloseInput()
			if res := c.result(); res.Status != execution.StatusCompleted || strings.Contains(res.Text, "Found it.") || strings.Contains(res.Text, "Background agent") || !strings.HasSuffix(res.Text, "All done.") {
				t.Errorf("background %v: %s %q %+v", background, res.Status, res.Text, res.Error)
			}
		}
	})
}
