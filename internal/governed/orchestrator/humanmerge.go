package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
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
	for _, p := range conflicts {
		kept := keptConflict(turn.TurnID, p)
		if t.work.Kind() == workspace.Git && !now.DirtySnapshot.Has(p) {
			t.e.warn(fmt.Sprintf("%s stays as you committed it; the turn's version is not used and is kept in %s", p, kept))
			continue
		}
		rest = append(rest, p)
		t.e.warn(fmt.Sprintf("%s is accepted as it is in the project, merged by you; the turn's version is kept in %s", p, kept))
	}
	return rest, nil
}

// mergedBefore returns the files in conflict that need no merge: while the turn was active, a person merged the same version of another turn into the project.
func (t *transaction) mergedBefore(turn *protocol.Turn, worktree string, conflicts []string) (known []string) {
	if len(conflicts) == 0 {
		return nil
	}
	for _, h := range t.run.History {
		var resolved struct {
			Files []string `json:"conflicting_files"`
		}
		if h.AcceptedSequence <= turn.AssignedSequence || json.Unmarshal(h.ConflictResolution, &resolved) != nil {
			continue
		}
		for _, p := range conflicts {
			if !slices.Contains(resolved.Files, p) || slices.Contains(known, p) {
				continue
			}
			was, err := repofile.Digest(t.e.root, keptConflict(h.TurnID, p))
			now, fault := repofile.Digest(worktree, p)
			if err == nil && fault == nil && was == now {
				known = append(known, p)
				t.e.warn(fmt.Sprintf("%s stays as it is: you have merged this version of it in turn %s", p, h.TurnID))
			}
		}
	}
	return known
}

// keptConflict is the turn's version of a file that a person merged.
func keptConflict(turn, file string) string {
	return path.Join(protocol.ArchiveDir, turn, project.EvidenceDir, conflictDir, file)
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
