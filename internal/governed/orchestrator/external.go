package orchestrator

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// External is an assigned turn for a program that runs its worker, or waits for its result, itself.
type External struct {
	Turn    string // empty: the only active one
	Timeout time.Duration
}

// RunWorker runs the worker of an assigned turn, whose runtime must have the given type, and records that it ran. It
// does not judge: the result is staged, and Accept decides. A worker that changed its own rules, the record or what git
// runs blocks the run at once, because a caller who accepts is taken for a person who saw the change.
func (e *Local) RunWorker(ctx context.Context, x External, runtimeType string) (id string, out turnruntime.Outcome, err error) {
	if err := e.mayStart(); err != nil {
		return "", out, err
	}
	j, err := e.assigned(ctx, x, func(t *transaction, j *job) error {
		d := &j.dispatch
		if d.Runtime.Type != runtimeType {
			return execution.Errorf(execution.CodeValidation, "turn %s runs on %s, a runtime of type %s, not %s", d.Turn.TurnID, d.RuntimeID, d.Runtime.Type, runtimeType).
				WithHint("call the function for %s", d.Runtime.Type)
		}
		if j.runtime, err = turnruntime.For(d.Runtime, turnruntime.Deps{Agents: e.o.Agents, Now: e.o.Now}); err != nil {
			return err
		}
		if err := j.runtime.Check(*d); err != nil {
			return err
		}
		if err := t.survivors(); err != nil {
			return err
		}
		if j.mark, err = t.ledger.View().Mark(); err != nil {
			return err
		}
		j.lease, err = takeLease(e.root, d.Turn.TurnID, e.o.Owner, e.o.Now())
		if errors.Is(err, errLeased) {
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s: %w", d.Turn.TurnID, err).WithHint("watch it: drawbar govern events -f")
		}
		return err
	})
	if err != nil {
		return "", out, err
	}
	if out, err = e.runTurn(ctx, j); err == nil {
		out, err = e.worked(context.WithoutCancel(ctx), j, out)
	}
	return j.dispatch.Turn.TurnID, out, errors.Join(err, j.lease.release())
}

// worked records that a worker ran, and what it must not have done.
func (e *Local) worked(ctx context.Context, j *job, out turnruntime.Outcome) (turnruntime.Outcome, error) {
	id := j.dispatch.Turn.TurnID
	err := e.locked(ctx, "step", func(t *transaction) error {
		turn := t.state().ActiveTurns.At(id)
		if turn == nil || turn.Attempt != j.dispatch.Turn.Attempt {
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s was decided while its worker ran", id).WithHint("drawbar govern status")
		}
		if err := t.lived(j); err != nil {
			return err
		}
		if err := t.attempted(id, out); err != nil {
			return err
		}
		held, err := t.bound(ctx, turn, j.mark, false)
		if err != nil {
			return err
		}
		if held != nil {
			out = turnruntime.Outcome{Class: held.Code, Detail: held.Errors[0], Hint: held.Errors[1], Meta: out.Meta, Cost: out.Cost}
			return nil
		}
		_, err = t.commit(ctx, commitInterrupted, id, nil)
		return err
	})
	return out, err
}

// AwaitStaged waits until somebody has written the result of an assigned turn.
func (e *Local) AwaitStaged(ctx context.Context, x External) (id string, out turnruntime.Outcome, err error) {
	j, err := e.assigned(ctx, x, nil)
	if err != nil {
		return "", out, err
	}
	j.dispatch.Out = nil // the instructions are Instructions
	person, err := turnruntime.For(protocol.Runtime{Type: protocol.RuntimeManual}, turnruntime.Deps{Now: e.o.Now})
	if err != nil {
		return "", out, err
	}
	out, err = person.Run(ctx, j.dispatch, nil)
	return j.dispatch.Turn.TurnID, out, err
}

// Instructions writes what a person who does an assigned turn has to know.
func (e *Local) Instructions(ctx context.Context, x External, w io.Writer) error {
	j, err := e.assigned(ctx, x, nil)
	if err != nil {
		return err
	}
	lines, err := turnruntime.Instruct(j.dispatch, e.o.Now())
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return err
}

// Staged returns the staged result of an assigned turn, not validated. It is project.ErrNoResult if there is none.
func (e *Local) Staged(ctx context.Context, x External) ([]byte, error) {
	j, err := e.assigned(ctx, x, nil)
	if err != nil {
		return nil, err
	}
	data, _, err := project.ReadStaged(j.dispatch.WorkDir, j.dispatch.Turn.TurnID)
	return data, err
}

// assigned reads an assigned turn and its sealed bundle; then is called while the record is locked.
func (e *Local) assigned(ctx context.Context, x External, then func(*transaction, *job) error) (*job, error) {
	var j *job
	err := e.locked(ctx, "step", func(t *transaction) error {
		id, err := t.choose(govern.StepOptions{Turn: x.Turn})
		if err != nil {
			return err
		}
		turn := t.state().ActiveTurns.At(id)
		if turn == nil {
			return execution.Errorf(execution.CodeInvalidStateTransition, "no turn is assigned").WithHint("assign one: drawbar govern assign; or Engine.Assign")
		}
		switch turn.Status {
		case protocol.TurnAssigned, protocol.TurnDispatched, protocol.TurnStarting, protocol.TurnRunning:
		default:
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is %s", id, turn.Status).WithHint("drawbar govern status")
		}
		dir := t.workRoot(id)
		files, _, faults := project.ReadBundle(dir, id)
		if err := sealFault(id, faults); err != nil {
			return err
		}
		_, rt, ok := t.run.Config.RuntimeOf(turn.AssignedRole)
		if !ok {
			return execution.Errorf(execution.CodeConfig, "role %s has no runtime in %s", turn.AssignedRole, protocol.ConfigFile).WithHint("drawbar govern validate")
		}
		j = &job{project: t.project, started: e.o.Now()}
		j.dispatch = t.order(govern.StepOptions{Timeout: x.Timeout, Verbose: e.o.Notice != nil}, turn, rt, dir, files)
		if then != nil {
			return then(t, j)
		}
		return nil
	})
	return j, err
}
