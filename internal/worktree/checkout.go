package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Checkout makes a directory with the files of a commit, set up like a new worktree, in which a check runs. remove takes it away; if this process is killed
// first, it is in the list of worktrees, and Collect takes it away.
func (m Manager) Checkout(ctx context.Context, top, name, commit string) (dir string, remove func() error, err error) {
	if err := CheckName(name); err != nil {
		return "", nil, err
	}
	home := m.home(top)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", nil, execution.Errorf(execution.CodeConfig, "make a clean checkout: %w", err)
	}
	file := filepath.Join(home, name+record)
	release, err := take(filepath.Join(home, name+lease))
	if err != nil {
		return "", nil, execution.Errorf(execution.CodeConfigLock, "the clean checkout %s is in use: %w", name, err)
	}
	// It is never ready: it is thrown away like a worktree whose making was interrupted.
	t := Tree{Name: name, Path: strings.TrimSuffix(file, record), Repository: top, Branch: branches + name, Base: commit, CreatedAt: time.Now().UTC().Truncate(time.Second), file: file}
	remove = func() error {
		defer release()
		err := t.discard(context.WithoutCancel(ctx))
		t.forget()
		return err
	}
	if err := t.write(); err != nil {
		release()
		return "", nil, err
	}
	again := func() error { return errors.Join(t.discard(ctx), t.write()) }
	if err := manage(ctx, top, again, "-c", "core.hooksPath="+os.DevNull, "worktree", "add", "--quiet", "--detach", t.Path, commit); err != nil {
		_ = remove() // the error says more
		return "", nil, err
	}
	setup := m.Setup
	setup.Say = nil // a check says itself what goes on
	if err := setup.apply(ctx, top, t.Path); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return t.Path, remove, nil
}

// Without returns a commit like that of a work, in which the files for which like returns true are as they were at its base: changed ones
// and removed ones are back, and new ones are gone. restored are the files that differ from those of the work.
func (w Work) Without(ctx context.Context, like func(path string) bool) (commit string, restored []string, err error) {
	changes, err := w.Changes(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, c := range changes {
		if like(c.Path) {
			restored = append(restored, c.Path)
		}
	}
	if len(restored) == 0 {
		return w.Commit, nil, nil
	}
	entries, err := w.entries(ctx)
	if err != nil {
		return "", nil, err
	}
	var info strings.Builder
	for _, path := range restored { // first those that go, so that none is in the way of another
		if entries[path] == "" {
			fmt.Fprintf(&info, "0 %s\t%s\x00", strings.Repeat("0", len(w.Commit)), path)
		}
	}
	for _, path := range restored {
		if entries[path] != "" {
			fmt.Fprintf(&info, "%s\t%s\x00", entries[path], path)
		}
	}
	folder, err := os.MkdirTemp("", "drawbar-index-")
	if err != nil {
		return "", nil, execution.Errorf(execution.CodeConfig, "make an index: %w", err)
	}
	defer os.RemoveAll(folder)
	env := append([]string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}, author...)
	do := func(stdin string, args ...string) (out string) {
		if err == nil {
			out, err = command{dir: w.Repository, env: env, stdin: []byte(stdin), args: args}.output(ctx)
		}
		return out
	}
	do("", "read-tree", w.Commit)
	do(info.String(), "update-index", "--replace", "-z", "--index-info")
	tree := do("", "write-tree")
	commit = do("", "commit-tree", tree, "-p", w.Base, "-m", "For a check")
	return commit, restored, err
}

// entries returns the files of the base, each as "mode object".
func (w Work) entries(ctx context.Context) (map[string]string, error) {
	out, err := git(ctx, w.Repository, "ls-tree", "-r", "-z", w.Base)
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for item := range strings.SplitSeq(out, "\x00") {
		head, path, ok := strings.Cut(item, "\t")
		fields := strings.Fields(head) // mode, type, object
		if ok && len(fields) == 3 {
			entries[path] = fields[0] + " " + fields[2]
		}
	}
	return entries, nil
}
