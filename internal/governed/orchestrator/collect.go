package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// collect processes the end of a runtime: a result is judged, a missing one is a failed dispatch.
func (e *Local) collect(ctx context.Context, j *job, out turnruntime.Outcome, o govern.StepOptions) (rep govern.Report, again *repeat, err error) {
	// The work is recorded even if the caller has cancelled meanwhile.
	ctx = context.WithoutCancel(ctx)
	id := j.dispatch.Turn.TurnID
	err = e.locked(ctx, "step", func(t *transaction) error {
		defer func() { again = t.repeat }()
		turn := t.state().ActiveTurns.At(id)
		if turn == nil && t.state().ID() != j.dispatch.Run {
			return execution.Errorf(execution.CodeConfig, "the record of run %s is gone: %s was removed or emptied during turn %s (%s), together with the turn's result",
				j.dispatch.Run, protocol.Dir, id, j.dispatch.RoleID).
				WithHint("the project's files are as the turn left them: git status. Restore %s from a backup, or start a new run: drawbar govern step", protocol.Dir)
		}
		if turn == nil || turn.Attempt != j.dispatch.Turn.Attempt {
			rep = t.report(t.endedMeanwhile(id))
			about(&rep, &j.dispatch.Turn)
			return nil
		}
		if err := t.lived(j); err != nil {
			return err
		}
		if err := t.attempted(id, out); err != nil {
			return err
		}
		person := j.dispatch.Runtime.Type == protocol.RuntimeManual
		if held, err := t.bound(ctx, turn, j.mark, person); held != nil || err != nil {
			rep = orEmpty(held)
			return err
		}
		if !out.Staged {
			// The staged file was not submitted by the worker: it is a draft, or incomplete. It stays.
			rep, err = t.nothing(ctx, j, out)
			t.mark(ctx, id, err)
			return err
		}
		data, where, err := project.ReadStaged(j.dispatch.WorkDir, id)
		switch {
		case t.restored != "" && err == nil:
			f := failure{code: "reserved_path_violation", stage: protocol.StageArtifact, errors: []string{t.restored + "; turns must not write that file"}}
			rep, err = t.unacceptable(ctx, id, f, !o.NoRepair)
		case errors.Is(err, project.ErrNoResult):
			rep, err = t.nothing(ctx, j, out)
		case err != nil:
			rep, err = t.unacceptable(ctx, id, failure{code: "validation_failed", stage: protocol.StageSchema, errors: []string{err.Error()}}, !o.NoRepair)
		default:
			rep, err = t.judge(ctx, id, submission{data: data, where: where, outcome: out, started: j.started, repair: !o.NoRepair, person: person})
		}
		t.mark(ctx, id, err)
		return err
	})
	return rep, again, err
}

// mark calls leaveMark after an attempt that was not accepted, unless the next one starts at once.
func (t *transaction) mark(ctx context.Context, id string, err error) {
	if err == nil && t.repeat == nil {
		t.leaveMark(ctx, id)
	}
}

// repeats notes that the turn runs again.
func (t *transaction) repeats(yes bool) {
	if t.repeat = nil; yes {
		t.repeat = &repeat{}
	}
}

// endedMeanwhile reports a turn that another command decided while it ran.
func (t *transaction) endedMeanwhile(id string) govern.Outcome {
	for _, h := range t.run.History {
		if h.TurnID == id && h.Status != "reissued" {
			return govern.OutcomeAccepted
		}
	}
	return govern.OutcomeDone
}

// lived records what was observed of the worker.
func (t *transaction) lived(j *job) error {
	d := &j.dispatch.Turn
	if !d.WorkerAttachedAt.IsZero() {
		if err := t.doAt(d.WorkerAttachedAt, governance.WorkerAttached{TurnID: d.TurnID, PID: d.WorkerPID}); err != nil {
			return err
		}
	}
	if !d.FirstOutputAt.IsZero() {
		return t.doAt(d.FirstOutputAt, governance.FirstOutput{TurnID: d.TurnID, Stream: d.FirstOutputStream})
	}
	return nil
}

