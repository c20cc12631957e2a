//go:build e2e

package e2e

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

func TestPlain(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"Hello from the scripted model.","chunks":5}]}`)
		o := l.run("say hello")
		o.completed(t)
		if o.result.Text != "Hello from the scripted model." || o.result.Output.Text != o.result.Text {
			t.Errorf("text %q, output %+v", o.result.Text, o.result.Output)
		}
		if _, ok := firstDomain(o).Body.(execution.SessionStart); !ok {
			t.Errorf("the first domain event is %s", firstDomain(o).Body.Type())
		}
		if ends := bodies[execution.SessionEnd](o); len(ends) != 1 || ends[0].SessionID == "" || ends[0].SessionID != o.result.SessionID {
			t.Errorf("session_end: %+v, session %q", ends, o.result.SessionID)
		}
		if k.ownTokens != "" {
			partly(t, k.ownTokens)
		} else if u := o.result.Usage; u == nil || u.Input != 100 || u.Output != 20 {
			t.Errorf("usage %+v, want 100 in and 20 out", u)
		}
		if o.result.Cost == nil || (k.name == "claude" || k.name == "codex") && o.result.Model == "" || o.result.DurationMs == 0 || o.result.TurnCount != 1 {
			t.Errorf("cost %+v, model %q, %d ms, %d turns", o.result.Cost, o.result.Model, o.result.DurationMs, o.result.TurnCount)
		}
		if o.result.UnknownLines != 0 {
			t.Errorf("%d lines could not be parsed", o.result.UnknownLines)
		}
		if l.turns() != 1 {
			t.Errorf("%d model turns", l.turns())
		}
		// The human form: the answer alone on standard output.
		l2 := newLab(t, k, `{"turns":[{"text":"Hello again."}]}`)
		h := l2.command("run", k.name, "--cwd", l2.work, "say hello")
		if h.code != 0 || h.stdout != "Hello again.\n" || !strings.Contains(h.stderr, k.name) {
			t.Errorf("exit %d, stdout %q, stderr %q", h.code, h.stdout, h.stderr)
		}
	})
}

func firstDomain(o outcome) execution.Event {
	for _, e := range o.events {
		if g := execution.EventGroup(e.Body.Type()); g != "debug" && g != "drawbar" {
			return e
		}
	}
	return execution.Event{}
}

func TestThinking(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"thinking":"let me see","text":"done"}]}`)
		if k.quietThoughts {
			defect(t, "thoughts are not in the output of a one-shot run, though the model sent them; a conversation shows them")
			c := l.talk(interactive("think"), drawbar.RunOptions{})
			if stop := await[execution.ThinkingStop](c); !strings.Contains(stop.Thinking, "see") {
				t.Errorf("thinking_stop: %+v", stop)
			}
			c.run.CloseInput()
			if res := c.result(); res.Status != execution.StatusCompleted || res.Text != "done" {
				t.Errorf("%s %q %+v", res.Status, res.Text, res.Error)
			}
			return
		}
		o := l.run("think")
		o.completed(t)
		if k.thoughtless != "" {
			unsupported(t, k.thoughtless)
			if stops := bodies[execution.ThinkingStop](o); len(stops) != 0 {
				t.Errorf("thinking_stop: %+v", stops)
			}
			return
		}
		if stops := bodies[execution.ThinkingStop](o); len(stops) != 1 || stops[0].Thinking != "let me see" {
			t.Errorf("thinking_stop: %+v", stops)
		}
		if o.result.Text != "done" {
			t.Errorf("text %q", o.result.Text)
		}
	})
}

