package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Worktrees returns the worktrees of runs. New ones get nothing but the files of their commit.
func Worktrees() (worktree.Manager, error) {
	dir, err := runstore.DefaultDir()
	if err != nil {
		return worktree.Manager{}, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	return worktree.In(dir), nil
}

// NewWorktrees is Worktrees for a command that makes some of the repository of dir: they are set up as the configuration says, after the
// user has trusted the project's command, through yes or by an answer.
func (a *App) NewWorktrees(ctx context.Context, dir string, yes bool) (worktree.Manager, error) {
	m, err := Worktrees()
	if err != nil {
		return m, err
	}
	cfg, err := a.Config(dir)
	if err != nil {
		return m, err
	}
	items := WorktreeItems(cfg)
	if err := a.Trust(ctx, cfg.Dirs().Root, items, yes); err != nil {
		return m, err
	}
	stated, _ := cfg.Worktrees()
	m.Setup.Copy = stated.Copy
	m.Setup.Command.Line = stated.Setup
	if len(items) > 0 {
		m.Setup.Command.Root = cfg.Dirs().Root
		m.Setup.Command.Allowed = func(dir string) error {
			i := items[0]
			if i.Covers(trust.New(dir, dir, i.File, i.Place, i.Runs, stated.Setup)) {
				return nil
			}
			return execution.Errorf(execution.CodeUntrusted, "%s of %s runs a file that differs between the commit and your working copy, which you trusted: %s", i.Place, i.File, i.Runs).
				WithHint("commit the change, or undo it")
		}
	}
	m.Setup.Say = func(line string) {
		if !a.JSON {
			a.Notef("setting up the worktree: %s", line)
		}
	}
	return m, nil
}

// WorktreeItems returns what a project would run in new worktrees: one command, or nothing.
func WorktreeItems(cfg *config.Config) []trust.Item {
	stated, fromProject := cfg.Worktrees()
	if !fromProject || stated.Setup == "" {
		return nil
	}
	root, file := cfg.Dirs().Root, cfg.ProjectPath
	if rel, err := filepath.Rel(root, file); err == nil {
		file = rel
	}
	return []trust.Item{trust.New(root, root, filepath.ToSlash(file), "worktrees.setup", stated.Setup, stated.Setup)}
}

// WorktreeState says how a worktree stands.
func WorktreeState(t worktree.Tree) string {
	switch t.State {
	case worktree.Dirty:
		if len(t.Changes) == 0 {
			return "commits only here in submodule " + strings.Join(t.Submodules, ", ")
		}
		return Number(len(t.Changes), "file", "files") + " not committed"
	case worktree.Unmerged:
		return Number(t.Commits, "commit", "commits") + " not merged"
	case worktree.Clean:
		if len(t.InBranch) > 0 {
			return fmt.Sprintf("nothing of its own, all in %s", t.InBranch[0])
		}
	}
	return string(t.State)
}
