// Package race lets several agents do the same work, each in a git worktree of its own, and checks what each has done.
package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Racer is an agent in a race, with the request that it gets.
type Racer struct {
	Name    string // unique in the race
	Request execution.Request
	Options drawbar.RunOptions

	render    *cli.Renderer // of its questions, with a terminal
	questions *cli.Questions
}

// Race is a race. It is used once.
type Race struct {
	App        *cli.App
	Client     *drawbar.Client
	Worktrees  worktree.Manager
	ID         string // lower-case letters and digits, for names of worktrees
	Dir        string // in the repository
	Racers     []Racer
	Check      Check // empty for none
	FirstGreen bool  // interrupts the others when the work of one has passed the check
	// Watch is called when a run has started, and what it returns when the run has ended.
	Watch func(*agent.Run) (done func())

	mu      sync.Mutex
	lanes   []*cli.Lane
	status  *cli.StatusLine
	runs    []*agent.Run // nil before its start
	stopped string       // why the race was stopped: what starts later is stopped at once
	asking  chan struct{}
	checks  chan struct{} // one at a time
	inRepo  string        // Dir from the repository's top
}

// Outcome is how a racer ended.
type Outcome string

// The outcomes, best first.
const (
	Green   Outcome = "green"   // its work passed the check
	Done    Outcome = "done"    // it completed, and there is no check
	Red     Outcome = "red"     // its work did not pass the check
	Failed  Outcome = "failed"  // its run failed
	Stopped Outcome = "stopped" // it was interrupted, by a person or because another one was first
)

var order = []Outcome{Green, Done, Red, Failed, Stopped}

// Lane is what became of a racer.
type Lane struct {
	Racer      string           `json:"racer"`
	Agent      string           `json:"agent"`
	Model      string           `json:"model,omitempty"`
	Outcome    Outcome          `json:"outcome"`
	RunID      execution.RunID  `json:"runId,omitempty"`
	SessionID  string           `json:"sessionId,omitempty"`
	Status     execution.Status `json:"status,omitempty"`
	Error      string           `json:"error,omitempty"`
	DurationMs int64            `json:"durationMs"`
	Cost       *execution.Cost  `json:"cost,omitempty"`
	Files      int              `json:"files"`
	Added      int              `json:"addedLines"`
	Removed    int              `json:"removedLines"`
	Commit     string           `json:"commit,omitempty"` // of its work
	Worktree   string           `json:"worktree,omitempty"`
	Check      *Verdict         `json:"check,omitempty"`
}

// Result is what became of a race.
type Result struct {
	ID    string   `json:"id"`
	Base  string   `json:"base"`            // commit
	Check *Verdict `json:"check,omitempty"` // of the base, without anybody's work
	Lanes []Lane   `json:"lanes"`           // best first
}

var errFirst = errors.New("another racer was the first whose work passed the check")

// Run runs the race to its end. interrupt stops it: what there is then is in the result.
func (r *Race) Run(ctx context.Context, interrupt <-chan struct{}) (res Result, err error) {
	res.ID, r.runs, r.lanes = r.ID, make([]*agent.Run, len(r.Racers)), make([]*cli.Lane, len(r.Racers))
	r.asking, r.checks = make(chan struct{}, 1), make(chan struct{}, 1)
	places, leave, err := r.enter(ctx)
	if err != nil {
		return res, err
	}
	defer leave()
	res.Base = places[0].Base
	r.status = r.App.StartStatus("race")
	defer r.status.Close()
	r.status.Say(cli.Number(len(r.Racers), "racer", "racers"))
	var rows cli.Lanes
	for i, racer := range r.Racers {
		r.lanes[i] = rows.Begin(racer.Name)
	}
	r.status.Lanes(&rows)
	checking, endChecks := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endChecks(nil)
	stop := func(why error) {
		r.stop(why)
		endChecks(why)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-interrupt:
			stop(errors.New("interrupted from the keyboard"))
		case <-ctx.Done():
			stop(context.Cause(ctx))
		case <-over:
		}
	}()
	lanes := make([]Lane, len(r.Racers))
	var all, base sync.WaitGroup
	var unusable error
	if r.Check.Command != "" {
		r.checks <- struct{}{} // the first check is that of the base
		base.Go(func() {
			defer func() { <-r.checks }()
			v, err := r.checkNow(checking, worktree.Work{Repository: places[0].Repository, Base: res.Base, Commit: res.Base}, 0)
			if err == nil && (v.ExitCode == notFound || v.ExitCode == notExecutable) {
				err = cli.Usage("--check %q cannot run: %s", r.Check.Command, v.Last()).WithHint("try the command in a clean checkout of the repository first")
			}
			switch {
			case err == nil:
				res.Check = &v
			case checking.Err() == nil: // else the race was stopped meanwhile
				unusable = err
				stop(err)
			}
			if err == nil && v.Passed() {
				r.App.Notef("the check passes without any work: %s", r.Check.Command)
			}
		})
	}
	for i := range r.Racers {
		all.Go(func() {
			lanes[i] = r.run(ctx, checking, i, places[i])
			if lanes[i].Outcome == Green && r.FirstGreen {
				stop(errFirst)
			}
		})
	}
	all.Wait()
	base.Wait()
	if unusable != nil {
		return res, unusable
	}
	slices.SortStableFunc(lanes, func(a, b Lane) int {
		if d := slices.Index(order, a.Outcome) - slices.Index(order, b.Outcome); d != 0 {
			return d
		}
		return int(a.DurationMs - b.DurationMs)
	})
	res.Lanes = lanes
	return res, nil
}

