package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// baseFile is kept in git's administrative folder of a worktree: the commit that the turn started from.
const baseFile = "drawbar-base"

// Turn worktrees lie below the root, in a folder that ignores itself.
func (w *Workspace) worktreeDir(turn string) string {
	return filepath.Join(w.root, filepath.FromSlash(protocol.WorktreesDir), turn)
}

func checkTurn(turn string) error {
	if turn == "" || turn == "." || turn == ".." || strings.ContainsFunc(turn, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}) {
		return execution.Errorf(execution.CodeValidation, "%q is not a valid turn id", turn).WithHint("list the turns with: drawbar govern status")
	}
	return nil
}

// Worktree creates a git worktree for a turn from the current head, detached, so that no branch is left over, and
// returns the project's root in it, and the submodules that stay empty. An existing worktree of the turn is returned as it is.
func (w *Workspace) Worktree(ctx context.Context, turn string) (path string, base protocol.Baseline, without []string, err error) {
	if err := errors.Join(checkTurn(turn), w.needGit("make a worktree")); err != nil {
		return "", base, nil, err
	}
	h, err := w.head(ctx)
	if err != nil {
		return "", base, nil, w.wrap("make a worktree", err)
	}
	if h.commit == "" {
		return "", base, nil, execution.Errorf(execution.CodeConfig, "create a worktree: %s has no commit yet to start from", h.ref).
			WithHint("commit the project first: git -C %s add -A && git -C %s commit -m start", quote(w.root), quote(w.root))
	}
	dir := w.worktreeDir(turn)
	if t := w.lookTree(dir); t.whole {
		h.commit = t.base
	} else if without, err = w.makeTree(ctx, turn, dir, h.commit); err != nil {
		return "", base, nil, w.wrap("make a worktree", err)
	}
	project := filepath.Join(dir, filepath.FromSlash(w.prefix))
	if w.prefix != "" {
		// Folders without files are not in a commit.
		if err := os.MkdirAll(project, 0o755); err != nil {
			return "", base, nil, w.wrap("make a worktree", err)
		}
	}
	return project, protocol.Baseline{Kind: string(Git), HeadRef: &h.commit, Clean: true, CapturedAt: protocol.At(time.Now()),
		Detail: &protocol.BaselineDetail{}}, without, nil
}

func (w *Workspace) makeTree(ctx context.Context, turn, dir, commit string) (without []string, err error) {
	// An interrupted attempt left something there.
	if err := w.Drop(ctx, turn); err != nil {
		return nil, err
	}
	parent := filepath.Dir(dir)
	if _, err := Resolve(w.root, protocol.WorktreesDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	// Hide the worktrees from git status.
	if err := os.WriteFile(filepath.Join(parent, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return nil, err
	}
	if _, err := w.git(ctx, command{args: []string{"worktree", "add", "--quiet", "--detach", dir, commit}}); err != nil {
		return nil, err
	}
	if without, err = w.checkOutSubmodules(ctx, dir); err != nil {
		return nil, err
	}
	admin, err := adminDir(dir)
	if err != nil {
		return nil, err
	}
	return without, os.WriteFile(filepath.Join(admin, baseFile), []byte(commit+"\n"), 0o644)
}

// adminDir is git's administrative folder of a worktree.
func adminDir(dir string) (string, error) {
	data, err := readPlain(filepath.Join(dir, ".git"))
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", errors.New("its .git file does not name a git directory")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, nil
}

// tree is the worktree of a turn.
type tree struct {
	turn string
	path string // its top
	base string // the commit that the turn started from; empty if the creation was interrupted

	whole bool
	admin string
}

// lookTree reads a worktree without git.
func (w *Workspace) lookTree(dir string) tree {
	t := tree{turn: filepath.Base(dir), path: dir}
	admin, err := adminDir(dir)
	if err != nil || !within(filepath.Join(w.common, "worktrees"), admin) || noted(admin) != dir {
		return t // an agent may have changed its .git file, so it is not followed
	}
	t.admin = admin
	if data, err := readPlain(filepath.Join(admin, baseFile)); err == nil && IsObject(strings.TrimSpace(string(data))) {
		t.base, t.whole = strings.TrimSpace(string(data)), true
	}
	return t
}

// noted returns the worktree of an administrative folder.
func noted(admin string) string {
	data, err := readPlain(filepath.Join(admin, "gitdir"))
	if err != nil {
		return ""
	}
	path := strings.TrimSpace(string(data))
	if !filepath.IsAbs(path) {
		path = filepath.Join(admin, path)
	}
	return filepath.Dir(path)
}

// Drop removes the worktree of a turn with everything in it and git's administrative folder of it. A missing worktree
// is not an error.
func (w *Workspace) Drop(ctx context.Context, turn string) error {
	if err := checkTurn(turn); err != nil || w.kind == NoGit {
		return err
	}
	dir := w.worktreeDir(turn)
	if _, err := Resolve(w.root, protocol.WorktreesDir); err != nil {
		return w.wrap("drop the worktree of "+turn, err)
	}
	notes, err := os.ReadDir(filepath.Join(w.common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.wrap("drop the worktree of "+turn, err)
	}
	var admins []string
	for _, n := range notes {
		if admin := filepath.Join(w.common, "worktrees", n.Name()); noted(admin) == dir {
			admins = append(admins, admin)
		}
	}
	for _, admin := range admins {
		if err := w.keepSubmodules(ctx, turn, admin); err != nil {
			return w.wrap("drop the worktree of "+turn, err)
		}
	}
	if err := removeAll(dir); err != nil {
		return w.wrap("drop the worktree of "+turn, err)
	}
	for _, admin := range admins {
		if err := removeAll(admin); err != nil {
			return w.wrap("drop the worktree of "+turn, err)
		}
	}
	_ = os.Remove(filepath.Join(w.common, "worktrees")) // if it was the last one
	return ctx.Err()
}

// removeAll is os.RemoveAll for folders that tools have made read-only too.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
