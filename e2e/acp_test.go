//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// acpAgent is a real agent as drawbar run acp runs it, or by its name if it has no command here.
type acpAgent struct {
	name    string
	command []string
	env     func(url string) map[string]string // by command; an agent with a name is redirected by its adapter
	files   map[string]string                  // below the home directory
	write   func(path string) string
	shell   func(command string) string
	mcp     func(server, tool, input string) string
	aged    func(t *testing.T, home string) // makes the sessions older than they are
	errors  string                          // evidence that it answers an error of the model API as if it were text
	noStdio string                          // evidence that it starts no MCP server of a session

	noServers bool // it declares that it starts none

	uncounted bool   // it states no tokens
	unstreams bool   // it sends an answer as a whole
	abandons  string // evidence that a denied permission ends the turn
	unending  string // evidence that it does not end an interrupted turn
	patient   string // evidence that it never stops retrying a refused request
}

var acpAgents = []acpAgent{
	{
		name: "gemini", command: []string{"gemini", "--acp"},
		env: func(url string) map[string]string {
			return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy", "GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
		},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false},"model":{"name":"gemini-2.5-pro"}}`},
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"write_file","input":{"file_path":%s,"content":"A"}}`, q(path))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"run_shell_command","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp: func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp_%s_%s","input":%s}`, s, t, in) },
		// Gemini CLI names a session's file by the minute. Loading one within its first minute appends a new beginning to the file
		// instead of reading it, and the session is lost.
		aged: func(t *testing.T, home string) {
			minute := regexp.MustCompile(`session-(\d{4})-`)
			files, err := filepath.Glob(filepath.Join(home, ".gemini/tmp/*/chats/session-*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no sessions of gemini: %v", err)
			}
			for _, f := range files {
				if err := os.Rename(f, minute.ReplaceAllString(f, "session-2001-")); err != nil {
					t.Fatal(err)
				}
			}
		},
	},
	{
		name: "qwen", command: []string{"qwen", "--acp", "--approval-mode", "default"},
		env: func(url string) map[string]string {
			return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "scripted-model"}
		},
		files: map[string]string{".qwen/settings.json": `{"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false},"privacy":{"usageStatisticsEnabled":false},"security":{"auth":{"selectedType":"openai"}}}`},
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"write_file","input":{"file_path":%s,"content":"A"}}`, q(path))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"run_shell_command","input":{"command":%s,"description":"run it","is_background":false}}`, q(c))
		},
		mcp: func(s, t, in string) string { return fmt.Sprintf(`{"name":"mcp__%s__%s","input":%s}`, s, t, in) },
	},
	{
		name: "copilot", command: []string{"copilot", "--acp"},
		env: func(url string) map[string]string {
			return map[string]string{"COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_API_KEY": "dummy", "COPILOT_MODEL": "scripted-model", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
		},
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"create","input":{"path":%s,"file_text":"A"}}`, q(path))
		},
		shell: func(c string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s,"description":"run it"}}`, q(c))
		},
		mcp:     func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s-%s","input":%s}`, s, t, in) },
		errors:  "Copilot CLI 1.0.102 answers an error of the model API with end_turn and the error as text; so the run completes, with that text as its answer",
		noStdio: "Copilot CLI 1.0.102 takes the MCP servers of session/new that it reaches over HTTP, and never starts one that is a program; the run completes without it",
	},
}

