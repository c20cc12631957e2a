//go:build e2e

package e2e

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// gateway configures OpenClaw for the model server and starts the gateway that its ACP mode needs.
func (l *lab) gateway() {
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
	if out, err := program("onboard", "--non-interactive", "--accept-risk", "--mode", "local", "--auth-choice", "custom-api-key", "--custom-base-url",
		l.server.URL()+"/v1", "--custom-api-key", "dummy", "--custom-model-id", "scripted-model", "--custom-provider-id", "script",
		"--custom-compatibility", "openai", "--skip-channels", "--skip-daemon", "--skip-health", "--skip-hooks", "--skip-search", "--skip-skills",
		"--skip-ui", "--gateway-auth", "token", "--gateway-token", token, "--json").CombinedOutput(); err != nil {
		l.t.Fatalf("onboard: %v\n%.2000s", err, out)
	}
	l.env["OPENCLAW_GATEWAY_PORT"], l.env["OPENCLAW_GATEWAY_TOKEN"] = port, token
	run := program("gateway", "run", "--port", port, "--auth", "token", "--token", token)
	var log strings.Builder
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGTERM) // the group that this test started
		end := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
		defer end.Stop()
		_ = run.Wait()
		if l.t.Failed() {
			l.t.Logf("gateway: %.4000s", log.String())
		}
	})
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the gateway does not listen: %v", err)
		}
	}
}

// TestACPThroughAGateway runs OpenClaw, whose ACP mode is a bridge to a gateway: a turn, then a second one in the session.
func TestACPThroughAGateway(t *testing.T) {
	t.Parallel()
	forAgent(t, "openclaw", func(t *testing.T) {
		l := bareLab(t, kit{name: "openclaw"}, `{"turns":[{"text":"I keep the old answer."},{"text":"It was 42."}],"onExhausted":"last"}`)
		l.gateway()
		first := l.run("-p", "remember 42")
		first.completed(t)
		if first.result.Text != "I keep the old answer." || first.result.UnknownLines != 0 || first.result.SessionID == "" {
			t.Errorf("text %q, %d lines could not be parsed, session %q", first.result.Text, first.result.UnknownLines, first.result.SessionID)
		}
		second := l.run("--session", "openclaw:"+first.result.SessionID, "-p", "what was it?")
		second.completed(t)
		if second.result.Text != "It was 42." || len(bodies[execution.SessionResume](second)) != 1 {
			t.Errorf("text %q", second.result.Text)
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "I keep the old answer.") {
			t.Errorf("the old turn did not reach the model: %d requests", len(sent))
		}
	})
}
