package orchestrator

import (
	"context"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// Rerun runs the commands that a turn gives as its evidence again, where the turn works, and compares exit codes. It
// does not change the record; the commands may change files.
func (e *Local) Rerun(ctx context.Context, o govern.RerunOptions) (out govern.Rerun, err error) {
	err = e.locked(ctx, "verify turn", func(t *transaction) error {
		v, root, err := t.evidenceOf(o, &out)
		if err != nil {
			return err
		}
		if o.Execute {
			if err := e.trusted(t.project.Items()); err != nil {
				return err
			}
		}
		_, rt, _ := t.run.Config.RuntimeOf(out.Role)
		out.Declared, out.Normalized, out.Evidence = v.Status, governance.NormalizeVerification(v, rt.Type).Status, slices.Clone(v.MachineEvidence)
		if !o.Execute && len(v.MachineEvidence) > 0 {
			out.Replay = govern.Replay{Overall: "not_reproducible", Reason: "the commands were not run: a turn wrote them, so review them first"}
			return nil
		}
		r, err := t.rerunAll(ctx, root, v.MachineEvidence, o.Timeout)
		if err == nil {
			out.Replay = *r
		}
		return err
	})
	return out, err
}

// evidenceOf returns the evidence of a turn, and where the turn works.
func (t *transaction) evidenceOf(o govern.RerunOptions, out *govern.Rerun) (protocol.Verification, string, error) {
	if !o.Accepted {
		turn, err := t.only(o.Turn, "verify turn")
		if err != nil {
			return protocol.Verification{}, "", err
		}
		*out = govern.Rerun{TurnID: turn.TurnID, RunID: turn.RunID, Role: turn.AssignedRole, RuntimeID: turn.RuntimeID, Source: "staged"}
		root := t.workRoot(turn.TurnID)
		data, _, err := project.ReadStaged(root, turn.TurnID)
		if err != nil {
			return protocol.Verification{}, "", err
		}
		r, _, err := turnresult.Check(data, turnresult.Input{Config: t.run.Config, State: t.state(), Turn: turn, History: t.run.History})
		if err != nil {
			return protocol.Verification{}, "", execution.Errorf(execution.CodeInvalidOutput, "%s: %v", protocol.StagedFile(turn.TurnID), err).WithHint("drawbar govern validate --mode turn")
		}
		if r.Result == nil {
			return protocol.Verification{}, "", execution.Errorf(execution.CodeValidation, "the result of turn %s is not valid: %s", turn.TurnID, joined(turnresult.Errors(r))).
				WithHint("drawbar govern validate --mode turn")
		}
		return r.Result.Verification, root, nil
	}
	history, err := t.ledger.View().History("")
	if err != nil {
		return protocol.Verification{}, "", err
	}
	for _, h := range slices.Backward(history) {
		if (o.Turn == "" || h.TurnID == o.Turn) && h.Status != protocol.StatusReissued {
			*out = govern.Rerun{TurnID: h.TurnID, RunID: h.RunID, Role: h.Role, RuntimeID: h.RuntimeID, Source: "history"}
			return h.Verification, t.e.root, nil
		}
	}
	if o.Turn == "" {
		return protocol.Verification{}, "", execution.Errorf(execution.CodeInvalidStateTransition, "no turn is accepted yet").WithHint("%s", governance.NextStep)
	}
	return protocol.Verification{}, "", execution.Errorf(execution.CodeSessionNotFound, "no turn %q is accepted", o.Turn).WithHint("drawbar govern history --all")
}
