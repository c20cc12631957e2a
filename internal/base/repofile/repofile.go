package repofile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Reasons why a file is not read, for errors.Is.
var (
	ErrNotRegular = errors.New("is not a regular file")
	ErrTooLarge   = errors.New("is too large")
	ErrOutside    = errors.New("leads out of its folder")
)

// Read reads a regular file below root. name is relative to root, with slashes; neither it nor a link may leave root.
// More than limit bytes are ErrTooLarge. A missing file is fs.ErrNotExist. Errors do not repeat the path.
func Read(root, name string, limit int64) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = r.Close() }() // opened read-only
	f, _, err := Open(r, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return all(f, limit)
}

// Open opens a regular file below root; links within root are followed. A pipe or a device is refused without
// waiting.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	local := filepath.FromSlash(name)
	info, err := root.Stat(local) // before opening, because opening a device may have effects
	if err != nil {
		return nil, nil, reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, ErrNotRegular
	}
	f, err := root.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, reason(err)
	}
	now, err := f.Stat()
	if err == nil && !now.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, reason(err)
	}
	return f, now, nil
}

// OpenPlain is Open for a file that is not a link, and is the one that was checked.
func OpenPlain(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, nil, reason(err)
	}
	if !before.Mode().IsRegular() {
		return nil, nil, ErrNotRegular
	}
	f, now, err := Open(root, name)
	if err == nil && !os.SameFile(before, now) {
		_ = f.Close()
		return nil, nil, fmt.Errorf("%w: it was replaced while it was opened", ErrNotRegular)
	}
	return f, now, err
}

// Own reads a regular file of the user, following links anywhere.
func Own(path string, limit int64) ([]byte, error) {
	return open(path, limit, func(m fs.FileMode) bool { return m.IsRegular() })
}

// Input reads what a person named on a command line: a file, or a pipe such as that of <(...). Devices are refused,
// and more than limit bytes are ErrTooLarge.
func Input(path string, limit int64) ([]byte, error) {
	return open(path, limit, func(m fs.FileMode) bool { return m&(fs.ModeDevice|fs.ModeDir) == 0 })
}

func open(path string, limit int64, fits func(fs.FileMode) bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if !fits(info.Mode()) {
		return nil, ErrNotRegular
	}
	flags := os.O_RDONLY
	if info.Mode().IsRegular() {
		flags |= syscall.O_NONBLOCK // do not wait for a pipe that replaces it meanwhile
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, reason(err)
	}
	if !fits(info.Mode()) {
		return nil, ErrNotRegular
	}
	return all(f, limit)
}

func all(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, nil
}

// reason returns a file system error without its path.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if err != nil && strings.Contains(err.Error(), "escapes from parent") { // os.Root exports no error for it
		return ErrOutside
	}
	return err
}

// maxDigest bounds the size of a digested file.
const maxDigest = 256 << 20

// Digest returns the SHA-256 of a regular file below root, in hexadecimal.
func Digest(root, name string) (string, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", reason(err)
	}
	defer func() { _ = r.Close() }() // opened read-only
	f, _, err := Open(r, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxDigest+1))
	if err != nil {
		return "", reason(err)
	}
	if n > maxDigest {
		return "", fmt.Errorf("%w: at most %d bytes are digested", ErrTooLarge, int64(maxDigest))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Named returns the path, relative to root and with slashes, of the regular file below root that a word of a command
// names from the folder dir; empty for none. Links are followed, also out of root, because the command would run
// their target; the link's own path is returned.
func Named(root, dir, word string) string {
	p := filepath.FromSlash(word)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rel, err := filepath.Rel(root, p)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	if info, err := os.Stat(filepath.Join(root, rel)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Real returns a path that is absolute, and without links if it exists.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if p, err := filepath.EvalSymlinks(path); err == nil {
		path = p
	}
	return path
}

// Above returns the nearest folder, from dir upwards, that has something of that name: absolute, and empty if there is none.
func Above(dir, name string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Lstat(filepath.Join(at, name))
		switch up := filepath.Dir(at); {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", err
		case up == at:
			return "", nil
		default:
			at = up
		}
	}
}
