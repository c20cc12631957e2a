//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// talk is a run in this process, for the verbs of the handle.
type talk struct {
	l      *lab
	run    *agent.Run
	events chan execution.Event
}

func (l *lab) talk(req execution.Request, opts drawbar.RunOptions) *talk {
	l.t.Helper()
	c, err := drawbar.New(drawbar.Options{StateDir: filepath.Join(l.root, "state", "drawbar"), Agents: l.agents})
	if err != nil {
		l.t.Fatal(err)
	}
	req.Run.Agent, req.Run.Cwd, req.Run.Env, req.Run.Environment = l.kit.name, l.work, l.env, execution.EnvironmentMinimal
	if req.Run.TimeoutMs == 0 {
		req.Run.TimeoutMs = (patience * 3 / 4).Milliseconds()
	}
	run, err := c.Run(context.Background(), req, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	k := &talk{l: l, run: run, events: make(chan execution.Event, 1<<16)}
	go func() {
		defer close(k.events)
		for e, err := range run.Events(context.Background(), 0) {
			if err != nil {
				return
			}
			k.events <- e
		}
	}()
	l.t.Cleanup(func() {
		run.Abort(nil)
		if err := c.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return k
}

// until waits for an event that f accepts.
func (k *talk) until(what string, f func(execution.Event) bool) execution.Event {
	k.l.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e, ok := <-k.events:
			if !ok {
				res, _ := k.run.Result(context.Background())
				k.l.t.Fatalf("the run ended before %s: %s %+v", what, res.Status, res.Error)
			}
			if f(e) {
				return e
			}
		case <-limit:
			k.l.t.Fatalf("%s did not come within %s; state %s; running: %s", what, patience, k.run.State(), strings.Join(k.l.processes(), "; "))
		}
	}
}

func (k *talk) lab() *lab { return k.l }

// running is a run whose events a test waits for.
type running interface {
	lab() *lab
	until(what string, f func(execution.Event) bool) execution.Event
}

// await waits for the next event of a type.
func await[T execution.Body](r running) T {
	r.lab().t.Helper()
	var zero T
	e := r.until(string(zero.Type()), func(e execution.Event) bool { _, ok := e.Body.(T); return ok })
	return e.Body.(T)
}

func (k *talk) result() execution.Result {
	k.l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := k.run.Result(ctx)
	if err != nil {
		k.l.t.Fatal(err)
	}
	return res
}

func ask(text string) execution.Request {
	return execution.Request{Message: execution.Message{Text: execution.Prompt(text)}}
}

func interactive(text string) execution.Request {
	r := ask(text)
	r.Run.Interactive = true
	return r
}

func TestSeveralTurns(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"first"},{"text":"second"},{"text":"third"}]}`)
		c := l.talk(interactive("one"), drawbar.RunOptions{})
		if end := await[execution.TurnEnd](c); end.TurnIndex != 0 {
			t.Errorf("turn %d", end.TurnIndex)
		}
		if _, err := c.run.Continue("two"); err != nil {
			t.Fatal(err)
		}
		if taken := await[execution.InputTaken](c); taken.Steered {
			t.Errorf("a message between turns steered: %+v", taken)
		}
		await[execution.TurnEnd](c)
		if _, err := c.run.Queue("three", ""); err != nil {
			t.Fatal(err)
		}
		c.run.CloseInput()
		res := c.result()
		if res.Status != execution.StatusCompleted || res.TurnCount != 3 || res.Output == nil || res.Output.Text != "third" || res.Text != "firstsecondthird" {
			t.Errorf("%s, %d turns, %+v, %q, %+v", res.Status, res.TurnCount, res.Output, res.Text, res.Error)
		}
		if k.ownTokens != "" {
			partly(t, k.ownTokens)
		} else if res.Usage == nil || res.Usage.Input != 300 || res.Usage.Output != 60 {
			t.Errorf("usage %+v of three turns", res.Usage)
		}
	})
}

func TestPermissionAllowAndDeny(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, allow := range []bool{true, false} {
			t.Run(fmt.Sprint(allow), func(t *testing.T) {
				l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
				path := filepath.Join(l.outside(), "asked.txt")
				l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"so be it"}]}`, escalated(k, path)))
				c := l.talk(interactive("write it"), drawbar.RunOptions{})
				q := await[execution.ApprovalRequired](c)
				if q.Action == "" || q.ToolName == "" || len(c.run.Pending()) != 1 {
					t.Errorf("question %+v, pending %+v", q, c.run.Pending())
				}
				c.run.CloseInput()
				if err := c.run.Answer(q.ID, execution.Decision{Approve: allow, Reason: "because of the test"}); err != nil {
					t.Fatal(err)
				}
				if err := c.run.Answer(q.ID, execution.Decision{Approve: true}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
					t.Errorf("a second answer: %v", err)
				}
				res := c.result()
				if k.abandons != "" && !allow {
					partly(t, k.abandons)
					if res.Error.ErrorCode() != execution.CodeInterrupted {
						t.Errorf("%s %+v", res.Status, res.Error)
					}
				} else if res.Status != execution.StatusCompleted {
					t.Fatalf("%s %+v", res.Status, res.Error)
				}
				if _, err := os.Stat(path); (err == nil) != allow {
					t.Errorf("allowed %v, the file: %v", allow, err)
				}
			})
		}
	})
}

