// Package adopt is "drawbar adopt" and "drawbar merge": they bring what runs did in worktrees of their own into the branch that is
// checked out.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/worktree"
)

// New returns the command adopt.
func New(app *cli.App) *cobra.Command {
	var message, cwd string
	cmd := &cobra.Command{
		Use: "adopt RUN",
		Long: `Merge what a run did in a git worktree of its own (run --worktree, run --race) into the files of this repository, three-way: all of it,
or nothing. The changes are staged for you to look at and commit; with -m they are committed. A conflict with what was committed
since, or a file with changes of yours that are not committed, is refused, and nothing changes.

The worktree goes to the trash, and with it those of the other racers. What each of them did stays in git: adopt works with their runs later
too, and git show refs/drawbar/runs/RUN shows one.`,
		Example: `  drawbar run --race claude,codex --check 'go test ./...' "fix the parser"
  drawbar adopt 01J9Z3K4 && git diff --cached
  drawbar adopt 01J9Z3K4 -m "Fix the parser"`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if cmd.Flags().Changed("message") && strings.TrimSpace(message) == "" {
				return cli.Usage("--message is empty").WithHint(`-m "Fix the parser"`)
			}
			return adopt(cmd.Context(), app, cwd, ids[0], message)
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "commit the changes, with this message")
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory in the repository (default the current one)")
	return cmd
}

// Adopted says what adopt did.
type Adopted struct {
	RunID   execution.RunID    `json:"runId"`
	Commit  string             `json:"commit,omitempty"` // of the branch; empty if the changes are staged
	Files   []string           `json:"files"`
	Added   int                `json:"addedLines"`
	Removed int                `json:"removedLines"`
	Trash   []worktree.Removed `json:"removedWorktrees"`
}

func adopt(ctx context.Context, app *cli.App, cwd, id, message string) error {
	target, err := open(ctx, app, cwd)
	if err != nil {
		return err
	}
	defer target.Close()
	run, work, err := find(ctx, app, target, id)
	if err != nil {
		return err
	}
	tree, err := target.Merge(ctx, work)
	if err != nil {
		return refused(err, work)
	}
	done := Adopted{RunID: run.ID, Files: []string{}, Trash: []worktree.Removed{}}
	changes, err := target.Changes(ctx, tree)
	if err != nil {
		return err
	}
	for _, c := range changes {
		done.Files, done.Added, done.Removed = append(done.Files, c.Path), done.Added+c.Added, done.Removed+c.Removed
	}
	switch {
	case len(changes) == 0:
	case message == "":
		err = target.Stage(ctx, tree)
	default:
		if err = target.Nothing(ctx); err != nil {
			break
		}
		if done.Commit, err = target.Commit(ctx, tree, message); err == nil {
			err = target.Advance(ctx, done.Commit)
		}
	}
	if err != nil {
		return refused(err, work)
	}
	removed, faults := clear(ctx, run, true)
	done.Trash = append(done.Trash, removed...)
	for _, f := range faults {
		app.Warnf("%v", f)
	}
	return app.Answer(done, func() {
		what := fmt.Sprintf("%s, +%d -%d", cli.Number(len(done.Files), "file", "files"), done.Added, done.Removed)
		switch {
		case len(changes) == 0:
			app.Printf("nothing to adopt: %s has all of it\n", target.Top)
		case done.Commit != "":
			app.Printf("adopted as %.12s: %s\n", done.Commit, what)
		default:
			app.Printf("adopted and staged: %s\n", what)
			app.Notef("  try: git diff --cached, then: git commit")
		}
		for _, r := range removed {
			app.Notef("%s is in the trash: %s", r.Name, r.Trash)
		}
	})
}

// open returns the target that a command merges into.
func open(ctx context.Context, app *cli.App, cwd string) (*worktree.Target, error) {
	app.SetDir(cwd)
	dir, err := app.ProjectDir()
	if err != nil {
		return nil, err
	}
	return worktree.OpenTarget(ctx, dir)
}

// find returns a run and its work: what its worktree has now, or what was kept of it.
func find(ctx context.Context, app *cli.App, target *worktree.Target, id string) (run runstore.Run, w worktree.Work, err error) {
	s, err := app.Store()
	if err != nil {
		return run, w, err
	}
	defer s.Close()
	if run, err = s.Get(id); err != nil {
		return run, w, cli.RecordError(err)
	}
	if run.Live {
		return run, w, execution.Errorf(execution.CodeConfigLock, "run %s has not ended", run.ID).WithHint("drawbar wait %s", run.ID)
	}
	m, err := cli.Worktrees()
	if err != nil {
		return run, w, err
	}
	if list := m.Of(run.Cwd); len(list) > 0 {
		t := list[0]
		if w, err = m.Keep(ctx, t, run.ID); err == nil && !target.Has(ctx, w.Commit) {
			err = execution.Errorf(execution.CodeValidation, "run %s worked on %s, which is another repository than %s", run.ID, t.Repository, target.Top).
				WithHint("cd %s", t.Repository)
		}
		return run, w, err
	}
	w, ok, err := worktree.WorkOf(ctx, target.Top, run.ID)
	if err == nil && !ok {
		err = execution.Errorf(execution.CodeValidation, "%s has no work of run %s, which ran in %s", target.Top, run.ID, run.Cwd).
			WithHint("only a run with --worktree or --race has a work of its own, in its repository")
	}
	return run, w, err
}

// refused says what to do about a merge that cannot be.
func refused(err error, w worktree.Work) error {
	var conflict *worktree.Conflict
	var overlap *worktree.Overlap
	switch {
	case errors.As(err, &conflict):
		err = execution.Errorf(execution.CodeValidation, "%w", err).WithHint("merge it by hand: git cherry-pick --no-commit %.12s", w.Commit)
	case errors.As(err, &overlap):
		err = execution.Errorf(execution.CodeValidation, "%w", err).WithHint("commit them, or put them aside: git stash")
	default:
		return err
	}
	return &exitcode.Error{Code: execution.ExitGeneral, Err: err}
}

// clear moves the worktree of a run to the trash, with others those of its race too.
func clear(ctx context.Context, run runstore.Run, others bool) (removed []worktree.Removed, faults []error) {
	m, err := cli.Worktrees()
	if err != nil {
		return nil, []error{err}
	}
	list := m.Of(run.Cwd)
	if others && len(list) > 0 {
		list = m.With(list[0])
	}
	for _, t := range list {
		r, err := m.Remove(ctx, t, worktree.OwnChanges)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		removed = append(removed, r)
	}
	return removed, faults
}
