//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// bare is the agent's own command for one prompt with everything allowed.
var bare = map[string][]string{
	"claude":   {"claude", "-p", "hi", "--dangerously-skip-permissions", "--output-format=stream-json", "--verbose"},
	"codex":    {"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "hi"},
	"gemini":   {"gemini", "-p", "hi", "--yolo", "--skip-trust"},
	"qwen":     {"qwen", "-p", "hi", "--yolo"},
	"copilot":  {"copilot", "-p", "hi", "--allow-all"},
	"droid":    {"droid", "exec", "--skip-permissions-unsafe", "hi"},
	"opencode": {"opencode", "run", "--format", "json", "hi"},
	"cline":    {"cline", "--json", "say hi"},
	"goose":    {"goose", "run", "-q", "--output-format", "stream-json", "--with-builtin", "developer", "-t", "hi"},
}

// agent runs the agent's own command in the lab.
func (l *lab) agent(args ...string) string {
	l.t.Helper()
	switch args[0] {
	case "opencode": // it tries for a minute to install the types of plugins
		l.env["npm_config_fetch_retries"], l.env["npm_config_fetch_timeout"] = "0", "5000"
	case "cline": // it leaves a daemon running
		l.env["CLINE_SESSION_BACKEND_MODE"] = "local"
	}
	o := l.program(filepath.Join(programs, args[0]), args[1:]...)
	l.t.Logf("%s: exit code %d", strings.Join(args, " "), o.code)
	return o.stdout + o.stderr
}

// touching is a script whose model runs one command that makes a file.
func touching(k kit, file string) string {
	return fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}],"onExhausted":"last"}`, k.shell("touch "+shellQuote(file)))
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// noHooks reports that the agent has no hook of a run that can deny a call, and that such a run is refused.
func noHooks(t *testing.T, k kit) bool {
	t.Helper()
	if k.can(t).Agent.RuntimeHooks.PreToolUse == execution.HookBlocking {
		return false
	}
	newLab(t, k, `{"turns":[{"text":"never"}]}`).refused("--hook", "preToolUse=exit 0", "hi")
	return true
}

// A hook of one run denies a command, which then has not run; permits it, which then has; and gives it another input where the agent can.
func TestRuntimeHook(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if noHooks(t, k) {
			return
		}
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
				if tt.name == "modify" && !k.can(t).Agent.RuntimeHooks.ModifyToolInput {
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
				if want == "" && denied != 1 || want != "" && denied != 0 {
					t.Errorf("%d tool errors of a hook", denied)
				}
			})
		}
	})
}

// A command that an agent would run without asking anybody is a hook's business too.
func TestRuntimeHookOnHarmlessCommand(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if noHooks(t, k) {
			return
		}
		for hook, denied := range map[string]int{"preToolUse=exit 0": 0, "preToolUse=exit 3": 1} {
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, k.shell("echo harmless")))
			o := l.run("--yolo", "--hook", hook, "hi")
			o.completed(t)
			errors := 0
			for _, e := range o.events {
				if _, ok := e.Body.(execution.ToolError); ok && e.Origin == "hook" {
					errors++
				}
			}
			results := len(bodies[execution.ToolResultEvent](o))
			if errors != denied || results != 1-denied {
				t.Errorf("%s: %d denials and %d results, want %d and %d", hook, errors, results, denied, 1-denied)
			}
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
		if o := l.command("hooks", "install", k.name, "preToolUse", "echo not today >&2; exit 1", "--trust"); strings.Contains(o.stderr, "has no hooks of its own") {
			unsupported(t, "refused: it has no hooks of its own")
			return
		} else if o.code != 0 {
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

// What a hook of the agent's own gives a tool as its input is what runs; where that is not possible, nothing does.
func TestNativeHookModifies(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		ran, other := filepath.Join(l.work, "ran"), filepath.Join(l.work, "other")
		var call struct{ Input json.RawMessage }
		input := strings.Replace(k.shell("touch "+shellQuote(other)), `"cmd"`, `"command"`, 1) // as codex's hooks get it
		if err := json.Unmarshal([]byte(input), &call); err != nil {
			t.Fatal(err)
		}
		answer := filepath.Join(l.root, "answer")
		if err := os.WriteFile(answer, fmt.Appendf(nil, `{"decision":"modify","modifiedInput":%s}`, call.Input), 0o600); err != nil {
			t.Fatal(err)
		}
		l.script(touching(k, ran))
		if o := l.command("hooks", "install", k.name, "preToolUse", "cat "+answer, "--trust"); strings.Contains(o.stderr, "has no hooks of its own") {
			unsupported(t, "refused: it has no hooks of its own")
			return
		} else if o.code != 0 {
			t.Fatalf("install: %s", o.stderr)
		}
		out := l.agent(bare[k.name]...)
		if !there(other) {
			partly(t, "a hook cannot give a tool another input: the call is denied")
		}
		if there(ran) || there(other) != modifies(t, k) {
			t.Errorf("the original ran: %v, the other: %v\n%s", there(ran), there(other), out)
		}
	})
}

// modifies reports whether an agent's own hooks can give a tool another input.
func modifies(t *testing.T, k kit) bool {
	t.Helper()
	n, ok := adapter.As[adapter.NativeHooks](k.entry(t).Adapter)
	if !ok {
		return false
	}
	e, _ := settings.FindHook(n.Hooks(), string(execution.HookPreToolUse))
	modify := execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{}`)}
	deny := execution.HookResult{Decision: execution.HookDeny, Message: n.AnswerHook(e.Name, modify).Stderr}
	return n.AnswerHook(e.Name, modify) != n.AnswerHook(e.Name, deny)
}

