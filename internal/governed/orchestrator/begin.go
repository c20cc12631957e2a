package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// job is a turn that is ready to run, with the lease that excludes other processes.
type job struct {
	dispatch turnruntime.Dispatch
	project  *project.Project
	runtime  turnruntime.Runtime
	lease    *lease
	mark     ledger.Mark // the record when the turn began
	started  time.Time
}

// repeat says that the same turn runs again, after wait.
type repeat struct{ after time.Duration }

// begin prepares a turn: the active one, or the next; beside asks for another one. If there is nothing to run, it returns the report instead.
func (e *Local) begin(ctx context.Context, o govern.StepOptions, beside bool) (j *job, rep *govern.Report, again *repeat, err error) {
	if err := e.mayStart(); err != nil {
		return nil, nil, nil, err
	}
	err = e.locked(ctx, "step", func(t *transaction) error {
		defer func() { again = t.repeat }()
		if err := t.mayRun(); err != nil {
			return err
		}
		if err := t.kept(ctx); err != nil {
			return err
		}
		t.clear(ctx)
		if rep, err = t.open(ctx, o); rep != nil || err != nil {
			return err
		}
		if rep, err = t.overdue(ctx); rep != nil || err != nil {
			return err
		}
		turn := ""
		if !beside {
			if turn, err = t.choose(o); err != nil {
				return err
			}
		}
		if turn != "" && o.Intent != "" {
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is active: an intent needs its own turn", turn).
				WithHint("%s", governance.NextCommand(t.run))
		}
		if turn == "" {
			j, rep, err = t.assign(ctx, o)
		} else {
			j, rep, err = t.again(ctx, o, turn)
		}
		return err
	})
	if err != nil && j != nil {
		err = errors.Join(err, j.lease.release())
		j = nil
	}
	return j, rep, again, err
}

// mayRun refuses a valid configuration with which no run could finish. Unsupported runtimes are refused later, when a
// run reaches them.
func (t *transaction) mayRun() error {
	var faults []charter.Problem
	for _, p := range charter.Admission(t.run.Config) {
		if p.Severity == "error" {
			faults = append(faults, p)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	lines := make([]string, len(faults))
	for i, p := range faults {
		lines[i] = p.Field + ": " + p.Message
	}
	return execution.Errorf(execution.CodeConfig, "cannot run %s: %s", protocol.ConfigFile, strings.Join(lines, "; ")).
		WithHint("%s", cmp.Or(faults[0].Hint, governance.NextValidate))
}

// open brings the run to where a turn can be assigned, or says why it cannot.
func (t *transaction) open(ctx context.Context, o govern.StepOptions) (*govern.Report, error) {
	st := t.state()
	switch st.Status {
	case protocol.RunCompleted:
		rep := t.report(govern.OutcomeCompleted)
		if t.adopted { // no later transaction would cover the lines of the other program
			_, err := t.commit(ctx, commitAdopt, "", nil)
			return &rep, err
		}
		return &rep, nil
	case protocol.RunIdle:
		return nil, t.startRun(ctx, false)
	case protocol.RunPaused, protocol.RunBlocked:
		if st.Status == protocol.RunBlocked && st.ID() == "" {
			return nil, t.startRun(ctx, false)
		}
		if !o.Resume || st.Status == protocol.RunPaused && !governance.WaitsForNothing(st) {
			rep := t.report(outcomeOf(st))
			return &rep, nil
		}
		if err := t.unblock(ctx, ""); err != nil {
			return nil, err
		}
		if t.state().Status == protocol.RunActive {
			return nil, nil
		}
		if _, err := t.commit(ctx, commitResume, "", nil); err != nil {
			return nil, err
		}
		rep := t.report(outcomeOf(t.state()))
		return &rep, nil
	}
	return nil, nil
}

// unblock clears what blocks the run.
func (t *transaction) unblock(ctx context.Context, escalation string) error {
	if err := t.humanQueue(escalation); err != nil {
		return err
	}
	files, err := t.gateFiles(t.e.root, t.state().Phase)
	if err != nil {
		return err
	}
	in := governance.Unblock{By: t.e.o.Owner, EscalationID: escalation, GateFiles: files}
	if governance.NeverStarted(t.state()) {
		base, err := t.work.Baseline(ctx)
		if err != nil {
			return err
		}
		in.Baseline = &base
	}
	return t.do(in)
}

// StartRun begins a run without assigning a turn.
func (e *Local) StartRun(ctx context.Context) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "start", func(t *transaction) error {
		if err := t.mayRun(); err != nil {
			return err
		}
		if err := t.startRun(ctx, false); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitStart, "", nil); err != nil {
			return err
		}
		rep = t.report(govern.OutcomeDone)
		return nil
	})
	return rep, err
}

func (t *transaction) startRun(ctx context.Context, restart bool) error {
	return t.startRunBy(ctx, restart, map[string]any{"trigger": "manual", "created_by": "operator"})
}

