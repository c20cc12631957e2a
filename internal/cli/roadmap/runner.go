package roadmap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/script"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/worktree"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	attempts    = 2
	healthLimit = 30 * time.Second
)

// Result is how a task ended.
type Result struct {
	Task       string          `json:"task"`
	State      string          `json:"state"` // review, blocked or todo
	Adapter    string          `json:"adapter"`
	Agent      string          `json:"agent,omitempty"`
	RunID      execution.RunID `json:"runId,omitempty"`
	Attempt    int             `json:"attempt"`
	Files      []string        `json:"files"`
	Commit     string          `json:"commit,omitempty"`
	Reason     string          `json:"reason,omitempty"` // why it is not in review
	Cost       *execution.Cost `json:"cost,omitempty"`   // of all attempts
	DurationMs int64           `json:"durationMs"`
	Output     string          `json:"output"` // the directory of its report

	forbidden bool // its user does not trust its adapter, or does not let its agent act: that says nothing of the task
}

// runner runs tasks of a roadmap.
type runner struct {
	app       *cli.App
	cmd       *cobra.Command
	o         *options
	client    *drawbar.Client
	root      string // folder of the roadmap
	prefix    string // of the root from the top of the repository, with a slash at the end, or empty
	id        string
	settings  plan.Settings
	worktrees worktree.Manager
	jobs      int
	status    *cli.StatusLine
	lanes     cli.Lanes

	mu      sync.Mutex // of everything below, the roadmap and the branch
	journal *journal
	results map[string]Result
}

// move changes the marker of a task. The caller has the lock, or is alone.
func (x *runner) move(t plan.Task, from, to plan.State) error {
	return plan.Mark(filepath.Join(x.root, plan.File), t.ID, from, to)
}

// turn moves a task and remembers its entry, in the order in which a crash between both loses nothing.
func (x *runner) turn(t plan.Task, from, to plan.State, e entry) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.Running {
		if err := x.journal.put(t.ID, e); err != nil {
			return err
		}
		return x.move(t, from, to)
	}
	if err := x.move(t, from, to); err != nil {
		return err
	}
	return x.journal.put(t.ID, e)
}

// task runs a task to its end: in review, blocked, or todo again after Ctrl-C.
func (x *runner) task(ctx context.Context, t plan.Task) Result {
	begun := time.Now()
	lane := x.lanes.Begin(t.ID + " " + t.Title)
	defer lane.End()
	x.mu.Lock()
	failed := x.journal.tasks[t.ID].Failed
	x.mu.Unlock()
	if failed >= attempts || t.State != plan.Todo { // it was named again
		failed = 0
	}
	var total *execution.Cost
	if err := x.turn(t, t.State, plan.Progress, entry{Failed: failed, Running: true}); err != nil {
		return Result{Task: t.ID, State: t.State.String(), Adapter: x.settings.Adapter(t), Reason: err.Error(), Files: []string{}}
	}
	for {
		r := x.attempt(ctx, t, failed+1, lane)
		total = sum(total, r.Cost)
		r.Task, r.Attempt, r.Cost, r.DurationMs = t.ID, failed+1, total, time.Since(begun).Milliseconds()
		if r.Files == nil {
			r.Files = []string{}
		}
		to, e := plan.Review, entry{}
		switch {
		case r.Reason == "":
		case ctx.Err() != nil:
			to, e.Failed, r.Reason = plan.Todo, failed, "interrupted"
		case r.forbidden:
			to, e.Failed = plan.Todo, failed
		default:
			if failed++; failed < attempts {
				x.app.Notef("%s: %s; it is tried once more", t.ID, cli.OneLine(r.Reason, 300))
				x.mu.Lock()
				err := x.journal.put(t.ID, entry{Failed: failed, Running: true})
				x.mu.Unlock()
				if err == nil {
					continue
				}
				r.Reason += "; " + err.Error()
			}
			to = plan.Blocked
		}
		if err := x.turn(t, plan.Progress, to, e); err != nil {
			r.Reason = strings.TrimPrefix(r.Reason+"; "+err.Error(), "; ")
		}
		r.State = to.String()
		return r
	}
}

func sum(a, b *execution.Cost) *execution.Cost {
	if a == nil || a.TotalUSD == nil || b == nil || b.TotalUSD == nil {
		return cmp.Or(b, a)
	}
	return &execution.Cost{TotalUSD: new(*a.TotalUSD + *b.TotalUSD)}
}

// backend is what runs a task.
type backend struct {
	adapter string // its name in the roadmap
	agent   string // of Drawbar
	script  string // path; empty for an agent
}

