//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// clawKit is OpenClaw's. It runs some scenarios only, because each start of the program starts a gateway too.
var clawKit = kit{
	name: "openclaw",
	write: func(p, c string) string {
		return fmt.Sprintf(`{"name":"write","input":{"path":%s,"content":%s}}`, q(p), q(c))
	},
	shell: func(c string) string { return fmt.Sprintf(`{"name":"exec","input":{"command":%s}}`, q(c)) },
	mcp:   func(s, t, in string) string { return fmt.Sprintf(`{"name":"%s__%s","input":%s}`, s, t, in) },
	escalate: func(p string) string {
		return fmt.Sprintf(`{"name":"exec","input":{"command":%s}}`, q("touch "+p))
	},
	overACP: true, lateUsage: true, slowStart: 90 * time.Second, silentRetries: true, slow: true, model: "script/scripted-model", asked: "scripted-model",
	noLogin:     clawWithoutSettings,
	thoughtless: "OpenClaw 2026.9.6 shows no thoughts over ACP, though its model sent them",
	mixes:       "of an answer that is asked for again, OpenClaw 2026.9.6 shows over ACP only what is longer than the one that was cut",
	shares: func(l *lab) func() {
		_, end := l.gateway()
		return end
	},
	revives:  "the next gateway that starts goes on with a turn that was killed, which no setting prevents; the next run says so",
	lateCost: "it states no price over ACP; the session's database has it, which drawbar sessions cost reads",
}

// clawWithoutSettings takes away the settings, which name the model API: one on loopback needs no key.
func clawWithoutSettings(l *lab) {
	l.t.Helper()
	if err := os.Remove(filepath.Join(l.home, ".openclaw", "openclaw.json")); err != nil {
		l.t.Fatal(err)
	}
}

// gateway starts a gateway of the user's, and returns a function that reports whether it runs, and one that ends it before the test does.
func (l *lab) gateway() (runs func() bool, end func()) {
	l.t.Helper()
	const token = "dummy-token"
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		l.t.Fatal(err)
	}
	for _, name := range []string{"OPENCLAW_DISABLE_BONJOUR", "OPENCLAW_SKIP_CHANNELS", "OPENCLAW_NO_RESPAWN"} {
		l.env[name] = "1"
	}
	program := func(args ...string) *exec.Cmd {
		cmd := exec.Command(programs+"/openclaw", args...)
		cmd.Env, cmd.Dir = l.environ(), l.work
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	l.env["OPENCLAW_GATEWAY_TOKEN"] = token // as a user's settings have it
	run := program("gateway", "run", "--allow-unconfigured", "--port", port, "--auth", "token", "--token", token)
	var log strings.Builder
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		l.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		left := l.processes()
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGTERM) // the group that this test started
		kill := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		_ = run.Wait()
		for _, p := range left { // what it started for commands is in a group of its own
			if pid, _, _ := strings.Cut(p, " "); slices.Contains(l.processes(), p) {
				if n, err := strconv.Atoi(pid); err == nil {
					_ = syscall.Kill(n, syscall.SIGKILL)
				}
			}
		}
		if l.t.Failed() {
			l.t.Logf("gateway: %.4000s", log.String())
		}
	})
	l.t.Cleanup(end)
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
			return func() bool {
				c, err := net.Dial("tcp", "127.0.0.1:"+port)
				if err == nil {
					_ = c.Close()
				}
				return err == nil
			}, end
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the gateway does not listen: %v", err)
		}
	}
}

