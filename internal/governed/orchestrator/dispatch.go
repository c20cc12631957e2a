package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// dispatch writes the turn's bundle, checks that the runtime can run it, and commits. A refusal that depends on this
// machine leaves nothing behind; one that always applies blocks the run.
func (t *transaction) dispatch(ctx context.Context, o govern.StepOptions, id, dir string, warnings []protocol.AdvisoryWarning) (*job, *govern.Report, error) {
	turn := t.state().ActiveTurns.At(id)
	_, rt, ok := t.run.Config.RuntimeOf(turn.AssignedRole)
	if !ok {
		return nil, nil, execution.Errorf(execution.CodeConfig, "role %s has no runtime in %s", turn.AssignedRole, protocol.ConfigFile).WithHint("%s", governance.NextValidate)
	}
	runtime, err := turnruntime.For(rt, turnruntime.Deps{Agents: t.e.o.Agents, Now: t.e.o.Now})
	if err != nil {
		return nil, nil, err
	}
	l, err := takeLease(t.e.root, id, t.e.o.Owner, t.e.o.Now())
	if err != nil {
		if c := leaseHolder(t.e.root, id); errors.Is(err, errLeased) && c != nil {
			err = leased(turn, c)
		} else if errors.Is(err, errLeased) {
			err = execution.Errorf(execution.CodeInvalidStateTransition, "turn %s: %w", id, err).WithHint("watch it: drawbar govern events -f")
		}
		return nil, nil, err
	}
	j := &job{project: t.project, runtime: runtime, lease: l, started: t.e.o.Now()}
	rep, err := t.prepare(ctx, o, j, rt, id, dir, warnings)
	if err != nil || rep != nil {
		return nil, rep, errors.Join(err, l.release())
	}
	return j, nil, nil
}

func (t *transaction) prepare(ctx context.Context, o govern.StepOptions, j *job, rt protocol.Runtime, id, dir string, warnings []protocol.AdvisoryWarning) (*govern.Report, error) {
	in, err := t.promptInput(id, dir, warnings)
	if err != nil {
		return nil, err
	}
	files, told, err := project.BuildBundle(in)
	if err != nil {
		return nil, err
	}
	for _, w := range told {
		t.e.warn(w)
	}
	turn := t.state().ActiveTurns.At(id)
	j.dispatch = t.order(o, turn, rt, dir, files)
	j.dispatch.Requirements = t.gateLines(in.GateFiles)
	if err := j.runtime.Check(j.dispatch); err != nil {
		if execution.CodeOf(err) != execution.CodeCapability {
			return nil, err
		}
		rep, failed := t.dispatchFailed(ctx, id, governance.DispatchFailed{TurnID: id, Class: turnruntime.ClassUnsupported, Detail: err.Error()})
		if failed != nil {
			return nil, failed
		}
		rep.Code, rep.Errors = turnruntime.ClassUnsupported, []string{err.Error()}
		return rep, nil
	}
	if err := project.WriteBundle(t.e.root, project.Bundle{TurnID: id, Files: files}); err != nil {
		return nil, err
	}
	held, err := t.hook(ctx, protocol.HookAfterDispatch, id, map[string]any{"turn_id": id, "role": turn.AssignedRole, "bundle_path": protocol.BundleDir(id)})
	if err != nil || held != nil {
		return held, err
	}
	if _, err := project.Seal(t.e.root, id, t.e.o.Now()); err != nil {
		return nil, err
	}
	if dir != t.e.root {
		if faults, err := project.CopyBundle(t.e.root, dir, id); err != nil || len(faults) > 0 {
			return nil, errors.Join(err, sealFault(id, faults))
		}
	}
	if _, faults := project.VerifyBundle(dir, id); len(faults) > 0 {
		return nil, sealFault(id, faults)
	}
	rules, err := t.rules(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := t.do(governance.Dispatched{TurnID: id, Rules: rules}); err != nil {
		return nil, err
	}
	if _, err := t.commit(ctx, commitAssign, id, nil); err != nil {
		return nil, err
	}
	if j.mark, err = t.ledger.View().Mark(); err != nil {
		return nil, err
	}
	t.e.note(govern.Notice{Kind: govern.NoticeDispatched, TurnID: id, Role: turn.AssignedRole, Text: fmt.Sprintf("turn %s, attempt %d, runtime %s", id, turn.Attempt, turn.RuntimeID)})
	return nil, nil
}

// order is the dispatch as the runtime gets it.
func (t *transaction) order(o govern.StepOptions, turn *protocol.Turn, rt protocol.Runtime, dir string, files map[string][]byte) turnruntime.Dispatch {
	id := turn.TurnID
	d := turnruntime.Dispatch{
		Root: t.e.root, WorkDir: dir, Run: t.state().ID(), Phase: t.state().Phase, Turn: *turn, RoleID: turn.AssignedRole,
		Role: t.run.Config.Roles.At(turn.AssignedRole), RuntimeID: turn.RuntimeID, Runtime: rt,
		Prompt: string(files[prompt.PromptFile]), Context: string(files[prompt.ContextFile]),
		BundleDir: filepath.Join(dir, filepath.FromSlash(protocol.BundleDir(id))), StagedPath: filepath.Join(dir, filepath.FromSlash(protocol.StagedFile(id))),
		Timeout: o.Timeout, Deadline: turn.DeadlineAt.Time, Getenv: t.e.o.Getenv, Environ: append(append([]string(nil), t.e.o.Environ...), workspace.TurnEnv(id)...),
		Session: t.roleSession(turn.AssignedRole, rt), BudgetUSD: t.reserved(id), Approve: t.e.o.Approve, Answer: t.e.o.Answer,
		Out: func(line string) {
			t.e.note(govern.Notice{Kind: govern.NoticeOutput, TurnID: id, Role: turn.AssignedRole, Text: line})
		},
	}
	if b := t.run.Config.Budget; b != nil {
		d.Rates = b.CostRates
	}
	if t.run.Config.RunLoop != nil {
		d.Loop = *t.run.Config.RunLoop
	}
	if o.Poll > 0 {
		ms := int(max(1, o.Poll.Milliseconds()))
		d.Runtime.PollIntervalMS = &ms
	}
	if o.Verbose && (rt.Type == protocol.RuntimeLocalCLI || rt.Adapter != nil) { // the caller gets an agent's events instead
		d.Log = logLines(func(line string) {
			t.e.note(govern.Notice{Kind: govern.NoticeLog, TurnID: id, Role: turn.AssignedRole, Text: line})
		})
	}
	return d
}

// logLines forwards a worker's output: one line per write.
type logLines func(line string)

func (f logLines) Write(b []byte) (int, error) {
	f(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

func sealFault(id string, faults []protocol.ManifestError) error {
	if len(faults) == 0 {
		return nil
	}
	return execution.Errorf(execution.CodeConfig, "the dispatch bundle of turn %s changed while it was being sealed: %s", id, faults[0].Detail).
		WithHint("find what else writes to %s, then: %s", protocol.Dir, governance.NextStep)
}

func (t *transaction) roleSession(role string, rt protocol.Runtime) string {
	if rt.Session != "role" {
		return ""
	}
	return t.state().Sessions.At(role)
}

// reserved is the budget reserved for the turn.
func (t *transaction) reserved(turn string) *float64 {
	if r, ok := t.state().BudgetReservations.Get(turn); ok && r.ReservedUSD > 0 {
		return &r.ReservedUSD
	}
	return nil
}
