package orchestrator

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/pause"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
)

// Step runs one turn until it is accepted, is blocked, or has no attempts left.
func (e *Local) Step(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	return e.step(ctx, o, false, func() {})
}

// step is Step. beside asks for a new turn although others are active; begun is called when the turn is assigned and about to run.
func (e *Local) step(ctx context.Context, o govern.StepOptions, beside bool, begun func()) (govern.Report, error) {
	for {
		j, rep, again, err := e.begin(ctx, o, beside)
		if err != nil {
			return govern.Report{}, err
		}
		if rep != nil && again == nil {
			return *rep, nil
		}
		if rep == nil {
			if o.Assigned != nil {
				o.Assigned(j.dispatch.Turn.TurnID, j.dispatch.Turn.AssignedRole)
				o.Assigned = nil
			}
			if o.NoWait && j.dispatch.Runtime.Type == protocol.RuntimeManual {
				return e.ready(ctx, j)
			}
			begun()
			out, err := e.runTurn(ctx, j)
			if err != nil {
				return govern.Report{}, errors.Join(err, j.lease.release())
			}
			var r govern.Report
			r, again, err = e.collect(ctx, j, out, o)
			if err = errors.Join(err, j.lease.release()); err != nil || again == nil {
				return r, err
			}
			rep = &r
		}
		o.Role, o.Turn, o.Resume, beside = "", rep.TurnID, false, false
		if err := pause.For(ctx, again.after); err != nil {
			rep.Outcome = govern.OutcomeInterrupted
			return *rep, nil //nolint:nilerr // the caller cancelled; the turn stays, as the report says
		}
	}
}

// ready prepares a person's turn without waiting for it.
func (e *Local) ready(ctx context.Context, j *job) (govern.Report, error) {
	if err := j.lease.release(); err != nil {
		return govern.Report{}, err
	}
	if j.dispatch.Runtime.Type == protocol.RuntimeManual {
		lines, err := turnruntime.Instruct(j.dispatch, e.o.Now())
		if err != nil {
			return govern.Report{}, err
		}
		for _, line := range lines {
			j.dispatch.Out(line)
		}
	}
	var rep govern.Report
	err := e.locked(ctx, "step", func(t *transaction) error {
		rep = t.report(govern.OutcomeAssigned)
		about(&rep, &j.dispatch.Turn)
		return nil
	})
	return rep, err
}

// mayRun checks the turn's runtime as it is now. In a worktree, the files that the runtime names must equal those of
// the project, which the user has trusted.
func (e *Local) mayRun(j *job) error {
	items := j.project.ItemsOf("runtimes", j.dispatch.RuntimeID)
	if err := e.trusted(items); err != nil {
		return err
	}
	there := *j.project
	there.Root = j.dispatch.WorkDir
	root, _ := j.project.AgentItems()
	_, found := there.AgentItems()
	if err := e.trustedIn(root, found); err != nil || there.Root == e.root {
		return err
	}
	for i, item := range there.ItemsOf("runtimes", j.dispatch.RuntimeID) {
		for _, f := range item.Files {
			if f.Problem != "" || !slices.Contains(items[i].Files, f) {
				return execution.Errorf(execution.CodeUntrusted, "%s in the worktree of turn %s differs from the trusted one in the project", f.Path, j.dispatch.Turn.TurnID).
					WithHint("commit the file, or restore it: git restore %s", f.Path)
			}
		}
	}
	return nil
}

// runTurn runs the turn. No lock is held: it may take hours, and other processes use the record meanwhile.
func (e *Local) runTurn(ctx context.Context, j *job) (turnruntime.Outcome, error) {
	if err := e.mayRun(j); err != nil {
		return turnruntime.Outcome{}, err
	}
	w := &watch{e: e, j: j}
	out, err := j.runtime.Run(ctx, j.dispatch, w)
	w.close()
	if err != nil && ctx.Err() == nil {
		var typed *execution.Error
		if !errors.As(err, &typed) {
			err = execution.Errorf(execution.CodeSpawn, "run turn %s: %w", j.dispatch.Turn.TurnID, err)
		}
		return out, err
	}
	if err != nil {
		out.Cancelled = true
	}
	return out, nil
}