// startRunBy is startRun of a run that something else than a person's command starts.
func (t *transaction) startRunBy(ctx context.Context, restart bool, by map[string]any) error {
	t.lost(ctx)
	var active []protocol.RepoDecision
	all, err := t.ledger.View().RepoDecisions()
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, d := range all { // an override is a later line with the same id
		if i, ok := at[d.ID]; ok {
			active[i] = d
			continue
		}
		at[d.ID] = len(active)
		active = append(active, d)
	}
	active = slices.DeleteFunc(active, func(d protocol.RepoDecision) bool { return d.Status != "active" })
	by["parent_run_id"] = t.state().RunID
	provenance, err := protocol.Marshal(by)
	if err != nil {
		return err
	}
	signOffs := map[string]string{}
	for _, phase := range t.run.Config.Phases() {
		files, err := t.gateFiles(t.e.root, phase)
		if err != nil {
			return err
		}
		for _, path := range gate.SignOffs(t.run.Config, phase) {
			if content, ok := files[path]; ok {
				signOffs[path] = content
			}
		}
	}
	in := governance.StartRun{RunID: newID("run"), Provenance: provenance, Restart: restart, RepoDecisions: active, SignOffs: signOffs}
	if err := t.do(in); err != nil {
		return err
	}
	t.run.History, t.run.DecisionIDs, t.run.ObjectionIDs = nil, nil, nil
	t.tell(govern.Notice{Kind: govern.NoticeStarted, Text: "run " + in.RunID + " starts in phase " + t.state().Phase})
	return nil
}

// overdue applies expired time limits of the phase and of the run. Those of turns are enforced while they run.
func (t *transaction) overdue(ctx context.Context) (*govern.Report, error) {
	for _, due := range governance.Timeouts(t.run, t.e.now()) {
		if due.Scope == governance.ScopeTurn {
			continue
		}
		if due.Action == governance.TimeoutWarn {
			t.e.warn(fmt.Sprintf("the %s has used %.0f of its %.0f minutes", due.Scope, due.ElapsedMinutes, due.LimitMinutes))
			continue
		}
		files, err := t.gateFiles(t.e.root, t.state().Phase)
		if err != nil {
			return nil, err
		}
		if err := t.do(governance.TimedOut{Scope: due.Scope, Action: due.Action, GateFiles: files}); err != nil {
			return nil, err
		}
		if t.state().Status != protocol.RunActive {
			break
		}
	}
	if t.state().Status == protocol.RunActive {
		return nil, nil
	}
	if _, err := t.commit(ctx, commitBlock, "", nil); err != nil {
		return nil, err
	}
	rep := t.report(outcomeOf(t.state()))
	return &rep, nil
}

// choose returns the active turn to run; empty for a new one.
func (t *transaction) choose(o govern.StepOptions) (string, error) {
	active := &t.state().ActiveTurns
	if o.Turn != "" {
		if !active.Has(o.Turn) {
			return "", execution.Errorf(execution.CodeValidation, "turn %s is not active", o.Turn).WithHint("%s", governance.NextStatus)
		}
		return o.Turn, nil
	}
	if o.Role != "" && governance.Parallel(t.run) {
		for id, turn := range active.All() {
			if turn.AssignedRole == o.Role {
				return id, nil
			}
		}
		return "", nil
	}
	switch active.Len() {
	case 0:
		return "", nil
	case 1:
		id := active.Keys()[0]
		if role := active.At(id).AssignedRole; o.Role != "" && o.Role != role {
			return "", execution.Errorf(execution.CodeInvalidStateTransition, "turn %s of role %s is active, so role %s cannot start one", id, role, o.Role).
				WithHint("finish it first: %s", governance.NextStep)
		}
		return id, nil
	}
	return "", execution.Errorf(execution.CodeValidation, "%d turns are active: %s", active.Len(), strings.Join(active.Keys(), ", ")).
		WithHint("choose one: drawbar govern step --turn %s", active.Keys()[0])
}

// parallel reports whether several turns may be active. Each then has a worktree, so that changes can be attributed.
func (t *transaction) parallel() bool {
	return governance.Parallel(t.run) && t.work.Kind() == workspace.Git
}

