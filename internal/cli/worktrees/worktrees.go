// Package worktrees is "drawbar worktrees": the git worktrees of runs.
package worktrees

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/worktree"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "worktrees",
		Long: `List and remove the git worktrees that drawbar run --worktree and --race made: a directory and a branch drawbar/NAME each, below
Drawbar's state directory. drawbar adopt RUN brings what was done in one into the repository, also what is not committed; git diff
HEAD...drawbar/NAME shows its commits.

A new worktree has the files of the commit, and of the submodules that are checked out in the repository. For more, set worktrees.copy to
what git ignores and it shall have a copy of, as patterns from the top of the repository, and worktrees.setup to a command that runs in it
first, with DRAWBAR_REPOSITORY as the directory of the repository:

  drawbar config set worktrees.copy '[".env", "node_modules"]'
  drawbar config set worktrees.setup 'npm ci'

The clean checkouts of checks get the same. A project's own file adds to what is copied; its command replaces yours after you trust it.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd, app) },
	}
	cmd.AddCommand(list(app), rm(app), gc(app))
	return cmd
}

func list(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List worktrees, and whether something in them would be lost", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd, app) }}
}

func show(cmd *cobra.Command, app *cli.App) error {
	m, err := cli.Worktrees()
	if err != nil {
		return err
	}
	trees, faults := m.List(cmd.Context())
	if trees == nil {
		trees = []worktree.Tree{}
	}
	err = app.Answer(trees, func() {
		w := app.ShortTable("NAME", "STATE", "AGE", "BRANCH", "REPOSITORY", "PATH")
		for _, t := range trees {
			w.Row(t.Name, cli.WorktreeState(t), cli.Age(time.Since(t.CreatedAt)), t.Branch, t.Repository, t.Path)
		}
		w.Flush()
		if len(trees) == 0 {
			app.Notef("no worktrees; make one with: drawbar run AGENT --worktree \"what to do\"")
		}
	})
	return errors.Join(err, errors.Join(faults...))
}

func rm(app *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{Use: "rm NAME...", Short: "Move worktrees to the trash; a branch with commits of its own stays",
		Long: "Move worktrees to the trash, where they stay for two weeks. A worktree in use is refused, and so is one with changes that are not " +
			"committed, or with commits of submodules that are nowhere else, unless --force is given. A branch whose commits nothing else has stays.",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			m, err := cli.Worktrees()
			if err != nil {
				return err
			}
			removed, may := []worktree.Removed{}, worktree.OwnNothing
			if force {
				may = worktree.OwnSubmodules
			}
			for _, name := range names {
				t, err := m.Find(cmd.Context(), name)
				if err != nil {
					return err
				}
				r, err := m.Remove(cmd.Context(), t, may)
				if err != nil {
					return err
				}
				removed = append(removed, r)
			}
			return app.Answer(removed, func() { say(app, removed) })
		}}
	cmd.Flags().BoolVar(&force, "force", false, "also with changes that are not committed, or submodules' own commits")
	return cmd
}

func say(app *cli.App, removed []worktree.Removed) {
	for _, r := range removed {
		line := r.Name + " removed"
		if r.Trash != "" {
			line += "; its files are in " + r.Trash
		}
		if r.Modules != "" {
			line += "; the repositories of its submodules are in " + r.Modules
		}
		if r.KeptBranch {
			line += "; its branch " + r.Branch + " stays"
		}
		app.Printf("%s\n", line)
	}
}

func gc(app *cli.App) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{Use: "gc", Short: "Remove the worktrees with which nothing would be lost",
		Long: "Remove the worktrees that are not in use, have no changes that are not committed, and no commits of their own. Their directories go to " +
			"the trash, which is emptied after two weeks. What git keeps of the work of runs, below refs/drawbar/runs, is removed when it is older " +
			"than 90 days.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := cli.Worktrees()
			if err != nil {
				return err
			}
			removed, kept, faults := m.Collect(cmd.Context(), dry)
			works, more := m.CollectWork(cmd.Context(), time.Now(), dry)
			faults = append(faults, more...)
			answer := struct {
				Removed []worktree.Removed `json:"removed"`
				Kept    []worktree.Tree    `json:"kept"`
				Works   []worktree.OldWork `json:"oldWork"`
			}{append([]worktree.Removed{}, removed...), append([]worktree.Tree{}, kept...), append([]worktree.OldWork{}, works...)}
			err = app.Answer(answer, func() {
				for _, r := range removed {
					why := "its commits are in " + strings.Join(r.InBranch, ", ")
					if len(r.InBranch) == 0 {
						why = "it has no commits of its own"
					}
					if dry {
						app.Printf("%s would be removed: %s\n", r.Name, why)
						continue
					}
					app.Printf("%s removed: %s\n", r.Name, why)
				}
				for _, t := range kept {
					app.Printf("%s stays: %s\n", t.Name, cli.WorktreeState(t))
				}
				for _, w := range works {
					done := "removed"
					if dry {
						done = "would be removed"
					}
					app.Printf("the work of %s in %s %s: it is older than 90 days\n", cli.Number(len(w.Runs), "run", "runs"), w.Repository, done)
				}
			})
			return errors.Join(err, errors.Join(faults...))
		}}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	return cmd
}
