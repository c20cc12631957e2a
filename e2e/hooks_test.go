//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// bare is the agent's own command for one prompt with everything allowed.
var bare = map[string][]string{
	"claude":  {"claude", "-p", "hi", "--dangerously-skip-permissions", "--output-format=stream-json", "--verbose"},
	"codex":   {"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "hi"},
	"gemini":  {"gemini", "-p", "hi", "--yolo", "--skip-trust"},
	"qwen":    {"qwen", "-p", "hi", "--yolo"},
	"copilot": {"copilot", "-p", "hi", "--allow-all"},
}

// own runs the agent's own command in the lab.
func (l *lab) agent(args ...string) string {
	l.t.Helper()
	path := filepath.Join(programs, args[0])
	cmd := exec.Command(path, args[1:]...)
	cmd.Env, cmd.Dir = l.environ(), l.work
	out, err := cmd.CombinedOutput()
	l.t.Logf("%s: %v", strings.Join(args, " "), err)
	return string(out)
}

// touching is a script whose model runs one command that makes a file.
func touching(k kit, file string) string {
	return fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}],"onExhausted":"last"}`, k.shell("touch "+shellQuote(file)))
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A hook of one run denies a command, which then has not run; permits it, which then has; and gives it another input where the agent can.
func TestRuntimeHook(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, tt := range []struct{ name, hook, want string }{
			{"deny", "preToolUse=echo not today >&2; exit 3", ""},
			{"no answer in time", "preToolUse=sleep 30", ""},
			{"allow", "preToolUse=exit 0", "ran"},
			{"modify", `preToolUse=echo '{"decision":"modify","modifiedInput":{"command":"touch other"}}'`, "other"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
				l.script(touching(k, filepath.Join(l.work, "ran")))
				o := l.run("--yolo", "--hook", tt.hook, "--hook-timeout", "2s", "hi")
				o.completed(t)
				want := tt.want
				if tt.name == "modify" && (k.name == "gemini" || k.name == "qwen") {
					partly(t, "a hook cannot give a tool another input: the call is denied")
					want = ""
				}
				for _, f := range []string{"ran", "other"} {
					if got := there(filepath.Join(l.work, f)); got != (f == want) {
						t.Errorf("the file %s is there: %v", f, got)
					}
				}
				denied := 0
				for _, e := range o.events {
					if _, ok := e.Body.(execution.ToolError); ok && e.Origin == "hook" {
						denied++
					}
				}
				if want == "" && denied != 1 && !(tt.name == "modify" && k.name == "qwen") || want != "" && denied != 0 {
					t.Errorf("%d tool errors of a hook", denied)
				}
			})
		}
	})
}

// A prompt that a hook denies never reaches the agent.
func TestRuntimePromptHook(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hello"}]}`)
		o := l.run("--hook", "userPromptSubmit=grep -q secret && exit 1; exit 0", "the secret word")
		if o.result.Status != execution.StatusFailed || o.result.Error.ErrorCode() != execution.CodeHookDenied || l.turns() != 0 {
			t.Errorf("%s %+v, %d model turns", o.result.Status, o.result.Error, l.turns())
		}
		told := filepath.Join(l.root, "told")
		l.run("--hook", "sessionStart=cat >> "+told, "--hook", "sessionEnd=cat >> "+told, "--hook", "stop=cat >> "+told, "hi").completed(t)
		b, _ := os.ReadFile(told)
		if got := strings.Count(string(b), "\n"); got != 3 {
			t.Errorf("told %d times: %s", got, b)
		}
	})
}

// What "drawbar hooks install" writes is called by the agent itself, and blocks; after "uninstall" it is not.
func TestNativeHook(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		ran := filepath.Join(l.work, "ran")
		l.script(touching(k, ran))
		if o := l.command("hooks", "install", k.name, "preToolUse", "echo not today >&2; exit 1", "--trust"); o.code != 0 {
			t.Fatalf("install: %s", o.stderr)
		}
		out := l.agent(bare[k.name]...)
		if there(ran) {
			t.Fatalf("the tool ran\n%s", out)
		}
		if o := l.command("hooks", "uninstall", k.name, "preToolUse"); o.code != 0 {
			t.Fatalf("uninstall: %s", o.stderr)
		}
		l.script(touching(k, ran))
		if out := l.agent(bare[k.name]...); !there(ran) {
			t.Fatalf("the tool did not run without the hook: the proof above proves nothing\n%s", out)
		}
	})
}

// script gives the lab's model another script.
func (l *lab) script(script string) {
	l.t.Helper()
	other := newModel(l.t, script)
	l.redirect(other)
}