func TestToolWritesFile(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		path := filepath.Join(l.work, "hello.txt")
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"All done."}]}`, k.write(path, "hi there")))
		o := l.run("--approve", "yolo", "write it")
		o.completed(t)
		if b, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(b)) != "hi there" {
			t.Errorf("file: %q, %v", b, err)
		}
		if len(bodies[execution.ToolCallReady](o)) != 1 || len(bodies[execution.ToolResultEvent](o)) != 1 {
			t.Errorf("tool events: %+v %+v", bodies[execution.ToolCallReady](o), bodies[execution.ToolResultEvent](o))
		}
		if k.name == "claude" {
			if c := bodies[execution.FileCreate](o); len(c) != 1 || c[0].Path != path || c[0].ByteCount != 8 {
				t.Errorf("file_create: %+v", c)
			}
		}
		if k.ownTokens != "" {
			partly(t, k.ownTokens)
		}
		if o.result.Trace.Summary.ToolCallCount != 1 || k.ownTokens == "" && (o.result.Usage.Input != 200 || o.result.Usage.Output != 40) {
			t.Errorf("%+v %+v", o.result.Trace.Summary, o.result.Usage)
		}
	})
}

// relab gives a lab another script, for scripts that name its paths.
func relab(t *testing.T, l *lab, script string) *lab {
	t.Helper()
	n := newLab(t, l.kit, script)
	n.work = l.work
	return n
}

func TestShell(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"ok"}]}`, k.shell("echo SHELL-OK")))
		o := l.run("--approve", "yolo", "run it")
		o.completed(t)
		if k.hidesExit {
			defect(t, "the exit code of a shell command that printed something is not shown")
		}
		start, exit := bodies[execution.ShellStart](o), bodies[execution.ShellExit](o)
		if k.terminal != "" {
			defect(t, k.terminal)
			if r := bodies[execution.ToolResultEvent](o); len(start) != 1 || !strings.Contains(start[0].Command, "SHELL-OK") || len(exit) != 0 || len(r) != 1 {
				t.Errorf("shell events: %+v %+v, tool_result %+v", start, exit, r)
			}
			return
		}
		if len(start) != 1 || !strings.Contains(start[0].Command, "SHELL-OK") || k.hidesExit != (len(exit) == 0) || len(exit) > 0 && exit[0].ExitCode != 0 {
			t.Errorf("shell events: %+v %+v", start, exit)
		}
		if r := bodies[execution.ToolResultEvent](o); len(r) != 1 || !strings.Contains(string(r[0].Output), "SHELL-OK") {
			t.Errorf("tool_result: %+v", r)
		}
	})
}

func TestFailingShell(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"it failed"}]}`, k.shell("echo broken; exit 3")))
		o := l.run("--approve", "yolo", "run it")
		o.completed(t)
		if k.hidesExit {
			defect(t, "a shell command that exits with 3 is reported with status success and no exit code; Drawbar says no shell_exit")
			// Such a command is reported as a success. Nothing in the stream may say that it exited well.
			exit, r, e := bodies[execution.ShellExit](o), bodies[execution.ToolResultEvent](o), bodies[execution.ToolError](o)
			if len(exit) != 0 || len(r)+len(e) != 1 || len(r) == 1 && !strings.Contains(string(r[0].Output), "broken") || len(e) == 1 && !strings.Contains(e[0].Error, "broken") {
				t.Errorf("shell_exit %+v, tool_result %+v, tool_error %+v", exit, r, e)
			}
			return
		}
		if k.terminal != "" {
			defect(t, k.terminal)
			if e := bodies[execution.ToolError](o); len(e) != 1 {
				t.Errorf("tool_error: %+v", e)
			}
			return
		}
		if exit := bodies[execution.ShellExit](o); len(exit) != 1 || exit[0].ExitCode != 3 {
			t.Errorf("shell_exit: %+v", exit)
		}
		if e := bodies[execution.ToolError](o); len(e) != 1 || !strings.Contains(e[0].Error, "broken") {
			t.Errorf("tool_error: %+v", e)
		}
	})
}

func TestSeveralModelCalls(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"text":"two at once","tools":[%s,%s]},{"tools":[%s]},{"text":"All done."}]}`,
			k.shell("echo one"), k.shell("echo two"), k.shell("echo three")))
		o := l.run("--approve", "yolo", "go")
		o.completed(t)
		if n := len(bodies[execution.ToolResultEvent](o)); n != 3 {
			t.Errorf("%d tool results, want 3", n)
		}
		if k.ownTokens != "" {
			partly(t, k.ownTokens)
		} else if o.result.Usage.Input != 300 || o.result.Usage.Output != 60 {
			t.Errorf("usage %+v: three calls of 100 in and 20 out", o.result.Usage)
		}
		if o.result.Output.Text != "All done." {
			t.Errorf("final text %q", o.result.Output.Text)
		}
	})
}

