//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// ending is one cause of a run's end, and what every view of the run must show of it.
type ending struct {
	name  string
	model string // the model's answers; empty: a tool that never ends
	// act runs the agent to its end. The exit code -1 stands for a command that shows none.
	act     func(l *lab) outcome
	skip    func(k kit, can execution.Capabilities) string
	outcome execution.Outcome
	code    execution.ErrorCode
	reason  execution.ExitReason
	exit    int
}

// signalled sends a signal to Drawbar while a tool runs.
func signalled(sig syscall.Signal) func(l *lab) outcome {
	return func(l *lab) outcome {
		s := l.start("--approve", "yolo", "--grace", "3s", "go")
		s.toolRuns()
		if err := s.cmd.Process.Signal(sig); err != nil {
			l.t.Fatal(err)
		}
		return s.end()
	}
}

// toolRuns waits until the stream shows the tool and the tool runs.
func (s *started) toolRuns() {
	s.l.t.Helper()
	await[execution.ToolCallReady](s)
	s.l.running("tail -f /dev/null", 1)
}

// agentKilled kills every process of the agent's program while a tool runs.
func agentKilled(l *lab) outcome {
	s := l.start("--approve", "yolo", "go")
	s.toolRuns()
	for _, p := range l.processes() {
		var pid int
		_, cmdline, _ := strings.Cut(p, " ")
		if n, _ := fmt.Sscanf(p, "%d", &pid); n == 1 && !strings.HasPrefix(cmdline, binary) &&
			(strings.Contains(cmdline, "node_modules") || strings.HasPrefix(cmdline, l.kit.name)) { // pi calls itself pi
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone with its parent
		}
	}
	return s.end()
}

// runArgs runs the agent with these arguments.
func runArgs(args ...string) func(l *lab) outcome {
	return func(l *lab) outcome { return l.run(append([]string{"--approve", "yolo", "--grace", "2s"}, args...)...) }
}

const hanging = `{"turns":[{"hang":true,"repeat":true}]}`

var endings = []ending{
	{name: "completed", model: `{"turns":[{"text":"done"}]}`, act: runArgs("go"), outcome: execution.OutcomeCompleted, reason: execution.ExitCompleted},
	{name: "bad request", model: `{"turns":[{"status":400,"error":{"type":"invalid_request_error","message":"no such field"},"repeat":true}]}`, act: runArgs("go"),
		outcome: execution.OutcomeFailed, code: execution.CodeInvalidRequest, reason: execution.ExitCompleted, exit: 1},
	{name: "unauthorized", model: `{"turns":[{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"},"repeat":true}]}`, act: runArgs("go"),
		outcome: execution.OutcomeFailed, code: execution.CodeAuth, reason: execution.ExitCompleted, exit: execution.ExitAuth},
	{name: "crash", act: agentKilled, outcome: execution.OutcomeFailed, code: execution.CodeAgentCrash, reason: execution.ExitKilled, exit: execution.ExitCrashed},
	{name: "unknown session", model: `{"turns":[{"text":"x"}]}`, act: runArgs("--session", "00000000-0000-4000-8000-000000000000", "go"),
		outcome: execution.OutcomeFailed, code: execution.CodeSessionNotFound, reason: execution.ExitCompleted, exit: execution.ExitSession},
	{name: "refused", model: `{"turns":[{"text":"x"}]}`, act: func(l *lab) outcome {
		film := filepath.Join(l.work, "film.mp4")
		if err := os.WriteFile(film, []byte("no"), 0o600); err != nil {
			l.t.Fatal(err)
		}
		return l.run("--attach", film, "go")
	}, outcome: execution.OutcomeRefused, code: execution.CodeCapability, exit: execution.ExitCapability},
	{name: "timeout", model: hanging, act: runArgs("--timeout", "6s", "go"), outcome: execution.OutcomeTimedOut, code: execution.CodeTimeout,
		reason: execution.ExitByTimeout, exit: execution.ExitTimeout},
	{name: "idle timeout", model: hanging, act: runArgs("--idle-timeout", "8s", "go"), outcome: execution.OutcomeTimedOut,
		code: execution.CodeInactivityTimeout, reason: execution.ExitInactivity, exit: execution.ExitTimeout},
	{name: "interrupt", act: signalled(syscall.SIGINT), outcome: execution.OutcomeInterrupted, code: execution.CodeInterrupted,
		reason: execution.ExitInterrupted, exit: execution.ExitInterruptedKey},
	{name: "abort", act: signalled(syscall.SIGTERM), outcome: execution.OutcomeCancelled, code: execution.CodeAborted,
		reason: execution.ExitReasonAbort, exit: execution.ExitAborted},
	{name: "stop", act: func(l *lab) outcome {
		s := l.start("--approve", "yolo", "--grace", "2s", "go")
		s.toolRuns()
		if o := l.command("stop", string(l.only().RunID)); o.code != 0 || !strings.Contains(o.stdout, " cancelled") {
			l.t.Errorf("drawbar stop: exit %d, %s%s", o.code, o.stdout, o.stderr)
		}
		return s.end()
	}, outcome: execution.OutcomeCancelled, code: execution.CodeAborted, reason: execution.ExitReasonAbort, exit: execution.ExitAborted},
	{name: "turn limit", model: "shell", act: runArgs("--max-turns", "2", "go"), skip: func(k kit, _ execution.Capabilities) string {
		if k.overACP {
			return "it shows no model calls, so a turn limit is refused"
		}
		return ""
	}, outcome: execution.OutcomeDeferred, reason: execution.ExitTurnLimit, exit: execution.ExitLimit},
	{name: "budget", model: "shell", act: func(l *lab) outcome {
		args := []string{"--approve", "yolo", "--budget", "0.5", "go"}
		if l.kit.priced != "" {
			args = append([]string{"--model", l.kit.priced}, args...)
		}
		return l.run(args...)
	}, skip: func(k kit, _ execution.Capabilities) string {
		if k.lateUsage {
			return "usage comes at the end of a turn, so a budget is refused"
		}
		return ""
	}, outcome: execution.OutcomeFailed, code: execution.CodeBudgetExceeded, reason: execution.ExitCompleted, exit: execution.ExitBudget},
	{name: "lost", act: func(l *lab) outcome {
		s := l.start("--approve", "yolo", "go")
		s.toolRuns()
		if err := s.cmd.Process.Kill(); err != nil {
			l.t.Fatal(err)
		}
		_ = s.cmd.Wait() // killed
		l.noSurvivors()
		return outcome{code: -1}
	}, outcome: execution.OutcomeLost, code: execution.CodeAgentCrash, reason: execution.ExitCrash, exit: -1},
}

