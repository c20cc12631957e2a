package codetool

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/internal/base/repofile"
)

// maxFile bounds a file that is read as a whole or changed.
const maxFile = 10 << 20

// Folder is the files that the tools of one run reach. It is safe for concurrent use.
type Folder struct {
	roots []root // the first is the working directory, the others may only be read

	mu   sync.Mutex
	seen map[string][sha256.Size]byte // what the model knows of files, by path
}

// root is a folder with its path as given and without links.
type root struct {
	*os.Root
	path, real string
}

// OpenFolder opens the working directory and extra folders. The caller closes it.
func OpenFolder(dir string, extra ...string) (*Folder, error) {
	f := &Folder{seen: map[string][sha256.Size]byte{}}
	for _, path := range append([]string{dir}, extra...) {
		abs, err := filepath.Abs(path)
		if err == nil {
			var r *os.Root
			if r, err = os.OpenRoot(abs); err == nil {
				real, failed := filepath.EvalSymlinks(abs)
				if failed != nil {
					real = abs
				}
				f.roots = append(f.roots, root{r, abs, real})
			}
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the folder %s: %w", path, err), f.Close())
		}
	}
	return f, nil
}

// Close releases the folders.
func (f *Folder) Close() error {
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// place is a file or a folder within a Folder.
type place struct {
	root  root
	name  string // within the root
	shown string // as the model and people read it
	extra bool   // may only be read
}

// path returns the absolute path.
func (p place) path() string { return filepath.Join(p.root.path, p.name) }

// find returns the place of a path, which is relative to the working directory or absolute. It reads nothing: links are
// checked when the place is opened.
func (f *Folder) find(path string) (place, error) {
	switch {
	case path == "":
		return place{}, errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return place{}, errors.New("the path contains a NUL byte")
	}
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(f.roots[0].path, abs)
	}
	for i, r := range f.roots {
		for _, base := range []string{r.path, r.real} {
			rel, err := filepath.Rel(base, abs)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			p := place{root: r, name: rel, shown: filepath.ToSlash(rel), extra: i > 0}
			if p.extra {
				p.shown = filepath.ToSlash(p.path())
			}
			return p, nil
		}
	}
	return place{}, fmt.Errorf("%s is outside the working directory %s", path, f.roots[0].path)
}

// fault is an error of a place for the model, without the system's words for it.
func (p place) fault(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", p.shown)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", p.shown)
	case errors.Is(err, repofile.ErrTooLarge):
		return fmt.Errorf("%s is larger than %d MB: read a part of it with offset and limit, or use shell", p.shown, maxFile>>20)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") { // os.Root exports no error for it
		err = repofile.ErrOutside
	}
	return fmt.Errorf("%s %w", p.shown, err)
}

// open opens a regular file for reading.
func (p place) open() (*os.File, fs.FileInfo, error) {
	file, info, err := repofile.Open(p.root.Root, filepath.ToSlash(p.name))
	if errors.Is(err, repofile.ErrNotRegular) {
		if i, serr := p.root.Stat(p.name); serr == nil && i.IsDir() {
			return nil, nil, fmt.Errorf("%s is a folder: use list", p.shown)
		}
	}
	if err != nil {
		return nil, nil, p.fault(err)
	}
	return file, info, nil
}

// content reads a whole file.
func (p place) content() ([]byte, fs.FileInfo, error) {
	file, info, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // opened read-only
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = repofile.ErrTooLarge
	}
	if err != nil {
		return nil, nil, p.fault(err)
	}
	return data, info, nil
}

// know records what the model knows of a file.
func (f *Folder) know(p place, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[p.path()] = sha256.Sum256(data)
}

func (f *Folder) forget(p place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.seen, p.path())
}

// fresh reports an error if a file is not what the model knows. A file that it never read is fresh unless it must be known.
func (f *Folder) fresh(p place, data []byte, known bool) error {
	f.mu.Lock()
	sum, ok := f.seen[p.path()]
	f.mu.Unlock()
	switch {
	case !ok && known:
		return fmt.Errorf("%s exists and was not read: read it before it is overwritten", p.shown)
	case ok && sum != sha256.Sum256(data):
		return fmt.Errorf("%s has changed since it was read: read it again", p.shown)
	}
	return nil
}

// binary reports whether content is not text.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }
