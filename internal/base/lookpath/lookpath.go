// Package lookpath finds programs as a shell would, on the search path of any environment.
package lookpath

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// In finds a command on the PATH of an environment, then where installers put programs for one user: their folder is on PATH only
// in a new shell, or never. A command with a separator is a path, relative to dir unless that is empty. Relative and empty elements of the search path are skipped: a program must not come from an agent's
// working directory. The error matches fs.ErrNotExist, or fs.ErrPermission for a file that cannot be executed.
func In(env []string, dir, command string) (string, error) {
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	return search{windows: runtime.GOOS == "windows", dir: dir, path: variable(env, "PATH"), home: variable(env, home),
		extensions: variable(env, "PATHEXT"), check: executable}.find(command)
}

// Shell returns the command of the platform's shell for a line.
func Shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd.exe", "/d", "/s", "/c", line}
	}
	return []string{"/bin/sh", "-c", line}
}

// Program is a program on the search path.
type Program struct {
	Name string // without an extension of PATHEXT
	Path string
}

// Prefixed returns the programs on the PATH of an environment whose names begin with prefix, in the order of PATH. Relative
// and empty elements, and directories that cannot be read, are skipped.
func Prefixed(env []string, prefix string) []Program {
	s := search{windows: runtime.GOOS == "windows", path: variable(env, "PATH"), extensions: variable(env, "PATHEXT"), check: executable}
	return s.prefixed(prefix, names)
}

// names lists a directory unsorted: those on PATH have thousands of entries. What can be read of it is better than nothing.
func names(dir string) (names []string) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ = d.Readdirnames(-1)
	return names
}

func (l search) prefixed(prefix string, list func(dir string) []string) (found []Program) {
	for _, dir := range directories(l.path, l.windows) {
		names := slices.DeleteFunc(list(dir), func(name string) bool { return !strings.HasPrefix(name, prefix) })
		slices.Sort(names)
		for _, name := range names {
			file := dir + name
			if !slices.Contains(l.candidates(file), file) || l.check(file) != nil {
				continue
			}
			if l.windows {
				name = strings.TrimSuffix(name, filepath.Ext(name))
			}
			found = append(found, Program{name, file})
		}
	}
	return found
}

// variable returns the last value of a variable; names are case-insensitive on Windows.
func variable(env []string, name string) (value string) {
	for _, entry := range env {
		n, v, _ := strings.Cut(entry, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// IsNotExist reports whether a file does not exist, also if its parent is a file.
func IsNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// search is a search for a command.
type search struct {
	windows    bool
	dir        string                  // base of relative paths; empty: unchanged
	path       string                  // PATH
	home       string                  // the user's directory; empty: not searched
	extensions string                  // PATHEXT
	check      func(file string) error // nil if file can be executed, fs.ErrPermission if it exists but cannot
}

// find returns the file of a command name. Relative elements of the search path are skipped: the meaning of a command
// must not depend on the current directory.
func (l search) find(name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("look up %q: want the name of a command: %w", name, fs.ErrInvalid)
	}
	var refused string
	try := func(base string) (string, bool) {
		for _, file := range l.candidates(base) {
			err := l.check(file)
			if err == nil {
				return file, true
			}
			if refused == "" && errors.Is(err, fs.ErrPermission) {
				refused = file
			}
		}
		return "", false
	}
	isPath := strings.Contains(name, "/") || l.windows && strings.ContainsAny(name, `\:`)
	if isPath {
		if file, ok := try(l.from(name)); ok {
			return file, nil
		}
	} else {
		for _, dir := range append(directories(l.path, l.windows), l.installed(name)...) {
			if file, ok := try(dir + name); ok {
				return file, nil
			}
		}
	}
	if refused != "" {
		return "", fmt.Errorf("look up %s: %s is not executable: %w; try: chmod +x %s", name, refused, fs.ErrPermission, refused)
	}
	if isPath {
		return "", fmt.Errorf("look up %s: no such program: %w", name, fs.ErrNotExist)
	}
	return "", fmt.Errorf("look up %s: not found on PATH: %w", name, fs.ErrNotExist)
}

// from returns a path with a separator, relative to base.
func (l search) from(name string) string {
	if l.dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.dir, name)
}

// installed returns the folders below the user's directory in which installers put a program: the common one, the program's own, and
// those of package managers.
func (l search) installed(name string) []string {
	if l.home == "" {
		return nil
	}
	separator := ":"
	if l.windows {
		separator = ";"
	}
	var below []string
	for _, dir := range []string{".local/bin", "." + name + "/bin", "." + name + "/local", ".npm-global/bin", ".bun/bin", ".cargo/bin"} {
		below = append(below, l.home+"/"+dir)
	}
	return directories(strings.Join(below, separator), l.windows)
}

// directories returns the absolute elements of a search path, each with a trailing separator.
func directories(path string, windows bool) []string {
	separator, slash := ":", "/"
	if windows {
		separator, slash = ";", `\`
	}
	var dirs []string
	for dir := range strings.SplitSeq(path, separator) {
		if windows {
			dir = strings.ReplaceAll(strings.Trim(dir, `"`), "/", `\`)
		}
		absolute := strings.HasPrefix(dir, "/")
		if windows {
			absolute = strings.HasPrefix(dir, `\\`) || len(dir) >= 3 && isDrive(dir[:2]) && dir[2] == '\\'
		}
		if absolute {
			dirs = append(dirs, strings.TrimSuffix(dir, slash)+slash)
		}
	}
	return dirs
}

func (l search) candidates(base string) []string {
	if !l.windows {
		return []string{base}
	}
	var files []string
	for extension := range strings.SplitSeq(strings.ToLower(cmp.Or(l.extensions, ".com;.exe;.bat;.cmd")), ";") {
		if extension == "" {
			continue
		}
		if !strings.HasPrefix(extension, ".") {
			extension = "." + extension
		}
		if strings.HasSuffix(strings.ToLower(base), extension) {
			return []string{base}
		}
		files = append(files, base+extension)
	}
	return files
}

func isDrive(s string) bool {
	return len(s) == 2 && s[1] == ':' && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}