// escalated is a tool call that must ask whatever the sandbox allows.
func escalated(k kit, path string) string {
	if k.name == "codex" {
		return fmt.Sprintf(`{"name":"exec_command","input":{"cmd":%s,"sandbox_permissions":"require_escalated","justification":"the test wants it"}}`, q("echo hi > "+path))
	}
	if k.escalate != nil {
		return k.escalate(path)
	}
	return k.write(path, "hi")
}

func TestPermissionByCallback(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		path := filepath.Join(l.outside(), "asked.txt")
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, escalated(k, path)))
		asked := 0
		c := l.talk(ask("write it"), drawbar.RunOptions{Options: agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
			asked++
			return execution.Decision{Approve: true}
		}}})
		res := c.result()
		if _, err := os.Stat(path); err != nil || asked != 1 || res.Status != execution.StatusCompleted {
			t.Errorf("asked %d times, file %v, %s %+v", asked, err, res.Status, res.Error)
		}
	})
}

func TestAwaitingApproval(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		path := filepath.Join(l.outside(), "asked.txt")
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, escalated(k, path)))
		req := ask("write it")
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
		res := l.talk(req, drawbar.RunOptions{}).result()
		if res.Status != execution.StatusAwaitingApproval || res.ApprovalRequest == nil || res.Continuation == nil || res.Continuation.State["sessionId"] == nil {
			t.Errorf("%s, %+v, %+v, %+v", res.Status, res.ApprovalRequest, res.Continuation, res.Error)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was written before anybody allowed it")
		}
	})
}

