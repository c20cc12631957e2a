package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/transport/process"
)

// defaultActionTimeout limits a gate action without a configured timeout.
const defaultActionTimeout = 15 * time.Minute

// Approve passes a pending gate: its hooks run, then its actions, then the phase or the run ends.
func (e *Local) Approve(ctx context.Context, o govern.ApproveOptions) (rep govern.Report, err error) {
	if o.DryRun {
		return e.dryApprove(o)
	}
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "approve", func(t *transaction) (err error) {
		rep, err = t.approve(ctx, o)
		return err
	})
	return rep, err
}

func (t *transaction) approve(ctx context.Context, o govern.ApproveOptions) (rep govern.Report, err error) {
	from := t.state().Phase
	o.By = t.person(ctx, o.By)
	gateID, by, to := gateOf(&o, t.state())
	if gateID == "" {
		// The rules give the best reason why there is nothing to approve.
		return rep, t.do(governance.Approve{Completion: o.Completion, By: o.By})
	}
	if err := t.mayApprove(o); err != nil {
		return rep, err
	}
	if done, err := t.oneOfSeveral(ctx, o, gateID, by); done != nil || err != nil {
		return orEmpty(done), err
	}
	held, err := t.hook(ctx, protocol.HookBeforeGate, by, map[string]any{"gate": gateID, "from": from, "to": to, "requested_by_turn": by})
	if err != nil || held != nil {
		return orEmpty(held), err
	}
	g, _ := t.run.Config.Gate(gateID)
	if failed, err := t.gateActions(ctx, gateID, by, o.Completion, g); err != nil || failed != nil {
		return orEmpty(failed), err
	}
	in, err := t.approval(o) // an action may have changed the gate's files
	if err == nil {
		err = t.do(in)
	}
	if err != nil {
		return rep, err
	}
	kind := commitApprovePhase
	if o.Completion {
		kind = commitApproveCompletion
	}
	if _, err := t.commit(ctx, kind, by, nil); err != nil {
		return rep, err
	}
	rep = t.report(govern.OutcomeDone)
	if t.state().Status == protocol.RunCompleted {
		rep.Outcome = govern.OutcomeCompleted
	}
	if t.state().Phase != from {
		rep.EnteredPhase = t.state().Phase
	}
	t.e.note(govern.Notice{Kind: govern.NoticeApproved, Text: fmt.Sprintf("gate %s is approved", gateID)})
	return rep, nil
}

// gateOf returns the pending gate, who requested it, and the next phase. It decides whether a phase gate or the run's
// completion is meant.
func gateOf(o *govern.ApproveOptions, st *protocol.State) (id, by, to string) {
	again := governance.Reclaimable(st) // a decline that is revoked
	if o.Either {
		o.Completion = st.PendingCompletion != nil || again != nil && again.GateType == "run_completion"
	}
	switch {
	case again != nil && o.Completion == (again.GateType == "run_completion"):
		return again.GateID, again.RequestedByTurn, again.To
	case o.Completion && st.PendingCompletion != nil:
		return st.PendingCompletion.Gate, st.PendingCompletion.RequestedByTurn, ""
	case !o.Completion && st.PendingTransition != nil:
		return st.PendingTransition.Gate, st.PendingTransition.RequestedByTurn, st.PendingTransition.To
	}
	return "", "", ""
}

// approval is the input of an approval, with the gate's files as they are now.
func (t *transaction) approval(o govern.ApproveOptions) (governance.Approve, error) {
	files, err := t.gateFiles(t.e.root, t.state().Phase)
	return governance.Approve{Completion: o.Completion, By: o.By, Comment: o.Comment, GateFiles: files}, err
}

// mayApprove refuses an approval that the rules would refuse, before any hook or action of the gate runs.
func (t *transaction) mayApprove(o govern.ApproveOptions) error {
	in, err := t.approval(o)
	if err != nil {
		return err
	}
	if _, effects := governance.Transition(t.run, t.e.now(), in); refused(effects) != nil {
		return refusal(*refused(effects))
	}
	return nil
}

// approvals are those that the pending gate has.
func approvals(st *protocol.State) []protocol.Approval {
	switch {
	case st.PendingCompletion != nil:
		return st.PendingCompletion.Approvals
	case st.PendingTransition != nil:
		return st.PendingTransition.Approvals
	}
	return nil
}

// oneOfSeveral records an approval that still needs another person's: nothing of the gate runs yet.
func (t *transaction) oneOfSeveral(ctx context.Context, o govern.ApproveOptions, gateID, turn string) (*govern.Report, error) {
	g, _ := t.run.Config.Gate(gateID)
	n := len(approvals(t.state())) + 1
	if n >= g.Approvals() {
		return nil, nil
	}
	in, err := t.approval(o)
	if err == nil {
		err = t.do(in)
	}
	if err == nil {
		_, err = t.commit(ctx, commitApproval, turn, nil)
	}
	if err != nil {
		return nil, err
	}
	rep := t.report(govern.OutcomeDone)
	rep.Summary = fmt.Sprintf("%d of %d approvals of gate %s given; another person must approve", n, g.Approvals(), gateID)
	return &rep, nil
}

