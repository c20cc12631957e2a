package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Limits for a folder without git: its markers are kept in the run's state.
const (
	walkFiles = 500
	walkBytes = 32 << 20
)

// skipped are folders that tools create or fill.
var skipped = []string{".git", "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", ".cache", ".tox", ".gradle", ".next"}

var errTooMuch = errors.New("too many files")

// walk visits all files below the root; whole is false if there are too many.
func (w *Workspace) walk(ctx context.Context) (found map[string]mark, whole bool, err error) {
	var paths []string
	var size int64
	err = filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == w.root {
				return err
			}
			return nil // unreadable folders are skipped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(w.root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) && path != w.root || protocol.Operational(rel+"/") {
				return filepath.SkipDir
			}
			return nil
		}
		if protocol.Operational(rel) {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if paths = append(paths, rel); len(paths) > walkFiles || size > walkBytes {
			return errTooMuch
		}
		return nil
	})
	if errors.Is(err, errTooMuch) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	found, err = marks(ctx, w.root, paths, false)
	return found, err == nil, err
}

func compare(a, b string) int { return cmp.Compare(a, b) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
