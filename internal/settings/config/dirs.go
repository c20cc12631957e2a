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

// maxFile bounds a configuration file, a profile and a hooks.json.
const maxFile = 1 << 20

// Dirs are the directories of the configuration.
type Dirs struct {
	User    string   // config.json and profiles/ of this person
	Project string   // .drawbar of the nearest directory that has one, else that of the working directory
	Root    string   // the project: files in Project do not lead out of it
	Found   bool     // Project exists
	Skipped []string // .drawbar directories that belong to somebody else and are passed over, as sentences
	theirs  string   // why Project is among them: nothing of it is read, and nothing is written there
}

// UserFile is the configuration file of the user.
func (d Dirs) UserFile() string { return filepath.Join(d.User, "config.json") }

// ProjectFile is the configuration file of the project.
func (d Dirs) ProjectFile() string { return filepath.Join(d.Project, "config.json") }

// OneDirectory reports whether the user's directory is the project's: then the project has nothing of its own.
func (d Dirs) OneDirectory() bool {
	x, errA := os.Stat(d.User)
	y, errB := os.Stat(d.Project)
	return d.User == d.Project || errA == nil && errB == nil && os.SameFile(x, y)
}

// Within is the directory that a written file of a scope may not lead out of; empty for any. A project's directory that belongs to
// somebody else is an error.
func (d Dirs) Within(s Scope) (string, error) {
	switch {
	case s != ScopeProject:
		return "", nil
	case d.theirs != "":
		return "", execution.Errorf(execution.CodeUntrusted, "%s", d.theirs).WithHint("if you trust them: drawbar config set safeDirectories '[%q]'", d.Root)
	case !isDir(d.Root):
		return "", nil
	}
	return d.Root, nil
}

// ReadProject reads a file below Project. One that is not there, or that belongs to somebody else, is fs.ErrNotExist.
func (d Dirs) ReadProject(name string) ([]byte, error) {
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

// UserDir is where this person's configuration is. DRAWBAR_CONFIG_DIR overrides it.
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

// FindDirs finds the directories of the configuration for work in cwd. DRAWBAR_CONFIG_DIR and DRAWBAR_PROJECT_DIR
// override them. A .drawbar that belongs neither to this user nor to root is passed over, unless the user's file names its
// project in safeDirectories: somebody else would decide about this user's runs.
func FindDirs(cwd string, getenv func(string) string) (Dirs, error) {
	user, err := UserDir(getenv)
	if err != nil {
		return Dirs{}, err
	}
	d := Dirs{User: user}
	if d.Project = getenv("DRAWBAR_PROJECT_DIR"); d.Project != "" {
		if !filepath.IsAbs(d.Project) {
			return d, execution.Errorf(execution.CodeConfig, "DRAWBAR_PROJECT_DIR: %q is no absolute path", d.Project)
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
			d.Skipped = append(d.Skipped, fmt.Sprintf("%s is passed over: %s; if you trust them: drawbar config set safeDirectories '[%q]'", candidate, why, dir))
		}
		if filepath.Dir(dir) == dir {
			return d, nil
		}
	}
}

// foreign says that a .drawbar, or a file in it that is read, belongs to somebody else.
func foreign(dir string) string {
	paths := []string{dir, filepath.Join(dir, "config.json"), filepath.Join(dir, "hooks.json"), filepath.Join(dir, "profiles")}
	if isDir(paths[3]) {
		entries, _ := os.ReadDir(paths[3]) // what cannot be read is told by those who read it
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

// Safe reports whether the user's file names a directory in safeDirectories; * stands for all.
func (d Dirs) Safe(dir string) (bool, error) {
	user, err := d.readLayer(ScopeUser)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(user.file.SafeDirectories, func(s string) bool { return s == "*" || real(s) == real(dir) }), nil
}

// Own refuses a file of a project that belongs to somebody else, who could exchange it at any moment, unless the user's file names the
// project in safeDirectories.
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
			WithHint("if you trust them: drawbar config set safeDirectories '[%q]'", root)
	}
	return nil
}

// real is a path with its links followed, where it exists.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readLayer reads the configuration file of a scope. One that is not there is an empty layer.
func (d Dirs) readLayer(scope Scope) (layer, error) {
	l := layer{scope: scope, path: d.UserFile(), raw: map[string]json.RawMessage{}}
	read := func() ([]byte, error) { return repofile.Own(l.path, maxFile) }
	if scope == ScopeProject {
		l.path = d.ProjectFile()
		read = func() ([]byte, error) { return d.ReadProject("config.json") }
	}
	data, err := read()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return l, nil
		}
		return l, fileError(l.path, "%v", pathless(err)).WithHint("replace it by a plain file that you can read, or move it away")
	}
	return l, l.decode(data)
}