// TestApprovalAcrossTurns: a turn that waits for an approval is continued by another process that brings the decision, for exactly the call that
// was asked for, once.
func TestApprovalAcrossTurns(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, c := range []struct {
			name     string
			approved bool
			then     string // what the model wants after the decision: the same call, or another
			want     execution.Status
			made     bool
		}{
			{"approved", true, "same", execution.StatusCompleted, true},
			{"denied", false, "same", execution.StatusCompleted, false},
			{"another call", true, "other", execution.StatusAwaitingApproval, false},
			{"twice", true, "twice", execution.StatusAwaitingApproval, true},
		} {
			if c.then != "same" && k.name != "claude" && k.name != "codex" && k.name != "harness" {
				continue
			}
			l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
			path, other := filepath.Join(l.outside(), "asked.txt"), filepath.Join(l.outside(), "other.txt")
			call := escalated(k, path)
			// The first turn may go on for a while after it was stopped; what follows is for the model that was told of the decision.
			const told = `{"match":{"contains":"The permission that you asked for"},"tools":[%s]},`
			then := map[string]string{"same": fmt.Sprintf(told, call), "twice": fmt.Sprintf(told+`{"tools":[%s]},`, call, call), "other": fmt.Sprintf(told, escalated(k, other))}[c.then]
			if k.inside { // it makes the call itself, without its model
				then = map[string]string{"same": "", "twice": fmt.Sprintf(`{"tools":[%s]},`, call), "other": fmt.Sprintf(`{"tools":[%s]},`, escalated(k, other))}[c.then]
				c.made = c.approved
			}
			l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},%s{"text":"done","repeat":true}]}`, call, then))
			req := ask("write it")
			req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
			first := l.talk(req, drawbar.RunOptions{}).result()
			if first.Status != execution.StatusAwaitingApproval || first.Continuation == nil {
				t.Fatalf("%s: %s %+v %+v", c.name, first.Status, first.Error, first.Continuation)
			}
			stored, err := json.Marshal(first.Continuation)
			if err != nil {
				t.Fatal(err)
			}
			again := ask("go on")
			if err := json.Unmarshal(stored, &again.Continuation); err != nil {
				t.Fatal(err)
			}
			again.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: first.ApprovalRequest.ApprovalKey, Approved: c.approved, By: "ann", Reason: "as agreed"}
			if k.name == "gemini" { // it loads no session that began less than a minute ago
				if !full {
					partly(t, "the turn after the decision needs a minute with gemini")
					return
				}
				time.Sleep(time.Minute + time.Second)
			}
			res := l.talk(again, drawbar.RunOptions{}).result()
			_, err = os.Stat(path)
			if k.abandons != "" && !c.approved {
				partly(t, k.abandons)
				c.want = execution.StatusFailed
			}
			if res.Status != c.want || (err == nil) != c.made || res.SessionID != first.SessionID {
				t.Errorf("%s: %s %+v, the call was made: %v, session %s after %s", c.name, res.Status, res.Error, err == nil, res.SessionID, first.SessionID)
			}
			if _, err := os.Stat(other); err == nil {
				t.Errorf("%s: another call was made", c.name)
			}
		}
	})
}

// TestApproveLater: drawbar approve goes on with a run that ended because it waits, once.
func TestApproveLater(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		path := filepath.Join(l.outside(), "asked.txt")
		call := escalated(k, path)
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%[1]s]},{"tools":[%[1]s]},{"text":"done","repeat":true}]}`, call))
		o := l.run("--non-interactive", "fail", "write it")
		o.want(t, execution.StatusAwaitingApproval, "", execution.ExitWaiting)
		if _, err := os.Stat(path); err == nil {
			t.Fatal("the file was written before anybody allowed it")
		}
		again := l.command("approve", string(o.result.RunID))
		if _, err := os.Stat(path); err != nil || again.code != 0 || !strings.Contains(again.stdout, "done") {
			t.Errorf("exit %d, file %v\n%s%s", again.code, err, again.stdout, again.stderr)
		}
		before := l.turns()
		if second := l.command("approve", string(o.result.RunID)); second.code == 0 || !strings.Contains(second.stderr, "cannot be decided again") || l.turns() != before {
			t.Errorf("a second approval: exit %d, %d model calls\n%s", second.code, l.turns()-before, second.stderr)
		}
	})
}

func TestInterruptAndGoOn(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"hang":"mid-text","text":"this will never be whole","chunks":4},{"text":"after the interrupt"}]}`)
		c := l.talk(interactive("hang"), drawbar.RunOptions{})
		if k.can(t).Agent.TextStreaming {
			await[execution.TextDelta](c)
		} else {
			partly(t, "no text is shown before a message is whole")
			for deadline := time.Now().Add(40 * time.Second); l.turns() == 0 && time.Now().Before(deadline); {
				time.Sleep(20 * time.Millisecond)
			}
		}
		if err := c.run.Interrupt(); err != nil {
			t.Fatal(err)
		}
		if end := await[execution.TurnEnd](c); end.Reason != execution.TurnInterrupted {
			t.Errorf("the turn ended %s", end.Reason)
		}
		if _, err := c.run.Continue("go on"); err != nil {
			t.Fatal(err)
		}
		c.run.CloseInput()
		res := c.result()
		if res.Status != execution.StatusCompleted || res.Output.Text != "after the interrupt" {
			t.Errorf("%s %+v %+v", res.Status, res.Output, res.Error)
		}
	})
}

// TestInterruptEndsCommands: Codex keeps the command of an interrupted turn alive, and Drawbar has it ended.
func TestInterruptEndsCommands(t *testing.T) {
	only(t, "codex", func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"after the interrupt"}]}`, k.shell("echo $$ > pid; exec tail -f /dev/null")))
		req := interactive("work")
		req.Run.ApprovalMode = execution.ApprovalYolo
		c := l.talk(req, drawbar.RunOptions{})
		await[execution.ShellStart](c)
		pid := 0
		for deadline := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			b, _ := os.ReadFile(filepath.Join(l.work, "pid"))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		if pid == 0 {
			t.Fatal("the command did not begin")
		}
		if err := c.run.Interrupt(); err != nil {
			t.Fatal(err)
		}
		if end := await[execution.TurnEnd](c); end.Reason != execution.TurnInterrupted {
			t.Errorf("the turn ended %s", end.Reason)
		}
		alive := true
		for deadline := time.Now().Add(20 * time.Second); alive && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			alive = syscall.Kill(pid, 0) == nil
		}
		if alive {
			t.Error("the command outlives the interrupt")
		}
		if _, err := c.run.Continue("go on"); err != nil {
			t.Fatal(err)
		}
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted || res.Output.Text != "after the interrupt" {
			t.Errorf("%s %+v %+v", res.Status, res.Output, res.Error)
		}
	})
}

