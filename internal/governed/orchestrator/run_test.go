//go:build unix

package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// A run of three roles goes from planning to its end, with a person at two gates.
func TestThreeRolesToCompletion(t *testing.T) {
	t.Parallel()
	p := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	e := p.engine()
	run, err := e.Run(t.Context(), govern.RunOptions{})
	if err != nil || run.Stop != govern.StopGateHeld || len(run.Turns) != 1 {
		t.Fatalf("%+v %v", run, err)
	}
	if st := p.state(); st.Status != protocol.RunPaused || protocol.Deref(st.BlockedOn) != "human_approval:planned" {
		t.Fatalf("%s on %s", st.Status, protocol.Deref(st.BlockedOn))
	}
	r, err := e.Approve(t.Context(), govern.ApproveOptions{By: protocol.Person{Name: "ann"}})
	if err != nil || r.EnteredPhase != "implementation" {
		t.Fatalf("%+v %v", r, err)
	}
	if run, err = e.Run(t.Context(), govern.RunOptions{}); err != nil || run.Stop != govern.StopGateHeld || len(run.Turns) != 2 {
		t.Fatalf("%+v %v", run, err)
	}
	if r, err = e.Approve(t.Context(), govern.ApproveOptions{Completion: true, By: protocol.Person{Name: "ann"}}); err != nil || r.Outcome != govern.OutcomeCompleted {
		t.Fatalf("%+v %v", r, err)
	}
	var roles []string
	for _, h := range p.history() {
		roles = append(roles, h.Role+" in "+h.Phase)
	}
	if d := cmp.Diff([]string{"pm in planning", "dev in implementation", "qa in qa"}, roles); d != "" {
		t.Error(d)
	}
	if st := p.state(); st.TurnSequence != 6 || st.CompletedAt.IsZero() {
		t.Errorf("sequence %d, completed %s", st.TurnSequence, st.CompletedAt)
	}
	talk := p.read("TALK.md")
	for _, h := range p.history() {
		if n := strings.Count(talk, "\n## "); n != 3 || !strings.Contains(talk, h.TurnID) {
			t.Errorf("TALK.md has %d sections:\n%s", n, talk)
			break
		}
		if _, err := os.Stat(filepath.Join(p.root, protocol.ArchiveDir, h.TurnID, "PROMPT.md")); err != nil {
			t.Errorf("the bundle is not kept: %v", err)
		}
	}
	if s := p.step(govern.OutcomeCompleted); s.TurnID != "" {
		t.Errorf("a completed run was carried on: %+v", s)
	}
	p.sound()
}

func TestRunWithAutoApprove(t *testing.T) {
	t.Parallel()
	p := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	run, err := p.engine().Run(t.Context(), govern.RunOptions{AutoApprove: true})
	if err != nil || run.Stop != govern.StopCompleted || len(run.Turns) != 3 {
		t.Fatalf("%+v %v", run, err)
	}
	r, err := p.engine().Restart(t.Context(), govern.RestartOptions{})
	if err != nil || r.RunID == run.Last.RunID || r.Status != protocol.RunActive {
		t.Fatalf("a new run: %+v %v", r, err)
	}
	if run, err = p.engine().Run(t.Context(), govern.RunOptions{AutoApprove: true, MaxTurns: 1}); err != nil || run.Stop != govern.StopMaxTurns && run.Stop != govern.StopBlocked {
		t.Fatalf("%+v %v", run, err)
	}
	p.sound()
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"of the command": 2, "of the configuration": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("ok"), `,"run_loop":{"max_turns":3}`))
			run, err := p.engine().Run(t.Context(), govern.RunOptions{MaxTurns: limit})
			want := limit
			if want == 0 {
				want = 3
			}
			if err != nil || run.Stop != govern.StopMaxTurns || len(run.Turns) != want {
				t.Fatalf("%s after %d: %v", run.Stop, len(run.Turns), err)
			}
			p.sound()
		})
	}
}

