package codetool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// What an event shows of a change at most.
const (
	diffInput = 1 << 20
	diffBytes = 64 << 10
)

// change is new content of a file, or its end.
type change struct {
	place
	old    []byte
	info   fs.FileInfo // nil for a new file
	new    []byte
	remove bool
}

// change begins a change of a file with its content. With known, a file that exists must have been read before.
func (f *Folder) change(p place, known bool) (c change, err error) {
	if p.extra {
		return c, fmt.Errorf("%s may only be read", p.shown)
	}
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(p.name), "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
		return c, fmt.Errorf("%s belongs to git: use its commands", p.shown)
	}
	info, err := p.root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return change{place: p}, nil
	case err != nil:
		return c, p.fault(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return c, fmt.Errorf("%s is a link: change the file that it leads to", p.shown)
	case info.IsDir():
		return c, fmt.Errorf("%s is a folder", p.shown)
	case !info.Mode().IsRegular():
		return c, p.fault(repofile.ErrNotRegular)
	}
	data, info, err := p.content()
	if err != nil {
		return c, err
	}
	if err := f.fresh(p, data, known); err != nil {
		return c, err
	}
	if binary(data) {
		return c, fmt.Errorf("%s is a binary file of %d bytes", p.shown, len(data))
	}
	return change{place: p, old: data, info: info}, nil
}

// store carries out a change. A reader sees the old content or the new, and a file that changed meanwhile stays.
func (f *Folder) store(c change) (err error) {
	if len(c.new) > maxFile {
		return fmt.Errorf("the new content of %s is larger than %d MB", c.shown, maxFile>>20)
	}
	if c.info != nil {
		now, _, err := c.content()
		if err != nil {
			return err
		}
		if !bytes.Equal(now, c.old) {
			return fmt.Errorf("%s has changed meanwhile: read it again", c.shown)
		}
	}
	if c.remove {
		if err := c.root.Remove(c.name); err != nil {
			return c.fault(err)
		}
		f.forget(c.place)
		return nil
	}
	mode := fs.FileMode(0o666)
	if c.info != nil {
		mode = c.info.Mode().Perm()
	} else if err := c.root.MkdirAll(filepath.Dir(c.name), 0o777); err != nil {
		return c.fault(err)
	}
	file, err := atomicfile.CreateIn(c.root.Root, c.name, mode)
	if err != nil {
		return c.fault(err)
	}
	defer file.Discard()
	if _, err := file.Write(c.new); err != nil {
		return c.fault(err)
	}
	if c.info != nil {
		if err := file.Chmod(mode); err != nil { // the umask does not apply to a file that exists
			return c.fault(err)
		}
		err = file.Commit(false)
	} else {
		err = file.CommitNew(false)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s was created meanwhile: read it", c.shown)
	}
	if err != nil {
		return c.fault(err)
	}
	f.know(c.place, c.new)
	return nil
}

// storeAll carries out changes in order. If one fails, those before it are taken back.
func (f *Folder) storeAll(changes []change) error {
	for i, c := range changes {
		err := f.store(c)
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(changes[:i]) {
			if failed := f.undo(done); failed != nil {
				err = fmt.Errorf("%w; %s stays changed: %w", err, done.shown, failed)
			}
		}
		return err
	}
	return nil
}

// undo takes a stored change back.
func (f *Folder) undo(c change) error {
	back := change{place: c.place, old: c.new, new: c.old, info: c.info, remove: c.info == nil}
	if c.remove {
		back.info = nil
	} else if back.info == nil {
		info, err := c.root.Lstat(c.name)
		if err != nil {
			return c.fault(err)
		}
		back.info = info
	}
	return f.store(back)
}

// event is the event of a stored change; whole is that of a tool that writes whole files.
func (c change) event(whole bool) execution.Body {
	path := c.path()
	switch {
	case c.remove:
		return execution.FileDelete{Path: path}
	case c.info == nil:
		return execution.FileCreate{Path: path, ByteCount: int64(len(c.new))}
	case whole:
		return execution.FileWrite{Path: path, ByteCount: int64(len(c.new))}
	}
	patch := execution.FilePatch{Path: path}
	if len(c.old)+len(c.new) <= diffInput {
		if d := diff.Diff("a/"+c.shown, c.old, "b/"+c.shown, c.new); len(d) <= diffBytes {
			patch.Diff = strings.ToValidUTF8(string(d), "\uFFFD")
		}
	}
	return patch
}

var bom = []byte("\xEF\xBB\xBF")

// crlf reports whether every line of a text ends with CRLF.
func crlf(data []byte) bool {
	n := bytes.Count(data, []byte("\r\n"))
	return n > 0 && n == bytes.Count(data, []byte("\n"))
}

// toCRLF returns a text whose lines end with CRLF.
func toCRLF(data []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// inStyle returns new content with the line endings and the byte order mark of the old.
func inStyle(old, content []byte) []byte {
	if crlf(old) {
		content = toCRLF(content)
	}
	if bytes.HasPrefix(old, bom) && !bytes.HasPrefix(content, bom) {
		content = append(slices.Clone(bom), content...)
	}
	return content
}
