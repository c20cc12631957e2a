package cli

import (
	"fmt"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Worktrees returns the worktrees of runs.
func Worktrees() (worktree.Manager, error) {
	dir, err := runstore.DefaultDir()
	if err != nil {
		return worktree.Manager{}, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	return worktree.In(dir), nil
}

// WorktreeState says how a worktree stands.
func WorktreeState(t worktree.Tree) string {
	switch t.State {
	case worktree.Dirty:
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