func TestPermissionDeniedWithoutPerson(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, mode := range []string{"deny", "prompt"} {
			l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
			path := filepath.Join(l.outside(), "outside.txt")
			l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"I may not."}]}`, k.write(path, "no")))
			o := l.run("--approve", mode, "write it")
			o.completed(t)
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s: the file was written without permission", mode)
			}
			if len(bodies[execution.ApprovalDenied](o))+len(bodies[execution.ToolError](o)) > 0 {
				continue
			}
			if k.unsaid == "" || !strings.Contains(strings.Join(l.sent(), ""), "Process exited with code 1") { // what the model is told of it
				t.Errorf("%s: nothing in the stream says that it was refused", mode)
				continue
			}
			defect(t, k.unsaid)
		}
	})
}

// TestSandbox: what the sandbox forbids does not happen, though everything is approved.
func TestSandbox(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if k.inside {
			l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
			path := filepath.Join(l.work, "in-the-sandbox.txt")
			l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"so"}]}`, k.write(path, "x")))
			l.run("--approve", "yolo", "--sandbox", "read-only", "write it").completed(t)
			if _, err := os.Stat(path); err == nil {
				t.Error("the file is there")
			}
			newLab(t, k, `{"turns":[{"text":"x"}]}`).refused("--sandbox", "workspace-write", "hi")
			return
		}
		if k.name != "codex" {
			newLab(t, k, `{"turns":[{"text":"x"}]}`).refused("--sandbox", "read-only", "hi")
			return
		}
		for mode, written := range map[string]bool{"read-only": false, "workspace-write": true} {
			l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
			path := filepath.Join(l.work, "in-the-sandbox.txt")
			l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"so"}]}`, k.write(path, "x")))
			l.run("--approve", "yolo", "--sandbox", mode, "write it").completed(t)
			if _, err := os.Stat(path); (err == nil) != written {
				t.Errorf("%s: the file: %v", mode, err)
			}
		}
	})
}

func TestResumeForkAndUnknownSession(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"one"},{"text":"two"},{"text":"three"}]}`)
		first := l.run("remember the word plover")
		first.completed(t)
		id := first.result.SessionID
		second := l.run("--session", id, "which word?")
		second.completed(t)
		if second.result.SessionID != id {
			t.Errorf("resumed session %q, want %q", second.result.SessionID, id)
		}
		if starts := bodies[execution.SessionStart](second); len(starts) != 1 || !starts[0].Resumed {
			t.Errorf("session_start: %+v", starts)
		}
		if k.ownTokens != "" {
			partly(t, k.ownTokens)
		} else if second.result.Usage.Input != 100 || second.result.Usage.Output != 20 {
			t.Errorf("usage of the resumed turn is %+v, want its own 100 and 20", second.result.Usage)
		}
		forked := l.run("--fork", execution.UnifiedSession(k.name, id), "and now?")
		if !k.can(t).Agent.CanFork {
			partly(t, "a session cannot be forked; refused before anything starts: --fork")
			forked.want(t, execution.StatusUnsupported, execution.CodeCapability, execution.ExitCapability)
		} else {
			forked.completed(t)
			if forked.result.SessionID == id || forked.result.SessionID == "" {
				t.Errorf("the fork has session %q", forked.result.SessionID)
			}
			if starts := bodies[execution.SessionStart](forked); len(starts) != 1 || starts[0].ForkedFrom != id {
				t.Errorf("session_start of the fork: %+v", starts)
			}
		}
		for i, body := range l.sent() {
			if !strings.Contains(body, "plover") {
				t.Errorf("model turn %d does not know the earlier turn", i)
			}
		}
		unknown := l.run("--session", "00000000-0000-4000-8000-000000000000", "hello?")
		unknown.want(t, execution.StatusFailed, execution.CodeSessionNotFound, execution.ExitSession)
	})
}

