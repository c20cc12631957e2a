package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Removed says what was done with a worktree.
type Removed struct {
	Tree
	Trash      string `json:"trash,omitempty"`      // where its directory is now
	Modules    string `json:"modules,omitempty"`    // where the repositories of its submodules are now
	KeptBranch bool   `json:"keptBranch,omitempty"` // its branch has commits that nothing else has
}

// Own is what of a worktree's own may go to the trash with it.
type Own int

// The kinds, each with those before it.
const (
	OwnNothing    Own = iota
	OwnChanges        // changes that are not committed
	OwnSubmodules     // commits of submodules that are nowhere else
)

// Remove moves a worktree to the trash, where it stays for two weeks. One that is in use stays, and so does one that has more of its own
// than may go. Its branch goes only if its commits have another name.
func (m Manager) Remove(ctx context.Context, t Tree, may Own) (Removed, error) {
	r := Removed{Tree: t}
	release, err := take(strings.TrimSuffix(t.file, record) + lease)
	if err != nil {
		return r, execution.Errorf(execution.CodeConfigLock, "the worktree %s is in use", t.Name).WithHint("drawbar ps, then: drawbar stop RUN")
	}
	defer release()
	r.judge(ctx)
	switch {
	case r.State == Partial:
		err := t.discard(ctx)
		t.forget()
		return r, err
	case r.State == Live:
		return r, execution.Errorf(execution.CodeConfigLock, "a process works in the worktree %s: %s", t.Name, t.Path).WithHint("end it first")
	case len(r.Submodules) > 0 && may < OwnSubmodules:
		return r, execution.Errorf(execution.CodeValidation, "submodules of the worktree %s have commits that are nowhere else: %s", t.Name, some(r.Submodules)).
			WithHint("push them from %s; or move them to the trash with it: --force", t.Path)
	case r.State == Dirty && may < OwnChanges:
		return r, execution.Errorf(execution.CodeValidation, "the worktree %s has changes that are not committed: %s", t.Name, some(r.Changes)).
			WithHint("commit them: git -C %s commit -a; or move them to the trash with it: --force", t.Path)
	case r.State == Unknown && may < OwnChanges:
		return r, execution.Errorf(execution.CodeConfig, "git does not say how the worktree %s stands: %s", t.Name, t.Path).WithHint("git -C %s status; --force moves it to the trash", t.Path)
	}
	dir := filepath.Join(m.Dir, trash)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, execution.Errorf(execution.CodeConfig, "remove a worktree: %w", err)
	}
	into := filepath.Join(dir, fmt.Sprintf("%s-%s", time.Now().UTC().Format("20060102T150405.000"), t.Name))
	modules := ""
	if len(r.Submodules) > 0 || r.State == Unknown {
		modules = t.modules(ctx)
	}
	if exists(t.Path) {
		r.Trash = into
		if err := os.Rename(t.Path, r.Trash); err != nil {
			return r, execution.Errorf(execution.CodeConfig, "remove a worktree: %w", err)
		}
	}
	if modules != "" {
		r.Modules = into + ".modules"
		if err := keepModules(ctx, modules, r.Modules); err != nil {
			return r, err
		}
	}
	if exists(t.Repository) {
		if err := manage(ctx, t.Repository, nil, "worktree", "remove", "--force", t.Path); err != nil && !strings.Contains(err.Error(), "is not a working tree") {
			return r, err
		}
		if err := r.dropBranch(ctx); err != nil {
			return r, err
		}
	}
	if err := os.Remove(t.file); err != nil {
		return r, execution.Errorf(execution.CodeConfig, "remove a worktree: %w", err)
	}
	t.forget()
	return r, nil
}

// forget removes the lease of a worktree that is gone, which the caller has, and the directory of the repository after its last one.
func (t *Tree) forget() {
	_ = os.Remove(strings.TrimSuffix(t.file, record) + lease) // fails where an open file stays
	_ = os.Remove(filepath.Dir(t.file))
}

// dropBranch removes the branch if nothing is lost with it, and only at the commit that was looked at.
func (r *Removed) dropBranch(ctx context.Context) error {
	ref := "refs/heads/" + r.Branch
	if r.tip == "" {
		return nil // there is none
	}
	if r.KeptBranch = r.Commits > 0 || r.State == Unknown; r.KeptBranch {
		return nil
	}
	_, err := git(ctx, r.Repository, "update-ref", "-d", ref, r.tip)
	return err
}

// DropBranch removes the branch of a worktree that was removed although only it has its commits: what they did is elsewhere.
func (r Removed) DropBranch(ctx context.Context) error {
	if !r.KeptBranch {
		return nil
	}
	_, err := git(ctx, r.Repository, "update-ref", "-d", "refs/heads/"+r.Branch)
	return err
}

// Collect removes the worktrees with which nothing is lost, and empties the trash of what is older than two weeks. dry only says which.
func (m Manager) Collect(ctx context.Context, dry bool) (removed []Removed, kept []Tree, faults []error) {
	list, faults := m.List(ctx)
	for _, t := range list {
		if t.State != Clean && t.State != Missing && t.State != Partial {
			kept = append(kept, t)
			continue
		}
		if dry {
			removed = append(removed, Removed{Tree: t})
			continue
		}
		r, err := m.Remove(ctx, t, OwnNothing)
		if err != nil {
			faults, kept = append(faults, err), append(kept, t)
			continue
		}
		removed = append(removed, r)
	}
	if dry {
		return removed, kept, faults
	}
	old, _ := os.ReadDir(filepath.Join(m.Dir, trash)) // there may be none
	for _, e := range old {
		at, err := time.Parse("20060102T150405.000", strings.SplitN(e.Name(), "-", 2)[0])
		if err == nil && time.Since(at) > trashDays*24*time.Hour {
			if err := os.RemoveAll(filepath.Join(m.Dir, trash, e.Name())); err != nil {
				faults = append(faults, execution.Errorf(execution.CodeConfig, "empty the trash: %w", err))
			}
		}
	}
	return removed, kept, faults
}
