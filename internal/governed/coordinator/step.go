package coordinator

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Run repeats Step.
func (c *Coordinator) Run(ctx context.Context, o govern.MultiRunOptions) (rep govern.MultiReport, err error) {
	limit := cmp.Or(o.MaxTurns, 50)
	for n := 0; ; {
		if n == limit {
			rep.Turns = n
			return rep, nil
		}
		rep, err = c.Step(ctx, govern.MultiStepOptions{NoWait: true, Timeout: o.Timeout, Verbose: o.Verbose})
		if rep.Action == govern.MultiTurn {
			n++
		}
		rep.Turns = n
		if err != nil || rep.Action != govern.MultiTurn && rep.Action != govern.MultiApproved || rep.Turn != nil && !goesOn(rep.Turn.Outcome) {
			return rep, err
		}
	}
}

// goesOn reports whether the run can continue after a turn with that outcome, there or in another repository.
func goesOn(o govern.Outcome) bool {
	return slices.Contains([]govern.Outcome{govern.OutcomeAccepted, govern.OutcomeRejected, govern.OutcomePaused, govern.OutcomeCompleted}, o)
}

// Step runs the next turn, or requests the next gate.
func (c *Coordinator) Step(ctx context.Context, o govern.MultiStepOptions) (govern.MultiReport, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return govern.MultiReport{}, err
	}
	locked := true
	unlock := func() {
		if locked {
			locked = false
			done()
		}
	}
	defer unlock()
	if err := begun(rec); err != nil {
		return govern.MultiReport{}, err
	}
	all := c.look(w)
	x, effects, err := c.settle(ctx, w, rec, all)
	if err != nil {
		return govern.MultiReport{}, err
	}
	with := func(rep govern.MultiReport) govern.MultiReport {
		rep.Projected, rep.Effects = append(x.projected(), rep.Projected...), append(effects, rep.Effects...)
		return rep
	}
	switch rec.state.Status {
	case protocol.CoordinatorCompleted:
		return report(rec, govern.MultiCompleted), nil
	case protocol.CoordinatorBlocked:
		return with(report(rec, govern.MultiBlocked)), nil
	case protocol.CoordinatorPaused:
		return with(report(rec, govern.MultiGate)), nil
	}
	pick, why := c.choose(ctx, w, rec, all)
	if pick == nil {
		rep, err := c.request(ctx, w, rec, all, why)
		return with(rep), err
	}
	if pick.turn == "" {
		if rep, err := c.beforeAssignment(ctx, w, rec, pick); rep != nil || err != nil {
			return with(orZero(rep)), err
		}
	}
	rep, err := c.turn(ctx, w, rec, all, pick, o, unlock)
	return with(rep), err
}

// turn assigns and runs a turn. The lock is freed when the turn is in both records: others may work meanwhile.
func (c *Coordinator) turn(ctx context.Context, w *workspace, rec *record, all map[string]*repo, pick *choice, o govern.MultiStepOptions, unlock func()) (govern.MultiReport, error) {
	r := pick.repo
	e, err := c.o.Open(r.root)
	if err != nil {
		return govern.MultiReport{}, r.within(err)
	}
	step := govern.StepOptions{Turn: pick.turn, NoWait: o.NoWait, Timeout: o.Timeout, Verbose: o.Verbose}
	link := protocol.CoordinatorLink{WorkstreamID: pick.workstream, Preparing: pick.preparing}
	if pick.turn == "" {
		told := c.tell(w, rec, pick)
		if err := c.keep(ctx, rec, r, all, told.ContextRef); err != nil {
			return govern.MultiReport{}, err
		}
		if err := c.saveContext(rec, told); err != nil {
			return govern.MultiReport{}, err
		}
		step.Coordinator, link.ContextRef = &told, told.ContextRef
	}
	c.o.Crash("context")
	assigned := pick.turn != ""
	step.Assigned = func(turn, role string) {
		c.o.Crash("assigned")
		if pick.turn, pick.role = turn, role; !assigned {
			assigned = true
			_ = rec.add(c.dispatched(rec.state, r, link, turn, role)) // the turn itself says so, too: what comes next repeats this
		}
		unlock()
	}
	act := e.Step
	if o.AssignOnly {
		act = e.Assign
	}
	var turn govern.Report
	if !o.AssignOnly || pick.turn == "" {
		turn, err = act(ctx, step)
		if err == nil && o.AssignOnly && turn.Outcome == govern.OutcomeAssigned {
			step.Assigned(turn.TurnID, turn.Role)
		}
	}
	unlock()
	if err != nil {
		return govern.MultiReport{}, r.within(err)
	}
	c.o.Crash("accepted")
	rep, err := c.after(context.WithoutCancel(ctx))
	rep.RepoID, rep.WorkstreamID, rep.TurnID, rep.Role, rep.Preparing, rep.ContextRef = r.id, pick.workstream, pick.turn, pick.role, pick.preparing, link.ContextRef
	if turn.Outcome != "" && !o.AssignOnly {
		rep.Turn = &turn
	}
	if !goesOn(turn.Outcome) && turn.Outcome != govern.OutcomeInterrupted { // only a command in the repository helps
		if own, ok := strings.CutPrefix(turn.Next, "drawbar govern "); ok {
			rep.Next = r.command("%s", own)
		}
	}
	if turn.Outcome == "" || turn.Outcome == govern.OutcomeAssigned { // it is not running: as asked, or because a person takes it
		rep.Action, rep.BundlePath, rep.Next = govern.MultiAssigned, filepath.Join(r.root, filepath.FromSlash(protocol.BundleDir(pick.turn))), r.command("step")
	}
	return rep, err
}

// after records how a turn ended.
func (c *Coordinator) after(ctx context.Context) (govern.MultiReport, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return govern.MultiReport{}, err
	}
	defer done()
	x, effects, err := c.settle(ctx, w, rec, c.look(w))
	if err != nil {
		return govern.MultiReport{}, err
	}
	rep := report(rec, govern.MultiTurn)
	if rep.Projected, rep.Effects = x.projected(), effects; rec.state.Status == protocol.CoordinatorBlocked {
		rep.Action = govern.MultiBlocked
	}
	return rep, nil
}
