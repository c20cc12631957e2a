package roadmap

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/race"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
	"github.com/drawbar/drawbar/internal/worktree"
)

// usualJobs is how many tasks run at once if neither a flag nor the settings say.
const usualJobs = 4

type options struct {
	flags cli.RequestFlags
	jobs  int
	check race.Check
	dry   bool
	trust bool
}

func run(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "run [TASK...]", Short: "Run the tasks that are ready, wave after wave",
		Long: `Run the tasks that are ready (all, or the given ones): those marked [ ] whose dependencies are in review or done. A wave has all of them,
several at once; the next one has those that are ready then.

Each task runs in a git worktree of its own. If it passes, what it changed becomes a commit on the current branch, and its marker [~]. It does not
pass if its agent fails, if it changes a file that it does not declare, if one that it declares with (create) is not there, if --check does not
end with exit code 0, or if a file that it changes was changed meanwhile; then nothing is applied. It is tried once more, and then marked [!]. Naming a task in review or blocked runs it again.

An adapter that is not available is replaced by claude-code, which is reported; "fallback_on_failure": false in project_os.adapters prevents that.
After Ctrl-C or a crash, the same command continues. Nobody is asked: calls that need permission are denied unless --approve or --allow permits them.

The exit code is 0 if every task is in review, 1 if one is not, 130 after Ctrl-C.`,
		Example: "  drawbar roadmap run --approve yolo\n  drawbar roadmap run T3 T4 --approve yolo --check 'npm test' --jobs 2\n  drawbar roadmap run --dry-run",
		Args:    cli.Args(cobra.ArbitraryArgs),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.do(cmd, app, args) },
	}
	o.flags.Register(cmd)
	o.flags.Refuse(cmd, func(row execution.Option) bool {
		return row.In(execution.ReachDefaults) || row.Name == "cwd" || row.Name == "profile"
	},
		"is for one run", "leave it out")
	f := cmd.Flags()
	f.IntVar(&o.jobs, "jobs", 0, "tasks at once (default project_os.parallel.max_concurrent_agents, or 4)")
	f.StringVar(&o.check.Command, "check", "", "command that says in a clean checkout whether a task's work is good (exit code 0)")
	f.DurationVar(&o.check.Limit, "check-timeout", 30*time.Minute, "time limit for a check")
	f.BoolVar(&o.dry, "dry-run", false, "show what would run and change nothing")
	cli.TrustFlag(cmd, &o.trust)
	return cmd
}

// chosen returns the tasks to run, and refuses what cannot be run before anything starts. Tasks in progress are among them until it is known
// who works on them.
func (o *options) chosen(r *plan.Roadmap, args []string, inProgress bool) (ids []string, err error) {
	if faults := r.Check(); len(faults) > 0 {
		lines := make([]string, len(faults))
		for i, f := range faults {
			lines[i] = f.String()
		}
		return nil, execution.Errorf(execution.CodeValidation, "%s", strings.Join(lines, "\n")).WithHint("correct them, then: drawbar roadmap check")
	}
	for _, arg := range args {
		t := r.Task(arg)
		switch {
		case t == nil:
			return nil, cli.Usage("%s has no task %s", r.Path, arg).WithHint("drawbar roadmap list")
		case !slices.Contains([]plan.State{plan.Todo, plan.Review, plan.Blocked}, t.State) && !(inProgress && t.State == plan.Progress):
			return nil, cli.Usage("task %s is %s", t.ID, t.State).WithHint("mark it [ ] to run it")
		case !slices.Contains(ids, t.ID):
			ids = append(ids, t.ID)
		}
	}
	for _, t := range r.Tasks {
		if len(args) == 0 && (t.State == plan.Todo || inProgress && t.State == plan.Progress) {
			ids = append(ids, t.ID)
		}
	}
	for _, id := range ids {
		if t := r.Task(id); len(t.Files) == 0 {
			return nil, execution.Errorf(execution.CodeValidation, "%s:%d: task %s declares no files, so nothing that it does could be applied", plan.File, t.Line, id).
				WithHint("add a line below it: - **Files**: `path` (modify)")
		}
	}
	return ids, nil
}

func (o *options) do(cmd *cobra.Command, app *cli.App, args []string) error {
	if cmd.Flags().Changed("jobs") && o.jobs < 1 {
		return cli.Usage("--jobs %d is out of range", o.jobs).WithHint("--jobs 2")
	}
	if o.check.Limit <= 0 {
		return cli.Usage("--check-timeout %s is out of range", o.check.Limit).WithHint("a duration such as 30s or 5m")
	}
	dir, r, settings, err := read(app, o.flags.Dir())
	if err != nil {
		return err
	}
	ids, err := o.chosen(r, args, true)
	if err != nil {
		return err
	}
	x := &runner{app: app, cmd: cmd, o: o, root: dir, settings: settings, jobs: cmp.Or(o.jobs, settings.Parallel.Most, usualJobs), results: map[string]Result{}}
	if o.dry {
		return x.dry(r, ids)
	}
	if err := x.prepare(cmd.Context(), r, ids); err != nil {
		return err
	}
	defer x.journal.Close()
	if r, err = plan.Read(dir); err == nil {
		ids, err = o.chosen(r, args, false)
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program; the runs end with it
	}()
	return x.waves(ctx, ids, args)
}

