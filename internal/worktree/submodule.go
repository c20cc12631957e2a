package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/submodule"
)

// modules returns the directory of the repositories of submodules that were checked out in the worktree, empty if there are none. It is
// in the worktree's own part of the repository, which git removes with it.
func (t *Tree) modules(ctx context.Context) string {
	own := func(admin string) string {
		if dir := filepath.Join(admin, "modules"); exists(dir) {
			return dir
		}
		return ""
	}
	absolute := func(dir, path string) string {
		if path = strings.TrimSpace(path); filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(dir, path)
	}
	if b, err := os.ReadFile(filepath.Join(t.Path, ".git")); err == nil {
		_, admin, _ := strings.Cut(string(b), "gitdir:")
		return own(absolute(t.Path, admin))
	}
	common, err := git(ctx, t.Repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return ""
	}
	all, _ := os.ReadDir(filepath.Join(common, "worktrees")) // none is no error
	for _, e := range all {
		admin := filepath.Join(common, "worktrees", e.Name())
		if b, err := os.ReadFile(filepath.Join(admin, "gitdir")); err == nil && absolute(admin, string(b)) == filepath.Join(t.Path, ".git") {
			return own(admin)
		}
	}
	return ""
}

// unpushed returns the names of the submodules below a directory of modules that have commits which none of their remotes has.
func unpushed(ctx context.Context, modules string) (names []string) {
	if modules == "" {
		return nil
	}
	for _, dir := range submodule.Repositories(modules) {
		count, err := git(ctx, dir, "--git-dir="+dir, "rev-list", "--count", "--all", "HEAD", "--not", "--remotes", "--tags")
		if err != nil || count != "0" {
			name, _ := filepath.Rel(modules, dir) // it is below
			names = append(names, strings.ReplaceAll(filepath.ToSlash(name), "/modules/", "/"))
		}
	}
	return names
}

// keepModules moves or copies a directory of modules into the trash. Its repositories have no files of their own there.
func keepModules(ctx context.Context, modules, into string) error {
	err := os.Rename(modules, into)
	if err != nil { // on another file system
		err = os.CopyFS(into, os.DirFS(modules))
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "keep the commits of submodules: %w", err)
	}
	for _, dir := range submodule.Repositories(into) {
		_, _ = git(ctx, into, "config", "--file", filepath.Join(dir, "config"), "--unset", "core.worktree") // its commits are there without it
	}
	return nil
}
