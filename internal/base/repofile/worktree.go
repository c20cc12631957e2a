package repofile

import (
	"os"
	"path/filepath"
	"strings"
)

const maxLink = 8 << 10 // bytes of a file of git that names a path

// GitDir returns the top of the work tree that dir is in, and where git keeps what belongs to it. Both are empty outside of a work tree.
func GitDir(dir string) (top, git string) {
	for dir != "" {
		git = filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return dir, git
		}
		if b, err := Own(git, maxLink); err == nil { // a linked worktree, or a submodule
			link, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
			if !ok {
				return "", ""
			}
			return dir, absolute(dir, link)
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return "", ""
}

// MainTree returns the directory that is in the main work tree of a repository what dir is in one of its linked worktrees. It is empty
// if dir is in no linked worktree, or in one that the repository itself does not name: whoever made the files of dir can write there
// that they belong to a repository. It need not exist.
func MainTree(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	top, git := GitDir(dir)
	if top == "" {
		return ""
	}
	named := func(name string) string {
		b, err := Own(filepath.Join(git, name), maxLink)
		if err != nil {
			return ""
		}
		path, err := filepath.EvalSymlinks(absolute(git, strings.TrimSpace(string(b))))
		if err != nil {
			return ""
		}
		return path
	}
	common := named("commondir")
	within, err := filepath.EvalSymlinks(filepath.Dir(git))
	if filepath.Base(common) != ".git" || err != nil || within != filepath.Join(common, "worktrees") || named("gitdir") != filepath.Join(top, ".git") {
		return ""
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(common), rel)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
