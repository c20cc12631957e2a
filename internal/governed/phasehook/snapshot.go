package phasehook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// protectedFiles are those of the record.
var protectedFiles = []string{protocol.StateFile, protocol.HistoryFile, protocol.LedgerFile}

// snapshot is the content of the protected files before a hook runs.
type snapshot struct {
	root  string
	files []protectedFile
}

type protectedFile struct {
	path    string
	there   bool
	content []byte
	mode    fs.FileMode
}

// snapshotOf reads the protected files. A link or a folder is an error, because it could not be restored.
func snapshotOf(dir string, more []string) (*snapshot, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("protect the record from hooks: %w", err)
	}
	defer func() { _ = root.Close() }()
	s := &snapshot{root: dir}
	seen := map[string]bool{}
	for _, p := range append(append([]string{}, protectedFiles...), more...) {
		p = path.Clean(p)
		if seen[p] {
			continue
		}
		seen[p] = true
		f := protectedFile{path: p}
		info, err := root.Lstat(filepath.FromSlash(p))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("protect %s from hooks: %w", p, err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("protect %s from hooks: it is not a regular file", p)
		default:
			f.there, f.mode = true, info.Mode().Perm()
			if f.content, err = root.ReadFile(filepath.FromSlash(p)); err != nil {
				return nil, fmt.Errorf("protect %s from hooks: %w", p, err)
			}
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// restore restores changed files and returns the first of them. The error is about a file that cannot be
// restored; the others are.
func (s *snapshot) restore() (changed string, err error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	var errs []error
	for _, f := range s.files {
		if f.intact(root) {
			continue
		}
		if changed == "" {
			changed = f.path
		}
		if err := f.putBack(root); err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", f.path, err))
		}
	}
	return changed, errors.Join(errs...)
}

func (f protectedFile) intact(root *os.Root) bool {
	name := filepath.FromSlash(f.path)
	info, err := root.Lstat(name)
	if err != nil {
		return !f.there && errors.Is(err, fs.ErrNotExist)
	}
	if !f.there || !info.Mode().IsRegular() || info.Size() != int64(len(f.content)) {
		return false
	}
	now, err := root.ReadFile(name)
	return err == nil && bytes.Equal(now, f.content)
}

func (f protectedFile) putBack(root *os.Root) error {
	name := filepath.FromSlash(f.path)
	dir := filepath.Dir(name)
	if !f.there {
		return root.RemoveAll(name)
	}
	// A hook may have replaced the folder with a link or a file.
	for _, d := range parents(dir) {
		if info, err := root.Lstat(d); err == nil && !info.IsDir() {
			if err := root.Remove(d); err != nil {
				return err
			}
		}
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	temp, err := atomicfile.CreateIn(root, name, f.mode)
	if err != nil {
		return err
	}
	defer temp.Discard()
	if _, err = temp.Write(f.content); err != nil {
		return err
	}
	if err = temp.Chmod(f.mode); err != nil { // regardless of the user's umask
		return err
	}
	return temp.Commit(true)
}

// parents are the parent folders, outermost first.
func parents(dir string) (list []string) {
	for dir != "." && dir != string(filepath.Separator) {
		list = append([]string{dir}, list...)
		dir = filepath.Dir(dir)
	}
	return list
}

func tamperCode(file string) string {
	switch file {
	case protocol.StateFile:
		return CodeStateTamper
	case protocol.HistoryFile:
		return CodeHistoryTamper
	case protocol.LedgerFile:
		return CodeLedgerTamper
	}
	return CodeBundleTamper
}