// attempted records what the attempt used. A conversation that led to a result is continued when that result is
// rejected.
func (t *transaction) attempted(id string, out turnruntime.Outcome) error {
	in := governance.Attempted{TurnID: id}
	if out.Cost != nil {
		in.Cost = *out.Cost
	}
	if out.Meta != nil {
		in.Model = out.Meta.Model
	}
	if out.Staged {
		in.Session = out.Session
	}
	if in.Cost == (protocol.Cost{}) && in.Session == "" {
		return nil
	}
	return t.do(in)
}

// unbooked books what the runs of turns cost whose process was killed before it could.
func (t *transaction) unbooked() error {
	books, ok := t.e.o.Agents.(govern.Recorder)
	if !ok {
		return nil
	}
	for id, turn := range t.state().ActiveTurns.All() {
		if _, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole); rt.Type != protocol.RuntimeAgent || turn.DispatchedAt.IsZero() || leaseHolder(t.e.root, id) != nil {
			continue
		}
		runs, err := books.Recorded(id)
		if err != nil {
			t.e.warn(fmt.Sprintf("the cost of turn %s may be too low in the budget: its runs cannot be read: %v", id, err))
			continue
		}
		var rest protocol.Cost
		if turn.Cost != nil {
			rest = protocol.Cost{InputTokens: -turn.Cost.InputTokens, OutputTokens: -turn.Cost.OutputTokens, USD: -turn.Cost.USD}
		}
		for _, r := range runs {
			if _, c := turnruntime.Account(r); c != nil {
				cost := governance.Price(t.run.Config, r.Model, *c)
				rest.InputTokens, rest.OutputTokens, rest.USD = rest.InputTokens+cost.InputTokens, rest.OutputTokens+cost.OutputTokens, rest.USD+cost.USD
			}
		}
		const nothing = 1e-9 // what sums of prices are off by
		if rest.InputTokens <= 0 && rest.OutputTokens <= 0 && rest.USD < nothing {
			continue
		}
		if err := t.do(governance.Attempted{TurnID: id, Cost: rest}); err != nil {
			return err
		}
		what := fmt.Sprintf("%.4f USD", rest.USD)
		if rest.USD < nothing {
			what = fmt.Sprintf("%d tokens, whose price is unknown", max(0, rest.InputTokens)+max(0, rest.OutputTokens))
		}
		t.e.warn(fmt.Sprintf("the command that ran turn %s was killed before it booked what the turn cost; it is counted now: %s", id, what))
	}
	return nil
}

// nothing else decides a turn that ended without a result.
func (t *transaction) nothing(ctx context.Context, j *job, out turnruntime.Outcome) (govern.Report, error) {
	id := j.dispatch.Turn.TurnID
	if out.Cancelled || out.Draft {
		if out.Cost != nil {
			if _, err := t.commit(ctx, commitInterrupted, id, nil); err != nil {
				return govern.Report{}, err
			}
		}
		rep := t.report(govern.OutcomeInterrupted)
		about(&rep, t.state().ActiveTurns.At(id))
		rep.Hint = out.Hint
		if out.Draft {
			rep.Code, rep.Errors = out.Class, []string{out.Detail}
		}
		return rep, nil
	}
	in := governance.DispatchFailed{TurnID: id, Class: out.Class, Detail: out.Detail, ExitCode: out.ExitCode, Transient: out.Transient}
	var err error
	var rep *govern.Report
	switch out.Class {
	case turnruntime.ClassStalled:
		rep, err = t.failed(ctx, id, governance.Stalled{TurnID: id, Detail: out.Detail})
	case turnruntime.ClassNoOutput:
		rep, err = t.failed(ctx, id, governance.StartFailed{TurnID: id, Detail: out.Detail})
	default:
		rep, err = t.dispatchFailed(ctx, id, in)
	}
	if err != nil {
		return govern.Report{}, err
	}
	rep.Code, rep.Meta, rep.Cost = out.Class, out.Meta, out.Cost
	if out.Detail != "" {
		rep.Errors = []string{out.Detail}
	}
	rep.Hint = out.Hint
	if do, _, ok := strings.Cut(out.Hint, ", then: "); ok {
		rep.Hint = do + ", then: " + rep.Next // the record says what the turn needs
	}
	if t.repeat != nil {
		t.repeat.after = backoff(out.RetryAfter, rep.Attempt)
		t.e.note(govern.Notice{Kind: govern.NoticeRetry, TurnID: id, Role: rep.Role, Text: fmt.Sprintf("%s; attempt %d in %s", out.Detail, rep.Attempt, t.repeat.after.Round(time.Second))})
	}
	return *rep, nil
}

