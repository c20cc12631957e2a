package configstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// MakeDir creates a directory and its missing parents. It must not lead out of within unless that is empty.
func MakeDir(dir, within string, mode fs.FileMode) error {
	if within != "" {
		real, inside, err := realPath(dir, within)
		if err != nil {
			return err
		}
		if !inside {
			return outside(dir, real, within)
		}
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return failed("create the directory", dir, err)
	}
	return nil
}

// realPath resolves the existing part of a path and reports whether it is inside root.
func realPath(path, root string) (real string, inside bool, err error) {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false, failed("check", root, err)
	}
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			below := strings.TrimSuffix(realRoot, string(filepath.Separator)) + string(filepath.Separator)
			return real, real == realRoot || strings.HasPrefix(real, below), nil
		}
		if leads, lerr := os.Readlink(at); lerr == nil {
			return "", false, dangling(at, leads)
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", false, failed("check", at, err)
		}
	}
}

func dangling(link, leads string) error {
	return execution.Errorf(execution.CodeConfig, "%s is a link to %s, which does not exist", link, leads).WithHint("create it, or remove the link")
}

func outside(path, real, root string) error {
	return execution.Errorf(execution.CodeConfig, "%s leads out of the project %s, to %s", path, root, real).
		WithHint("change that file directly, or replace the link with a file")
}

// follow returns the file to write for file, with links resolved. A link must lead to a file of this user and,
// in a project, stay inside it.
func follow(file, root string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", failed("check", filepath.Dir(file), err)
	}
	target := filepath.Join(dir, filepath.Base(file))
	if leads, err := os.Readlink(target); err == nil {
		real, err := filepath.EvalSymlinks(target)
		if errors.Is(err, fs.ErrNotExist) {
			return "", dangling(file, leads)
		} else if err != nil {
			return "", failed("follow the link", file, err)
		}
		target = real
	}
	if root != "" {
		if real, inside, err := realPath(target, root); err != nil {
			return "", err
		} else if !inside {
			return "", outside(file, real, root)
		}
	}
	if target == filepath.Clean(file) {
		return target, nil
	}
	for _, p := range []string{target, filepath.Dir(target)} {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", failed("check", p, err)
		case !owned(info):
			return "", execution.Errorf(execution.CodeConfig, "%s leads to %s, and %s belongs to another user", file, target, p).
				WithHint("change that file as its owner, or replace the link with your own file")
		}
	}
	return target, nil
}

// writable refuses a read-only file: replacing it would bypass the mode.
func writable(target string) error {
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failed("check", target, err)
	}
	if !info.Mode().IsRegular() {
		return execution.Errorf(execution.CodeConfig, "%s is not a regular file", target)
	}
	if info.Mode().Perm()&0o200 == 0 || !mayWrite(target) {
		return execution.Errorf(execution.CodeConfig, "%s is read-only", target).WithHint("chmod u+w %s", target)
	}
	return nil
}
