// Package submodule is about the submodules of work trees that are made from another.
package submodule

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Git runs git in a directory and returns what it printed, without the last line break. Any exit code but 0 is an error.
type Git func(ctx context.Context, dir string, args ...string) (string, error)

// CheckOut checks out, in a work tree, the submodules that are checked out in the one it was made from, and theirs. Their objects
// come from there: nothing is fetched from elsewhere. It returns the paths of those whose commit is not there, or whose repository is
// broken, which stay empty.
func CheckOut(ctx context.Context, git Git, from, to string) (without []string, err error) {
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
		name := strings.TrimSuffix(key, ".path")
		objects, err := git(ctx, source, "rev-parse", "--absolute-git-dir")
		if err == nil {
			_, err = git(ctx, to, "-c", "protocol.file.allow=always", "-c", name+".url="+objects, "-c", name+".update=checkout", "-c", "core.hooksPath="+os.DevNull,
				"submodule", "update", "--quiet", "--init", "--checkout", "--", path)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // also a repository that is broken
			without = append(without, path)
			continue
		}
		into := filepath.Join(to, filepath.FromSlash(path))
		// What the source knows of its remote is known here, so that no commit seems to be only here. Without it, more seems to be.
		_, _ = git(ctx, into, "fetch", "--quiet", objects, "+refs/remotes/*:refs/remotes/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/remotes/drawbar/base")
		if remote, none := git(ctx, source, "remote", "get-url", "origin"); none == nil {
			if _, err := git(ctx, into, "remote", "set-url", "origin", remote); err != nil {
				return nil, err
			}
		}
		below, err := CheckOut(ctx, git, source, into)
		if err != nil {
			return nil, err
		}
		for _, b := range below {
			without = append(without, path+"/"+b)
		}
	}
	return without, nil
}

// Repositories returns the git directories below a directory of modules, those of submodules of submodules too.
func Repositories(modules string) (dirs []string) {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
