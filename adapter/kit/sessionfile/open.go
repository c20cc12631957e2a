package sessionfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/drawbar/drawbar/adapter"
)

// ReadFile reads a whole file of a store, at most limit bytes.
func ReadFile(h adapter.Host, path string, limit int64) ([]byte, error) {
	f, _, err := openFile(h, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened read-only
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return b, err
}

// Open opens a file of a store, through unpack unless it is nil.
func Open(h adapter.Host, path string, unpack func(string, io.ReadCloser) (io.ReadCloser, error)) (io.ReadCloser, error) {
	f, _, err := openFile(h, path)
	if err != nil || unpack == nil {
		return f, err
	}
	r, err := unpack(path, f)
	if err != nil {
		_ = f.Close() // the first error is reported
	}
	return r, err
}

// openFile opens a regular file. Opening a pipe or a device could block.
func openFile(h adapter.Host, path string) (fs.File, fs.FileInfo, error) {
	name, err := h.Name(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err := fs.Stat(h.FS, name); err != nil {
		return nil, nil, cause(err)
	} else if !info.Mode().IsRegular() {
		return nil, nil, errors.New(kindOf(info.Mode()))
	}
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, nil, cause(err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error is reported
		return nil, nil, cause(err)
	}
	return f, info, nil
}

// cause removes the operation and the path from a file error, because callers add the path.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "is a directory, not a file"
	case m&fs.ModeNamedPipe != 0:
		return "is a named pipe, not a file"
	case m&fs.ModeSocket != 0:
		return "is a socket, not a file"
	}
	return "is not a regular file"
}

// chain reads files one after another and opens each when it is reached. A file that cannot be opened is skipped:
// readers of content can do nothing about it.
type chain struct {
	ctx  context.Context
	open []func() (io.ReadCloser, error)
	now  io.ReadCloser
}

func (c *chain) Read(p []byte) (int, error) {
	for {
		if err := c.ctx.Err(); err != nil {
			return 0, err
		}
		if c.now == nil {
			if len(c.open) == 0 {
				return 0, io.EOF
			}
			next := c.open[0]
			c.open = c.open[1:]
			r, err := next()
			if err != nil {
				continue
			}
			c.now = r
		}
		n, err := c.now.Read(p)
		if err == nil || n > 0 {
			return n, nil
		}
		c.now.Close()
		c.now = nil
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
}

func (c *chain) Close() error {
	if c.now == nil {
		return nil
	}
	return c.now.Close()
}

// ReadDir returns the names in a directory, none if it cannot be listed.
func ReadDir(h adapter.Host, dir string) []string {
	name, err := h.Name(dir)
	if err != nil {
		return nil
	}
	list, _ := fs.ReadDir(h.FS, name) // a partial list is better than none
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}