// namedAgents are the agents that adapter/acp has rows for and whose programs run here.
var namedAgents = []acpAgent{
	{
		name: "opencode",
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"write","input":{"filePath":%s,"content":"A"}}`, q(path))
		},
	},
	{
		name:     "goose",
		unending: "goose 1.50.0 does not answer session/cancel while it waits for its model; the run is stopped, so nothing follows in it",
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":"A"}}`, q(path))
		},
	},
	{
		name: "omp", // it asks before commands only
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"bash","input":{"command":%s}}`, q("printf A > "+shellQuote(path)))
		},
	},
	{
		name: "droid", uncounted: true, unstreams: true,
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"Create","input":{"file_path":%s,"content":"A"}}`, q(path))
		},
	},
	{
		name: "cline", uncounted: true, noServers: true,
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"editor","input":{"path":%s,"new_text":"A"}}`, q(path))
		},
	},
	{
		name:    "claude-agent-acp",
		patient: "claude-agent-acp 0.101.0 tries a request with a wrong key again and again without a sign of it; the run's --timeout ends it",
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"Write","input":{"file_path":%s,"content":"A"}}`, q(path))
		},
	},
	{
		name:     "codex-acp",
		abandons: "codex-acp 2.6.0 ends the turn as cancelled when a permission is denied",
		write: func(path string) string {
			return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s,"sandbox_permissions":"require_escalated","justification":"it must"}}`, q("printf A > "+shellQuote(path)))
		},
	},
}

// acpLab is a lab for one of these agents.
type acpLab struct {
	*lab
	agent acpAgent
}

func newACPLab(t *testing.T, a acpAgent, script string) *acpLab {
	t.Helper()
	if len(a.command) == 0 {
		return &acpLab{newLab(t, kit{name: a.name}, script), a}
	}
	l := &acpLab{bareLab(t, kit{name: "acp"}, script), a}
	l.point(l.server.URL())
	for path, content := range a.files {
		full := filepath.Join(l.home, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *acpLab) point(url string) {
	for k, v := range l.agent.env(url) {
		l.env[k] = v
	}
}

// runACP runs "drawbar run acp ARGS -- COMMAND" to its end, or "drawbar run NAME ARGS".
func (l *acpLab) runACP(args ...string) outcome {
	l.t.Helper()
	if l.redirected != "" {
		args = append([]string{"--model", l.redirected}, args...)
	}
	if len(l.agent.command) == 0 {
		return l.run(args...)
	}
	return l.stream(slices.Concat([]string{"run", "acp", "--json", "--cwd", l.work}, args, []string{"--"}, l.agent.command)...)
}

func (l *acpLab) talkACP(req execution.Request, opts drawbar.RunOptions) *talk {
	l.t.Helper()
	req.Run.Command, req.Run.Model = l.agent.command, l.redirected
	return l.talk(req, opts)
}

// scripted returns how a scripted model calls the tools of an agent that has a name.
func (a acpAgent) scripted(t *testing.T) adapter.Redirect {
	t.Helper()
	return redirector(t, a.name).RedirectModel("http://127.0.0.1", "/")
}

func (a acpAgent) tool(t *testing.T, server, tool, input string) string {
	t.Helper()
	if a.mcp != nil {
		return a.mcp(server, tool, input)
	}
	return asCall(t, a.scripted(t).MCP(server, tool, json.RawMessage(input)))
}

func (a acpAgent) runs(t *testing.T, command string) string {
	t.Helper()
	if a.shell != nil {
		return a.shell(command)
	}
	return asCall(t, a.scripted(t).Shell(command, false))
}

// action is what a question of the agent about a write is about.
func (a acpAgent) action() string {
	if a.name == "codex-acp" || a.name == "omp" { // its write is a command
		return "run a command"
	}
	return "change files"
}

func asCall(t *testing.T, c adapter.ScriptedCall) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func forEachACP(t *testing.T, f func(t *testing.T, a acpAgent)) {
	t.Helper()
	t.Parallel()
	for _, a := range slices.Concat(acpAgents, namedAgents) {
		forAgent(t, a.name, func(t *testing.T) { f(t, a) })
	}
}

func TestACPPlain(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		l := newACPLab(t, a, `{"turns":[{"text":"Hello from the scripted model.","chunks":5}]}`)
		o := l.runACP("-p", "say hello")
		o.completed(t)
		if o.result.Text != "Hello from the scripted model." || o.result.Output.Text != o.result.Text || len(bodies[execution.TextDelta](o)) < 2 && !a.unstreams {
			t.Errorf("text %q in %d pieces", o.result.Text, len(bodies[execution.TextDelta](o)))
		}
		if u := o.result.Usage; !a.uncounted && (u == nil || u.Input != 100 || u.Output != 20) {
			t.Errorf("usage %+v, want 100 in and 20 out", u)
		}
		if o.result.UnknownLines != 0 || o.result.SessionID == "" || l.turns() != 1 {
			t.Errorf("%d lines could not be parsed, session %q, %d model turns", o.result.UnknownLines, o.result.SessionID, l.turns())
		}
	})
}

func TestACPPermission(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		for _, allow := range []bool{true, false} {
			t.Run(fmt.Sprint(allow), func(t *testing.T) {
				l := newACPLab(t, a, `{"turns":[{"text":"x"}]}`)
				file := filepath.Join(l.work, "asked.txt")
				n := newACPLab(t, a, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"so be it"},{"text":"so be it"}]}`, a.write(file)))
				n.work = l.work
				c := n.talkACP(interactive("write it"), drawbar.RunOptions{})
				question := await[execution.ApprovalRequired](c)
				if question.Action != a.action() || question.ToolCallID == "" || len(c.run.Pending()) != 1 {
					t.Errorf("question %+v, pending %+v", question, c.run.Pending())
				}
				c.run.CloseInput()
				if err := c.run.Answer(question.ID, execution.Decision{Approve: allow}); err != nil {
					t.Fatal(err)
				}
				res := c.result()
				switch {
				case a.abandons != "" && !allow:
					if res.Error.ErrorCode() != execution.CodeInterrupted {
						t.Errorf("no longer so: %s: %s %+v", a.abandons, res.Status, res.Error)
					}
					partly(t, a.abandons)
				case res.Status != execution.StatusCompleted:
					t.Errorf("%s %+v", res.Status, res.Error)
				}
				if _, err := os.Stat(file); (err == nil) != allow {
					t.Errorf("allowed %v, and the file: %v", allow, err)
				}
			})
		}
	})
}