// assign prepares a new turn.
func (t *transaction) assign(ctx context.Context, o govern.StepOptions) (*job, *govern.Report, error) {
	role, why := o.Role, "was requested"
	if role == "" {
		role, why = governance.NextRole(t.run)
	}
	if stand := governance.Guards(t.run, role); len(stand) > 0 {
		return nil, nil, refusal(stand[0])
	}
	if beside := governance.ActiveRoles(t.run); len(beside) > 0 {
		why = "runs in parallel with " + strings.Join(beside, ", ")
	}
	var err error
	id := newID("turn")
	in, now := governance.AssignTurn{Role: role, TurnID: id}, t.e.now()
	if o.Coordinator != nil {
		if in.Coordinator, err = protocol.Marshal(o.Coordinator); err != nil {
			return nil, nil, err
		}
	}
	dir := t.e.root
	if _, rt, _ := t.run.Config.RuntimeOf(role); (t.run.Config.Workspace == "worktree" || t.parallel()) && !protocol.Remote(rt.Type) {
		if dir, in.Baseline, err = t.worktree(ctx, id); err != nil {
			return nil, nil, err
		}
		if in.Worktree, err = filepath.Rel(t.e.root, dir); err != nil {
			return nil, nil, err
		}
		in.Worktree = filepath.ToSlash(in.Worktree)
	} else if in.Baseline, err = t.work.Baseline(ctx); err != nil {
		return nil, nil, err
	}
	undo := func(err error) error {
		if in.Worktree != "" {
			err = errors.Join(err, t.work.Drop(context.WithoutCancel(ctx), id))
		}
		return err
	}
	if err := t.operatorCommits(ctx, in.Baseline); err != nil {
		return nil, nil, undo(err)
	}
	warnings := governance.ScopeOverlaps(t.run, role)
	held, err := t.hook(ctx, protocol.HookBeforeAssignment, "", map[string]any{"role": role, "phase": t.state().Phase, "turn_id": id, "reason": why})
	if err != nil {
		return nil, nil, undo(err)
	}
	if held != nil {
		return nil, held, undo(nil)
	}
	if err := t.bind(&in, now, o); err != nil {
		return nil, nil, undo(err)
	}
	if err := t.doAt(now, in); err != nil {
		return nil, nil, undo(err)
	}
	t.tell(govern.Notice{Kind: govern.NoticeAssigned, TurnID: id, Role: role, Text: fmt.Sprintf("%s %s", role, why)})
	j, rep, err := t.dispatch(ctx, o, id, dir, warnings)
	if err != nil {
		return nil, nil, undo(err)
	}
	return j, rep, nil
}

// again prepares a turn that is already active: it was interrupted, rejected, or waits for a person.
func (t *transaction) again(ctx context.Context, o govern.StepOptions, id string) (*job, *govern.Report, error) {
	turn := t.state().ActiveTurns.At(id)
	if c := leaseHolder(t.e.root, id); c != nil {
		return nil, nil, leased(turn, c)
	}
	if text := livingWorker(turn); text != "" {
		return nil, nil, execution.Errorf(execution.CodeInvalidStateTransition, "%s", text).
			WithHint("wait for it, or stop it (kill %d), then: %s; if that process id now belongs to another program: drawbar govern reissue --turn %s", turn.WorkerPID, governance.NextStep, id)
	}
	b, err := t.breachOf(ctx, turn)
	if err != nil {
		return nil, nil, err
	}
	if len(b.git) > 0 && !t.knows(turn, b) {
		// It has not been submitted, for example because the process that ran the turn died.
		held, err := t.bound(ctx, turn, nil, false)
		return nil, held, err
	}
	switch turn.Status {
	case protocol.TurnFailedAcceptance:
		// A hook or a policy that stopped the result may let it pass now, and a person may have corrected the staged
		// file.
		if _, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole); o.Resume || rt.Type == protocol.RuntimeManual {
			if data, where, err := project.ReadStaged(t.workRoot(id), id); err == nil {
				if err := turnruntime.Ready(data); rt.Type == protocol.RuntimeManual && err != nil {
					rep := t.report(govern.OutcomeFailed)
					about(&rep, turn)
					rep.Errors, rep.Hint = []string{where + " is not ready: " + err.Error()}, "finish "+where+" and submit it: drawbar govern accept"
					return nil, &rep, nil
				}
				rep, err := t.judge(ctx, id, submission{data: data, where: where, started: turn.StartedAt.Time, repair: !o.NoRepair})
				return nil, &rep, err
			}
		}
		fallthrough
	case protocol.TurnConflicted, protocol.TurnFailed:
		rep := t.report(govern.OutcomeFailed)
		about(&rep, turn)
		rep.Next = governance.NextCommand(t.run)
		return nil, &rep, nil
	}
	if overdue := turn.DeadlineAt; !overdue.IsZero() && t.e.now().After(overdue.Time) {
		t.e.warn(fmt.Sprintf("the deadline of turn %s passed at %s; its time limit starts anew", id, overdue))
	}
	if changed := slices.Concat(b.rules, b.git, b.harmless); len(changed) > 0 {
		t.e.warn(fmt.Sprintf("changed since turn %s was last dispatched; the current version applies: %s", id, strings.Join(changed, "; ")))
	}
	if err := t.filter(ctx); err != nil {
		return nil, nil, err
	}
	if err := t.takeUp(ctx, turn); err != nil {
		return nil, nil, err
	}
	return t.dispatch(ctx, o, id, t.workRoot(id), nil)
}

// operatorCommits records what people committed since the last accepted turn; such commits never block a turn.
func (t *transaction) operatorCommits(ctx context.Context, base protocol.Baseline) error {
	ref := t.state().AcceptedIntegration
	if ref == nil || base.HeadRef == nil {
		return nil
	}
	from, ok := strings.CutPrefix(*ref, "git:")
	if !ok || from == *base.HeadRef {
		return nil
	}
	seen, err := t.work.Observe(ctx, protocol.Baseline{Kind: base.Kind, HeadRef: &from}, "")
	if err != nil {
		return err
	}
	in := governance.OperatorCommits{From: from, To: *base.HeadRef}
	for _, c := range seen.OperatorCommits {
		in.SHAs = append(in.SHAs, c.SHA)
	}
	return t.do(in)
}