// enter makes a worktree for each racer, all at the same commit. leave gives them back; those in which nothing was done go.
func (r *Race) enter(ctx context.Context) (places []worktree.Tree, leave func(), err error) {
	type opened struct {
		tree    worktree.Tree
		where   string
		release func()
		err     error
	}
	all := make([]opened, len(r.Racers))
	leave = func() {
		ctx := context.WithoutCancel(ctx)
		for _, o := range all {
			if o.release == nil {
				continue
			}
			o.release()
			if now, err := r.Worktrees.Find(ctx, o.tree.Path); err == nil && now.State == worktree.Clean {
				if _, err := r.Worktrees.Remove(ctx, now, worktree.OwnNothing); err != nil {
					r.App.Warnf("%v", err)
				}
			}
		}
	}
	var group sync.WaitGroup // a set-up command may take minutes
	for i := range r.Racers {
		group.Go(func() {
			o := &all[i]
			o.tree, o.where, o.release, o.err = r.Worktrees.Open(ctx, r.Dir, worktree.Group(r.ID)+fmt.Sprintf("%d-%s", i+1, plain(r.Racers[i].Name)))
		})
	}
	group.Wait()
	for i, o := range all {
		if o.err == nil && o.tree.Base != all[0].tree.Base {
			o.err = execution.Errorf(execution.CodeConfigLock, "%s moved while the race began", o.tree.Repository).WithHint("try again")
		}
		if o.err != nil {
			leave()
			return nil, nil, o.err
		}
		places = append(places, o.tree)
		r.Racers[i].Request.Run.Cwd = o.where
		r.inRepo, _ = filepath.Rel(o.tree.Path, o.where) // it is in it
	}
	return places, leave, nil
}

// plain is a name as a part of that of a worktree. Different names may have the same.
func plain(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return name[:min(len(name), 40)]
}

// stop interrupts all runs and aborts those that do not end within a second.
func (r *Race) stop(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped != "" {
		return
	}
	r.stopped = why.Error()
	for _, run := range r.runs {
		if run != nil {
			go end(run, why)
		}
	}
}

// started notes a run, and ends it if the race was stopped meanwhile.
func (r *Race) started(i int, run *agent.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[i] = run; r.stopped != "" {
		go end(run, errors.New(r.stopped))
	}
}

func end(run *agent.Run, why error) {
	run.CloseInput()
	if run.Interrupt() == nil {
		select {
		case <-run.Done():
			return
		case <-time.After(time.Second):
		}
	}
	run.Abort(why)
}