func TestNoSession(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"one"}]}`)
		if !k.can(t).Agent.CanRunEphemeral {
			l.refused("--no-session", "hi")
			return
		}
		o := l.run("--no-session", "hi")
		o.completed(t)
		again := l.run("--session", o.result.SessionID, "still there?")
		again.want(t, execution.StatusFailed, execution.CodeSessionNotFound, execution.ExitSession)
	})
}

func TestModelOverride(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
		model := map[string]string{"claude": "claude-haiku-4-5", "codex": "gpt-5.4", "gemini": "gemini-2.5-pro"}[k.name]
		model = cmp.Or(k.model, model)
		o := l.run("--model", model, "hi")
		o.completed(t)
		if o.result.Model != model {
			t.Errorf("the result names the model %q", o.result.Model)
		}
		for _, r := range l.model.Requests() {
			if r.Side == "" && r.Model != cmp.Or(k.asked, model) {
				t.Errorf("the agent asked for %q", r.Model)
			}
		}
	})
}

func TestEffort(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		sent := map[string]string{}
		for _, effort := range []string{"low", "high"} {
			l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
			if !k.can(t).Agent.Thinking {
				l.refused("--effort", effort, "hi")
				continue
			}
			args := []string{"--effort", effort, "hi"}
			if k.thinks != "" {
				args = append([]string{"--model", k.thinks}, args...)
			}
			l.run(args...).completed(t)
			sent[effort] = l.sent()[0]
			if !strings.Contains(sent[effort], `"`+effort+`"`) {
				t.Errorf("effort %s does not reach the model: %.2000s", effort, sent[effort])
			}
		}
	})
}

func TestSystemPrompt(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		sizes := map[string]int{}
		for _, mode := range []string{"append", "replace"} {
			l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
			declared := slices.Contains(k.can(t).Agent.SystemPromptModes, execution.SystemPromptMode(mode))
			if !declared && mode == "replace" {
				partly(t, "the agent's own system prompt cannot be replaced; refused before anything starts: --system-mode replace")
				l.nothingStarts("--system", "ALWAYS-SAY-QUAIL", "--system-mode", mode, "hi")
				continue
			}
			if !declared {
				partly(t, "the agent has no place behind its own system prompt; it goes in front of the message, and the result says so")
			}
			o := l.run("--system", "ALWAYS-SAY-QUAIL", "--system-mode", mode, "hi")
			o.completed(t)
			if !declared && len(o.result.Degradation) == 0 {
				t.Errorf("%s: nothing says that the system prompt goes elsewhere", mode)
			}
			body := l.sent()[0]
			if strings.Count(body, "ALWAYS-SAY-QUAIL") != 1 {
				t.Errorf("%s: the system prompt is in the request %d times", mode, strings.Count(body, "ALWAYS-SAY-QUAIL"))
			}
			sizes[mode] = len(body)
		}
		if len(sizes) == 2 && sizes["replace"] >= sizes["append"] {
			t.Errorf("replacing the prompt sends %d bytes, appending to it %d: the agent's own is still there", sizes["replace"], sizes["append"])
		}
	})
}

func TestAgentsDocument(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
		doc := filepath.Join(t.TempDir(), "AGENTS.md")
		if err := os.WriteFile(doc, []byte("ALWAYS-SAY-HERON"), 0o600); err != nil {
			t.Fatal(err)
		}
		l.run("--agents-doc", doc, "hi").completed(t)
		if body := l.sent()[0]; strings.Count(body, "ALWAYS-SAY-HERON") != 1 {
			t.Errorf("the document is in the request %d times", strings.Count(body, "ALWAYS-SAY-HERON"))
		}
	})
}

func TestMCPServer(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		delay := 0
		if k.name == "droid" {
			delay = 3000 // it connects to the server while its model thinks
		}
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"delayMs":%d,"tools":[%s]},{"text":"done"}]}`, delay, k.mcp("echo", "echo", `{"text":"ping"}`)))
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		config, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"echo": map[string]any{"command": self, "env": map[string]string{echoServer: "1"}}}})
		file := filepath.Join(l.root, "mcp.json")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if !k.can(t).Agent.MCP {
			l.refused("--mcp", file, "--approve", "yolo", "echo")
			return
		}
		o := l.run("--mcp", file, "--approve", "yolo", "echo")
		o.completed(t)
		start, res := bodies[execution.MCPToolCallStart](o), bodies[execution.MCPToolResult](o)
		if len(start) != 1 || start[0].Server != "echo" || start[0].ToolName != "echo" || len(res) != 1 || !strings.Contains(string(res[0].Output), "echo: ping") {
			t.Errorf("mcp events: %+v %+v, errors %+v", start, res, bodies[execution.MCPToolError](o))
		}
	})
}

