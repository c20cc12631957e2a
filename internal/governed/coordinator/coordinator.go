package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	work "github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// Options are the dependencies of a coordinator.
type Options struct {
	// Open returns the engine of the project at root.
	Open func(root string) (govern.Engine, error)
	// Trust refuses programs of the workspace at root that its user has not allowed; nil refuses all.
	Trust func(root string, items []trust.Item) error
	// Environ is the environment of hooks.
	Environ []string
	// Note receives lines for the person; nil discards them.
	Note func(string)
	// Now is the clock; nil is the machine's.
	Now func() time.Time
	// LockWait is how long a command waits for another one; 0 is 5 s.
	LockWait time.Duration
	// Crash is called between the steps of a command. Tests end the process in it.
	Crash func(point string)
	// Record reads the record of the project at root; nil reads it from disk.
	Record func(root string) (state protocol.State, history []protocol.HistoryEntry, fresh bool, err error)
}

// Coordinator carries a run through the repositories of a workspace. It is safe for concurrent use.
type Coordinator struct {
	root string
	o    Options
}

var _ govern.Coordinator = (*Coordinator)(nil)

// Open creates a coordinator for the workspace at root. It reads nothing yet.
func Open(root string, o Options) *Coordinator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Crash == nil {
		o.Crash = func(string) {}
	}
	if o.Record == nil {
		o.Record = readRecord
	}
	if o.Trust == nil {
		o.Trust = trust.Refuse
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	o.LockWait = cmp.Or(o.LockWait, 5*time.Second)
	return &Coordinator{root, o}
}

func readRecord(root string) (state protocol.State, history []protocol.HistoryEntry, fresh bool, err error) {
	v, err := ledger.Read(root)
	if err != nil {
		return state, nil, false, err
	}
	if v.State.ID() != "" {
		history, err = v.History(v.State.ID())
	}
	return v.State, history, v.Fresh, err
}

// now is the current time, but never before the last line of the history.
func (c *Coordinator) now(s *protocol.CoordinatorState) protocol.Time {
	now := protocol.At(c.o.Now())
	if s != nil && now.Before(s.UpdatedAt.Time) {
		return s.UpdatedAt
	}
	return now
}

func newID(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return prefix + "_" + hex.EncodeToString(b[:])
}

// open reads the workspace and its record. With write, the workspace is locked until done is called.
func (c *Coordinator) open(ctx context.Context, write bool) (w *workspace, rec *record, done func(), err error) {
	done = func() {}
	if w, err = load(c.root); err != nil {
		return nil, nil, done, err
	}
	if write {
		if err := c.outside(w); err != nil {
			return nil, nil, done, err
		}
		if items := w.items(); len(items) > 0 {
			if err := c.o.Trust(w.root, items); err != nil {
				return nil, nil, done, err
			}
		}
		if done, err = c.lock(ctx); err != nil {
			return nil, nil, func() {}, err
		}
	}
	if rec, err = read(w); err != nil {
		done()
		return nil, nil, func() {}, err
	}
	rec.crash = c.o.Crash
	return w, rec, done, nil
}

// outside refuses a process that an agent started within a turn of one of the repositories.
func (c *Coordinator) outside(w *workspace) error {
	for _, p := range w.places {
		e, err := c.o.Open(p.root)
		if err == nil {
			err = e.Outside()
		}
		if err != nil {
			return p.within(err)
		}
	}
	return nil
}

