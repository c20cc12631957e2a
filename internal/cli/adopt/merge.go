package adopt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/race"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Merge returns the command merge.
func Merge(app *cli.App) *cobra.Command {
	var cwd string
	check := race.Check{}
	cmd := &cobra.Command{
		Use: "merge RUN...",
		Long: `Merge what runs did in git worktrees of their own into the branch that is checked out, one after the other, each as a merge commit.
With --check, the command runs on each merged result in a clean checkout first: the branch moves only if it exits with 0. A run that
conflicts or does not pass is left out, and the branch stays where it was before it; the exit code is then 1. The worktree of a run that
was merged goes to the trash.`,
		Example: `  drawbar merge 01J9Z3K4 01J9Z3M7 --check 'go test ./...'`,
		Args:    cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			switch {
			case cmd.Flags().Changed("check") && strings.TrimSpace(check.Command) == "":
				return cli.Usage("--check has no command").WithHint("--check 'go test ./...'")
			case check.Command == "" && cmd.Flags().Changed("check-timeout"):
				return cli.Usage("--check-timeout needs a check").WithHint("--check 'go test ./...'")
			case check.Limit <= 0:
				return cli.Usage("--check-timeout %s is out of range", check.Limit).WithHint("a duration such as 30s or 5m")
			}
			return merge(cmd.Context(), app, cwd, ids, check)
		},
	}
	cmd.Flags().StringVar(&check.Command, "check", "", "command that the merged result has to pass in a clean checkout (exit code 0)")
	cmd.Flags().DurationVar(&check.Limit, "check-timeout", 30*time.Minute, "time limit for the check")
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory in the repository (default the current one)")
	return cmd
}

// Merged says what became of one run.
type Merged struct {
	RunID     execution.RunID `json:"runId"`
	Commit    string          `json:"commit,omitempty"` // empty if the branch has not moved
	Nothing   bool            `json:"nothing,omitempty"`
	Conflicts []string        `json:"conflicts,omitempty"`
	Check     *race.Verdict   `json:"check,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func merge(ctx context.Context, app *cli.App, cwd string, ids []string, check race.Check) error {
	target, err := open(ctx, app, cwd)
	if err != nil {
		return err
	}
	defer target.Close()
	if target.Branch == "" {
		return execution.Errorf(execution.CodeValidation, "%s has no branch checked out", target.Top).WithHint("git switch BRANCH")
	}
	type one struct {
		run  runstore.Run
		work worktree.Work
	}
	var works []one
	for _, id := range ids { // all are found before one is merged
		run, work, err := find(ctx, app, target, id)
		if err != nil {
			return err
		}
		works = append(works, one{run, work})
	}
	var checkouts worktree.Manager
	if check.Command != "" {
		if checkouts, err = app.NewWorktrees(ctx, filepath.Join(target.Top, filepath.FromSlash(target.Prefix)), false); err != nil {
			return err
		}
	}
	done, left := []Merged{}, 0
	for _, w := range works {
		m := Merged{RunID: w.run.ID}
		if err := bring(ctx, target, w.run, w.work, check, checkouts, &m); err != nil {
			m.Error = err.Error()
		}
		switch {
		case m.Commit != "":
			_, faults := clear(ctx, w.run, false)
			for _, f := range faults {
				app.Warnf("%v", f)
			}
		case !m.Nothing:
			left++
		}
		done = append(done, m)
		if ctx.Err() != nil {
			break
		}
	}
	err = app.Answer(done, func() {
		for _, m := range done {
			switch {
			case m.Nothing:
				app.Printf("%s: %s has all of it\n", m.RunID, target.Branch)
			case m.Commit != "":
				app.Printf("%s: merged into %s as %.12s\n", m.RunID, target.Branch, m.Commit)
			case m.Check != nil:
				app.Printf("%s: not merged, the check does not pass: %s\n", m.RunID, m.Check.Last())
			default:
				app.Printf("%s: not merged: %s\n", m.RunID, m.Error)
			}
		}
	})
	return exitcode.If(left > 0, execution.ExitGeneral, errors.Join(err, context.Cause(ctx)))
}

// bring merges one work: the branch moves when everything else has passed.
func bring(ctx context.Context, target *worktree.Target, run runstore.Run, work worktree.Work, check race.Check, checkouts worktree.Manager, m *Merged) error {
	tree, err := target.Merge(ctx, work)
	var conflict *worktree.Conflict
	if errors.As(err, &conflict) {
		m.Conflicts = conflict.Files
	}
	if err != nil {
		return err
	}
	changes, err := target.Changes(ctx, tree)
	if m.Nothing = err == nil && len(changes) == 0; err != nil || m.Nothing {
		return err
	}
	commit, err := target.Commit(ctx, tree, fmt.Sprintf("Merge the work of run %s\n\n%s", run.ID, strings.TrimSpace(run.Prompt)), work.Commit)
	if err != nil {
		return err
	}
	if check.Command != "" {
		id := strings.ToLower(string(run.ID))
		v, err := check.In(ctx, checkouts, target.Top, "check-merge-"+id[len(id)-8:], commit, filepath.FromSlash(target.Prefix))
		if err != nil {
			return err
		}
		if m.Check = &v; !v.Passed() {
			return errors.New("the check does not pass")
		}
	}
	if err := target.Advance(ctx, commit); err != nil {
		return err
	}
	m.Commit = commit
	return nil
}
