package workspace

import (
	"context"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Diff returns git's patch of the project's files from one commit to another, or, with stat, the number of lines per
// file. An empty older means newer's parent. Configured programs are not run.
func (w *Workspace) Diff(ctx context.Context, older, newer string, stat bool) ([]byte, error) {
	if w.kind == NoGit {
		return nil, errNoCommits()
	}
	if older == "" {
		parent, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", newer + "^"}, ok: []int{1}})
		if err != nil {
			return nil, w.wrap("compare commits", err)
		}
		if code != 0 {
			parent = nil // the first commit
		}
		if older, err = w.olderTree(ctx, strings.TrimSpace(string(parent))); err != nil {
			return nil, w.wrap("compare commits", err)
		}
	}
	for _, c := range []string{older, newer} {
		if _, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", c + "^{tree}"}, ok: []int{1, 128}}); err != nil || code != 0 {
			return nil, execution.Errorf(execution.CodeSessionNotFound, "the commit %.12s is not in this repository", c).WithHint("drawbar govern verify")
		}
	}
	out, err := w.git(ctx, command{args: append(w.patch("diff-tree", stat), older, newer, "--", w.scope())})
	return out, w.wrap("compare commits", err)
}

// DiffFrom is Diff from a commit to the current files of dir, and returns the untracked files. dir is empty for the
// project itself, or a turn's worktree.
func (w *Workspace) DiffFrom(ctx context.Context, older, dir string, stat bool) (patch []byte, untracked []string, err error) {
	if w.kind == NoGit {
		return nil, nil, errNoCommits()
	}
	at, _, err := w.at(dir)
	if err != nil {
		return nil, nil, err
	}
	if patch, err = at.git(ctx, command{args: append(at.patch("diff", stat), older, "--", at.scope())}); err != nil {
		return nil, nil, w.wrap("compare files with a commit", err)
	}
	out, err := at.git(ctx, command{args: []string{"ls-files", "-z", "--others", "--exclude-standard", "--", at.scope()}})
	if err != nil {
		return nil, nil, w.wrap("list new files", err)
	}
	for _, path := range items(out) {
		if p, ok := at.inside(path); ok && !protocol.Operational(p) {
			untracked = append(untracked, p)
		}
	}
	return patch, untracked, nil
}

func errNoCommits() error {
	return execution.Errorf(execution.CodeCapability, "the project is not in a git repository: there is nothing to compare").WithHint("git init, before the next run")
}

// patch is a git command that writes a patch without running other programs.
func (w *Workspace) patch(command string, stat bool) []string {
	form := "--patch"
	if stat {
		form = "--stat=100"
	}
	args := []string{command, "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-color", "--find-renames", form}
	if command == "diff-tree" {
		args = append(args, "-r")
	}
	return args
}

// scope is the project's folder within the repository, as a path of git.
func (w *Workspace) scope() string {
	if w.prefix == "" {
		return "."
	}
	return strings.TrimSuffix(w.prefix, "/")
}