func TestStructuredOutput(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		turn := `{"text":"{\"bird\":\"heron\"}"}`
		if k.structured != "" {
			turn = fmt.Sprintf(`{"tools":[{"name":%q,"input":{"bird":"heron"}}]},{"text":"done"}`, k.structured)
		}
		l := newLab(t, k, `{"turns":[`+turn+`]}`)
		file := filepath.Join(l.root, "schema.json")
		schema := `{"type":"object","properties":{"bird":{"type":"string"}},"required":["bird"],"additionalProperties":false}`
		if err := os.WriteFile(file, []byte(schema), 0o600); err != nil {
			t.Fatal(err)
		}
		if !k.can(t).Agent.StructuredOutput {
			l.refused("--schema", file, "name a bird")
			return
		}
		o := l.run("--schema", file, "name a bird")
		o.completed(t)
		var got map[string]string
		if err := json.Unmarshal(o.result.Output.Structured, &got); err != nil || got["bird"] != "heron" {
			t.Errorf("structured output %s: %v", o.result.Output.Structured, err)
		}
	})
}

func TestMaxTurns(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s],"repeat":true}]}`, k.shell("echo again")))
		if k.overACP && !k.can(t).Agent.MaxTurns {
			l.refused("--approve", "yolo", "--max-turns", "2", "go on")
			return
		}
		o := l.run("--approve", "yolo", "--max-turns", "2", "go on")
		o.want(t, execution.StatusDeferred, "", execution.ExitLimit)
		if o.result.ExitReason != execution.ExitTurnLimit {
			t.Errorf("exit reason %s", o.result.ExitReason)
		}
		if n := l.turns(); n > 3 {
			t.Errorf("%d model calls with a limit of 2", n)
		}
		if o.result.Continuation == nil || o.result.Continuation.State["sessionId"] != o.result.SessionID {
			t.Errorf("continuation %+v", o.result.Continuation)
		}
	})
}

func TestBudget(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s],"usage":{"input":100000,"output":20000},"repeat":true}]}`, k.shell("echo again")))
		args := []string{"--approve", "yolo", "--budget", "0.5", "go on"}
		if k.lateUsage {
			l.refused(args...)
			return
		}
		if k.priced != "" {
			args = append([]string{"--model", k.priced}, args...)
		}
		o := l.run(args...)
		o.want(t, execution.StatusFailed, execution.CodeBudgetExceeded, execution.ExitBudget)
		if o.result.Error.Code != execution.FailureBudgetExceeded || o.result.Cost == nil || o.result.Cost.TotalUSD == nil || *o.result.Cost.TotalUSD < 0.5 {
			t.Errorf("error %+v, cost %+v", o.result.Error, o.result.Cost)
		}
		if n := l.turns(); n > 3 {
			t.Errorf("%d model calls", n)
		}
		if k.name == "codex" {
			refused := l.command("run", k.name, "--json", "--model", "no-price-known", "--budget", "1", "hi")
			if refused.code != execution.ExitCapability {
				t.Errorf("a budget without a price: exit %d\n%s%s", refused.code, refused.stdout, refused.stderr)
			}
		}
	})
}

func TestUnauthorized(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"},"repeat":true}]}`)
		l.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
		o := l.run("hi")
		o.want(t, execution.StatusFailed, execution.CodeAuth, execution.ExitAuth)
		if len(bodies[execution.AuthError](o)) != 1 {
			t.Errorf("auth_error events: %+v", bodies[execution.AuthError](o))
		}
	})
}

