package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/phasehook"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// hook runs the hooks of a phase. The report says that one of them stopped the run, which is then already committed.
func (t *transaction) hook(ctx context.Context, phase, turn string, payload map[string]any) (*govern.Report, error) {
	hooks := t.run.Config.Hooks.At(phase)
	if len(hooks) == 0 {
		return nil, nil
	}
	out, err := t.runHooks(ctx, phase, turn, payload)
	if err != nil || out.OK {
		return nil, err
	}
	if phase == protocol.HookBeforeAssignment && !strings.HasSuffix(out.Code, "_tamper") {
		return t.vetoed(ctx, out)
	}
	rep, err := t.objected(ctx, phase, turn, out)
	if err != nil {
		return nil, err
	}
	return &rep, nil
}

// objected blocks the run because a hook denied or tampered with the record.
func (t *transaction) objected(ctx context.Context, phase, turn string, out phasehook.Outcome) (govern.Report, error) {
	in := governance.HookBlocked{Phase: phase, Hook: out.Hook, TurnID: turn, Tamper: strings.HasSuffix(out.Code, "_tamper"), Detail: out.Message}
	if err := t.do(in); err != nil {
		return govern.Report{}, err
	}
	if _, err := t.commit(ctx, commitBlock, turn, nil); err != nil {
		return govern.Report{}, err
	}
	rep := t.report(govern.OutcomeBlocked)
	rep.Code, rep.Errors = out.Code, []string{out.Message}
	return rep, nil
}

// vetoed reports an assignment that a hook denied: no turn is assigned, and the run does not change.
func (t *transaction) vetoed(ctx context.Context, out phasehook.Outcome) (*govern.Report, error) {
	if len(t.effects) > 0 { // the run began, or continued
		if _, err := t.commit(ctx, commitResume, "", nil); err != nil {
			return nil, err
		}
	}
	rep := t.report(govern.OutcomeFailed)
	rep.Code, rep.Errors = out.Code, []string{out.Message}
	rep.Hint = fmt.Sprintf("fix the before_assignment hook %s or what it requires, then: %s", out.Hook, governance.NextStep)
	return &rep, nil
}

func (t *transaction) runHooks(ctx context.Context, phase, turn string, payload map[string]any) (phasehook.Outcome, error) {
	if err := t.e.trusted(t.project.ItemsOf("hooks", phase)); err != nil {
		return phasehook.Outcome{}, err
	}
	r := phasehook.Runner{Root: t.e.root, Environ: t.e.o.Environ, Now: t.e.o.Now, Out: func(line string) { t.e.note(govern.Notice{Kind: govern.NoticeHook, TurnID: turn, Text: line}) }}
	call := phasehook.Call{RunID: t.state().ID(), TurnID: turn, Payload: payload}
	if phase == protocol.HookAfterDispatch {
		for _, name := range []string{prompt.AssignmentFile, prompt.PromptFile, prompt.ContextFile} {
			call.Protected = append(call.Protected, protocol.BundleDir(turn)+"/"+name)
		}
	}
	return r.Run(ctx, phase, t.run.Config.Hooks.At(phase), call)
}