// dry prints the waves as they would be.
func (x *runner) dry(r *plan.Roadmap, ids []string) error {
	type wave struct {
		Wave  int      `json:"wave"`
		Tasks []string `json:"tasks"`
	}
	var waves []wave
	left := slices.Clone(ids)
	for _, id := range ids {
		r.Task(id).State = plan.Todo
	}
	for {
		var ready []string
		for _, id := range left {
			if len(r.Waits(*r.Task(id))) == 0 {
				ready = append(ready, id)
			}
		}
		if len(ready) == 0 {
			break
		}
		waves = append(waves, wave{len(waves) + 1, ready})
		for _, id := range ready {
			r.Task(id).State = plan.Review
		}
		left = slices.DeleteFunc(left, func(id string) bool { return slices.Contains(ready, id) })
	}
	return x.app.Answer(append([]wave{}, waves...), func() {
		for _, w := range waves {
			for _, id := range w.Tasks {
				t := r.Task(id)
				x.app.Printf("wave %d  %s  %s  %s\n", w.Wave, id, x.settings.Adapter(*t), t.Title)
			}
		}
		for _, id := range left {
			x.app.Printf("waits   %s  for %s\n", id, strings.Join(r.Waits(*r.Task(id)), ", "))
		}
		if len(ids) == 0 {
			x.app.Notef("no task is ready")
		}
	})
}

// prepare trusts what will run, opens the journal, and takes up what a killed command left.
func (x *runner) prepare(ctx context.Context, r *plan.Roadmap, ids []string) error {
	for _, id := range ids {
		for _, name := range slices.Compact([]string{x.settings.Adapter(*r.Task(id)), plan.Fallback}) {
			path, err := plan.Script(x.root, name)
			if err != nil {
				return err
			}
			if path == "" {
				if _, err := x.app.Agent(name); err != nil && name != plan.Fallback {
					return execution.Errorf(execution.CodeUnknownAgent, "task %s: there is no script %s/%s.sh and no agent %s", id, plan.AdaptersDir, name, name).
						WithHint("drawbar agents list --all")
				}
				if err := x.app.TrustFiles(ctx, x.root, x.o.trust, name); err != nil {
					return err
				}
				continue
			}
			if err := x.app.Trust(ctx, x.root, plan.Items(x.root), x.o.trust); err != nil {
				return err
			}
		}
	}
	var err error
	if x.worktrees, err = x.app.NewWorktrees(ctx, x.root, x.o.trust); err != nil {
		return err
	}
	if x.client, err = x.app.Client(); err != nil {
		return err
	}
	target, err := worktree.OpenTarget(ctx, x.root)
	if err != nil {
		return err
	}
	defer target.Close()
	x.prefix = target.Prefix
	if x.journal, err = openJournal(x.root); err != nil {
		return err
	}
	id := strings.ToLower(string(agent.NewRunID()))
	x.id = id[len(id)-6:]
	for id, e := range x.journal.tasks {
		t := r.Task(id)
		if !e.Running || t == nil || t.State != plan.Progress {
			continue
		}
		state, next := plan.Todo, entry{Failed: e.Failed}
		if e.Commit != "" && target.Contains(ctx, e.Commit) {
			state, next = plan.Review, entry{}
		}
		x.app.Notef("%s: the command that ran it is gone; it is %s again", id, state)
		if tree, err := x.worktrees.Find(ctx, e.Worktree); err == nil && e.Worktree != "" {
			if _, err := x.worktrees.Remove(ctx, tree, worktree.OwnChanges); err != nil {
				x.app.Warnf("%v", err)
			}
		}
		if err := x.move(*t, plan.Progress, state); err != nil {
			return err
		}
		if err := x.journal.put(id, next); err != nil {
			return err
		}
	}
	return nil
}

// Wave is a report of the tasks that ran together.
type Wave struct {
	Wave      int      `json:"wave"`
	Completed []string `json:"completed"`
	Failed    []string `json:"failed"`
	Files     []string `json:"filesChanged"`
}

