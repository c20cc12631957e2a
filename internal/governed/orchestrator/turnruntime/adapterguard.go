package turnruntime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// guarded are digests of the files below .agentxchain that an adapter must not change, by path, in the project and in
// the turn's worktree. The record itself is guarded by its seal, and other commands write it while a turn runs.
func (d Dispatch) guarded() (map[string]string, error) {
	all := map[string]string{}
	for _, root := range slices.Compact([]string{d.Root, d.workDir()}) {
		dir := filepath.Join(root, filepath.FromSlash(protocol.Dir))
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile, which is a change if it was there before
			}
			if err != nil || path == dir {
				return err
			}
			if d.mayChange(root, path, e) {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if e.IsDir() {
				return nil
			}
			sum, err := fileState(path, e)
			if err == nil {
				all[path] = sum
			} else if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mayChange reports whether a path may change while the turn runs.
func (d Dispatch) mayChange(root, path string, e fs.DirEntry) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	switch rel = filepath.ToSlash(rel); rel {
	case protocol.LocksDir, protocol.Dir + "/transactions", protocol.WorktreesDir, protocol.Dir + "/intake", protocol.DispatchIndexFile:
		return true
	}
	if path == filepath.Dir(d.StagedPath) || path == d.flatPath() || path == d.evidenceDir() {
		return true
	}
	return !e.IsDir() && strings.Count(rel, "/") == 1 && protocol.Operational(rel)
}

// fileState is what identifies a file's content: its digest and mode, or the target of a link.
func fileState(path string, e fs.DirEntry) (string, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		return "link " + to, err
	}
	if !e.Type().IsRegular() {
		return e.Type().String(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// wrote lists what changed since before, for people.
func (d Dispatch) wrote(before map[string]string) ([]string, error) {
	now, err := d.guarded()
	if err != nil {
		return nil, err
	}
	var changed []string
	for path, was := range before {
		if is, ok := now[path]; !ok || is != was {
			changed = append(changed, d.shown(path))
		}
	}
	for path := range now {
		if _, ok := before[path]; !ok {
			changed = append(changed, d.shown(path))
		}
	}
	slices.Sort(changed)
	return changed, nil
}
