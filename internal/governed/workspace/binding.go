package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Names in a Binding, as shown to people.
const (
	bindRepository = ".git"
	bindFlags      = ".git/index (files marked assume-unchanged or skip-worktree)"
	bindSetting    = "git config "
	bindConfig     = "git config file "
	bindAttributes = "git attributes file "
	bindExclude    = "git ignore file "
	bindHook       = "git hook "
	bindFilter     = "program of a git filter "
)

// bindFiles are files of a repository that decide which changes git shows and where it reads objects.
var bindFiles = []string{"info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"}

// Binding returns everything in the repository and in git's configuration, apart from the project's files, that decides
// which changes git shows, which programs it runs and where it sends data: digests of files and hooks, the settings
// without secrets, and the repository's identity. dir is as in Observe. It is empty without git, and runs only git.
func (w *Workspace) Binding(ctx context.Context, dir string) (protocol.Ordered[string], error) {
	var all protocol.Ordered[string]
	if w.kind == NoGit {
		return all, nil
	}
	at, own, err := w.at(dir)
	if err != nil {
		return all, err
	}
	if own && !w.lookTree(at.top).whole {
		at = w // Observe reports the problem
	}
	if err := at.bind(ctx, &all, filepath.Dir(w.common)); err != nil {
		return all, w.wrap("read what git is told", err)
	}
	return all, nil
}

// bind fills all. Files below base are named relative to it.
func (w *Workspace) bind(ctx context.Context, all *protocol.Ordered[string], base string) error {
	settings, err := w.configured(ctx, w.root)
	if err != nil {
		return err
	}
	common, hooks, err := w.places(ctx, settings)
	if err != nil {
		return err
	}
	all.Set(bindRepository, repositoryAt(common))
	name := func(path string) string {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		return filepath.ToSlash(path)
	}
	for _, file := range bindFiles {
		all.Set(".git/"+file, fileDigest(filepath.Join(common, filepath.FromSlash(file))))
	}
	files := []string{filepath.Join(common, "config"), filepath.Join(common, "config.worktree"), filepath.Join(w.gitDir, "config.worktree")}
	files = append(files, bindSettings(all, settings, name)...)
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		all.Set(bindConfig+name(file), fileDigest(file))
	}
	last := map[string]string{} // the effective value of a key
	for _, s := range settings {
		last[s.key] = s.value
	}
	home := w.variable("XDG_CONFIG_HOME")
	if home == "" {
		home = filepath.Join(w.home(), ".config")
	}
	for _, f := range []struct{ name, key, file string }{{bindAttributes, "core.attributesfile", "attributes"}, {bindExclude, "core.excludesfile", "ignore"}} {
		path := filepath.Join(home, "git", f.file)
		if set := last[f.key]; set != "" {
			path = from(w.top, w.expand(set))
		}
		all.Set(f.name+name(path), fileDigest(path))
	}
	for _, path := range hookFiles(hooks) {
		all.Set(bindHook+name(path), fileDigest(path))
	}
	for _, path := range w.filterPrograms(settings) {
		all.Set(bindFilter+name(path), fileDigest(path))
	}
	index, _ := readPlain(filepath.Join(w.gitDir, "index")) // none is empty
	idLen := 20
	if last["extensions.objectformat"] == "sha256" {
		idLen = sha256.Size
	}
	all.Set(bindFlags, digestOf([]byte(strings.Join(hiddenPaths(index, idLen), "\x00"))))
	return nil
}

// bindSettings adds the values of the settings, each with its origin, and returns the files that contain them.
func bindSettings(all *protocol.Ordered[string], settings []setting, name func(string) string) (files []string) {
	values := map[string]string{}
	for _, s := range settings {
		where := "the environment"
		if s.file != "" {
			files = append(files, s.file)
			where = name(s.file)
		}
		values[maskedKey(s.key)] += shown(s.key, s.value) + " (" + where + ")\n"
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all.Set(bindSetting+key, strings.TrimSuffix(values[key], "\n"))
	}
	return files
}

// gitPath asks git for the path of something in the repository.
func (w *Workspace) gitPath(ctx context.Context, args ...string) (string, error) {
	out, err := w.git(ctx, command{dir: w.root, plain: true, args: append([]string{"rev-parse"}, args...)})
	return from(w.root, strings.TrimSuffix(string(out), "\n")), err
}

// from resolves a path relative to dir.
func from(dir, path string) string {
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// variable returns a variable of git's environment.
func (w *Workspace) variable(name string) string {
	for _, v := range slices.Backward(w.env) {
		if n, value, _ := strings.Cut(v, "="); n == name {
			return value
		}
	}
	return ""
}

// home returns the folder in which git finds the user's settings.
func (w *Workspace) home() string { return cmp.Or(w.variable("HOME"), w.variable("USERPROFILE")) }

// expand replaces ~ in a path of a setting.
func (w *Workspace) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(w.home(), rest)
	}
	return path
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// maxBound limits how many bytes of one file are read.
const maxBound = 16 << 20

const noFile = "not there"

// fileDigest returns the digest of a file, following links, or a word for anything else.
func fileDigest(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return noFile
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	}
	f, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxBound)); err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("sha256:%x %d", sum.Sum(nil), info.Size())
}

// maxHooks limits how many files of the hooks folder are checked: the setting may name any folder.
const maxHooks = 200

// hookFiles are the hooks of a repository, without git's samples.
func hookFiles(dir string) []string {
	entries, _ := os.ReadDir(dir) // an empty one is as good as a missing one
	var all []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(e.Name(), ".sample") && len(all) < maxHooks {
			all = append(all, path)
		}
	}
	return all
}

// filterPrograms returns the files that filter commands name, by path or as programs: whoever changes one
// changes what git runs.
func (w *Workspace) filterPrograms(all []setting) []string {
	var found []string
	host := oshost.New(nil)
	for _, s := range all {
		if !strings.HasPrefix(s.key, "filter.") {
			continue
		}
		for word := range strings.FieldsFuncSeq(s.value, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>=$", r) }) {
			paths := []string{from(w.top, w.expand(word))}
			if program, err := host.LookPath(word); err == nil && filepath.Base(word) == word {
				paths = append(paths, program)
			}
			for _, path := range paths {
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
					found = append(found, path)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// repositoryAt identifies a repository by its folder and the folder's id in the file system.
func repositoryAt(common string) string {
	real, err := filepath.EvalSymlinks(common)
	if err != nil {
		return noFile
	}
	return filepath.ToSlash(real) + " (" + folderID(real) + ")"
}
