package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Errors of Resolve, for errors.Is.
var (
	ErrEscapes   = errors.New("path leads out of the project")
	ErrCollision = errors.New("path differs only in case from an existing one")
)

// Resolve returns the absolute path of rel inside root. It is an error, before anything is touched, if rel is absolute,
// climbs out, names a .git folder, goes through a link that leads out of root, or differs only in case from an existing
// path. The file itself need not exist; if it is a link, the path is that of its target.
func Resolve(root, rel string) (string, error) {
	if err := checkPortable(rel); err != nil {
		return "", err
	}
	base, err := filepath.EvalSymlinks(root)
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "resolve %s below %s: %w", rel, root, err).WithHint("give the folder that holds agentxchain.json")
	}
	at := base
	parts := strings.Split(path.Clean(rel), "/")
	for i, name := range parts {
		next := filepath.Join(at, name)
		_, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			if other := otherCase(at, name); other != "" {
				return "", collision(rel, path.Join(path.Join(parts[:i]...), other))
			}
			return filepath.Join(append([]string{at}, parts[i:]...)...), nil
		}
		if err != nil {
			return "", execution.Errorf(execution.CodeValidation, "resolve %s below %s: %w", rel, root, err).WithHint("a file cannot also be a folder: choose another path")
		}
		if other := otherCase(at, name); other != "" {
			// A file system that ignores case has found it under another name.
			return "", collision(rel, path.Join(path.Join(parts[:i]...), other))
		}
		real, err := filepath.EvalSymlinks(next)
		if err != nil {
			return "", execution.Errorf(execution.CodeValidation, "resolve %s: the link %s leads nowhere: %w", rel, path.Join(parts[:i+1]...), err).
				WithHint("remove the link, or choose another path")
		}
		if !within(base, real) {
			return "", execution.Errorf(execution.CodeValidation, "%s: %w: the link %s points to %s", rel, ErrEscapes, path.Join(parts[:i+1]...), real).
				WithHint("choose a path that does not go through the link")
		}
		at = real
	}
	if inner, err := filepath.Rel(base, at); err == nil {
		if err := checkRelative(filepath.ToSlash(inner)); err != nil {
			return "", err
		}
	}
	return at, nil
}

func collision(rel, other string) error {
	return execution.Errorf(execution.CodeValidation, "%s: %w: %s", rel, ErrCollision, other).
		WithHint("use the existing name, or rename that file first")
}

// within reports whether path is base or lies below it.
func within(base, path string) bool {
	rel, err := filepath.Rel(base, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// otherCase finds an entry of dir whose name differs only in case, if there is no exact one.
func otherCase(dir, name string) (other string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range list {
		if e.Name() == name {
			return ""
		}
		if strings.EqualFold(e.Name(), name) {
			other = e.Name()
		}
	}
	return other
}

// checkRelative refuses anything but a plain path below the root on this system.
func checkRelative(rel string) error {
	clean := path.Clean(rel)
	switch {
	case rel == "" || clean == ".":
		return escapes(rel, "it does not name a file")
	case strings.ContainsRune(rel, 0):
		return escapes(rel, "it contains a NUL byte")
	case path.IsAbs(rel) || filepath.IsAbs(rel) || filepath.VolumeName(rel) != "":
		return escapes(rel, "it is absolute")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return escapes(rel, "it leads out of the project")
	}
	return checkParts(rel, strings.Split(clean, "/"))
}

// checkPortable also refuses anything but a plain path below the root on other systems.
func checkPortable(rel string) error {
	if err := checkRelative(rel); err != nil {
		return err
	}
	if len(rel) > 1 && rel[1] == ':' && (rel[0]|0x20) >= 'a' && (rel[0]|0x20) <= 'z' {
		return escapes(rel, "it is absolute")
	}
	return checkParts(rel, strings.FieldsFunc(rel, func(r rune) bool { return r == '/' || r == '\\' }))
}

func checkParts(rel string, parts []string) error {
	for _, part := range parts {
		// Windows drops dots and spaces at the end, and has a short name for .git.
		switch name := strings.ToLower(strings.TrimRight(part, ". ")); {
		case part == "..":
			return escapes(rel, "it leads out of the project")
		case slices.Contains([]string{".git", "git~1"}, name):
			return escapes(rel, "it is in a .git folder")
		}
	}
	return nil
}

func escapes(rel, why string) error {
	return execution.Errorf(execution.CodeValidation, "%q: %w: %s", rel, ErrEscapes, why).
		WithHint("use paths relative to the project's root, with slashes")
}
