package workspace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// maxHook limits the size of a hook whose content is read.
const maxHook = 16 << 20

// Hook is a hook of git, as a program that git would run.
type Hook struct {
	Path    string // absolute
	Content []byte
}

// PreCommit returns the pre-commit hook of the repository that contains root; nil if there is none that git would run.
func PreCommit(ctx context.Context, root string) (*Hook, error) {
	w, err := Open(ctx, root)
	if err != nil || w.kind == NoGit {
		return nil, err
	}
	all, err := w.configured(ctx, w.root)
	if err != nil {
		return nil, w.wrap("find the hooks", err)
	}
	_, dir, err := w.places(ctx, all)
	if err != nil {
		return nil, w.wrap("find the hooks", err)
	}
	path := filepath.Join(from(w.top, dir), "pre-commit")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return nil, nil // git ignores it too
	}
	content, err := repofile.Own(path, maxHook)
	return &Hook{path, content}, w.wrap("read "+path, err)
}

// Command is the program that runs the hook, and its arguments: as git does, a script goes to the shell where the system cannot run it.
func (h *Hook) Command() (program string, args []string, err error) {
	if script := !bytes.ContainsRune(h.Content, 0); !script || runtime.GOOS != "windows" && bytes.HasPrefix(h.Content, []byte("#!")) {
		return h.Path, nil, nil
	}
	program, err = oshost.New(nil).LookPath("sh")
	return program, []string{h.Path}, err
}

// Staged calls run with the folder and the variables of a hook of a commit of these paths: git's index is a private one that holds the
// head's tree and the paths as they are in the work tree. changed reports whether anything was staged, or any of the files changed, during
// the call. Nothing that run stages is committed.
func (w *Workspace) Staged(ctx context.Context, paths []string, run func(dir string, env []string)) (changed bool, err error) {
	if err := w.needGit("run a hook"); err != nil {
		return false, err
	}
	h, err := w.head(ctx)
	if err != nil {
		return false, w.wrap("run a hook", err)
	}
	tree := func(staged func(privateIndex)) (string, error) {
		index, done, err := w.privateIndex()
		if err != nil {
			return "", err
		}
		defer done()
		if err := w.fill(ctx, &index, h.commit, CheckpointRequest{Paths: paths}); err != nil {
			return "", err
		}
		write := func() (string, error) {
			out, err := w.git(ctx, command{args: []string{"write-tree"}, env: index.env()})
			return strings.TrimSpace(string(out)), err
		}
		before, err := write()
		if err != nil || staged == nil {
			return before, err
		}
		staged(index)
		after, err := write()
		changed = before != after
		return before, err
	}
	before, err := tree(func(x privateIndex) { run(w.top, append(x.env(), "GIT_EDITOR=:")) })
	if err != nil {
		return false, w.wrap("run a hook", err)
	}
	after, err := tree(nil)
	return changed || before != after, w.wrap("run a hook", err)
}
