package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
)

// Kind says whether git keeps the history of a workspace.
type Kind string

// The kinds, as in protocol.Baseline.
const (
	Git   Kind = "git_worktree"
	NoGit Kind = "no_git"
)

// ErrNoGit matches errors about operations that need a git repository.
var ErrNoGit = errors.New("not a git repository")

// Workspace is a project's files and their repository. It caches only what it can query again, and is safe for
// concurrent use.
type Workspace struct {
	root    string // absolute, links resolved
	kind    Kind
	program string   // git
	env     []string // the environment of every git command
	signing []string // and what programs need besides that sign
	top     string   // the top of the work tree
	prefix  string   // of the root below the top, with a slash at the end; empty when they are the same
	gitDir  string   // of this work tree
	common  string   // of the repository
	mark    string   // the .git entry that was found
	// filters are the allowed content filters, as they were configured at that time; nil: none.
	filters map[string]string
	pinned  string // counts as HEAD's commit, if it is set
	known   *knownSettings
	index   *knownIndex
}

// Open opens the project at root. Configured filters do not run before WithFilters. A folder outside every repository
// has the kind NoGit. An unusable repository (bare, broken, refused by git, or without a git program) is an error with
// a hint.
func Open(ctx context.Context, root string) (*Workspace, error) { return open(ctx, root, os.Environ()) }

func open(ctx context.Context, root string, environ []string) (*Workspace, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open workspace %s: %w", root, err).WithHint("give the folder that holds agentxchain.json")
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, execution.Errorf(execution.CodeConfig, "open workspace %s: not a directory", abs).WithHint("give the folder that holds agentxchain.json")
	}
	w := &Workspace{root: abs, kind: NoGit, env: environment(environ), signing: withNames(environ, signers), known: &knownSettings{}, index: &knownIndex{}}
	mark := findRepository(abs)
	if mark == "" {
		return w, nil
	}
	host := oshost.New(nil)
	if w.program, err = host.LookPath("git"); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "%s is a git repository but the git program was not found: %w", mark, err).
			WithHint("install git (https://git-scm.com/downloads), or add its folder to PATH")
	}
	if plain := w.plain(ctx, mark); plain != nil {
		return plain, nil
	}
	return w, w.locate(ctx, mark)
}

// Fits reports whether the project's repository is still where Open found it, or still absent. It starts no process.
func (w *Workspace) Fits() bool {
	mark := findRepository(w.root)
	if w.kind == NoGit {
		return mark == ""
	}
	return mark == w.mark && exists(filepath.Join(w.gitDir, "HEAD"))
}

// findRepository returns the nearest folder from dir upwards that looks like a repository or one of its work
// trees.
func findRepository(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if list, err := os.ReadDir(filepath.Join(d, ".git")); exists(filepath.Join(d, ".git")) && (err != nil || len(list) > 0) {
			return d // git ignores an empty folder of that name too
		}
		if exists(filepath.Join(d, "HEAD")) && exists(filepath.Join(d, "objects")) && exists(filepath.Join(d, "refs")) {
			return d
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// locate asks git where the repository is.
func (w *Workspace) locate(ctx context.Context, mark string) error {
	out, err := w.git(ctx, command{dir: w.root, args: []string{"rev-parse", "--is-bare-repository", "--is-inside-work-tree",
		"--absolute-git-dir", "--git-common-dir", "--show-cdup", "--show-prefix"}})
	if err != nil {
		var typed *execution.Error
		switch {
		case errors.As(err, &typed):
			return err
		case says(err, "not a git repository") && !exists(filepath.Join(mark, ".git")):
			return nil // only looked like one
		case says(err, "not a git repository"), says(err, "invalid gitfile"), says(err, "bad config"):
			return execution.Errorf(execution.CodeConfig, "the git repository %s is broken: %w", mark, err).
				WithHint("repair it, or inspect it with: git -C %s status", quote(mark))
		}
		return execution.Errorf(execution.CodeConfig, "open the git repository %s: %w", mark, err).WithHint("inspect it with: git -C %s status", quote(mark))
	}
	// The prefix is last, as it may contain newlines.
	f := strings.SplitN(string(out), "\n", 6)
	if len(f) < 6 {
		f = append(f, make([]string, 6-len(f))...)
	}
	if f[1] != "true" {
		if f[0] == "true" {
			return execution.Errorf(execution.CodeConfig, "the git repository %s is bare: it has no files to work on", mark).
				WithHint("create a work tree and go there: git -C %s worktree add ../work", quote(mark))
		}
		return execution.Errorf(execution.CodeConfig, "%s lies inside a git directory, not in a work tree", w.root).
			WithHint("go to the folder that holds agentxchain.json")
	}
	w.mark, w.kind, w.gitDir, w.common = mark, Git, filepath.FromSlash(f[2]), filepath.FromSlash(f[3])
	if !filepath.IsAbs(w.common) {
		w.common = filepath.Join(w.root, w.common)
	}
	w.prefix = strings.TrimSuffix(f[5], "\n")
	w.top = filepath.Join(w.root, filepath.FromSlash(f[4]))
	return nil
}

// Kind is Git or NoGit.
func (w *Workspace) Kind() Kind { return w.kind }

// needGit returns the error of an operation that needs a repository.
func (w *Workspace) needGit(what string) error {
	if w.kind == Git {
		return nil
	}
	return execution.Errorf(execution.CodeConfig, "%s in %s: %w", what, w.root, ErrNoGit).
		WithHint("make it a repository: git -C %s init && git -C %s add -A && git -C %s commit -m start", quote(w.root), quote(w.root), quote(w.root))
}

// inside converts git's path from the top to one relative to the root; false for a path outside the root.
func (w *Workspace) inside(path string) (string, bool) { return strings.CutPrefix(path, w.prefix) }

// wrap adds the operation and the place, and a hint if the cause has none.
func (w *Workspace) wrap(what string, err error) error {
	var typed *execution.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	}
	hint := "inspect it with: git -C %s status"
	if says(err, "index file") {
		hint = "the index can be rebuilt without touching a file: rm " + quote(filepath.Join(w.gitDir, "index")) + " && git -C %s reset"
	}
	return execution.Errorf(execution.CodeConfig, "%s in %s: %w", what, w.root, err).WithHint(hint, quote(w.root))
}
