// Package atomicfile replaces files as a whole: readers see the old content or the new, never a part, and after a
// crash one of the two remains.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/base/pid"
)

// File is new content next to the file it will replace. Commit or CommitNew puts it in place, Discard drops it.
type File struct {
	*os.File
	root *os.Root
	own  bool // closed with the file
	temp string
	name string
	done bool
}

// Create starts new content for the file at path. The file gets mode, less the user's umask.
func Create(path string, mode fs.FileMode) (*File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := CreateIn(root, filepath.Base(path), mode)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	f.own = true
	return f, nil
}

// CreateIn is Create for a file below root, which links cannot leave. The folder must exist.
func CreateIn(root *os.Root, name string, mode fs.FileMode) (*File, error) {
	name = filepath.ToSlash(name)
	base := path.Base(name)
	begin := "." + strings.ToValidUTF8(base[:min(len(base), 200)], "") + tempMark // the limit of a name is 255 bytes
	sweep(root, path.Dir(name), begin)
	temp := path.Join(path.Dir(name), begin+strconv.Itoa(os.Getpid())+"-"+rand.Text()[:randomLength])
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &File{File: f, root: root, temp: temp, name: name}, nil
}

const (
	tempMark     = ".drawbar-"
	randomLength = 10
)

// IsTemp reports whether a name is that of uncommitted content: a running writer's, or one left by a killed writer.
func IsTemp(name string) bool {
	file, rest, ok := strings.Cut(name, tempMark)
	number, random, sep := strings.Cut(rest, "-")
	_, err := strconv.Atoi(number)
	return ok && sep && err == nil && len(random) == randomLength && strings.HasPrefix(file, ".")
}

// sweep removes what killed writers of the same file left.
func sweep(root *os.Root, dir, begin string) {
	d, err := root.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // the rest is removed another time
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, begin); ok {
			number, _, _ := strings.Cut(rest, "-")
			if n, err := strconv.Atoi(number); err == nil && !pid.Alive(n) {
				_ = root.Remove(path.Join(dir, name)) // as above
			}
		}
	}
}

// Commit puts the content in the place of the file. A durable file then survives a power failure.
func (f *File) Commit(durable bool) error {
	return f.commit(durable, func() error { return Retry(func() error { return f.root.Rename(f.temp, f.name) }) })
}

// CommitNew is Commit without replacing: an existing file stays, and the error matches fs.ErrExist.
func (f *File) CommitNew(durable bool) error {
	return f.commit(durable, func() error {
		err := f.root.Link(f.temp, f.name)
		switch {
		case err == nil:
			return f.root.Remove(f.temp)
		case errors.Is(err, fs.ErrExist):
			return err
		}
		// A file system without links: another writer may come between the check and the rename.
		if _, err := f.root.Lstat(f.name); err == nil {
			return &fs.PathError{Op: "create", Path: f.name, Err: fs.ErrExist}
		}
		return Retry(func() error { return f.root.Rename(f.temp, f.name) })
	})
}

func (f *File) commit(durable bool, place func() error) (err error) {
	defer func() {
		if err != nil {
			f.Discard()
		} else {
			f.release()
		}
	}()
	if durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = place(); err == nil && durable {
		err = syncDir(f.root, path.Dir(f.name))
	}
	return err
}

// Discard drops the content. It does nothing after Commit.
func (f *File) Discard() {
	if !f.done {
		_ = f.Close() // it may be closed already
		_ = f.root.Remove(f.temp)
		f.release()
	}
}

func (f *File) release() {
	f.done = true
	if f.own {
		_ = f.root.Close()
	}
}

// Write replaces the file at path with data.
func Write(path string, data []byte, mode fs.FileMode, durable bool) error {
	f, err := Create(path, mode)
	return f.fill(data, durable, err)
}

// New writes a new file; the error matches fs.ErrExist if it exists.
func New(path string, data []byte, mode fs.FileMode) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	if _, err := f.File.Write(data); err != nil {
		f.Discard()
		return err
	}
	return f.CommitNew(false)
}

// WriteIn is Write for a file below root.
func WriteIn(root *os.Root, name string, data []byte, mode fs.FileMode, durable bool) error {
	f, err := CreateIn(root, name, mode)
	return f.fill(data, durable, err)
}

func (f *File) fill(data []byte, durable bool, err error) error {
	if err != nil {
		return err
	}
	if _, err := f.File.Write(data); err != nil {
		f.Discard()
		return err
	}
	return f.Commit(durable)
}

// Rename is os.Rename that briefly retries on Windows, where a reader of the old file prevents its replacement.
func Rename(from, to string) error { return Retry(func() error { return os.Rename(from, to) }) }

// Read is os.ReadFile of a file that others replace.
func Read(path string) (data []byte, err error) {
	err = Retry(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	return data, err
}

// Retry repeats what Windows refuses for a moment, a quarter of a second at most: to replace a file that is read, and to read one
// that is replaced.
func Retry(do func() error) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := do()
		if !Busy(err) || wait > 100*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}