// run lets a racer run, keeps its work, and checks it.
func (r *Race) run(ctx, checking context.Context, i int, place worktree.Tree) (l Lane) {
	racer := r.Racers[i]
	l = Lane{Racer: racer.Name, Agent: racer.Request.Run.Agent, Model: racer.Request.Run.Model, Worktree: place.Name, Outcome: Failed}
	defer func() { r.tell(i, l) }()
	if r.wasStopped() {
		l.Outcome = Stopped
		return l
	}
	opts := racer.Options
	if cli.IsTerminal(r.App.In) && cli.IsTerminal(r.App.Err) && !r.App.JSON && !racer.Request.Run.NonInteractive {
		r.ask(i, &opts)
	}
	run, err := r.Client.Run(context.WithoutCancel(ctx), racer.Request, opts)
	if err != nil {
		l.Error = err.Error()
		return l
	}
	r.started(i, run)
	l.RunID = run.ID()
	if r.Watch != nil {
		defer r.Watch(run)()
	}
	for e, err := range run.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			l.Error = err.Error()
			return l
		}
		r.follow(i, run, e)
	}
	result, err := run.Result(context.WithoutCancel(ctx))
	if err != nil {
		l.Error = err.Error()
		return l
	}
	l.Status, l.SessionID, l.Cost, l.DurationMs = result.Status, result.SessionID, result.Cost, result.DurationMs
	if result.Model != "" {
		l.Model = result.Model
	}
	if result.Error != nil {
		l.Error = result.Error.Message
	}
	r.judge(context.WithoutCancel(ctx), checking, i, place, &l)
	return l
}

// judge keeps the work of a run that has ended, and checks that of one that completed.
func (r *Race) judge(ctx, checking context.Context, i int, place worktree.Tree, l *Lane) {
	work, err := place.Snapshot(ctx, l.RunID)
	var changes []worktree.Change
	if err == nil {
		l.Commit = work.Commit
		changes, err = work.Changes(ctx)
	}
	if err != nil {
		l.Error = err.Error()
		return
	}
	for _, c := range changes {
		l.Files, l.Added, l.Removed = l.Files+1, l.Added+c.Added, l.Removed+c.Removed
	}
	switch {
	case l.Status != execution.StatusCompleted && r.wasStopped():
		l.Outcome = Stopped
		return
	case l.Status != execution.StatusCompleted:
		return
	case r.Check.Command == "":
		l.Outcome = Done
		return
	}
	r.lanes[i].Say("waits for its check")
	v, err := r.check(checking, work, i)
	switch {
	case checking.Err() != nil:
		l.Outcome = Stopped
	case err != nil:
		l.Error = err.Error()
	case v.Passed():
		l.Check, l.Outcome = &v, Green
	default:
		l.Check, l.Outcome = &v, Red
	}
}

func (r *Race) wasStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped != ""
}

// check checks the work of a racer when no other check runs.
func (r *Race) check(ctx context.Context, work worktree.Work, i int) (v Verdict, err error) {
	select {
	case r.checks <- struct{}{}:
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
	defer func() { <-r.checks }()
	r.lanes[i].Say("is checked")
	return r.checkNow(ctx, work, i+1)
}

// checkNow checks a work in a clean checkout, whose name has the number.
func (r *Race) checkNow(ctx context.Context, work worktree.Work, number int) (v Verdict, err error) {
	commit, restored, err := work.Without(ctx, func(file string) bool { return r.Check.keeps(ctx, r.Worktrees.Setup.Command.Line, work, file) })
	if err != nil {
		return v, err
	}
	v, err = r.Check.In(ctx, r.Worktrees, work.Repository, fmt.Sprintf("check-%s-%d", r.ID, number), commit, r.inRepo)
	v.Restored = restored
	return v, err
}

// follow shows what a run does, and lets a person answer its questions.
func (r *Race) follow(i int, run *agent.Run, e execution.Event) {
	if e.Parent != "" {
		return
	}
	r.lanes[i].Event(e)
	if q := r.Racers[i].questions; q != nil {
		if id := cli.QuestionID(e.Body); cli.Pending(run, id) {
			q.GiveWay(id, r.Racers[i].render, run)
		}
	}
}

// tell says how a racer ended, unless the result is for programs.
func (r *Race) tell(i int, l Lane) {
	r.lanes[i].Over(string(l.Outcome))
	if r.App.JSON {
		return
	}
	text := fmt.Sprintf("%s: %s", l.Racer, l.Outcome)
	if l.Check != nil && l.Outcome == Red {
		text += ": " + l.Check.Last()
	} else if l.Error != "" && l.Outcome == Failed {
		text += ": " + cli.OneLine(l.Error, 200)
	}
	r.App.Notef("%s", text)
}
