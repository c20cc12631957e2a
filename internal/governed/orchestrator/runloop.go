package orchestrator

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
)

const defaultMaxTurns = 50

// Run runs turns until a person is needed, a limit is reached, or the run ends.
func (e *Local) Run(ctx context.Context, o govern.RunOptions) (govern.RunReport, error) {
	if o.DryRun {
		return e.plan()
	}
	limit := o.MaxTurns
	if limit <= 0 {
		limit = e.maxTurns()
	}
	out := govern.RunReport{Turns: []govern.Report{}}
	resume := o.Resume
	for {
		if stop := e.gateStop(ctx, &out, o); stop != "" {
			out.Stop = stop
			return out, nil
		}
		if len(out.Turns) >= limit {
			out.Stop = govern.StopMaxTurns
			return out, nil
		}
		rep, err := e.Step(ctx, govern.StepOptions{Resume: resume, Role: o.Role, Timeout: o.Timeout, NoWait: true, Verbose: o.Verbose})
		if err != nil {
			return out, err
		}
		resume, o.Role = false, ""
		out.Last = rep
		if rep.TurnID != "" {
			out.Turns = append(out.Turns, rep)
			e.note(govern.Notice{Kind: govern.NoticeKind(rep.Outcome), TurnID: rep.TurnID, Role: rep.Role, Text: line(rep)})
		}
		switch rep.Outcome {
		case govern.OutcomeAssigned:
			out.Stop = govern.StopHumanTurn
			return out, nil
		case govern.OutcomeInterrupted:
			out.Stop = govern.StopInterrupted
			return out, nil
		case govern.OutcomeBlocked, govern.OutcomeFailed:
			out.Stop = govern.StopBlocked
			return out, nil
		}
	}
}

// gateStop returns what stops the run between two turns, or nil. With AutoApprove a pending gate passes, unless only a
// person may approve it.
func (e *Local) gateStop(ctx context.Context, out *govern.RunReport, o govern.RunOptions) govern.Stop {
	v, err := ledger.Read(e.root)
	if err != nil {
		return "" // the next step has a better message
	}
	p, err := project.Load(e.root)
	if err != nil {
		return ""
	}
	if len(out.Turns) == 0 {
		t := &transaction{e: e, project: p, before: v.State, run: governance.Run{Config: p.Config, State: v.State}}
		out.Last = t.report(outcomeOf(&v.State))
	}
	switch v.State.Status {
	case protocol.RunCompleted:
		out.Last.Outcome, out.Last.Status = govern.OutcomeCompleted, protocol.RunCompleted
		return govern.StopCompleted
	case protocol.RunBlocked:
		if v.State.ID() != "" && !o.Resume {
			return govern.StopBlocked
		}
	case protocol.RunPaused:
		g, _ := p.Config.Gate(pending(&v.State))
		if !o.AutoApprove || g.Credentialed {
			return govern.StopGateHeld
		}
		rep, err := e.Approve(ctx, govern.ApproveOptions{Either: true, By: protocol.Person{Name: "drawbar govern run --auto-approve"}})
		if err != nil {
			e.warn(fmt.Sprintf("the gate could not be approved: %v", err))
			return govern.StopGateHeld
		}
		out.Last = rep
		if rep.Pending != "" {
			return govern.StopGateHeld // another person's approval is missing
		}
		switch rep.Outcome {
		case govern.OutcomeBlocked:
			return govern.StopBlocked
		case govern.OutcomeCompleted:
			return govern.StopCompleted
		}
	}
	return ""
}

func (e *Local) maxTurns() int {
	p, err := project.Load(e.root)
	if err == nil && p.Config.RunLoop != nil && p.Config.RunLoop.MaxTurns != nil && *p.Config.RunLoop.MaxTurns > 0 {
		return *p.Config.RunLoop.MaxTurns
	}
	return defaultMaxTurns
}

// look is a read-only transaction: it has no lock and cannot be committed.
func (e *Local) look() (*transaction, error) {
	p, err := project.Load(e.root)
	if err != nil {
		return nil, err
	}
	v, err := ledger.Read(e.root)
	if err != nil {
		return nil, err
	}
	t := &transaction{e: e, project: p, before: v.State, run: governance.Run{Config: p.Config, State: v.State}}
	if phases := p.Config.Phases(); t.run.State.Phase == "" && len(phases) > 0 {
		t.run.State.Phase = phases[0]
	}
	if id := t.run.State.ID(); id != "" {
		t.run.History, err = e.history.Read(v, id)
	}
	return t, err
}

// plan says what a run would do next, and changes nothing.
func (e *Local) plan() (govern.RunReport, error) {
	t, err := e.look()
	if err != nil {
		return govern.RunReport{}, err
	}
	st, cfg := t.state(), t.run.Config
	out := govern.RunReport{Stop: govern.StopPlan, Turns: []govern.Report{}, Last: t.report(govern.OutcomeDone), Permissions: cfg.Permissions()}
	if err := t.mayRun(); err != nil {
		return out, err
	}
	switch st.Status {
	case protocol.RunCompleted, protocol.RunBlocked, protocol.RunPaused:
		out.Last.Outcome = outcomeOf(st)
		out.Last.Summary = "nothing would be dispatched: the run is " + string(st.Status)
		return out, nil
	}
	if st.ActiveTurns.Len() > 0 {
		for _, turn := range st.ActiveTurns.All() {
			about(&out.Last, turn)
		}
		out.Last.Summary = fmt.Sprintf("turn %s of role %s would continue", out.Last.TurnID, out.Last.Role)
		return out, nil
	}
	role, why := governance.NextRole(t.run)
	id, rt, _ := cfg.RuntimeOf(role)
	out.Last.Role, out.Last.RuntimeID = role, id
	out.Last.Summary = fmt.Sprintf("role %s would be next (it %s), with runtime %s of type %s, in phase %s", role, why, id, rt.Type, out.Last.Phase)
	if st.Status == protocol.RunActive {
		for _, r := range governance.Guards(t.run, role) {
			out.Last.Errors = append(out.Last.Errors, r.Message)
		}
	}
	return out, nil
}