// dryApprove says what an approval would do. It takes no lock, which would be a change.
func (e *Local) dryApprove(o govern.ApproveOptions) (govern.Report, error) {
	t, err := e.look()
	if err != nil {
		return govern.Report{}, err
	}
	if t.work, err = e.workspace(context.Background()); err != nil {
		return govern.Report{}, err
	}
	o.By = t.person(context.Background(), o.By)
	gateID, _, to := gateOf(&o, t.state())
	if gateID == "" {
		return govern.Report{}, t.do(governance.Approve{Completion: o.Completion, By: o.By})
	}
	if err := t.mayApprove(o); err != nil {
		return govern.Report{}, err
	}
	g, _ := t.run.Config.Gate(gateID)
	rep := t.report(govern.OutcomeDone)
	rep.Summary = dryApproval(gateID, to, g)
	if n := g.Approvals(); n > 1 && len(approvals(t.state()))+1 < n {
		rep.Summary = fmt.Sprintf("gate %s would have %d of %d approvals; another person must approve", gateID, len(approvals(t.state()))+1, n)
	}
	return rep, nil
}

func dryApproval(gateID, to string, g protocol.Gate) string {
	text := "gate " + gateID + " would pass; the run would end"
	if to != "" {
		text = "gate " + gateID + " would pass; phase " + to + " would start"
	}
	for _, a := range g.GateActions {
		text += "; it would run: " + a.Run
	}
	return text
}

// gateActions runs the commands of a gate in order; the first failure blocks the run.
func (t *transaction) gateActions(ctx context.Context, gateID, by string, completion bool, g protocol.Gate) (*govern.Report, error) {
	kind, command := "phase_transition", "drawbar govern approve"
	if completion {
		kind = "run_completion"
	}
	if len(g.GateActions) > 0 {
		if err := t.e.trusted(t.project.ItemsOf("gates", gateID)); err != nil {
			return nil, err
		}
	}
	for i, a := range g.GateActions {
		label := a.Label
		if label == "" {
			label = fmt.Sprintf("action %d", i+1)
		}
		limit := defaultActionTimeout
		if a.TimeoutMS != nil {
			limit = time.Duration(*a.TimeoutMS) * time.Millisecond
		}
		t.e.note(govern.Notice{Kind: govern.NoticeOutput, Text: fmt.Sprintf("gate %s runs %s: %s", gateID, label, a.Run)})
		out := t.shell(ctx, a.Run, limit, []string{
			"AGENTXCHAIN_GATE_ID=" + gateID, "AGENTXCHAIN_GATE_TYPE=" + kind, "AGENTXCHAIN_PHASE=" + t.state().Phase,
			"AGENTXCHAIN_REQUESTED_BY_TURN=" + by, "AGENTXCHAIN_TRIGGER_COMMAND=" + command,
		})
		if out.fault == "" {
			continue
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", label, context.Cause(ctx))
		}
		detail := fmt.Sprintf("%s: %s (%s)", label, a.Run, out.fault)
		if out.tail != "" {
			detail += ": " + out.tail
		}
		if err := t.do(governance.GateActionFailed{Gate: gateID, Label: label, Detail: detail}); err != nil {
			return nil, err
		}
		if _, err := t.commit(ctx, commitBlock, by, nil); err != nil {
			return nil, err
		}
		rep := t.report(govern.OutcomeBlocked)
		rep.Code, rep.Errors = "gate_action_failed", []string{detail}
		return &rep, nil
	}
	return nil, nil
}

type shellResult struct {
	fault string // empty for success
	tail  string
	code  int
}

// shell runs a line of the configuration in a shell.
func (t *transaction) shell(ctx context.Context, line string, limit time.Duration, env []string) shellResult {
	command := lookpath.Shell(line)
	return t.command(ctx, t.e.root, command[0], command[1:], limit, env)
}

// command runs a program and its process tree to the end.
func (t *transaction) command(ctx context.Context, dir, program string, args []string, limit time.Duration, env []string) shellResult {
	const tail = 1200
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := process.Start(ctx, process.Spec{Path: program, Args: args, Dir: dir, Env: append(append([]string(nil), t.e.o.Environ...), env...),
		StderrTail: 16 * tail, Merge: true}) // more than is kept, so that a secret at the cut is recognized
	if err != nil && ctx.Err() != nil {
		return shellResult{fault: fmt.Sprintf("timed out after %s", limit), code: -1}
	}
	if err != nil {
		return shellResult{fault: err.Error(), code: -1}
	}
	_ = process.ReadAll(p, nil) // how it ended says more
	exit := p.Wait()
	said := secret.New(secret.Environ(t.e.o.Environ)).Text(exit.StderrTail)
	r := shellResult{tail: strings.ToValidUTF8(said[max(0, len(said)-tail):], ""), code: exit.Code}
	switch {
	case ctx.Err() != nil && exit.Stopped:
		r.fault = fmt.Sprintf("timed out after %s", limit)
	case exit.Err != nil:
		r.fault = exit.Err.Error()
	case exit.Signal != "":
		r.fault = "killed by " + exit.Signal
	case exit.Code != 0:
		r.fault = fmt.Sprintf("exit code %d", exit.Code)
	}
	return r
}
