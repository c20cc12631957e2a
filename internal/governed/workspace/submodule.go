package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/submodule"
)

// objectFile is a file of objects in a repository.
var objectFile = lazy.Regexp(`^([0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]+\.(pack|idx|rev))$`)

// checkOutSubmodules checks out, in a new worktree, the submodules that are checked out in the project. Those whose commit the project does not
// have stay empty and are returned.
func (w *Workspace) checkOutSubmodules(ctx context.Context, dir string) (without []string, err error) {
	return submodule.CheckOut(ctx, func(ctx context.Context, dir string, args ...string) (string, error) {
		out, err := w.git(ctx, command{dir: dir, args: args, env: []string{"GIT_ALLOW_PROTOCOL=file"}})
		return strings.TrimSuffix(string(out), "\n"), err
	}, w.top, dir)
}

// keepSubmodules brings commits that were made in submodules of a turn's worktree into the project's repositories of these submodules,
// below refs/drawbar/turns: git has them in its administrative folder of the worktree, which goes with it. No program of the turn runs,
// and nothing but objects is taken over.
func (w *Workspace) keepSubmodules(ctx context.Context, turn, admin string) error {
	modules := filepath.Join(admin, "modules")
	for _, dir := range submodule.Repositories(modules) {
		at := func(dir string, args ...string) (string, error) {
			out, err := w.git(ctx, command{args: args, env: []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + dir}})
			return strings.TrimSpace(string(out)), err
		}
		own, err := at(dir, "rev-list", "--count", "--all", "HEAD", "--not", "--remotes", "--tags")
		if err != nil || own == "0" {
			continue // a repository without a commit
		}
		name, _ := filepath.Rel(modules, dir) // it is below
		into := filepath.Join(w.common, "modules", name)
		if !exists(into) {
			return execution.Errorf(execution.CodeConfig, "the submodule %s has commits of the turn, and is not checked out in the project", filepath.ToSlash(name)).
				WithHint("git submodule update --init --recursive")
		}
		refs, err := at(dir, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")
		if err != nil {
			return err
		}
		head, err := at(dir, "rev-parse", "HEAD")
		if err != nil {
			return err
		}
		if err := copyObjects(filepath.Join(dir, "objects"), filepath.Join(into, "objects")); err != nil {
			return err
		}
		for line := range strings.Lines(head + " HEAD\n" + refs) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
			if _, err := at(into, "update-ref", "refs/drawbar/turns/"+turn+"/"+ref, commit); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyObjects copies the objects that a repository lacks; the index of a pack comes after the pack.
func copyObjects(from, into string) error {
	for _, indexes := range []bool{false, true} {
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".idx") != indexes {
				return err
			}
			name, _ := filepath.Rel(from, path) // it is below
			to := filepath.Join(into, name)
			if !objectFile().MatchString(filepath.ToSlash(name)) || exists(to) {
				return nil
			}
			data, err := readPlain(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return atomicfile.Write(to, data, 0o444, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
