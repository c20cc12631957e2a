package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/pause"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/team"
)

const defaultMaxTurns = 50

// Run runs turns until a person is needed, a limit is reached, or the run ends. It runs several turns at once if the phase allows it.
func (e *Local) Run(ctx context.Context, o govern.RunOptions) (govern.RunReport, error) {
	if o.DryRun {
		return e.plan()
	}
	if h := team.From(ctx); h != nil {
		h.Long = true
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
		if left := r.pendingTurn(); left != "" {
			first.Turn, first.Role = left, ""
		}
		for next := first; r.start(ctx, next); {
			if next = r.nextStep(ctx); next.Turn == "" && next.Role == "" {
				break
			}
		}
		for r.active > 0 {
			r.collect(ctx, <-r.ends)
			for r.active > 0 { // a slot may be free
				if next := r.nextStep(ctx); next.Turn == "" && next.Role == "" || !r.start(ctx, next) {
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

// running is the state of Run.
type running struct {
	e       *Local
	o       govern.RunOptions
	limit   int
	out     govern.RunReport
	err     error
	active  int // turns that this Run is running
	ends    chan ending
	retries []string // conflicted turns to restart
}

// ending is the end of a turn.
type ending struct {
	rep govern.Report
	err error
}

// start starts a turn and returns once its worker runs. It reports whether it does.
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
		r.collect(ctx, end)
		return false
	}
}

// pendingTurn returns an active turn to run: a conflicted one to restart, or one of several that a killed process left; empty for none.
func (r *running) pendingTurn() string {
	if len(r.retries) > 0 {
		id := r.retries[0]
		r.retries = r.retries[1:]
		return id
	}
	t, err := r.e.look()
	if err != nil || t.state().ActiveTurns.Len() < 2 {
		return ""
	}
	return t.idleTurn()
}

// idleTurn returns an active turn that no process runs and that can continue; empty for none.
func (t *transaction) idleTurn() string {
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

// nextStep returns what to run concurrently with the active turns: a pending turn, or another role. Zero means nothing.
func (r *running) nextStep(ctx context.Context) (s govern.StepOptions) {
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
	if s.Turn = r.pendingTurn(); s.Turn == "" {
		s.Role = governance.Slot(t.run)
	}
	return s
}

// collect adds the report of a turn that has ended.
func (r *running) collect(ctx context.Context, end ending) {
	r.active--
	if end.err != nil {
		r.err = errors.Join(r.err, end.err)
		return
	}
	rep := end.rep
	r.out.Last = rep
	again := (rep.Outcome == govern.OutcomeBlocked || rep.Outcome == govern.OutcomeFailed) && (r.reassign(ctx, rep) || r.retryGhost(ctx))
	if rep.TurnID != "" {
		if !again { // it is another attempt of the same turn
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

// reassign restarts a turn that conflicts with accepted ones, if the rules suggest it. It reports whether it did.
func (r *running) reassign(ctx context.Context, rep govern.Report) bool {
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

// retryGhost reissues a turn whose worker gave no sign of life, if the caller or run_loop.continuous.auto_retry_on_ghost says so. It reports whether it did.
func (r *running) retryGhost(ctx context.Context) bool {
	t, err := r.e.look()
	if err != nil {
		return false
	}
	most, cooldown := t.run.Config.RunLoop.GhostRetries(r.o.RetryGhosts)
	turn := governance.Ghost(t.state())
	if most == 0 || turn == nil {
		return false
	}
	if data, _, err := project.ReadStaged(t.workRoot(turn.TurnID), turn.TurnID); err == nil && turnruntime.Ready(data) == nil {
		return false // it handed in a result all the same
	}
	v, err := ledger.Read(r.e.root)
	if err != nil {
		return false
	}
	events, err := v.EventsOf(t.state().ID())
	if err != nil {
		return false
	}
	n := 0
	for _, e := range events {
		if e.EventType == "auto_retried_ghost" {
			n++
		}
	}
	if n >= most {
		err := r.e.locked(ctx, "run", func(t *transaction) error {
			if err := t.do(governance.GhostsExhausted{TurnID: turn.TurnID, Most: most}); err != nil {
				return err
			}
			_, err := t.commit(ctx, commitBlock, turn.TurnID, nil)
			return err
		})
		if err != nil {
			r.e.warn(err.Error())
		}
		return false
	}
	if pause.For(ctx, time.Duration(cooldown)*time.Second) != nil {
		return false
	}
	rep, err := r.e.reissue(ctx, turn.TurnID, "auto_retry_ghost", &governance.GhostCount{Attempt: n + 1, Most: most})
	if err != nil {
		r.e.warn(fmt.Sprintf("turn %s could not be reissued: %v", turn.TurnID, err))
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