// attempt runs a task once. Without a reason it is applied.
func (x *runner) attempt(ctx context.Context, t plan.Task, n int, lane *cli.Lane) (r Result) {
	in, out, err := x.journal.fresh(t.ID)
	r.Output, r.Adapter = out, x.settings.Adapter(t)
	var b backend
	if err == nil {
		lane.Say("looks for its adapter")
		b, err = x.backend(ctx, t)
	}
	if err != nil {
		r.Reason, r.forbidden = err.Error(), execution.CodeOf(err) == execution.CodeUntrusted
		return r
	}
	r.Adapter, r.Agent = b.adapter, b.agent
	lane.Say("gets a worktree")
	tree, where, release, err := x.worktrees.Open(ctx, x.root, fmt.Sprintf("task-%s-%s-%d", strings.ToLower(t.ID), x.id, n))
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	x.mu.Lock()
	e := x.journal.tasks[t.ID]
	e.Worktree = tree.Path
	err = x.journal.put(t.ID, e)
	x.mu.Unlock()
	defer func() {
		release()
		ctx := context.WithoutCancel(ctx)
		gone, err := x.worktrees.Remove(ctx, tree, worktree.OwnChanges)
		if err == nil && r.Commit != "" {
			err = gone.DropBranch(ctx)
		}
		if err != nil {
			x.app.Warnf("%v", err)
		}
	}()
	lane.Say(b.adapter + " works")
	text := ""
	if err == nil {
		text, err = x.carry(ctx, t, b, where, in, out, lane, &r)
	}
	var work worktree.Work
	if err == nil {
		work, err = x.judge(ctx, t, tree, out, lane, &r)
	}
	if err == nil {
		err = x.apply(ctx, t, work, &r)
	}
	if err != nil {
		r.Reason, r.Files, r.Commit = err.Error(), nil, ""
	}
	if err := x.report(t, b, out, text, r); err != nil && r.Reason == "" {
		x.app.Warnf("%s: %v", t.ID, err) // it is applied
	}
	return r
}

// backend selects the adapter of a task, and the fallback if it is not available.
func (x *runner) backend(ctx context.Context, t plan.Task) (backend, error) {
	name := x.settings.Adapter(t)
	b, err := x.available(ctx, name)
	if err == nil || name == plan.Fallback || !x.settings.Fallbacks() || execution.CodeOf(err) == execution.CodeUntrusted {
		return b, err
	}
	x.app.Notef("%s: the adapter %s is not available (%s); %s runs it instead", t.ID, name, cli.OneLine(err.Error(), 200), plan.Fallback)
	return x.available(ctx, plan.Fallback)
}

// available finds an adapter and asks whether it can run.
func (x *runner) available(ctx context.Context, name string) (b backend, err error) {
	b.adapter = name
	if b.script, err = plan.Script(x.root, name); err != nil {
		return b, err
	}
	if b.script == "" {
		entry, err := x.app.Agent(name)
		if err != nil {
			return b, err
		}
		b.agent = entry.Descriptor.Name
		found, err := x.client.Detect(ctx, b.agent)
		if err == nil && !found.Installed {
			err = execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed", entry.Descriptor.DisplayName).WithHint("drawbar agents install %s", b.agent)
		}
		return b, err
	}
	b.agent = script.Name
	store, err := x.app.TrustStore()
	if err == nil {
		err = store.Check(x.root, []trust.Item{plan.Item(x.root, b.script)}) // it may have changed since
	}
	if err != nil {
		return b, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthLimit, fmt.Errorf("%s health did not end within %s", filepath.Base(b.script), healthLimit))
	defer cancel()
	_, exit := process.Run(ctx, process.Spec{Path: b.script, Args: []string{"health"}, Dir: x.root, Env: worktree.Environ(), Grace: time.Second, MaxLine: 1 << 20})
	switch {
	case ctx.Err() != nil:
		return b, context.Cause(ctx)
	case exit.Err != nil:
		return b, exit.Err
	case exit.Code != 0:
		return b, fmt.Errorf("%s", cmp.Or(strings.TrimSpace(exit.StderrTail), fmt.Sprintf("health ended with exit code %d", exit.Code)))
	}
	return b, nil
}

