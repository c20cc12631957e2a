package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/execution"
)

// Target is the branch that a repository has checked out, at the commit that was looked at. Close ends the lease that keeps other
// merges of Drawbar away.
type Target struct {
	Top    string
	Head   string // commit
	Branch string // empty for none
	Prefix string // of the directory that it was opened for, from the top, with slashes
	lock   *flock.Flock
}

// OpenTarget returns the target of the repository that dir is in.
func OpenTarget(ctx context.Context, dir string) (t *Target, err error) {
	at, err := find(ctx, dir)
	if err != nil {
		return nil, err
	}
	t = &Target{Top: at.top, Prefix: at.prefix}
	t.lock = flock.New(filepath.Join(at.common, "drawbar-merge.lock"), flock.SetPermissions(0o600))
	if ok, err := t.lock.TryLock(); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "lock %s: %w", t.Top, err)
	} else if !ok {
		return nil, execution.Errorf(execution.CodeConfigLock, "another command merges into %s", t.Top).WithHint("wait for it")
	}
	if t.Head, err = git(ctx, t.Top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		t.Close()
		return nil, execution.Errorf(execution.CodeValidation, "%s has no commit yet", t.Top).WithHint("commit something first")
	}
	t.Branch, _ = git(ctx, t.Top, "symbolic-ref", "--quiet", "--short", "HEAD") // none is checked out
	return t, nil
}

// Close ends the lease.
func (t *Target) Close() { _ = t.lock.Close() } // nothing was written to it

// Conflict says that a work cannot be merged: both sides changed the same lines of these files.
type Conflict struct{ Files []string }

func (c *Conflict) Error() string {
	return fmt.Sprintf("the work conflicts with what was committed since, in %s", some(c.Files))
}

// oldGit is the hint for a git without merge-tree --write-tree.
const oldGit = "git 2.38 or newer"

// Merge merges a work into the target three-way and returns the tree of files that results, or a *Conflict. Nothing changes but git's
// objects.
func (t *Target) Merge(ctx context.Context, w Work) (tree string, err error) {
	args := []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", t.Head, w.Commit}
	out, code, err := command{dir: t.Top, args: args}.run(ctx)
	parts := strings.Split(strings.TrimRight(out.text, "\x00"), "\x00")
	switch {
	case err != nil:
		return "", err
	case code == 0:
		return parts[0], nil
	case code == 1:
		return "", &Conflict{slices.Compact(slices.Sorted(slices.Values(parts[1:])))}
	}
	return "", execution.Errorf(execution.CodeConfig, "git cannot merge: %s", out.said).WithHint("this needs %s", oldGit)
}

// Overlap says that files have changes that are not committed, and are in the way of a merge.
type Overlap struct{ Files []string }

func (o *Overlap) Error() string {
	return fmt.Sprintf("changes of yours that are not committed are in the way: %s", some(o.Files))
}

// Changes returns the files in which a tree differs from the head.
func (t *Target) Changes(ctx context.Context, tree string) ([]Change, error) {
	return Work{Repository: t.Top, Base: t.Head, Commit: tree}.Changes(ctx)
}

// Has reports whether the repository has a commit.
func (t *Target) Has(ctx context.Context, commit string) bool {
	_, err := git(ctx, t.Top, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// Nothing refuses if something is staged, which a commit of a tree would leave out.
func (t *Target) Nothing(ctx context.Context) error {
	staged, err := git(ctx, t.Top, "diff", "--cached", "--name-only", "--no-renames", "-z", t.Head)
	if err == nil && staged != "" {
		err = &Overlap{strings.Split(strings.TrimRight(staged, "\x00"), "\x00")}
	}
	return err
}

// Stage puts a tree into the index and the work tree: what differs from the head is staged. It does all of it or nothing.
func (t *Target) Stage(ctx context.Context, tree string) error {
	if err := t.overlap(ctx, tree); err != nil {
		return err
	}
	_, err := git(ctx, t.Top, "read-tree", "-m", "-u", t.Head, tree)
	return err
}

// overlap refuses a tree that changes files with changes that are not committed, and one with new files where others are: also ignored ones.
func (t *Target) overlap(ctx context.Context, tree string) error {
	will, err := git(ctx, t.Top, "diff-tree", "-r", "-z", "--name-status", "--no-renames", t.Head, tree)
	if err != nil {
		return err
	}
	changed, err := changes(ctx, t.Top, "all")
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, f := range changed {
		have[f] = true
	}
	var both []string
	for pair := range slices.Chunk(strings.Split(strings.TrimRight(will, "\x00"), "\x00"), 2) {
		if len(pair) == 2 && (have[pair[1]] || pair[0] == "A" && exists(filepath.Join(t.Top, filepath.FromSlash(pair[1])))) {
			both = append(both, pair[1])
		}
	}
	if len(both) > 0 {
		return &Overlap{both}
	}
	return nil
}

// Commit makes a commit of a tree on the target's head; with also it is a merge. It moves no branch.
func (t *Target) Commit(ctx context.Context, tree, message string, also ...string) (commit string, err error) {
	args := []string{"commit-tree", tree, "-p", t.Head, "-m", message}
	for _, parent := range also {
		args = append(args, "-p", parent)
	}
	return git(ctx, t.Top, args...)
}

// Advance moves the branch, the index and the work tree to a commit on the head, all of it or nothing.
func (t *Target) Advance(ctx context.Context, commit string) error {
	if err := t.overlap(ctx, commit); err != nil {
		return err
	}
	if now, err := git(ctx, t.Top, "rev-parse", "HEAD"); err != nil || now != t.Head {
		return errors.Join(err, execution.Errorf(execution.CodeConfigLock, "%s has moved from %.12s to %.12s meanwhile", t.Top, t.Head, now).WithHint("try again"))
	}
	if _, err := git(ctx, t.Top, "-c", "maintenance.auto=false", "merge", "--ff-only", "--quiet", commit); err != nil {
		return err
	}
	t.Head = commit
	return nil
}

// changes returns the files of a work tree that are not committed. untracked is normal, or all for the files of new directories too.
func changes(ctx context.Context, dir, untracked string) (files []string, err error) {
	out, err := git(ctx, dir, "status", "--porcelain", "-z", "--no-renames", "--untracked-files="+untracked)
	if err != nil {
		return nil, err
	}
	for item := range strings.SplitSeq(out, "\x00") {
		if len(item) > 3 {
			files = append(files, item[3:])
		}
	}
	return files, nil
}

// Since returns the files in which the head differs from a commit.
func (t *Target) Since(ctx context.Context, commit string) ([]Change, error) {
	return Work{Repository: t.Top, Base: commit, Commit: t.Head}.Changes(ctx)
}

// Contains reports whether a commit is part of the head's history.
func (t *Target) Contains(ctx context.Context, commit string) bool {
	_, err := git(ctx, t.Top, "merge-base", "--is-ancestor", commit, t.Head)
	return err == nil
}