// The hooks of a project deny and are told what ran, where the agent asks for no more; "uninstall" leaves what was there before.
func TestNativeHooksOfAProject(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		hooks := func(args ...string) (file, note string) {
			t.Helper()
			o := l.command(append(append([]string{"hooks"}, args...), "--scope", "project", "--json")...)
			var answer struct{ Data struct{ File, Note string } }
			if err := json.Unmarshal([]byte(o.stdout), &answer); o.code != 0 && !strings.Contains(o.stdout, "has no hooks of its own") || err != nil {
				t.Fatalf("hooks %v: %v, %s", args, err, o.stdout)
			}
			return answer.Data.File, answer.Data.Note
		}
		told, ran := filepath.Join(l.root, "told"), filepath.Join(l.work, "ran")
		file, note := hooks("install", k.name, "postToolUse", "cat >> "+told)
		if file == "" {
			unsupported(t, "refused: it has no hooks of its own")
			return
		}
		before, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(file, l.work) {
			t.Fatalf("installed in %s: %v", file, err)
		}
		deny := func() string {
			file, _ := hooks("install", k.name, "preToolUse", "echo not today >&2; exit 1")
			return file
		}
		denies := deny()
		hooks("uninstall", k.name, "preToolUse")
		if after, _ := os.ReadFile(file); string(after) != string(before) || denies != file && there(denies) {
			t.Errorf("left in %s:\n%s\nwant\n%s", file, after, before)
		}
		if note != "" {
			partly(t, "not called in a folder without trust: "+note)
			return
		}
		deny()
		l.script(touching(k, ran))
		if out := l.agent(bare[k.name]...); there(ran) || there(told) {
			t.Fatalf("the tool ran\n%s", out)
		}
		hooks("uninstall", k.name, "preToolUse")
		l.script(touching(k, ran))
		out := l.agent(bare[k.name]...)
		b, err := os.ReadFile(told)
		if err != nil || !there(ran) {
			t.Fatalf("the tool ran: %v, the hook after it: %v\n%s", there(ran), err, out)
		}
		var call execution.HookCall
		if err := json.Unmarshal(b, &call); err != nil || call.Agent != k.name || call.Event != execution.HookPostToolUse || !strings.Contains(string(call.Data.ToolInput), ran) {
			t.Errorf("told %v: %s", err, b)
		}
	})
}

// script gives the lab's model another script.
func (l *lab) script(script string) {
	l.t.Helper()
	other := newModel(l.t, script)
	l.redirect(other)
}

// The hook of a run is asked in a conversation too, in each of its turns: with everything else allowed it denies the first command and
// permits the second.
func TestRuntimeHookInConversation(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if noHooks(t, k) {
			return
		}
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		first, second := filepath.Join(l.work, "first"), filepath.Join(l.work, "second")
		l.script(fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"denied"},{"tools":[%s]},{"text":"done"}],"onExhausted":"last"}`,
			k.shell("touch "+shellQuote(first)), k.shell("touch "+shellQuote(second))))
		var asked []string
		var mu sync.Mutex
		hook := func(_ context.Context, call execution.HookCall) (execution.HookResult, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, string(call.Data.ToolInput))
			if strings.Contains(string(call.Data.ToolInput), first) {
				return execution.HookResult{Decision: execution.HookDeny, Message: "not the first"}, nil
			}
			return execution.HookResult{Decision: execution.HookAllow}, nil
		}
		req := interactive("one")
		req.Run.ApprovalMode = execution.ApprovalYolo
		c := l.talk(req, drawbar.RunOptions{Options: agent.Options{Hooks: agent.Hooks{PreToolUse: hook}}})
		e := c.until("tool_error", func(e execution.Event) bool { _, ok := e.Body.(execution.ToolError); return ok })
		if e.Origin != "hook" || !strings.Contains(e.Body.(execution.ToolError).Error, "not the first") && k.name != "gemini" {
			t.Errorf("origin %q, %+v", e.Origin, e.Body)
		}
		await[execution.TurnEnd](c)
		if _, err := c.run.Continue("two"); err != nil {
			t.Fatal(err)
		}
		await[execution.ToolResultEvent](c)
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted {
			t.Errorf("%s %+v", res.Status, res.Error)
		}
		mu.Lock()
		defer mu.Unlock()
		if there(first) || !there(second) || len(asked) != 2 {
			t.Errorf("the first ran: %v, the second: %v, asked %q", there(first), there(second), asked)
		}
	})
}
