package workspace

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// plainExtensions are repository extensions that do not relocate its folders.
var plainExtensions = []string{"extensions.objectformat", "extensions.partialclone", "extensions.preciousobjects", "extensions.refstorage", "extensions.worktreeconfig"}

// plain finds the repository at mark without running git: nil unless it is as git init creates it.
func (w *Workspace) plain(ctx context.Context, mark string) *Workspace {
	c := *w
	c.mark, c.kind, c.top, c.gitDir = mark, Git, mark, filepath.Join(mark, ".git")
	c.common = c.gitDir
	rel, err := filepath.Rel(mark, w.root)
	if err != nil || !plainFolder(mark, w.root) || w.variable("GIT_CEILING_DIRECTORIES") != "" {
		return nil
	}
	if rel != "." {
		c.prefix = filepath.ToSlash(rel) + "/"
	}
	all, err := c.configured(ctx, c.root)
	if err != nil || !plainSettings(all) {
		return nil // git explains what is wrong
	}
	return &c
}

// plainFolder reports whether the folder .git in mark is a repository of this user, all in one place, that git finds
// from root.
func plainFolder(mark, root string) bool {
	git := filepath.Join(mark, ".git")
	device, ok := ownFolder(git)
	for _, dir := range []string{mark, filepath.Join(git, "objects"), filepath.Join(git, "refs"), root} {
		d, own := ownFolder(dir)
		ok = ok && own && d == device
	}
	if !ok || exists(filepath.Join(git, "commondir")) {
		return false
	}
	data, err := readPlain(filepath.Join(git, "HEAD"))
	head := strings.TrimSpace(string(data))
	return err == nil && (strings.HasPrefix(head, "ref: refs/") || IsObject(head))
}

// plainSettings reports whether no setting relocates a part of the repository, and all its extensions are known. Git
// reads no settings of a repository that it refuses; those of a good one include its format version.
func plainSettings(all []setting) bool {
	format := ""
	for _, s := range all {
		switch {
		case s.key == "core.worktree", s.key == "core.bare" && !slices.Contains([]string{"false", "no", "off", "0", ""}, s.value),
			strings.HasPrefix(s.key, "extensions.") && !slices.Contains(plainExtensions, s.key):
			return false
		case s.key == "core.repositoryformatversion":
			format = s.value
		}
	}
	return format == "0" || format == "1"
}

// places returns the current folder of the repository, whatever Open found, and its hooks folder.
func (w *Workspace) places(ctx context.Context, all []setting) (common, hooks string, err error) {
	moved := slices.ContainsFunc(all, func(s setting) bool { return s.key == "core.hookspath" })
	if w.mark == findRepository(w.root) && plainFolder(w.mark, w.root) && plainSettings(all) && !moved {
		common = filepath.Join(w.mark, ".git")
		return common, filepath.Join(common, "hooks"), nil
	}
	common, err = w.gitPath(ctx, "--git-common-dir")
	hooks, hooksErr := w.gitPath(ctx, "--git-path", "hooks")
	return common, hooks, cmp.Or(err, hooksErr)
}
