package cliagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// lookPath finds a command as a shell would, on the given search path instead of that of this process. A command with
// a separator is a path, relative to dir. Entries of the search path that are relative or empty are skipped: a program
// must not come out of whatever directory an agent happens to work in. The error matches fs.ErrNotExist, or
// fs.ErrPermission for a file that cannot be executed.
func lookPath(command, path, pathExt, dir string) (string, error) {
	exts := []string{""}
	if runtime.GOOS == "windows" {
		exts = extensions(command, pathExt)
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		return executable(command, exts)
	}
	var denied error
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) {
			continue
		}
		found, err := executable(filepath.Join(entry, command), exts)
		if err == nil {
			return found, nil
		}
		if denied == nil && !isNotExist(err) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("find %q on PATH: %w", command, fs.ErrNotExist)
}

// extensions are what Windows puts behind a command's name.
func extensions(command, pathExt string) []string {
	if pathExt == "" {
		pathExt = ".COM;.EXE;.BAT;.CMD"
	}
	exts := strings.Split(strings.ToLower(pathExt), ";")
	for _, e := range exts {
		if e != "" && strings.HasSuffix(strings.ToLower(command), e) {
			return []string{""}
		}
	}
	return exts
}

func executable(path string, exts []string) (string, error) {
	for _, ext := range exts {
		info, err := os.Stat(path + ext)
		switch {
		case isNotExist(err):
			continue
		case err != nil:
			return "", err
		case info.IsDir():
			return "", fmt.Errorf("%s is a directory: %w", path+ext, fs.ErrPermission)
		case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
			return "", fmt.Errorf("%s is not executable: %w", path+ext, fs.ErrPermission)
		}
		return path + ext, nil
	}
	return "", fmt.Errorf("find %s: %w", path, fs.ErrNotExist)
}

// isNotExist also covers a path whose parent is a file.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// LookPath finds a command on the PATH of an environment: an absolute entry of the path, or, for a command with a separator, a
// file relative to dir. It is the default of Options.LookPath. The error matches fs.ErrNotExist, or fs.ErrPermission for a
// file that cannot be executed.
func LookPath(command string, env []string, dir string) (string, error) {
	e := environ{goos: runtime.GOOS, vars: map[string]variable{}}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e.set(name, value)
		}
	}
	return lookPath(command, e.get("PATH"), e.get("PATHEXT"), dir)
}