func TestACPInterruptAndGoOn(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		l := newACPLab(t, a, `{"turns":[{"hang":true},{"text":"second"},{"text":"third"}]}`)
		c := l.talkACP(interactive("one"), drawbar.RunOptions{})
		await[execution.TurnStart](c)
		for deadline := time.Now().Add(40 * time.Second); l.turns() == 0 && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		if err := c.run.Interrupt(); err != nil {
			t.Fatal(err)
		}
		if end := await[execution.TurnEnd](c); end.Reason != execution.TurnInterrupted {
			t.Errorf("the turn ended %s", end.Reason)
		}
		if a.unending != "" {
			if res := c.result(); res.Error.ErrorCode() != execution.CodeInterrupted || res.TurnCount != 1 {
				t.Errorf("no longer so: %s: %s %+v", a.unending, res.Status, res.Error)
			}
			defect(t, a.unending)
			return
		}
		if _, err := c.run.Continue("two"); err != nil {
			t.Fatal(err)
		}
		if end := await[execution.TurnEnd](c); end.Reason != execution.TurnCompleted || end.Text != "second" {
			t.Errorf("the second turn: %+v", end)
		}
		if _, err := c.run.Queue("three", ""); err != nil {
			t.Fatal(err)
		}
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted || res.TurnCount != 3 || res.Output.Text != "third" {
			t.Errorf("%s, %d turns, %+v %+v", res.Status, res.TurnCount, res.Output, res.Error)
		}
	})
}

func TestACPResume(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		l := newACPLab(t, a, `{"turns":[{"text":"I keep the old answer."},{"text":"It was 42."}]}`)
		first := l.runACP("-p", "remember 42")
		first.completed(t)
		if a.aged != nil {
			defect(t, "within the minute in which a session began, loading it appends a new beginning to its file instead of reading it; the test makes the file older")
			a.aged(t, l.home)
		}
		o := l.runACP("--session", l.kit.name+":"+first.result.SessionID, "-p", "what was it?")
		o.completed(t)
		if o.result.Text != "It was 42." || o.result.SessionID != first.result.SessionID {
			t.Errorf("text %q of session %s, want only the new answer of %s", o.result.Text, o.result.SessionID, first.result.SessionID)
		}
		if n := len(bodies[execution.SessionResume](o)); n != 1 {
			t.Errorf("%d session_resume", n)
		}
		if !slices.ContainsFunc(l.sent()[1:], func(body string) bool {
			return strings.Contains(body, "I keep the old answer.") && strings.Contains(body, "what was it?")
		}) {
			t.Errorf("the old turn did not reach the model: %d requests", len(l.sent()))
		}
		unknown := l.runACP("--session", "00000000-0000-4000-8000-000000000000", "-p", "hi")
		if unknown.result.Status != execution.StatusFailed || unknown.code == 0 {
			t.Errorf("an unknown session: %s %+v", unknown.result.Status, unknown.result.Error)
		}
	})
}

func TestACPServers(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		// An agent may ask its model before its servers have answered; then the first calls find no such tool.
		call := a.tool(t, "probe", "echo", `{"text":"ping"}`)
		l := newACPLab(t, a, fmt.Sprintf(`{"turns":[{"tools":[%[1]s],"delayMs":500},{"tools":[%[1]s],"delayMs":500},{"tools":[%[1]s]},{"text":"done"}],"onExhausted":"text:done"}`, call))
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		req := ask("use it")
		req.Run.ApprovalMode = execution.ApprovalYolo
		req.Run.MCPServers = []execution.MCPServer{{Name: "probe", Transport: execution.MCPStdio, Command: self, Env: map[string]string{echoServer: "1"}}}
		c := l.talkACP(req, drawbar.RunOptions{})
		if a.noServers {
			unsupported(t, "MCP servers of a run are refused before anything starts")
			if res := c.result(); res.Status != execution.StatusUnsupported {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
			return
		}
		if a.noStdio != "" {
			defect(t, a.noStdio)
			res := c.result()
			if sent := l.sent(); res.Status != execution.StatusCompleted || !strings.HasSuffix(res.Text, "done") || strings.Contains(sent[len(sent)-1], "echo: ping") {
				t.Errorf("no longer so: %s: %s %q %+v", a.noStdio, res.Status, res.Text, res.Error)
			}
			return
		}
		start := await[execution.MCPToolCallStart](c)
		if start.Server != "probe" || start.ToolName != "echo" {
			t.Errorf("%+v", start)
		}
		res := c.result()
		if sent := l.sent(); res.Status != execution.StatusCompleted || !strings.Contains(sent[len(sent)-1], "echo: ping") {
			t.Errorf("%s %+v, the tool's answer did not reach the model", res.Status, res.Error)
		}
	})
}