func TestRateLimitThenSuccess(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"status":429,"error":{"type":"rate_limit_error","message":"slow down"},"retryAfter":1},{"text":"now it works"}]}`)
		if k.silentRetries {
			defect(t, "a failed request is tried again without a sign of it in the output: no retry is counted")
		}
		o := l.run("hi")
		o.completed(t)
		if told := 1; k.silentRetries != (o.result.Retries < told) || len(bodies[execution.Retry](o)) != o.result.Retries || o.took < time.Second {
			t.Errorf("%d retries, events %+v, after %s", o.result.Retries, bodies[execution.Retry](o), o.took)
		}
		if o.result.Text != "now it works" {
			t.Errorf("text %q", o.result.Text)
		}
	})
}

// soon is the part of a scripted error that says when to try again, for an agent that otherwise takes a minute to give up.
func (k kit) soon() string {
	if k.name == "opencode" {
		return `"retryAfter":1,`
	}
	return ""
}

func TestEndlessFailures(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for name, turn := range map[string]string{
			"429": `{"status":429,"error":{"type":"rate_limit_error","message":"slow down"},"retryAfter":1,"repeat":true}`,
			"500": `{"status":500,"error":{"type":"api_error","message":"broken"},` + k.soon() + `"repeat":true}`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, k, `{"turns":[`+turn+`]}`)
				l.patient()
				if k.givesUp {
					partly(t, "the agent gives up by itself, after 6 requests, and no setting changes that; the run fails with the cause")
					o := l.run("--timeout", "100s", "--grace", "2s", "hi")
					want := map[string]execution.ErrorCode{"429": execution.CodeRateLimited, "500": execution.CodeProvider}[name]
					o.want(t, execution.StatusFailed, want, want.Row().Exit)
					if k.silentRetries != (o.result.Retries < 2) || l.turns() < 2 {
						t.Errorf("%d retries counted; the model saw %d calls", o.result.Retries, l.turns())
					}
					return
				}
				if k.silentRetries {
					defect(t, "a failed request is tried again for minutes without a sign of it in the output; the run wants a limit of time, which holds")
				}
				limit := 20 * time.Second
				if k.slow {
					limit += k.slowStart
				}
				o := l.run("--timeout", limit.String(), "--grace", "2s", "hi")
				if k.vague != "" && o.result.Error.ErrorCode() == execution.CodeInternal {
					defect(t, k.vague) // it has given up by then
					return
				}
				o.want(t, execution.StatusFailed, execution.CodeTimeout, execution.ExitTimeout)
				if k.silentRetries != (o.result.Retries < 2) || l.turns() < 2 {
					t.Errorf("%d retries counted; the model saw %d calls", o.result.Retries, l.turns())
				}
				if o.took > limit+10*time.Second {
					t.Errorf("it took %s", o.took)
				}
			})
		}
	})
}

func TestLimitedRetriesEnd(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if k.silentRetries {
			defect(t, "nothing sets a limit on the retries of a failed request; a run wants a limit of time, as TestEndlessFailures shows")
			return
		}
		l := newLab(t, k, `{"turns":[{"status":500,"error":{"type":"api_error","message":"broken"},`+k.soon()+`"repeat":true}]}`)
		l.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
		o := l.run("hi")
		o.want(t, execution.StatusFailed, execution.CodeProvider, 1)
		l = newLab(t, k, `{"turns":[{"status":429,"error":{"type":"rate_limit_error","message":"slow down"},`+k.soon()+`"repeat":true}]}`)
		l.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
		l.run("hi").want(t, execution.StatusFailed, execution.CodeRateLimited, execution.ExitRateLimited)
	})
}

func TestCutStream(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"this answer is cut","chunks":4,"cut":"mid-text"},{"text":"All of it."}]}`)
		o := l.run("hi")
		if k.cutIsFinal {
			defect(t, "a connection that is cut in the middle of an answer is not tried again: the run fails, its partial text was shown")
			o.want(t, execution.StatusFailed, execution.CodeProvider, 1)
			return
		}
		o.completed(t)
		if k.cutGoesOn {
			defect(t, "an answer whose connection is cut is asked for again, and what had come before the cut stays in front of the new answer")
		}
		if k.mixes != "" {
			defect(t, k.mixes)
			return
		}
		if text := o.result.Output.Text; text != "All of it." && !(k.cutGoesOn && strings.HasSuffix(text, "All of it.")) {
			t.Errorf("output %q", text)
		}
	})
}

func TestGarbage(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"garbage":true,"repeat":true}]}`)
		l.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
		o := l.run("--timeout", "60s", "hi")
		if k.garbled != "" {
			defect(t, k.garbled)
			o.completed(t)
			return
		}
		if o.result.Status != execution.StatusFailed || o.code == 0 || o.result.Error.Message == "" {
			t.Errorf("%s, exit %d, %+v", o.result.Status, o.code, o.result.Error)
		}
	})
}

func TestNoCredential(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"never said"}]}`)
		for name := range l.env {
			if strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN") {
				delete(l.env, name)
			}
		}
		if k.noLogin != nil {
			k.noLogin(l)
		}
		o := l.run("hi")
		o.want(t, execution.StatusFailed, execution.CodeAuth, execution.ExitAuth)
		if l.turns() != 0 {
			t.Errorf("%d model calls without a credential", l.turns())
		}
	})
}

