package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// The limits of a skill. A larger folder is probably not a skill.
const (
	maxFiles = 5000
	maxBytes = 256 << 20
)

// inspect checks every entry of a skill's folder before anything is copied: it refuses links that lead out and
// entries that are neither files nor folders.
func inspect(src string) error {
	root, err := filepath.EvalSymlinks(src)
	if err != nil {
		return execution.Errorf(execution.CodeValidation, "read the skill: %w", err)
	}
	files, total := 0, int64(0)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return execution.Errorf(execution.CodeValidation, "read the skill: %w", err)
		}
		if files++; files > maxFiles {
			return execution.Errorf(execution.CodeValidation, "%s has more than %d files and is probably not a skill", src, maxFiles)
		}
		switch {
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(path)
			if err != nil {
				return execution.Errorf(execution.CodeValidation, "read the skill: %w", err)
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil || filepath.IsAbs(leads) || !within(real, root) {
				return execution.Errorf(execution.CodeValidation, "the skill %s contains the link %s, which leads out of it, to %s", src, relative(root, path), leads).
					WithHint("copy the file itself there, or remove the link")
			}
			return nil
		case !d.Type().IsRegular():
			return execution.Errorf(execution.CodeValidation, "the skill %s contains %s, which is neither a file nor a folder", src, relative(root, path))
		}
		info, err := d.Info()
		if err != nil {
			return execution.Errorf(execution.CodeValidation, "read the skill: %w", err)
		}
		if total += info.Size(); total > maxBytes {
			return execution.Errorf(execution.CodeValidation, "%s has more than %d bytes and is probably not a skill", src, int64(maxBytes))
		}
		return nil
	})
}

func relative(root, path string) string {
	if r, err := filepath.Rel(root, path); err == nil {
		return r
	}
	return path
}

// within reports whether path is root or below it; neither may contain links.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// copyTree copies an inspected folder. Permissions are never extended.
func copyTree(src, dst string) error {
	root, err := filepath.EvalSymlinks(src)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dst, relative(root, path))
		switch {
		case d.IsDir():
			if err := os.Mkdir(to, 0o755); err != nil && !(path == root && errors.Is(err, fs.ErrExist)) {
				return err
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if filepath.IsAbs(leads) || !filepath.IsLocal(filepath.Join(filepath.Dir(relative(root, path)), leads)) {
				return fmt.Errorf("%s became a link that leads out", path) // since the inspection
			}
			return os.Symlink(leads, to)
		}
		return copyFile(path, to)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no longer a regular file", from)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// place moves a finished folder or file from beside its target to the target. An existing target is replaced
// only with force, and restored if that fails.
func place(temp, target string, force bool) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(temp, target)
	} else if err != nil {
		return err
	}
	if !force {
		return execution.Errorf(execution.CodeValidation, "%s already exists", target).WithHint("use another name with --name, or replace it with --force")
	}
	old, err := os.MkdirTemp(filepath.Dir(target), ".drawbar-old-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	aside := filepath.Join(old, filepath.Base(target))
	if err := os.Rename(target, aside); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return errors.Join(err, os.Rename(aside, target))
	}
	return nil
}