func TestACPToolsOfTheCaller(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		// An agent may ask its model before its servers have answered; then the first calls find no such tool.
		call := a.tool(t, "drawbar", "weather", `{"place":"Oslo"}`)
		l := newACPLab(t, a, fmt.Sprintf(`{"turns":[{"tools":[%[1]s],"delayMs":500},{"tools":[%[1]s],"delayMs":500},{"tools":[%[1]s]},{"text":"done"}]}`, call))
		req := ask("what is the weather?")
		req.Run.ApprovalMode = execution.ApprovalYolo
		req.Tools = []execution.Tool{{Name: "weather", Description: "the weather of a place", InputSchema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}}}`)}}
		req.Run.CollectEvents, req.Run.Debug = true, true
		var calls []execution.ToolCall
		if !slices.Contains((kit{name: l.kit.name}).can(t).Agent.MCPTransports, execution.MCPStreamableHTTP) {
			if res := l.talkACP(req, drawbar.RunOptions{}).result(); res.Status != execution.StatusUnsupported || l.turns() != 0 {
				t.Errorf("%s %+v, %d model calls", res.Status, res.Error, l.turns())
			}
			unsupported(t, "it takes no MCP servers over HTTP: refused before anything starts")
			return
		}
		c := l.talkACP(req, drawbar.RunOptions{Options: agent.Options{Tools: func(_ context.Context, call execution.ToolCall) (execution.ToolResult, error) {
			calls = append(calls, call)
			return execution.ToolResult{Output: json.RawMessage(`"rain in Oslo"`)}, nil
		}}})
		res := c.result()
		if res.Status != execution.StatusCompleted || len(calls) == 0 || !strings.Contains(string(calls[0].Input), "Oslo") {
			for _, e := range res.Events {
				b, _ := json.Marshal(e.Body)
				t.Logf("%s %.400s", e.Body.Type(), b)
			}
			t.Fatalf("%s %+v, calls %+v", res.Status, res.Error, calls)
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "rain in Oslo") {
			t.Error("the tool's answer did not reach the model")
		}
	})
}

func TestACPAbortWhileToolRuns(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		l := newACPLab(t, a, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"never"}]}`, a.runs(t, "sh -c '(setsid tail -f /dev/null &) ; tail -f /dev/null'")))
		req := ask("hang")
		req.Run.ApprovalMode = execution.ApprovalYolo
		grace := int64(1000)
		req.Run.GracePeriodMs = &grace
		c := l.talkACP(req, drawbar.RunOptions{})
		await[execution.ToolCallReady](c)
		l.running("tail -f /dev/null", 2)
		c.run.Abort(nil)
		if res := c.result(); res.Error.ErrorCode() != execution.CodeAborted || res.ExitReason != execution.ExitReasonAbort {
			t.Errorf("%s %+v", res.Status, res.Error)
		}
		l.noSurvivors()
	})
}

func TestACPModelFails(t *testing.T) {
	forEachACP(t, func(t *testing.T, a acpAgent) {
		l := newACPLab(t, a, `{"turns":[{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"},"repeat":true}]}`)
		if a.patient != "" {
			o := l.runACP("--timeout", "15s", "-p", "hi")
			if o.result.Error.ErrorCode() != execution.CodeTimeout || l.turns() < 2 {
				t.Errorf("no longer so: %s: %s %+v, %d requests", a.patient, o.result.Status, o.result.Error, l.turns())
			}
			defect(t, a.patient)
			return
		}
		o := l.runACP("-p", "hi")
		if a.errors != "" {
			if o.result.Status == execution.StatusCompleted && strings.Contains(o.result.Text, "HTTP 401") {
				defect(t, a.errors)
				return
			}
			t.Errorf("no longer so: %s", a.errors)
		}
		if o.result.Status != execution.StatusFailed || o.code == 0 {
			t.Errorf("%s %+v exit %d, text %q", o.result.Status, o.result.Error, o.code, o.result.Text)
		}
	})
}
