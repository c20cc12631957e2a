package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Discard resets files to the baseline, in the root or in a turn's worktree (see Observe): files that did not
// exist are removed, files of the head are restored, also in the index. Files that a person had changed before
// the turn cannot be restored; they are left alone and returned.
func (w *Workspace) Discard(ctx context.Context, base protocol.Baseline, dir string, paths []string) (left []string, err error) {
	if err := w.needGit("discard changes"); err != nil {
		return nil, err
	}
	at, own, err := w.at(dir)
	if err != nil {
		return nil, err
	}
	h, err := at.head(ctx)
	if own && base.HeadRef != nil {
		h.commit = *base.HeadRef // every commit since is the turn's
	}
	if err == nil {
		left, err = at.discard(ctx, base, h.commit, paths)
	}
	return left, w.wrap("discard changes", err)
}

func (w *Workspace) discard(ctx context.Context, base protocol.Baseline, from string, paths []string) (left []string, err error) {
	var mine []string
	for _, p := range paths {
		if err := checkRelative(p); err != nil {
			return nil, err
		}
		if was, ok := base.DirtySnapshot.Get(p); ok {
			m, err := look(ctx, filepath.Join(w.root, filepath.FromSlash(p)), false)
			if err != nil {
				return nil, err
			}
			if m.marker != was {
				left = append(left, p)
			}
			continue
		}
		mine = append(mine, p)
	}
	if len(mine) == 0 {
		return left, nil
	}
	known := map[string]bool{}
	if from != "" {
		out, err := w.git(ctx, command{args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", from}})
		if err != nil {
			return nil, err
		}
		for _, p := range items(out) {
			known[p] = true
		}
	}
	var restore, remove []string
	for _, p := range mine {
		if known[w.prefix+p] {
			restore = append(restore, w.prefix+p)
		} else {
			remove = append(remove, p)
		}
	}
	if err := w.removeFiles(ctx, remove); err != nil {
		return nil, err
	}
	if len(restore) > 0 {
		_, err = w.git(ctx, command{args: []string{"restore", "--quiet", "--source=" + from, "--staged", "--worktree",
			"--pathspec-from-file=-", "--pathspec-file-nul"}, stdin: []byte(strings.Join(restore, "\x00") + "\x00")})
	}
	return left, err
}

// removeFiles removes new files, also from the index, and folders that are empty afterwards.
func (w *Workspace) removeFiles(ctx context.Context, paths []string) (err error) {
	if len(paths) == 0 {
		return nil
	}
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var list strings.Builder
	for _, p := range slices.Sorted(slices.Values(paths)) {
		name := filepath.FromSlash(p)
		if info, err := root.Lstat(name); err == nil && info.IsDir() {
			continue // never remove a folder as a whole
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return err
		}
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
			if root.Remove(d) != nil {
				break
			}
		}
		list.WriteString(w.prefix + p + "\x00")
	}
	_, err = w.git(ctx, command{args: []string{"update-index", "--force-remove", "-z", "--stdin"}, stdin: []byte(list.String())})
	return err
}