// TestOpenClaw: a run starts a gateway of its own, ends it, and its session goes on in the next run.
func TestOpenClaw(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, `{"turns":[{"text":"I keep the old answer."},{"text":"It was 42."}],"onExhausted":"last"}`)
		first := l.run("-p", "remember 42")
		first.completed(t)
		if first.result.Text != "I keep the old answer." || first.result.UnknownLines != 0 || first.result.SessionID == "" {
			t.Errorf("text %q, %d lines could not be parsed, session %q", first.result.Text, first.result.UnknownLines, first.result.SessionID)
		}
		if u := first.result.Usage; u == nil || u.Input != 100 || u.Output != 20 {
			t.Errorf("tokens %+v", u)
		}
		l.noSurvivors()
		second := l.run("--session", "openclaw:"+first.result.SessionID, "-p", "what was it?")
		second.completed(t)
		if second.result.Text != "It was 42." || len(bodies[execution.SessionResume](second)) != 1 {
			t.Errorf("text %q", second.result.Text)
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "I keep the old answer.") {
			t.Errorf("the old turn did not reach the model: %d requests", len(sent))
		}
		shown := l.command("sessions", "show", "openclaw:"+first.result.SessionID, "--json")
		if !strings.Contains(shown.stdout, "remember 42") || !strings.Contains(shown.stdout, "It was 42.") || !strings.Contains(shown.stdout, l.work) {
			t.Errorf("the session: %s%s", shown.stdout, shown.stderr)
		}
	})
}

// TestOpenClawFails: a key that the model API refuses is an AUTH_ERROR, though the bridge says nothing of it.
func TestOpenClawFails(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, `{"turns":[{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"},"repeat":true}]}`)
		o := l.run("hi")
		o.want(t, execution.StatusFailed, execution.CodeAuth, execution.ExitAuth)
		if len(bodies[execution.AuthError](o)) != 1 {
			t.Errorf("auth_error events: %+v", bodies[execution.AuthError](o))
		}
	})
}

// TestOpenClawAsks: it asks before a command, which runs in the directory of the run; with a server of the run, whose tool is called
// without asking.
func TestOpenClawAsks(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, fmt.Sprintf(`{"onExhausted":"text:more","turns":[{"tools":[%s]},{"tools":[%s]},{"tools":[%s]},{"text":"so be it"}]}`,
			clawKit.shell("touch allowed"), clawKit.shell("touch denied"), clawKit.mcp("echo", "echo", `{"text":"ping"}`)))
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		req := interactive("do it")
		req.Run.TimeoutMs = patience.Milliseconds()
		req.Run.MCPServers = []execution.MCPServer{{Name: "echo", Transport: execution.MCPStdio, Command: self, Env: map[string]string{echoServer: "1"}}}
		c := l.talk(req, drawbar.RunOptions{})
		for _, allow := range []bool{true, false} {
			q := await[execution.ApprovalRequired](c)
			if q.Detail == "" || q.ToolName != "exec" {
				t.Errorf("question %+v", q)
			}
			if err := c.run.Answer(q.ID, execution.Decision{Approve: allow, Reason: "because of the test"}); err != nil {
				t.Fatal(err)
			}
		}
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted || res.Text != "so be it" {
			t.Fatalf("%s %q %+v", res.Status, res.Text, res.Error)
		}
		for name, there := range map[string]bool{"allowed": true, "denied": false} {
			if _, err := os.Stat(filepath.Join(l.work, name)); (err == nil) != there {
				t.Errorf("%s: %v", name, err)
			}
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "echo: ping") {
			t.Error("the tool's result did not reach the model")
		}
	})
}

// TestOpenClawInterrupt: an interrupt ends the turn and the command that it runs, and the conversation goes on.
func TestOpenClawInterrupt(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, fmt.Sprintf(`{"onExhausted":"text:I go on.","turns":[{"tools":[%s]}]}`, clawKit.shell("tail -f /dev/null")))
		s := l.startWith(true, "-i", "--approve", "yolo", "begin")
		s.toolRuns()
		if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		turnEnds := func() execution.TurnEnd {
			e := s.until("turn_end", func(e execution.Event) bool { _, ok := e.Body.(execution.TurnEnd); return ok })
			return e.Body.(execution.TurnEnd)
		}
		if end := turnEnds(); end.Reason != execution.TurnInterrupted {
			t.Errorf("the turn ended %s", end.Reason)
		}
		if _, err := io.WriteString(s.in, "go on\n"); err != nil {
			t.Fatal(err)
		}
		if end := turnEnds(); end.Reason != execution.TurnCompleted || end.Text != "I go on." {
			t.Errorf("the turn ended %s, %q", end.Reason, end.Text)
		}
		if err := s.in.Close(); err != nil {
			t.Fatal(err)
		}
		s.until("finished", execution.Event.Terminal)
	})
}