func TestHangWithTimeout(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"hang":true,"repeat":true}]}`)
		o := l.run("--timeout", "4s", "--grace", "2s", "hi")
		o.want(t, execution.StatusFailed, execution.CodeTimeout, execution.ExitTimeout)
		if kinds := bodies[execution.Timeout](o); len(kinds) != 1 || kinds[0].Kind != execution.TimeoutRun {
			t.Errorf("timeout events %+v", kinds)
		}
		if o.result.ExitReason != execution.ExitByTimeout || o.took > 10*time.Second {
			t.Errorf("exit reason %s after %s", o.result.ExitReason, o.took)
		}
	})
}

func TestIdleTimeout(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		idle := cmp.Or(k.slowStart, 6*time.Second) // others are silent for seconds on a busy machine
		if k.slowStart > 0 {
			partly(t, fmt.Sprintf("it is silent for seconds while it starts, so the limit is %s here", idle))
		}
		l := newLab(t, k, `{"turns":[{"hang":true,"repeat":true}]}`)
		o := l.run("--idle-timeout", idle.String(), "--grace", "2s", "hi")
		o.want(t, execution.StatusFailed, execution.CodeInactivityTimeout, execution.ExitTimeout)
		// A running tool is not silence.
		sleeps := fmt.Sprintf("tail -f /dev/null & p=$!; sleep %d; kill $p; echo slept", int(idle.Seconds())+2)
		l = newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"patient"}]}`, k.shell(sleeps)))
		o = l.run("--approve", "yolo", "--idle-timeout", idle.String(), "hi")
		o.completed(t)
	})
}

// png is an image of one pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestAttachments(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"a pixel"}]}`)
		image, err := base64.StdEncoding.DecodeString(png)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"pixel.png": image, "note.txt": []byte("the heron stands still"), "film.mp4": []byte("no")} {
			if err := os.WriteFile(filepath.Join(l.root, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := l.run("--attach", filepath.Join(l.root, "pixel.png"), "--attach", filepath.Join(l.root, "note.txt"), "what is it?")
		o.completed(t)
		sent := l.sent()[0]
		if k.blind != "" {
			defect(t, k.blind)
		}
		image64 := png[:40]
		if k.recodes != "" {
			partly(t, k.recodes)
			image64 = `"url":"data:image/`
		}
		if strings.Contains(sent, image64) == (k.blind != "") || !strings.Contains(sent, "the heron stands still") {
			t.Errorf("the attachments did not reach the model: %.300s", sent)
		}
		refused := l.run("--attach", filepath.Join(l.root, "film.mp4"), "what is it?")
		if refused.code == 0 || l.turns() != 1 || !strings.Contains(refused.result.Error.Message, "film.mp4") {
			t.Errorf("a film: exit %d, %+v", refused.code, refused.result.Error)
		}
	})
}

func TestPromptsThatAreHardToPass(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"ok","repeat":true}]}`)
		long := strings.Repeat("all work and no play ", 40_000) // 840 KB: no argument could carry it
		file := filepath.Join(l.root, "long.txt")
		if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
			t.Fatal(err)
		}
		l.run("--file", file).completed(t)
		if sent := l.sent(); len(sent) != 1 || strings.Count(sent[0], "all work and no play") < 40_000 {
			t.Errorf("the long prompt did not arrive whole: %d calls", len(sent))
		}
		l.run("--", "--dangerously-bypass-approvals-and-sandbox --help `touch x` $(touch y) 'quoted\" \\ ünï ☃").completed(t)
		if sent := l.sent(); !strings.Contains(sent[1], "--dangerously-bypass-approvals-and-sandbox --help `touch x` $(touch y)") || !strings.Contains(sent[1], "ünï ☃") {
			t.Error("a prompt that looks like flags and shell did not arrive as it was")
		}
		huge := filepath.Join(l.root, "huge.txt")
		if err := os.WriteFile(huge, []byte(strings.Repeat("w", 5_000_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		o := l.run("--file", huge, "--timeout", "60s")
		switch {
		case o.result.Status == execution.StatusDeferred: // the agent stopped at a limit of its own, which is no error
			warned := slices.ContainsFunc(bodies[execution.Debug](o), func(d execution.Debug) bool { return d.Level == execution.DebugWarn && d.Message != "" })
			if ends := bodies[execution.TurnEnd](o); o.result.Metadata["stopReason"] == nil || len(ends) != 1 || ends[0].Reason != execution.TurnLimitReached || !warned {
				t.Errorf("5 MB: stopped without a reason: %+v, warned %v", o.result, warned)
			}
		case o.code != 0 && (o.result.Error == nil || o.result.Error.Message == ""):
			t.Errorf("5 MB: exit %d without a reason: %s %+v", o.code, o.result.Status, o.result.Error)
		}
	})
}
