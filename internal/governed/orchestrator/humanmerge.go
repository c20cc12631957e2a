package orchestrator

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// conflictDir holds the turn's versions of files that a person merged, in the evidence of its bundle.
const conflictDir = "conflict"

// mergedByHand merges the rest of a turn's worktree into the project: its files in conflict are there as a person
// merged them. It returns the turn's files; what the person committed is theirs. The turn's versions are kept.
func (t *transaction) mergedByHand(ctx context.Context, turn *protocol.Turn, root string, files, conflicts []string) ([]string, error) {
	rest := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return slices.Contains(conflicts, p) })
	if _, err := t.work.Merge(ctx, turn.TurnID, rest); err != nil {
		return nil, err
	}
	if err := keepConflicts(root, t.e.root, turn.TurnID, conflicts); err != nil {
		return nil, err
	}
	now, err := t.work.Baseline(ctx)
	if err != nil {
		return nil, err
	}
	kept := protocol.ArchiveDir + "/" + turn.TurnID + "/" + project.EvidenceDir + "/" + conflictDir
	for _, p := range conflicts {
		if t.work.Kind() == workspace.Git && !now.DirtySnapshot.Has(p) {
			t.e.warn(fmt.Sprintf("%s stays as you committed it; the turn's version is not used and is kept in %s/%s", p, kept, p))
			continue
		}
		rest = append(rest, p)
		t.e.warn(fmt.Sprintf("%s is accepted as it is in the project, merged by you; the turn's version is kept in %s/%s", p, kept, p))
	}
	return rest, nil
}

// keepConflicts copies the turn's versions of regular files into the evidence of its bundle.
func keepConflicts(worktree, root, turn string, paths []string) error {
	dir, err := project.EvidencePath(root, turn)
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(worktree)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // nothing is written through it
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // its files are closed one by one
	for _, p := range paths {
		name := filepath.FromSlash(p)
		if info, err := from.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		at := filepath.Join(conflictDir, name)
		if err := to.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		b, err := fs.ReadFile(from.FS(), p)
		if err == nil {
			err = to.WriteFile(at, b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("keep the turn's %s: %w", p, err)
		}
	}
	return nil
}