func TestSteer(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"as you wish"},{"text":"as you wish"}]}`, k.shell("sleep 1; echo x")))
		req := interactive("work")
		req.Run.ApprovalMode = execution.ApprovalYolo
		c := l.talk(req, drawbar.RunOptions{})
		await[execution.ToolCallReady](c)
		if _, err := c.run.Send("TURN-LEFT", execution.WhenNow); err != nil {
			t.Fatal(err)
		}
		taken := await[execution.InputTaken](c)
		if !slices.Contains(k.can(t).Agent.Verbs, execution.VerbSteer) {
			partly(t, "a running turn cannot be steered; the message makes the next turn, and the event that it is taken says so")
			if taken.Steered {
				t.Error("the event says that the message steered the turn")
			}
		}
		c.run.CloseInput()
		res := c.result()
		if res.Status != execution.StatusCompleted {
			t.Fatalf("%s %+v", res.Status, res.Error)
		}
		found := false
		for _, body := range l.sent() {
			found = found || strings.Contains(body, "TURN-LEFT")
		}
		if !found {
			t.Error("the message never reached the model")
		}
	})
}

func TestCallerTools(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, k.mcp("drawbar", "weather", `{"place":"Oslo"}`)))
		req := ask("what is the weather?")
		req.Run.ApprovalMode = execution.ApprovalYolo
		req.Tools = []execution.Tool{{Name: "weather", Description: "the weather of a place", InputSchema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}}}`)}}
		var calls []execution.ToolCall
		c := l.talk(req, drawbar.RunOptions{Options: agent.Options{Tools: func(_ context.Context, call execution.ToolCall) (execution.ToolResult, error) {
			calls = append(calls, call)
			return execution.ToolResult{Output: json.RawMessage(`"rain in Oslo"`)}, nil
		}}})
		res := c.result()
		if !slices.Contains(k.can(t).Agent.MCPTransports, execution.MCPStreamableHTTP) {
			unsupported(t, "refused before anything starts: tools of the caller")
			if res.Status != execution.StatusUnsupported || l.turns() != 0 {
				t.Errorf("%s %+v, want it refused", res.Status, res.Error)
			}
			return
		}
		if res.Status != execution.StatusCompleted || len(calls) != 1 || calls[0].Name != "weather" || !strings.Contains(string(calls[0].Input), "Oslo") {
			t.Errorf("%s %+v, calls %+v", res.Status, res.Error, calls)
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "rain in Oslo") {
			t.Error("the tool's answer did not reach the model")
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"slow and steady wins","chunks":20,"chunkDelayMs":150}]}`)
		c := l.talk(ask("slowly"), drawbar.RunOptions{})
		if k.inside {
			unsupported(t, "a part of Drawbar has no process to pause")
			if err := c.run.Pause(); execution.CodeOf(err) != execution.CodeCapability {
				t.Errorf("pause: %v", err)
			}
			return
		}
		if k.name == "claude" {
			await[execution.TextDelta](c)
		} else {
			await[execution.TurnStart](c)
		}
		if err := c.run.Pause(); err != nil {
			t.Fatal(err)
		}
		await[execution.Paused](c)
		if err := c.run.Pause(); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("a second pause: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
		if err := c.run.Resume(); err != nil {
			t.Fatal(err)
		}
		if res := c.result(); res.Status != execution.StatusCompleted || res.Text != "slow and steady wins" {
			t.Errorf("%s %q %+v", res.Status, res.Text, res.Error)
		}
	})
}

func TestAbortWhileToolRuns(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"never"}]}`, k.shell("(setsid tail -f /dev/null &) ; tail -f /dev/null")))
		req := ask("hang")
		req.Run.ApprovalMode = execution.ApprovalYolo
		grace := int64(1000)
		req.Run.GracePeriodMs = &grace
		c := l.talk(req, drawbar.RunOptions{})
		await[execution.ToolCallReady](c)
		l.running("tail -f /dev/null", 2)
		c.run.Abort(nil)
		res := c.result()
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeAborted || res.ExitReason != execution.ExitReasonAbort {
			t.Errorf("%s %+v", res.Status, res.Error)
		}
		l.noSurvivors()
	})
}

