package worktree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
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

// checkOutSubmodules checks out, in a work tree, the submodules that are checked out in the one it was made from, and theirs. Their objects
// come from there: nothing is fetched from elsewhere. It returns the paths of those whose commit is not there, which stay empty.
func checkOutSubmodules(ctx context.Context, from, to string) (without []string, err error) {
	if !exists(filepath.Join(to, ".gitmodules")) {
		return nil, nil
	}
	list, _ := git(ctx, to, "config", "--file", ".gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`) // a file without one has none
	for entry := range strings.SplitSeq(list, "\x00") {
		key, path, ok := strings.Cut(entry, "\n")
		source := filepath.Join(from, filepath.FromSlash(path))
		if !ok || !filepath.IsLocal(filepath.FromSlash(path)) || !exists(filepath.Join(source, ".git")) {
			continue
		}
		objects, err := git(ctx, source, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(key, ".path")
		if _, err := git(ctx, to, "-c", "protocol.file.allow=always", "-c", name+".url="+objects, "-c", name+".update=checkout", "-c", "core.hooksPath="+os.DevNull,
			"submodule", "update", "--quiet", "--init", "--checkout", "--", path); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			without = append(without, path)
			continue
		}
		into := filepath.Join(to, filepath.FromSlash(path))
		// What the source knows of its remote is known here, so that no commit seems to be only here.
		_, err = git(ctx, into, "fetch", "--quiet", objects, "+refs/remotes/*:refs/remotes/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/remotes/drawbar/base")
		if remote, none := git(ctx, source, "remote", "get-url", "origin"); err == nil && none == nil {
			_, err = git(ctx, into, "remote", "set-url", "origin", remote)
		}
		if err != nil {
			return nil, err
		}
		below, err := checkOutSubmodules(ctx, source, into)
		if err != nil {
			return nil, err
		}
		for _, b := range below {
			without = append(without, path+"/"+b)
		}
	}
	return without, nil
}

// repositories returns the git directories below a directory of modules, those of submodules of submodules too.
func repositories(modules string) (dirs []string) {
	_ = filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error { // git says what is wrong with one
		switch {
		case err != nil || !d.IsDir():
		case d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs":
			return fs.SkipDir
		case exists(filepath.Join(path, "HEAD")) && exists(filepath.Join(path, "objects")):
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs
}

// unpushed returns the names of the submodules below a directory of modules that have commits which none of their remotes has.
func unpushed(ctx context.Context, modules string) (names []string) {
	if modules == "" {
		return nil
	}
	for _, dir := range repositories(modules) {
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
	for _, dir := range repositories(into) {
		_, _ = git(ctx, into, "config", "--file", filepath.Join(dir, "config"), "--unset", "core.worktree") // its commits are there without it
	}
	return nil
}
