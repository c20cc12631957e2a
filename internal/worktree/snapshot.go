package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Work is what a run did to a repository, as a commit that begins where the run began. git keeps it under a name of the run.
type Work struct {
	Repository string // its top
	Base       string // commit
	Commit     string
}

// author is who makes the commits of Drawbar, so that none depends on a person's configuration.
var author = []string{"GIT_AUTHOR_NAME=Drawbar", "GIT_AUTHOR_EMAIL=drawbar@localhost", "GIT_COMMITTER_NAME=Drawbar", "GIT_COMMITTER_EMAIL=drawbar@localhost"}

// workRef is the name of a run's work. It is no branch, so that it is in no list of branches and in no push.
func workRef(run execution.RunID) string { return "refs/drawbar/runs/" + string(run) }

// Snapshot keeps all that a worktree has now as the work of a run: its commits and what is not committed, but no ignored files. The
// worktree, its index and its branch stay as they are. A worktree without changes has the work that is its base.
func (t Tree) Snapshot(ctx context.Context, run execution.RunID) (Work, error) {
	w := Work{Repository: t.Repository, Base: t.Base}
	out, err := git(ctx, t.Path, "rev-parse", "--path-format=absolute", "--git-path", "index", t.Base+"^{tree}")
	if err != nil {
		return w, err
	}
	at := strings.LastIndexByte(out, '\n')
	before := out[at+1:]
	index, remove, err := copyIndex(out[:max(at, 0)])
	if err != nil {
		return w, err
	}
	defer remove()
	env := append([]string{"GIT_INDEX_FILE=" + index}, author...)
	do := func(args ...string) (string, error) {
		return command{dir: t.Path, env: env, args: args}.output(ctx)
	}
	if _, err := do("add", "--all", "--", ":/"); err != nil {
		return w, err
	}
	tree, err := do("write-tree")
	if err != nil {
		return w, err
	}
	if tree == before {
		w.Commit = t.Base
		return w, nil
	}
	if kept, ok, err := workIn(ctx, t.Repository, run); err == nil && ok && kept.Base == t.Base {
		if was, err := do("rev-parse", kept.Commit+"^{tree}"); err == nil && was == tree {
			w.Commit = kept.Commit
			return w, nil
		}
	}
	if w.Commit, err = do("commit-tree", tree, "-p", t.Base, "-m", "The work of run "+string(run)); err != nil {
		return w, err
	}
	_, err = do("update-ref", workRef(run), w.Commit)
	return w, err
}

// Keep is Snapshot for a worktree that no run has.
func (m Manager) Keep(ctx context.Context, t Tree, run execution.RunID) (Work, error) {
	release, err := take(strings.TrimSuffix(t.file, record) + lease)
	if err != nil {
		return Work{}, execution.Errorf(execution.CodeConfigLock, "the worktree %s is in use by another run", t.Name).WithHint("wait: drawbar ps")
	}
	defer release()
	if !exists(t.Path) {
		w, ok, err := WorkOf(ctx, t.Repository, run)
		if err == nil && !ok {
			err = execution.Errorf(execution.CodeConfig, "the directory of the worktree %s is gone: %s", t.Name, t.Path).WithHint("what was committed is on its branch: git merge %s", t.Branch)
		}
		return w, err
	}
	return t.Snapshot(ctx, run)
}

// copyIndex copies the index of a worktree, with its time: git trusts what an index says about files that are older than it.
func copyIndex(from string) (path string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "drawbar-index-")
	if err != nil {
		return "", nil, execution.Errorf(execution.CodeConfig, "copy the index: %w", err)
	}
	path, remove = filepath.Join(folder, "index"), func() { _ = os.RemoveAll(folder) } // a temporary folder
	if err := copyFile(from, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		remove()
		return "", nil, execution.Errorf(execution.CodeConfig, "copy the index: %w", err)
	}
	return path, remove, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// WorkOf returns the work of a run that Snapshot has kept, in the repository that dir is in.
func WorkOf(ctx context.Context, dir string, run execution.RunID) (w Work, ok bool, err error) {
	at, err := find(ctx, dir)
	if err != nil {
		return w, false, err
	}
	return workIn(ctx, at.top, run)
}

func workIn(ctx context.Context, top string, run execution.RunID) (w Work, ok bool, err error) {
	w.Repository = top
	w.Commit, err = git(ctx, w.Repository, "rev-parse", "--verify", "--quiet", workRef(run)+"^{commit}")
	if err != nil {
		return w, false, nil //nolint:nilerr // there is none
	}
	w.Base, err = git(ctx, w.Repository, "rev-parse", w.Commit+"^")
	return w, err == nil, err
}

// place is where a directory is in a repository.
type place struct {
	top    string // of the work tree
	prefix string // of the directory, from the top, with slashes
	common string // git's directory of the repository
}

func find(ctx context.Context, dir string) (p place, err error) {
	out, err := git(ctx, dir, "rev-parse", "--show-toplevel", "--show-prefix", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return p, execution.Errorf(execution.CodeValidation, "this needs a git repository, and %s is in none: %w", dir, err).WithHint("git init, and a first commit")
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return p, execution.Errorf(execution.CodeValidation, "the path of the repository has a line break: %q", dir)
	}
	return place{filepath.FromSlash(lines[0]), lines[1], lines[2]}, nil
}

// Change is a file that a work changes.
type Change struct {
	Path           string // from the top, with slashes
	Added, Removed int    // lines; both are 0 for a file that is not text
}

// Changes returns the files that a work changes.
func (w Work) Changes(ctx context.Context) (list []Change, err error) {
	out, err := git(ctx, w.Repository, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", w.Base, w.Commit)
	if err != nil {
		return nil, err
	}
	for item := range strings.SplitSeq(out, "\x00") {
		fields := strings.SplitN(item, "\t", 3)
		if len(fields) < 3 {
			continue
		}
		c := Change{Path: fields[2]}
		c.Added, _ = strconv.Atoi(fields[0]) // - means not text
		c.Removed, _ = strconv.Atoi(fields[1])
		list = append(list, c)
	}
	return list, nil
}

// File returns a file of a commit; none is empty.
func (w Work) File(ctx context.Context, commit, path string) string {
	text, err := git(ctx, w.Repository, "cat-file", "blob", commit+":"+path)
	if err != nil {
		return ""
	}
	return text
}

// Has reports whether a commit has a file.
func (w Work) Has(ctx context.Context, commit, path string) bool {
	_, err := git(ctx, w.Repository, "cat-file", "-e", commit+":"+path)
	return err == nil
}

// Tracks reports whether a repository has a file, or a file in a directory.
func Tracks(ctx context.Context, dir, path string) bool {
	out, err := git(ctx, dir, "ls-files", "--", path)
	return err == nil && out != "" // an error means that it is elsewhere
}

// Changed shows what differs from the last commit in the repository that a directory is in: the names of new files, and the difference of
// the others.
func Changed(ctx context.Context, dir string) (string, error) {
	fresh, err := git(ctx, dir, "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return "", err
	}
	diff, err := git(ctx, dir, "diff", "--no-ext-diff", "--no-color", "HEAD")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for file := range strings.Lines(fresh) {
		b.WriteString("new file " + strings.TrimSpace(file) + "\n")
	}
	if diff != "" {
		b.WriteString(diff + "\n")
	}
	return b.String(), nil
}