// listedRun is a run as "ps --json" lists it.
type listedRun struct {
	RunID      execution.RunID
	State      execution.Outcome
	Status     execution.Status
	ErrorCode  execution.ErrorCode
	ExitReason execution.ExitReason
}

// only is the one run of the record.
func (l *lab) only() listedRun {
	l.t.Helper()
	runs := answer[[]listedRun](l, "ps", "--all")
	if len(runs) != 1 {
		l.t.Fatalf("%d runs are recorded: %+v", len(runs), runs)
	}
	return runs[0]
}

// TestEnds: a cause of a run's end has one word, one code and one exit reason, in every view and on every agent.
func TestEnds(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, e := range endings {
			t.Run(e.name, func(t *testing.T) {
				if e.skip != nil {
					if why := e.skip(k, k.can(t)); why != "" {
						t.Skip(why)
					}
				}
				script := e.model
				switch script {
				case "":
					script = fmt.Sprintf(`{"turns":[{"text":"I try.","tools":[%s]},{"text":"never"}]}`, k.shell("tail -f /dev/null"))
				case "shell":
					script = fmt.Sprintf(`{"turns":[{"tools":[%s],"usage":{"input":100000,"output":20000},"repeat":true}]}`, k.shell("echo again"))
				}
				if k.vague != "" && e.code == execution.CodeInvalidRequest {
					defect(t, k.vague)
					e.code, e.exit = execution.CodeInternal, 1
				}
				if k.overACP && e.outcome == execution.OutcomeRefused {
					e.reason = execution.ExitCompleted // the agent has said what it takes
				}
				if k.inside && e.name == "crash" {
					unsupported(t, "a part of Drawbar has no process that could be killed alone")
					return
				}
				l := newLab(t, k, script)
				o := e.act(l)
				e.holds(t, l, o)
			})
		}
	})
}

func (e ending) holds(t *testing.T, l *lab, o outcome) {
	t.Helper()
	run := l.only()
	if o.code != e.exit {
		t.Errorf("exit code %d, want %d; stderr: %s", o.code, e.exit, o.stderr)
	}
	if e.outcome != execution.OutcomeLost {
		if got := o.result; got.Outcome() != e.outcome || got.Error.ErrorCode() != e.code || got.ExitReason != e.reason {
			t.Errorf("result: %s %q, exit reason %q; want %s %q %q; error %+v", got.Outcome(), got.Error.ErrorCode(), got.ExitReason, e.outcome, e.code, e.reason, got.Error)
		}
	}
	if run.State != e.outcome || run.ErrorCode != e.code || run.ExitReason != e.reason {
		t.Errorf("ps --json: %+v; want %s %q %q", run, e.outcome, e.code, e.reason)
	}
	id := string(run.RunID)
	ps := l.command("ps", "--all").stdout
	wait := l.command("wait", id)
	for _, view := range []struct{ name, text string }{{"ps", ps}, {"wait", wait.stdout + wait.stderr}} {
		if !strings.Contains(view.text, string(e.outcome)) {
			t.Errorf("%s does not show %q: %s", view.name, e.outcome, view.text)
		}
	}
	if e.exit >= 0 && wait.code != e.exit {
		t.Errorf("wait: exit code %d, want %d", wait.code, e.exit)
	}
	logs := l.command("logs", id)
	if e.outcome != execution.OutcomeCompleted && !strings.Contains(logs.stderr, string(e.outcome)) {
		t.Errorf("logs does not show %q: %s", e.outcome, logs.stderr)
	}
	t.Logf("as a person reads it:\n%s%s", logs.stdout, logs.stderr)
	if e.outcome == execution.OutcomeLost {
		return // its stream has no end
	}
	all := l.stream("logs", id, "--json")
	// The error of the stream has the code of the result.
	for _, b := range bodies[execution.ErrorEvent](all) {
		if b.Code != e.code {
			t.Errorf("an error event has the code %q, the result %q: %s", b.Code, e.code, b.Message)
		}
	}
	open := map[string]string{}
	for _, ev := range all.events {
		switch b := ev.Body.(type) {
		case execution.ToolCallReady:
			open[b.ToolCallID] = b.ToolName
		case execution.ToolResultEvent:
			delete(open, b.ToolCallID)
		case execution.ToolError:
			delete(open, b.ToolCallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("tools were started and never ended: %v", open)
	}
}