// How a turn ends by what its program does.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		worker, more, blocked string
		want                  govern.Outcome
		attempts, accepted    int
		events                []string
	}{
		{worker: "result and exit 9", want: govern.OutcomeAccepted, attempts: 1, accepted: 1},
		{worker: "transient", want: govern.OutcomeAccepted, attempts: 2, accepted: 1},
		{worker: "always transient", want: govern.OutcomeBlocked, attempts: 2, blocked: "dispatch:exit-75", events: []string{"run_blocked", "human_escalation_raised"}},
		{worker: "exit 3", want: govern.OutcomeBlocked, attempts: 1, blocked: "dispatch:exit-3", events: []string{"run_blocked", "human_escalation_raised"}},
		{worker: "killed", want: govern.OutcomeBlocked, attempts: 1, blocked: "dispatch:subprocess_failed"},
		{worker: "repairs", want: govern.OutcomeAccepted, attempts: 2, accepted: 1, events: []string{"acceptance_failed", "turn_rejected"}},
		{worker: "never valid", want: govern.OutcomeBlocked, attempts: 2, blocked: "escalation:retries-exhausted:dev", events: []string{"acceptance_failed", "run_blocked"}},
		{worker: "never valid", more: `,"x":1`, want: govern.OutcomeBlocked, attempts: 2, blocked: "escalation:retries-exhausted:dev"},
		{worker: "undeclared", want: govern.OutcomeBlocked, attempts: 2, blocked: "escalation:retries-exhausted:dev"},
		{worker: "writes the record", want: govern.OutcomeBlocked, attempts: 2, blocked: "escalation:retries-exhausted:dev"},
		{worker: "commits itself", want: govern.OutcomeAccepted, attempts: 1, accepted: 1},
	} {
		t.Run(c.worker+c.more, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf(c.worker), c.more))
			r := p.step(c.want)
			if protocol.Deref(p.state().BlockedOn) != c.blocked || r.Attempt != c.attempts || len(p.accepted()) != c.accepted {
				t.Errorf("blocked on %q after attempt %d with %d accepted: %s %v", protocol.Deref(p.state().BlockedOn), r.Attempt, len(p.accepted()), r.Code, r.Errors)
			}
			if n := len(p.events("turn_dispatched")); n != c.attempts {
				t.Errorf("dispatched %d times", n)
			}
			for _, kind := range c.events {
				if len(p.events(kind)) == 0 {
					t.Errorf("no event %s", kind)
				}
			}
			if c.want == govern.OutcomeBlocked && !strings.HasPrefix(r.Next, "drawbar govern ") {
				t.Errorf("next is %q", r.Next)
			}
			p.sound()
		})
	}
}

// The second attempt of a result that is not valid reads what was wrong.
func TestRepairRound(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("repairs"), ""))
	p.step(govern.OutcomeAccepted)
	again := p.read("prompt-of-repair.txt")
	for _, want := range []string{"status", "certainly", "decisions"} {
		if !strings.Contains(again, want) {
			t.Errorf("the prompt of the repair does not say %q", want)
		}
	}
	kept, err := filepath.Glob(filepath.Join(p.root, protocol.RejectedDir, "turn_*-attempt-1-*.json"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the rejected result is not kept: %v %v", kept, err)
	}
	without := newProject(t, one(runtimeOf("repairs"), ""))
	if r := without.step(govern.OutcomeFailed, govern.StepOptions{NoRepair: true}); len(r.Errors) == 0 || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
	without.sound()
}

// What a person changes between two attempts is theirs; what the first attempt changed stays the turn's.
func TestEditsBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("works and dies"), ""))
	p.step(govern.OutcomeBlocked)
	p.write("agentxchain.json", one(runtimeOf("ok"), ""))
	p.write("README.md", "of the operator\n")
	r := p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
	if !slices.Equal(r.Files, []string{"work.txt"}) {
		t.Errorf("the turn is credited with %v", r.Files)
	}
	if got := p.git("status", "--porcelain", "agentxchain.json", "README.md", "work.txt"); got != "M README.md\n M agentxchain.json" {
		t.Errorf("the operator's work: %q", got)
	}
	p.sound()

	p = newProject(t, one(runtimeOf("works and dies"), ""))
	p.step(govern.OutcomeBlocked)
	p.write("agentxchain.json", one(runtimeOf("undeclared"), ""))
	if r := p.step(govern.OutcomeBlocked, govern.StepOptions{Resume: true}); !strings.Contains(strings.Join(r.Errors, " "), "secret.txt") || strings.Contains(strings.Join(r.Errors, " "), "agentxchain.json") {
		t.Errorf("%v", r.Errors)
	}
}

