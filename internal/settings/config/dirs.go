package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// maxFile limits the size of a configuration file, a profile and a hooks.json.
const maxFile = 1 << 20

// Dirs are the directories of the configuration.
type Dirs struct {
	User    string   // config.json and profiles/ of this user
	Project string   // .drawbar of the nearest directory that has one, else of the working directory
	Root    string   // the project: files in Project must not lead out of it
	Found   bool     // Project exists
	Skipped []string // .drawbar directories skipped because they belong to another user, as sentences
	theirs  string   // why Project is one of them: it is neither read nor written
}

// UserFile returns the user's configuration file.
func (d Dirs) UserFile() string { return filepath.Join(d.User, "config.json") }

// ProjectFile returns the project's configuration file.
func (d Dirs) ProjectFile() string { return filepath.Join(d.Project, "config.json") }

// OneDirectory reports whether the user's directory is also the project's: the project then has no files of its
// own.
func (d Dirs) OneDirectory() bool {
	x, errA := os.Stat(d.User)
	y, errB := os.Stat(d.Project)
	return d.User == d.Project || errA == nil && errB == nil && os.SameFile(x, y)
}

// Within returns the directory that a scope's files must not lead out of; empty for any. A project directory of
// another user is an error.
func (d Dirs) Within(s Scope) (string, error) {
	switch {
	case s != ScopeProject:
		return "", nil
	case d.theirs != "":
		return "", execution.Errorf(execution.CodeUntrusted, "%s", d.theirs).WithHint("if you trust it: drawbar config set safeDirectories '[%q]'", d.Root)
	case !isDir(d.Root):
		return "", nil
	}
	return d.Root, nil
}

// ReadFile reads a file of a scope: one of this user, or one below Project. A missing file, or a project's file of another user, is
// fs.ErrNotExist.
func (d Dirs) ReadFile(s Scope, name string) ([]byte, error) {
	if s != ScopeProject {
		return repofile.Own(filepath.Join(d.User, name), maxFile)
	}
	if d.theirs != "" {
		return nil, fs.ErrNotExist
	}
	rel, err := filepath.Rel(d.Root, d.Project)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(d.Project); err != nil {
		return nil, pathless(err)
	}
	return repofile.Read(d.Root, filepath.ToSlash(filepath.Join(rel, name)), maxFile)
}

// UserDir returns this user's configuration directory. DRAWBAR_CONFIG_DIR overrides it.
func UserDir(getenv func(string) string) (string, error) {
	dir := getenv("DRAWBAR_CONFIG_DIR")
	if dir == "" {
		base := getenv("XDG_CONFIG_HOME")
		if base == "" || !filepath.IsAbs(base) {
			var err error
			if base, err = os.UserConfigDir(); err != nil {
				return "", execution.Errorf(execution.CodeConfig, "find the configuration directory: %w", err).WithHint("set DRAWBAR_CONFIG_DIR")
			}
		}
		dir = filepath.Join(base, "drawbar")
	}
	if !filepath.IsAbs(dir) {
		return "", execution.Errorf(execution.CodeConfig, "DRAWBAR_CONFIG_DIR: %q is not an absolute path", dir)
	}
	return dir, nil
}

// FindDirs returns the configuration directories for work in cwd. DRAWBAR_CONFIG_DIR and DRAWBAR_PROJECT_DIR
// override them. A .drawbar that belongs neither to this user nor to root is skipped, because another user
// would control this user's runs, unless the user's file lists its project in safeDirectories.
func FindDirs(cwd string, getenv func(string) string) (Dirs, error) {
	user, err := UserDir(getenv)
	if err != nil {
		return Dirs{}, err
	}
	d := Dirs{User: user}
	if d.Project = getenv("DRAWBAR_PROJECT_DIR"); d.Project != "" {
		if !filepath.IsAbs(d.Project) {
			return d, execution.Errorf(execution.CodeConfig, "DRAWBAR_PROJECT_DIR: %q is not an absolute path", d.Project)
		}
		d.Found, d.Root = isDir(d.Project), d.Project
		if filepath.Base(d.Project) == ".drawbar" {
			d.Root = filepath.Dir(d.Project)
		}
		return d, nil
	}
	d.Root = filepath.Clean(cwd)
	d.Project = filepath.Join(d.Root, ".drawbar")
	for dir := d.Root; ; dir = filepath.Dir(dir) {
		if candidate := filepath.Join(dir, ".drawbar"); isDir(candidate) {
			why := foreign(candidate)
			if why != "" {
				safe, err := d.Safe(dir)
				if err != nil {
					return d, err
				}
				if safe {
					why = ""
				}
			}
			if why == "" {
				d.Root, d.Project, d.Found, d.theirs = dir, candidate, true, ""
				return d, nil
			}
			if dir == d.Root {
				d.theirs = why
			}
			d.Skipped = append(d.Skipped, fmt.Sprintf("%s is skipped: %s; if you trust it: drawbar config set safeDirectories '[%q]'", candidate, why, dir))
		}
		if filepath.Dir(dir) == dir {
			return d, nil
		}
	}
}

// foreign reports that a .drawbar, or a file read from it, belongs to another user.
func foreign(dir string) string {
	paths := []string{dir, filepath.Join(dir, "config.json"), filepath.Join(dir, "hooks.json"), filepath.Join(dir, "profiles")}
	if isDir(paths[3]) {
		entries, _ := os.ReadDir(paths[3]) // unreadable files are reported by their readers
		for _, e := range entries {
			paths = append(paths, filepath.Join(paths[3], e.Name()))
		}
	}
	for _, p := range paths {
		if uid, is := repofile.Foreign(p); is {
			return fmt.Sprintf("%s belongs to another user (uid %d)", p, uid)
		}
	}
	return ""
}

// Safe reports whether the user's file lists a directory in safeDirectories; * matches all.
func (d Dirs) Safe(dir string) (bool, error) {
	user, err := d.readLayer(ScopeUser)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(user.file.SafeDirectories, func(s string) bool { return s == "*" || repofile.Real(s) == repofile.Real(dir) }), nil
}

// Own refuses a project's file that belongs to another user, who could replace it at any time, unless the
// user's file lists the project in safeDirectories.
func (d Dirs) Own(root, name string) error {
	for _, path := range []string{root, filepath.Join(root, name)} {
		uid, is := repofile.Foreign(path)
		if !is {
			continue
		}
		if safe, err := d.Safe(root); err != nil || safe {
			return err
		}
		return execution.Errorf(execution.CodeUntrusted, "%s belongs to another user (uid %d)", path, uid).
			WithHint("if you trust it: drawbar config set safeDirectories '[%q]'", root)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readLayer reads the configuration file of a scope. A missing file is an empty layer.
func (d Dirs) readLayer(scope Scope) (layer, error) {
	l := layer{scope: scope, path: d.UserFile(), raw: map[string]json.RawMessage{}}
	if scope == ScopeProject {
		l.path = d.ProjectFile()
	}
	data, err := d.ReadFile(scope, "config.json")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return l, nil
		}
		return l, fileError(l.path, "%v", pathless(err)).WithHint("replace it with a readable regular file, or move it away")
	}
	return l, l.decode(data)
}