// TestKilledDrawbar kills the binary itself: nothing of the agent may be left.
func TestKilledDrawbar(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"never"}]}`, k.shell("(setsid tail -f /dev/null &) ; tail -f /dev/null")))
		s := l.start("--approve", "yolo", "hang")
		await[execution.ToolCallReady](s)
		l.running("tail -f /dev/null", 2)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // killed
		l.noSurvivors()
		ps := l.command("ps", "--all", "--json")
		if !strings.Contains(ps.stdout, `"state":"lost"`) {
			t.Errorf("the record does not tell the truth: %s", ps.stdout)
		}
		var listed struct {
			Data []struct {
				RunID string `json:"runId"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(ps.stdout), &listed); err != nil || len(listed.Data) != 1 {
			t.Fatalf("want one run in %s: %v", ps.stdout, err)
		}
		if logs := l.command("logs", listed.Data[0].RunID); !strings.Contains(logs.stderr, "is lost") {
			t.Errorf("drawbar logs does not say how the run ended: %s", logs.stderr)
		}
	})
}

func TestSignals(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, tc := range []struct {
			signal syscall.Signal
			code   execution.ErrorCode
			exit   int
		}{{syscall.SIGINT, execution.CodeInterrupted, 130}, {syscall.SIGTERM, execution.CodeAborted, 13}} {
			l := newLab(t, k, `{"turns":[{"hang":true,"repeat":true}]}`)
			s := l.start("--grace", "2s", "hang")
			await[execution.SessionStart](s)
			if err := s.cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			s.end().want(t, execution.StatusFailed, tc.code, tc.exit)
		}
	})
}

func TestDetachedRun(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"from afar","chunks":6,"chunkDelayMs":200}]}`)
		d := l.command("run", k.name, "--cwd", l.work, "--detach", "say it")
		id := strings.TrimSpace(d.stdout)
		if d.code != 0 || len(id) != 26 {
			t.Fatalf("exit %d, %q, %s", d.code, d.stdout, d.stderr)
		}
		if ps := l.command("ps"); !strings.Contains(ps.stdout, id[:8]) {
			t.Errorf("ps does not list it: %s%s", ps.stdout, ps.stderr)
		}
		logs := l.command("logs", "-f", id[:12])
		if logs.code != 0 || !strings.Contains(logs.stdout, "from afar") {
			t.Errorf("logs: exit %d, %q, %s", logs.code, logs.stdout, logs.stderr)
		}
		wait := l.command("wait", id)
		if wait.code != 0 || !strings.Contains(wait.stdout, "completed") {
			t.Errorf("wait: exit %d, %s%s", wait.code, wait.stdout, wait.stderr)
		}
		if cost := l.command("cost", "--json"); k.ownTokens == "" && !strings.Contains(cost.stdout, `"inputTokens":100`) {
			t.Errorf("cost: %s", cost.stdout)
		}

		l = newLab(t, k, `{"turns":[{"hang":true,"repeat":true}]}`)
		d = l.command("run", k.name, "--cwd", l.work, "--grace", "2s", "-d", "hang")
		id = strings.TrimSpace(d.stdout)
		stop := l.command("stop", id)
		if stop.code != 0 || !strings.Contains(stop.stdout, "cancelled") {
			t.Errorf("stop: exit %d, %s%s", stop.code, stop.stdout, stop.stderr)
		}
		l.noSurvivors()
		if wait := l.command("wait", id); wait.code != execution.ExitAborted {
			t.Errorf("wait for the stopped run: exit %d", wait.code)
		}
	})
}