// A block is cleared, and the turn is carried again.
func TestResumeAfterABlock(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("exit 3"), ""))
	p.step(govern.OutcomeBlocked)
	p.step(govern.OutcomeBlocked) // says so again, and does nothing
	if n := len(p.events("turn_dispatched")); n != 1 {
		t.Errorf("a blocked turn was dispatched %d times", n)
	}
	p.write("agentxchain.json", one(runtimeOf("ok"), ""))
	p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
	p.sound()
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rt := strings.Replace(runtimeOf("hangs"), `"env":{`, `"env":{"DRAWBAR_TEST_OUTSIDE":"`+outside+`",`, 1)
	p := newProject(t, one(rt, ""))
	r := p.step(govern.OutcomeBlocked, govern.StepOptions{Timeout: 700 * time.Millisecond})
	if protocol.Deref(p.state().BlockedOn) != "dispatch:timeout" || r.Code != "timeout" {
		t.Errorf("%s, blocked on %s", r.Code, protocol.Deref(p.state().BlockedOn))
	}
	pids, _ := os.ReadFile(filepath.Join(outside, "pids"))
	if len(pids) == 0 || !gone(string(pids)) {
		t.Errorf("of the processes %q one survives", pids)
	}
	p.sound()
}

// Ctrl-C ends the worker with its children; the turn stays, and the next step carries it again.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rt := strings.Replace(runtimeOf("hangs"), `"env":{`, `"env":{"DRAWBAR_TEST_OUTSIDE":"`+outside+`",`, 1)
	p := newProject(t, one(rt, ""))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan govern.Report, 1)
	go func() {
		r, err := p.engine().Step(ctx, govern.StepOptions{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	var pids []byte
	eventually(t, "the worker starts", func() bool {
		pids, _ = os.ReadFile(filepath.Join(outside, "pids"))
		return len(pids) > 0
	})
	eventually(t, "status shows who works", func() bool {
		s, err := p.engine().Status(t.Context())
		return err == nil && len(s.Turns) == 1 && s.Turns[0].Carrier != nil && s.Turns[0].Carrier.PID == os.Getpid() && s.Turns[0].Live != nil
	})
	cancel()
	if r := <-done; r.Outcome != govern.OutcomeInterrupted || r.Next != "drawbar govern step" {
		t.Errorf("%+v", r)
	}
	if !gone(string(pids)) {
		t.Errorf("of the processes %s one survives", pids)
	}
	st := p.state()
	if st.Status != protocol.RunActive || st.ActiveTurns.Len() != 1 {
		t.Fatalf("%s with %d turns", st.Status, st.ActiveTurns.Len())
	}
	id := st.ActiveTurns.Keys()[0]
	p.write("agentxchain.json", one(runtimeOf("ok"), ""))
	if r := p.step(govern.OutcomeAccepted); r.TurnID != id || r.Attempt != 1 {
		t.Errorf("the turn %s was not carried again: %+v", id, r)
	}
	p.sound()
}

// A turn that one process carries is refused to another, by its number, and its result is not decided meanwhile.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rt := strings.Replace(runtimeOf("waits for a file"), `"env":{`, `"env":{"DRAWBAR_TEST_OUTSIDE":"`+outside+`",`, 1)
	p := newProject(t, one(rt, ""))
	done := make(chan govern.Report, 1)
	go func() {
		r, err := p.engine().Step(t.Context(), govern.StepOptions{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	eventually(t, "the worker starts", func() bool { _, err := os.Stat(filepath.Join(outside, "pids")); return err == nil })
	id := p.state().ActiveTurns.Keys()[0]
	for name, try := range map[string]func(*Local) error{
		"step":    func(e *Local) error { _, err := e.Step(t.Context(), govern.StepOptions{}); return err },
		"accept":  func(e *Local) error { _, err := e.Accept(t.Context(), govern.AcceptOptions{}); return err },
		"reject":  func(e *Local) error { _, err := e.Reject(t.Context(), govern.RejectOptions{}); return err },
		"reissue": func(e *Local) error { _, err := e.Reissue(t.Context(), id, ""); return err },
		"restart": func(e *Local) error { _, err := e.Restart(t.Context(), govern.RestartOptions{}); return err },
	} {
		err := try(p.engine())
		if execution.CodeOf(err) != execution.CodeInvalidStateTransition || !strings.Contains(err.Error(), "process "+ownPID()) || hint(err) == "" {
			t.Errorf("%s: %v (%s)", name, err, hint(err))
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Outcome != govern.OutcomeAccepted || r.TurnID != id {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(p.root, protocol.LocksDir, "turn-*")); len(left) > 0 {
		t.Errorf("leases stay: %v", left)
	}
	p.sound()
}

func ownPID() string { b, _ := json.Marshal(os.Getpid()); return string(b) }

// A person's turn is accepted in one terminal while a step waits for it in another.
func TestManualTurnAcceptedElsewhere(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	ready := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	done := make(chan govern.Report, 1)
	go func() {
		r, err := p.engine().Step(t.Context(), govern.StepOptions{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	eventually(t, "the step waits", func() bool { return leaseHolder(p.root, ready.TurnID) != nil })
	p.write("work.txt", "by hand\n")
	p.stage(ready.TurnID, handWritten(p, ready.TurnID, "work.txt"))
	var last error
	eventually(t, "the turn is accepted", func() bool {
		if slices.Contains(p.accepted(), ready.TurnID) {
			return true
		}
		_, last = p.engine().Accept(t.Context(), govern.AcceptOptions{})
		return last == nil
	})
	if r := <-done; r.Outcome != govern.OutcomeAccepted || r.TurnID != ready.TurnID {
		t.Errorf("%+v (%v)", r, last)
	}
	if len(p.accepted()) != 1 {
		t.Errorf("accepted %v", p.accepted())
	}
	p.sound()
}

// handWritten is a valid result of the developer.
func handWritten(p *world, turn string, files ...string) string {
	st := p.state()
	at := st.ActiveTurns.At(turn)
	w := &worker{assignment: map[string]any{"run_id": st.ID(), "turn_id": turn, "role": at.AssignedRole, "runtime_id": at.RuntimeID}}
	b, err := json.Marshal(w.result(files...))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// Two engines at once: each turn is carried by one of them, and the record stays whole.
func TestTwoEnginesAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("ok"), ""))
	errs := make(chan error, 2)
	for range 2 {
		e := p.engine()
		go func() {
			for n := 0; n < 3; {
				r, err := e.Step(t.Context(), govern.StepOptions{})
				if err != nil && execution.CodeOf(err) != execution.CodeInvalidStateTransition {
					errs <- err
					return
				}
				if err == nil && r.Outcome == govern.OutcomeAccepted {
					n++
				} else {
					time.Sleep(5 * time.Millisecond) // the other one carries the turn
				}
			}
			errs <- nil
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if len(p.accepted()) != 6 {
		t.Errorf("accepted %d", len(p.accepted()))
	}
	p.sound()
}

// A lease whose holder is dead counts for an instant only: until the programs that had its files are gone.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l, err := takeLease(root, "turn_1", "somebody", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if c := leaseHolder(root, "turn_1"); c == nil || c.PID != os.Getpid() {
		t.Errorf("held by %+v", c)
	}
	if err := os.WriteFile(l.path, []byte(`{"pid":2147483646,"owner":"the dead"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	free := time.AfterFunc(100*time.Millisecond, func() { _ = l.release() })
	defer free.Stop()
	if c := leaseHolder(root, "turn_1"); c != nil {
		t.Errorf("held by %+v", c)
	}
}

// The role that a turn proposes together with the next phase gets the next turn when that phase knows it, at once or after the approval.
func TestTheProposedRoleOfTheNextPhase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		propose, want, why string
		approve            bool
	}{
		"granted at once":      {propose: "qa", want: "qa", why: "was proposed by the last turn"},
		"granted by a person":  {propose: "qa", want: "qa", why: "was proposed by the last turn", approve: true},
		"unknown to the phase": {propose: "pm", want: "dev", why: "enters the phase implementation"},
		"nobody":               {propose: "human", want: "dev", why: "enters the phase implementation", approve: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := three(manualRuntime, manualRuntime, manualRuntime, "")
			if !c.approve {
				config = strings.Replace(config, `".planning/PLAN.md"],"requires_human_approval":true`, `".planning/PLAN.md"]`, 1)
			}
			p := newProject(t, config)
			p.write(".planning/PLAN.md", "# Plan\n")
			p.git("add", "-A")
			p.git("commit", "-qm", "plan")
			r := p.byHand(govern.OutcomeAccepted, func(r map[string]any) {
				r["objections"] = []any{objection("OBJ-001", "low", "it may grow")}
				r["phase_transition_request"], r["proposed_next_role"] = "implementation", c.propose
			})
			if len(r.Changes) > 0 && c.propose == "qa" {
				t.Errorf("the proposal was changed: %+v", r.Changes)
			}
			if c.approve {
				if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil {
					t.Fatal(err)
				}
			}
			s, err := p.engine().Status(t.Context())
			if err != nil || s.NextRole != c.want || s.NextWhy != c.why {
				t.Errorf("next is %s, it %s: %v", s.NextRole, s.NextWhy, err)
			}
		})
	}
}