// carry lets the adapter work in the worktree, and returns its report.
func (x *runner) carry(ctx context.Context, t plan.Task, b backend, where, in, out string, lane *cli.Lane, r *Result) (text string, err error) {
	packet, err := plan.NewPacket(where, t)
	if err != nil {
		return "", err
	}
	if err := packet.Write(in); err != nil {
		return "", err
	}
	over := config.Options{}
	if t.Model != "" {
		over["model"], _ = json.Marshal(t.Model) // a text always encodes
	}
	req := execution.Request{Message: execution.Message{Text: execution.Prompt(packet.Prompt())}}
	if req.Run, err = x.o.flags.RunIn(x.app, x.cmd, where, b.agent, over); err != nil {
		return "", err
	}
	if b.script != "" {
		req.Message.Text = execution.Prompt(t.Text())
		req.Run.Command = []string{b.script, in, out}
		req.Run.Env = withAll(req.Run.Env, map[string]string{script.VarTask: t.ID, script.VarFeature: t.Feature})
	}
	req.Run.NonInteractive = true
	req.Run.Tags = append(slices.Clip(req.Run.Tags), "roadmap", "task-"+t.ID)
	run, err := x.client.Run(ctx, req, drawbar.RunOptions{})
	if err != nil {
		return "", err
	}
	r.RunID = run.ID()
	for e, err := range run.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			return "", err
		}
		lane.Event(e)
	}
	res, err := run.Result(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	r.Cost = res.Cost
	if res.Status != execution.StatusCompleted {
		why := string(res.Status)
		if res.Error != nil {
			why = res.Error.Message
		}
		return res.Text, errors.New(why)
	}
	if err := plan.Denied(res); err != nil {
		r.forbidden = true
		return res.Text, err
	}
	return res.Text, nil
}

func withAll(env, more map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{env, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// judge keeps the work of a task, and refuses it if it goes beyond what the task declares, lacks what it declares to create, or does not pass the
// check.
func (x *runner) judge(ctx context.Context, t plan.Task, tree worktree.Tree, out string, lane *cli.Lane, r *Result) (worktree.Work, error) {
	ctx = context.WithoutCancel(ctx)
	work, err := tree.Snapshot(ctx, r.RunID)
	if err != nil {
		return work, err
	}
	changes, err := work.Changes(ctx)
	if err != nil {
		return work, err
	}
	var outside []string
	for _, c := range changes {
		name, below := strings.CutPrefix(c.Path, x.prefix)
		if !below || name == plan.File || !t.Files.Allows(name) {
			outside = append(outside, c.Path)
			continue
		}
		r.Files = append(r.Files, name)
	}
	if len(outside) > 0 {
		return work, fmt.Errorf("it changed files that it does not declare: %s", strings.Join(outside, ", "))
	}
	if missing := t.Files.Missing(filepath.Join(tree.Path, filepath.FromSlash(x.prefix))); len(missing) > 0 {
		return work, fmt.Errorf("it did not create what it declares: %s", strings.Join(missing, ", "))
	}
	if x.o.check.Command == "" {
		return work, nil
	}
	lane.Say("is checked")
	v, err := x.o.check.In(ctx, x.worktrees, work.Repository, fmt.Sprintf("check-%s-%s", strings.ToLower(t.ID), x.id), work.Commit, filepath.FromSlash(x.prefix))
	if err != nil {
		return work, err
	}
	if err := os.WriteFile(filepath.Join(out, script.TestFile), []byte(v.Output), 0o600); err != nil {
		return work, err
	}
	if !v.Passed() {
		return work, errors.New(strings.TrimSuffix("the check failed: "+v.Last(), ": "))
	}
	return work, nil
}

// apply makes the work a commit on the branch, all of it or nothing.
func (x *runner) apply(ctx context.Context, t plan.Task, work worktree.Work, r *Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(r.Files) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	target, err := worktree.OpenTarget(ctx, x.root)
	if err != nil {
		return err
	}
	defer target.Close()
	since, err := target.Since(ctx, work.Base)
	if err != nil {
		return err
	}
	var both []string
	for _, c := range since {
		if name, below := strings.CutPrefix(c.Path, x.prefix); below && slices.Contains(r.Files, name) {
			both = append(both, name)
		}
	}
	if len(both) > 0 {
		return fmt.Errorf("files were changed meanwhile: %s", strings.Join(both, ", "))
	}
	merged, err := target.Merge(ctx, work)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s: %s\n\nTask: %s\nAdapter: %s\nRun: %s\n", t.ID, t.Title, t.ID, r.Adapter, r.RunID)
	if r.Commit, err = target.Commit(ctx, merged, message); err != nil {
		return err
	}
	e := x.journal.tasks[t.ID]
	e.Commit = r.Commit
	if err := x.journal.put(t.ID, e); err != nil {
		return err
	}
	return target.Advance(ctx, r.Commit)
}

// report writes the outputs that the contract promises, where an agent without the contract left none.
func (x *runner) report(t plan.Task, b backend, out, text string, r Result) error {
	if b.script == "" {
		return plan.Report{Task: t.ID, Agent: b.agent, Failed: r.Reason, Files: r.Files, Text: text}.Write(out)
	}
	if r.Reason == "" { // its own files stay, but for a result that did not count
		return nil
	}
	return os.WriteFile(filepath.Join(out, script.ResultFile), []byte(script.Fail+"\n"), 0o600)
}