// waves runs the tasks.
func (x *runner) waves(ctx context.Context, ids, named []string) error {
	x.status = x.app.StartStatus("roadmap")
	defer x.status.Close()
	x.status.Lanes(&x.lanes)
	for n := 1; ctx.Err() == nil; n++ {
		r, err := plan.Read(x.root)
		if err != nil {
			return err
		}
		var ready []plan.Task
		for _, id := range ids {
			t := r.Task(id)
			_, ran := x.results[id]
			may := t != nil && (t.State == plan.Todo || slices.Contains(named, id) && (t.State == plan.Review || t.State == plan.Blocked))
			if !ran && may && len(r.Waits(*t)) == 0 {
				ready = append(ready, *t)
			}
		}
		if len(ready) == 0 {
			break
		}
		x.status.Say(fmt.Sprintf("wave %d, %s", n, cli.Number(len(ready), "task", "tasks")))
		if err := x.tell(n, x.wave(ctx, ready)); err != nil {
			return err
		}
	}
	x.status.Close()
	return x.summarize(ctx, ids)
}

// wave runs tasks, several at once.
func (x *runner) wave(ctx context.Context, tasks []plan.Task) []Result {
	slots := make(chan struct{}, x.jobs)
	list := make([]Result, len(tasks))
	var all sync.WaitGroup
	for i, t := range tasks {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			list[i] = x.task(ctx, t)
			x.mu.Lock()
			defer x.mu.Unlock()
			x.results[t.ID] = list[i]
			x.print(list[i])
		})
	}
	all.Wait()
	return list
}

// print tells of a task that has ended. The caller has the lock.
func (x *runner) print(r Result) {
	if x.app.JSON {
		_ = x.app.Line(r) // nowhere to report an error
		return
	}
	text := fmt.Sprintf("%s  %s  %s", r.Task, r.State, r.Adapter)
	if r.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	text += fmt.Sprintf("  %s  %s", (time.Duration(r.DurationMs) * time.Millisecond).Round(10*time.Millisecond), cli.Money(r.Cost))
	switch {
	case r.Reason != "":
		text += "  " + cli.OneLine(r.Reason, 300)
	case r.Commit != "":
		text += fmt.Sprintf("  %.12s, %s", r.Commit, cli.Number(len(r.Files), "file", "files"))
	}
	x.app.Printf("%s\n", text)
}

// tell prints the report of a wave.
func (x *runner) tell(n int, list []Result) error {
	w := Wave{Wave: n, Completed: []string{}, Failed: []string{}, Files: []string{}}
	for _, r := range list {
		if r.State == plan.Review.String() {
			w.Completed, w.Files = append(w.Completed, r.Task), append(w.Files, r.Files...)
		} else {
			w.Failed = append(w.Failed, r.Task)
		}
	}
	slices.Sort(w.Files)
	w.Files = slices.Compact(w.Files)
	if x.app.JSON {
		return x.app.Line(w)
	}
	x.app.Notef("wave %d: %d in review, %d not, %s changed", n, len(w.Completed), len(w.Failed), cli.Number(len(w.Files), "file", "files"))
	return nil
}

// Summary is the last line of the answer.
type Summary struct {
	Completed int      `json:"completed"`
	Failed    int      `json:"failed"`
	Waiting   []string `json:"waiting"` // for tasks that are not done
	CostUSD   float64  `json:"costUsd"`
}

func (x *runner) summarize(ctx context.Context, ids []string) error {
	s := Summary{Waiting: []string{}}
	for _, id := range ids {
		r, ran := x.results[id]
		switch {
		case !ran:
			s.Waiting = append(s.Waiting, id)
		case r.State == plan.Review.String():
			s.Completed++
		default:
			s.Failed++
		}
		if r.Cost != nil && r.Cost.TotalUSD != nil {
			s.CostUSD += *r.Cost.TotalUSD
		}
	}
	if x.app.JSON {
		if err := x.app.Line(map[string]Summary{"summary": s}); err != nil {
			return err
		}
	} else {
		text := fmt.Sprintf("%s in review, %d not, %d waiting, $%.4f", cli.Number(s.Completed, "task", "tasks"), s.Failed, len(s.Waiting), s.CostUSD)
		if r, err := plan.Read(x.root); err == nil {
			for _, id := range s.Waiting {
				if t := r.Task(id); t != nil {
					x.app.Notef("%s waits for %s", id, strings.Join(r.Waits(*t), ", "))
				}
			}
		}
		if s.Failed > 0 {
			text += "; reports: " + filepath.Join(x.journal.dir, "TASK", "output")
		}
		if len(ids) == 0 {
			text = "no task is ready"
		}
		x.app.Notef("%s", text)
	}
	switch {
	case ctx.Err() != nil:
		return &exitcode.Error{Code: execution.ExitInterruptedKey, Silent: true}
	case s.Failed+len(s.Waiting) > 0:
		return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
	}
	return nil
}
