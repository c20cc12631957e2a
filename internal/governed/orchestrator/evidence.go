package orchestrator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// keepEvidence copies what a runtime left beside the bundle in a turn's worktree to the bundle of the project, which is
// archived: the worktree is removed. It copies regular files only, and overwrites none.
func keepEvidence(worktree, root, turn string) error {
	from, err := os.OpenRoot(filepath.Join(worktree, filepath.FromSlash(protocol.BundleDir(turn)), project.EvidenceDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // nothing is written through it
	dir, err := project.EvidencePath(root, turn)
	if err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // its files are closed one by one
	return fs.WalkDir(from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if parent := path.Dir(name); parent != "." {
			if err := to.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
				return err
			}
		}
		return copyIn(from, to, filepath.FromSlash(name))
	})
}

func copyIn(from, to *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		err = fmt.Errorf("copy %s: %w", name, err)
	}
	return errors.Join(err, out.Close())
}
