package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
)

const defaultMaxTurns = 50

// Run runs turns until a person is needed, a limit is reached, or the run ends. Where the phase allows it, turns run beside each other.
func (e *Local) Run(ctx context.Context, o govern.RunOptions) (govern.RunReport, error) {
	if o.DryRun {
		return e.plan()
	}
	r := &running{e: e, o: o, limit: o.MaxTurns, out: govern.RunReport{Turns: []govern.Report{}}, ends: make(chan ending)}
	if r.limit <= 0 {
		r.limit = e.maxTurns()
	}
	first := govern.StepOptions{Resume: o.Resume, Role: o.Role}
	for {
		if r.out.Stop = e.gateStop(ctx, &r.out, o); r.out.Stop == "" && len(r.out.Turns) >= r.limit {
			r.out.Stop = govern.StopMaxTurns
		}
		if r.out.Stop != "" {
			return r.out, nil
		}
		if left := r.left(); left != "" {
			first.Turn, first.Role = left, ""
		}
		for next := first; r.start(ctx, next); {
			if next = r.next(ctx); next == (govern.StepOptions{}) {
				break
			}
		}
		for r.active > 0 {
			r.end(ctx, <-r.ends)
			for r.active > 0 { // others go on: a place may have become free
				if next := r.next(ctx); next == (govern.StepOptions{}) || !r.start(ctx, next) {
					break
				}
			}
		}
		if r.err != nil || r.out.Stop != "" {
			return r.out, r.err
		}
		first = govern.StepOptions{}
	}
}

// running is a run of many turns, of which several may be active.
type running struct {
	e       *Local
	o       govern.RunOptions
	limit   int
	out     govern.RunReport
	err     error
	active  int // turns of ours
	ends    chan ending
	retries []string // turns in conflict that begin again
}

// ending is a turn that has ended.
type ending struct {
	rep govern.Report
	err error
}

// start begins a turn, beside those that are active, and returns when it works. It reports whether it does.
func (r *running) start(ctx context.Context, s govern.StepOptions) bool {
	s.Timeout, s.NoWait, s.Verbose = r.o.Timeout, true, r.o.Verbose
	beside := r.active > 0 && s.Turn == ""
	begun := make(chan struct{})
	r.active++
	go func() {
		rep, err := r.e.step(ctx, s, beside, sync.OnceFunc(func() { close(begun) }))
		r.ends <- ending{rep, err}
	}()
	select {
	case <-begun:
		return true
	case end := <-r.ends:
		r.end(ctx, end)
		return false
	}
}

// left is a turn to begin with, if there is a choice: one in conflict, or one of several that a killed process left.
func (r *running) left() string {
	if len(r.retries) > 0 {
		id := r.retries[0]
		r.retries = r.retries[1:]
		return id
	}
	t, err := r.e.look()
	if err != nil || t.state().ActiveTurns.Len() < 2 {
		return ""
	}
	return t.idle()
}

// idle is an active turn that nothing runs and that may go on; empty if there is none.
func (t *transaction) idle() string {
	for id, turn := range t.state().ActiveTurns.All() {
		switch turn.Status {
		case protocol.TurnFailed, protocol.TurnFailedAcceptance, protocol.TurnConflicted:
			continue
		}
		if leaseHolder(t.e.root, id) == nil && !t.byPerson(turn) {
			return id
		}
	}
	return ""
}

// next is what may begin beside the active turns: one that was left, or another role's. Zero: nothing.
func (r *running) next(ctx context.Context) (s govern.StepOptions) {
	if r.err != nil || r.out.Stop != "" || ctx.Err() != nil || len(r.out.Turns)+r.active >= r.limit {
		return s
	}
	t, err := r.e.look()
	if err == nil {
		t.work, err = r.e.workspace(ctx)
	}
	if err != nil || !t.parallel() {
		return s
	}
	if s.Turn = r.left(); s.Turn == "" {
		s.Role = governance.Slot(t.run)
	}
	return s
}

// end takes the report of a turn that has ended.
func (r *running) end(ctx context.Context, end ending) {
	r.active--
	if end.err != nil {
		r.err = errors.Join(r.err, end.err)
		return
	}
	rep := end.rep
	r.out.Last = rep
	again := (rep.Outcome == govern.OutcomeBlocked || rep.Outcome == govern.OutcomeFailed) && r.again(ctx, rep)
	if rep.TurnID != "" {
		if !again { // as an attempt that is repeated
			r.out.Turns = append(r.out.Turns, rep)
		}
		r.e.note(govern.Notice{Kind: govern.NoticeKind(rep.Outcome), TurnID: rep.TurnID, Role: rep.Role, Text: line(rep)})
	}
	stop := govern.Stop("")
	switch rep.Outcome {
	case govern.OutcomeAssigned:
		stop = govern.StopHumanTurn
	case govern.OutcomeInterrupted:
		stop = govern.StopInterrupted
	case govern.OutcomeBlocked, govern.OutcomeFailed:
		if !again {
			stop = govern.StopBlocked
		}
	}
	if r.out.Stop == "" {
		r.out.Stop = stop
	}
}

// again lets a turn begin again whose files were overtaken by another one's, if that is what the rules suggest.
func (r *running) again(ctx context.Context, rep govern.Report) bool {
	t, err := r.e.look()
	if err != nil {
		return false
	}
	turn := t.state().ActiveTurns.At(rep.TurnID)
	if turn == nil || turn.Status != protocol.TurnConflicted || turn.ConflictState == nil || t.state().Status != protocol.RunActive ||
		turn.ConflictState.Error.SuggestedResolution != governance.SuggestReassign {
		return false
	}
	again, err := r.e.Reject(ctx, govern.RejectOptions{Turn: rep.TurnID, Reassign: true, Reason: "another turn has changed the same files"})
	if err != nil || again.Outcome == govern.OutcomeBlocked {
		return false
	}
	r.retries = append(r.retries, rep.TurnID)
	return true
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