func (c *Coordinator) lock(ctx context.Context) (func(), error) {
	for until := time.Now().Add(c.o.LockWait); ; {
		unlock, err := lock(c.root)
		if err == nil || time.Now().After(until) || execution.CodeOf(err) != execution.CodeConfigLock {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// begun refuses a workspace without a run.
func begun(rec *record) error {
	if rec.state != nil {
		return nil
	}
	return execution.Errorf(execution.CodeInvalidStateTransition, "no run was started here").WithHint("drawbar govern multi init")
}

// Init begins a run.
func (c *Coordinator) Init(ctx context.Context) (govern.MultiStatus, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return govern.MultiStatus{}, err
	}
	defer done()
	if rec.state != nil && rec.state.Status != protocol.CoordinatorCompleted {
		return govern.MultiStatus{}, execution.Errorf(execution.CodeInvalidStateTransition, "the run %s is %s", rec.state.SuperRunID, rec.state.Status).
			WithHint("continue it: drawbar govern multi step")
	}
	all := c.look(w)
	var faults []string
	remedy := ""
	var idle []*repo
	runs := protocol.Ordered[protocol.RepoRun]{}
	for _, p := range w.places {
		r := all[p.id]
		fault := func(next, format string, args ...any) {
			if p.required {
				faults, remedy = append(faults, p.id+": "+fmt.Sprintf(format, args...)), cmp.Or(remedy, next)
			}
		}
		st := &r.state
		switch {
		case r.err != nil:
			fault(p.command("doctor"), "its record cannot be read: %v", r.err)
		case st.Status == protocol.RunCompleted:
			fault(p.command("restart --new"), "its run %s is completed; a new one is needed", st.ID())
		case st.Status == protocol.RunBlocked && st.ID() != "":
			fault(p.command("status"), "its run %s is blocked", st.ID())
		case st.ID() != "" && st.Status != protocol.RunIdle: // active, or waiting at a gate
			runs.Set(p.id, protocol.RepoRun{RunID: st.ID(), Status: "linked", Phase: st.Phase})
		default:
			runs.Set(p.id, protocol.RepoRun{Status: "initialized", Initialized: true}) // keeps the order
			idle = append(idle, r)
		}
	}
	if len(faults) > 0 {
		return govern.MultiStatus{}, execution.Errorf(execution.CodeInvalidStateTransition, "%s", strings.Join(faults, "; ")).WithHint("%s", remedy)
	}
	for _, r := range idle {
		e, err := c.o.Open(r.root)
		var rep govern.Report
		if err == nil {
			rep, err = e.StartRun(ctx)
		}
		if err != nil {
			return govern.MultiStatus{}, r.within(err) // the next init includes the runs that started
		}
		c.o.Crash("started")
		runs.Set(r.id, protocol.RepoRun{RunID: rep.RunID, Status: "initialized", Phase: rep.Phase, Initialized: true})
	}
	now := c.o.Now()
	e := protocol.CoordinatorEvent{Type: protocol.SuperRunStarted, Timestamp: c.now(rec.state), SuperRunID: newID(fmt.Sprintf("srun_%d", now.UnixMilli())),
		ProjectID: w.config.Project.ID, Phase: w.config.Phases()[0], RepoRuns: runs}
	if err := rec.add(e); err != nil {
		return govern.MultiStatus{}, err
	}
	return c.status(ctx, w, rec), nil
}

// Status returns the state of the run.
func (c *Coordinator) Status(ctx context.Context) (govern.MultiStatus, error) {
	w, rec, _, err := c.open(ctx, false)
	if err != nil {
		return govern.MultiStatus{}, err
	}
	return c.status(ctx, w, rec), nil
}

func (c *Coordinator) status(ctx context.Context, w *workspace, rec *record) govern.MultiStatus {
	all := c.look(w)
	st := govern.MultiStatus{Root: w.root, Project: w.config.Project, Begun: rec.state != nil, State: rec.state, Barriers: rec.barriers,
		Repos: []govern.MultiRepo{}, Next: "drawbar govern multi init"}
	for _, p := range w.places {
		r := all[p.id]
		m := govern.MultiRepo{ID: p.id, Path: p.path, Root: p.root}
		if r.err != nil {
			m.Fault = r.err.Error()
		} else {
			m.RunID, m.Status, m.Phase, m.Turns, m.Gate = r.state.ID(), r.state.Status, r.state.Phase, r.turns(), r.gate()
		}
		if rec.state != nil {
			m.Started = rec.state.RepoRuns.At(p.id).Initialized
		}
		st.Repos = append(st.Repos, m)
	}
	if rec.state == nil {
		return st
	}
	refresh(rec.state, all)
	st.Next = next(rec)
	if rec.state.Status == protocol.CoordinatorActive {
		if pick, why := c.choose(ctx, w, rec, all); pick == nil {
			if g := nextGate(w, rec, all); !g.ready() {
				st.Blockers, st.Next = waiting(append(why, g.blockers...), st.Next)
			}
		}
	}
	return st
}

// refresh updates the status and phase of each run from its repository.
func refresh(s *protocol.CoordinatorState, all map[string]*repo) {
	for id, run := range s.RepoRuns.All() {
		r := all[id]
		if r == nil || r.err != nil || r.state.ID() != run.RunID {
			continue
		}
		run.Phase = r.state.Phase
		switch r.state.Status {
		case protocol.RunActive:
			if run.Status = "linked"; run.Initialized {
				run.Status = "initialized"
			}
		default:
			run.Status = string(r.state.Status)
		}
		s.RepoRuns.Set(id, run)
	}
}

// next is the command that continues the run.
func next(rec *record) string {
	switch rec.state.Status {
	case protocol.CoordinatorBlocked:
		return "drawbar govern multi resume"
	case protocol.CoordinatorPaused:
		return "drawbar govern multi approve-gate"
	case protocol.CoordinatorCompleted:
		return "drawbar govern multi init"
	}
	return "drawbar govern multi step"
}

// report begins a report.
func report(rec *record, action govern.MultiAction) govern.MultiReport {
	s := rec.state
	return govern.MultiReport{Action: action, SuperRunID: s.SuperRunID, Status: s.Status, Phase: s.Phase, Gate: s.PendingGate, BlockedReason: s.BlockedReason,
		Next: next(rec)}
}

// settle records what happened in the repositories.
func (c *Coordinator) settle(ctx context.Context, w *workspace, rec *record, all map[string]*repo) (x difference, effects []govern.BarrierEffect, err error) {
	if x, err = c.diverged(ctx, w, rec, all); err != nil {
		return x, nil, err
	}
	before := rec.barriers.Clone()
	reason := strings.Join(x.blocked, "; ")
	events := x.events
	if reason != "" && reason != rec.state.BlockedReason {
		e := c.event(rec.state, protocol.SuperResynced)
		e.ResyncedRepos, e.BlockedReason = x.touched, &reason
		events = append(events, e)
	}
	refresh(rec.state, all)
	if err := rec.add(events...); err != nil {
		return x, nil, err
	}
	if err := c.advise(ctx, w, rec, events); err != nil {
		return x, nil, err
	}
	if err := rec.sweep(append(x.violating, x.working...)); err != nil {
		return x, nil, err
	}
	for id, b := range rec.barriers.All() {
		if old := before.At(id); old.Status != b.Status {
			effects = append(effects, govern.BarrierEffect{BarrierID: id, Previous: old.Status, New: b.Status})
		}
	}
	return x, effects, nil
}

// projected lists what a difference added to the history.
func (x *difference) projected() (refs []string) {
	for _, e := range x.events {
		if e.Type == protocol.SuperProjection {
			refs = append(refs, e.ProjectionRef)
		}
	}
	return refs
}

// Resync records what happened in the repositories.
func (c *Coordinator) Resync(ctx context.Context, o govern.MultiResyncOptions) (out govern.MultiResync, err error) {
	w, rec, done, err := c.open(ctx, !o.DryRun)
	if err != nil {
		return out, err
	}
	defer done()
	if err := begun(rec); err != nil {
		return out, err
	}
	all := c.look(w)
	var x difference
	if o.DryRun {
		x, err = c.diverged(ctx, w, rec, all)
	} else {
		x, out.Effects, err = c.settle(ctx, w, rec, all)
	}
	out.Diverged, out.Mismatches, out.BlockedReason = len(x.mismatches) > 0, notNil(x.mismatches), strings.Join(x.blocked, "; ")
	return out, err
}

// Resume clears a block.
func (c *Coordinator) Resume(ctx context.Context, by protocol.Person, comment string) (govern.MultiReport, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return govern.MultiReport{}, err
	}
	defer done()
	if err := begun(rec); err != nil {
		return govern.MultiReport{}, err
	}
	all := c.look(w)
	x, _, err := c.settle(ctx, w, rec, all)
	if err != nil {
		return govern.MultiReport{}, err
	}
	if rec.state.Status != protocol.CoordinatorBlocked {
		return govern.MultiReport{}, execution.Errorf(execution.CodeInvalidStateTransition, "the run %s is %s, not blocked", rec.state.SuperRunID, rec.state.Status).WithHint("%s", next(rec))
	}
	e := c.event(rec.state, protocol.SuperResumed)
	e.By, e.Comment, e.Acknowledged = c.person(ctx, w, by), comment, x.violations
	for id, run := range rec.state.RepoRuns.All() {
		r := all[id]
		switch {
		case r == nil:
			return govern.MultiReport{}, execution.Errorf(execution.CodeInvalidStateTransition, "%s is no longer in %s", id, protocol.CoordinatorConfigFile).WithHint("add it again, or begin a new run in another workspace")
		case r.err != nil:
			return govern.MultiReport{}, r.within(r.err)
		case r.state.ID() == "":
			return govern.MultiReport{}, execution.Errorf(execution.CodeInvalidStateTransition, "%s has no run", id).WithHint("start one: %s", r.command("restart --new"))
		}
		if run.RunID != r.state.ID() {
			run = protocol.RepoRun{RunID: r.state.ID(), Status: "linked", Phase: r.state.Phase}
		}
		e.RepoRuns.Set(id, run)
	}
	if err := rec.add(e); err != nil {
		return govern.MultiReport{}, err
	}
	if err := rec.sweep(x.working); err != nil {
		return govern.MultiReport{}, err
	}
	return report(rec, govern.MultiResumed), nil
}

// person is who approves: with the identity of git in the first repository.
func (c *Coordinator) person(ctx context.Context, w *workspace, by protocol.Person) *protocol.Person {
	if by.Name == "" && by.Email == "" && len(w.places) > 0 {
		if repo, err := work.Open(ctx, w.places[0].root); err == nil {
			by.Name, by.Email = repo.Identity(ctx)
		}
	}
	return &by
}

// ApproveGate approves the pending gate.
func (c *Coordinator) ApproveGate(ctx context.Context, o govern.MultiApproveOptions) (govern.MultiReport, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return govern.MultiReport{}, err
	}
	defer done()
	if err := begun(rec); err != nil {
		return govern.MultiReport{}, err
	}
	all := c.look(w)
	if _, _, err := c.settle(ctx, w, rec, all); err != nil {
		return govern.MultiReport{}, err
	}
	s := rec.state
	switch {
	case s.Status == protocol.CoordinatorBlocked:
		rep := report(rec, govern.MultiBlocked)
		return rep, nil
	case s.PendingGate == nil:
		return govern.MultiReport{}, execution.Errorf(execution.CodeInvalidStateTransition, "no gate is waiting for approval").WithHint("%s", next(rec))
	}
	g := evaluateGate(w, rec, all, s.PendingGate.Type)
	if !g.ready() || g.id != s.PendingGate.Gate {
		rep := report(rec, govern.MultiWaiting)
		rep.Blockers = g.blockers
		return rep, nil
	}
	if rep, err := c.beforeGate(ctx, w, rec, *s.PendingGate); rep != nil || err != nil {
		return orZero(rep), err
	}
	if err := rec.add(c.approval(s, g, c.person(ctx, w, o.By), o.Comment)); err != nil {
		return govern.MultiReport{}, err
	}
	action := govern.MultiApproved
	if s.Status == protocol.CoordinatorCompleted {
		action = govern.MultiCompleted
	}
	return report(rec, action), nil
}