// backoff is the wait before an attempt that follows a transient failure.
func backoff(asked time.Duration, attempt int) time.Duration {
	const most = 10 * time.Minute
	if asked > 0 {
		return min(asked, most)
	}
	return min(time.Second<<min(attempt-1, 6), 30*time.Second)
}

func (t *transaction) dispatchFailed(ctx context.Context, id string, in governance.DispatchFailed) (*govern.Report, error) {
	return t.failed(ctx, id, in)
}

// failed applies the input for a failed dispatch, and commits.
func (t *transaction) failed(ctx context.Context, id string, in governance.Input) (*govern.Report, error) {
	turn := t.state().ActiveTurns.At(id)
	if err := t.do(in); err != nil {
		return nil, err
	}
	if _, err := t.commit(ctx, commitBlock, id, nil); err != nil {
		return nil, err
	}
	rep := t.report(outcomeOf(t.state()))
	if now := t.state().ActiveTurns.At(id); now != nil {
		turn = now
		t.repeats(t.state().Status == protocol.RunActive && now.Status == protocol.TurnRetrying)
	}
	if turn != nil {
		about(&rep, turn)
	}
	if t.repeat != nil {
		rep.Outcome = govern.OutcomeRejected
	} else if rep.Outcome == govern.OutcomeDone {
		rep.Outcome = govern.OutcomeFailed
	}
	return &rep, nil
}

// failure is why a result was not accepted.
type failure struct {
	code   string
	stage  protocol.Stage
	errors []string
}

// unacceptable records that a result was not accepted. With repair, the role gets the turn back with the reasons while
// attempts remain.
func (t *transaction) unacceptable(ctx context.Context, id string, f failure, repair bool) (govern.Report, error) {
	in := governance.FailAcceptance{TurnID: id, Code: f.code, Stage: f.stage, Errors: f.errors}
	if err := t.do(in); err != nil {
		return govern.Report{}, err
	}
	if repair && t.state().Status == protocol.RunActive {
		reject := governance.RejectTurn{TurnID: id, Reason: f.code, Stage: f.stage, Errors: f.errors}
		if err := t.do(reject); err != nil {
			return govern.Report{}, err
		}
	}
	if _, err := t.commit(ctx, commitFail, id, nil); err != nil {
		return govern.Report{}, err
	}
	rep := t.report(govern.OutcomeFailed)
	rep.Code, rep.Stage, rep.Errors = f.code, f.stage, f.errors
	if turn := t.state().ActiveTurns.At(id); turn != nil {
		about(&rep, turn)
		t.repeats(repair && t.state().Status == protocol.RunActive && turn.Status == protocol.TurnRetrying)
	}
	if t.state().Status == protocol.RunBlocked {
		rep.Outcome = govern.OutcomeBlocked
	}
	if t.repeat != nil {
		rep.Outcome = govern.OutcomeRejected
		t.e.note(govern.Notice{Kind: govern.NoticeRejected, TurnID: id, Role: rep.Role, Text: fmt.Sprintf("%s: %s", f.code, joined(f.errors))})
	}
	return rep, nil
}

func joined(lines []string) string {
	const most = 3
	switch {
	case len(lines) == 0:
		return "no reason given"
	case len(lines) <= most:
		return strings.Join(lines, "; ")
	}
	return strings.Join(lines[:most], "; ") + fmt.Sprintf("; and %d more", len(lines)-most)
}

// stagedError is the error of a command that needs a staged result.
func stagedError(id string, err error) error {
	if errors.Is(err, project.ErrNoResult) {
		return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s has no staged result", id).
			WithHint("write %s, or run the turn: %s", protocol.StagedFile(id), governance.NextStep)
	}
	return err
}