// TestOpenClawGateway: a gateway of the user's serves a run and is not ended with it; what it does not take from a run is refused.
func TestOpenClawGateway(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, `{"turns":[{"text":"hello","repeat":true}]}`)
		runs, _ := l.gateway()
		o := l.run("hi")
		o.completed(t)
		if o.result.Text != "hello" {
			t.Errorf("text %q", o.result.Text)
		}
		l.nothingSent("--model", "script/other", "hi")
		if !runs() {
			t.Error("the user's gateway was ended")
		}
	})
}

// nothingSent runs what the agent refuses when it has started: nothing reaches the model.
func (l *lab) nothingSent(args ...string) {
	l.t.Helper()
	before := l.turns()
	if o := l.run(args...); o.result.Error.ErrorCode() != execution.CodeCapability || l.turns() != before {
		l.t.Errorf("%v: %s %+v, %d model calls; want it refused", args, o.result.Status, o.result.Error, l.turns()-before)
	}
}

// TestOpenClawDenies: the mode deny leaves out tools beside those that the user's settings leave out.
func TestOpenClawDenies(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := newLab(t, clawKit, `{"turns":[{"text":"done"}],"onExhausted":"last"}`)
		file := filepath.Join(l.home, ".openclaw", "openclaw.json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		theirs := strings.Replace(string(text), `"tools":{`, `"tools":{"deny":["process"],`, 1)
		if err := os.WriteFile(file, []byte(theirs), 0o600); err != nil || theirs == string(text) {
			t.Fatalf("%v: %s", err, theirs)
		}
		tools := func(body string) (names []string) {
			var asked struct {
				Tools []struct{ Function struct{ Name string } }
			}
			if err := json.Unmarshal([]byte(body), &asked); err != nil {
				t.Fatalf("%v: %.300s", err, body)
			}
			for _, tool := range asked.Tools {
				names = append(names, tool.Function.Name)
			}
			return names
		}
		l.run("--approve", "deny", "-p", "hi").completed(t)
		l.run("--approve", "prompt", "-p", "hi").completed(t)
		sent := l.sent()
		for name, want := range map[string][2]bool{"write": {false, true}, "process": {false, false}, "exec": {true, true}} {
			for i, body := range []string{sent[0], sent[len(sent)-1]} {
				if got := tools(body); slices.Contains(got, name) != want[i] {
					t.Errorf("request %d, %s: %v", i, name, got)
				}
			}
		}
	})
}

// TestOpenClawWrites: its tools that change files ask nobody, so the mode deny leaves them out, besides those that the user denies,
// and only yolo lets them leave the working directory.
func TestOpenClawWrites(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "outside.txt")
		for _, tt := range []struct {
			name, mode string
			in, out    bool
		}{{"deny", "deny", false, false}, {"prompt", "prompt", true, false}, {"yolo", "yolo", true, true}} {
			l := newLab(t, clawKit, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"tools":[%s]},{"text":"done"}],"onExhausted":"last"}`,
				clawKit.write("inside.txt", "x"), clawKit.write(outside, "x")))
			l.run("--approve", tt.mode, "-p", "write two files").completed(t)
			for path, want := range map[string]bool{filepath.Join(l.work, "inside.txt"): tt.in, outside: tt.out} {
				if _, err := os.Stat(path); (err == nil) != want {
					t.Errorf("%s: %s: %v, want it written: %v", tt.name, path, err, want)
				}
			}
			_ = os.Remove(outside)
			l.noSurvivors()
		}
	})
}
