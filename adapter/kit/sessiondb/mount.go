package sessiondb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
)

// Mount returns the host with the database as a folder of its sessions. The size of a session's file is its revision, because
// only reading it would tell the number of bytes.
func (d *Database) Mount(h adapter.Host) adapter.Host {
	h = h.Complete()
	name, err := h.Name(d.Path(h))
	if err != nil {
		return h
	}
	h.FS = mounted{FS: h.FS, host: h, name: name, of: d}
	return h
}

// mounted is a file system in which the database is a folder.
type mounted struct {
	fs.FS
	host adapter.Host // without the database
	name string
	of   *Database
}

var _ interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
} = mounted{}

// session returns the session that a name means.
func (m mounted) session(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, m.name+"/")
	return id, ok
}

func (m mounted) Open(name string) (fs.File, error) {
	if id, ok := m.session(name); ok {
		if _, err := m.Stat(name); err != nil {
			return nil, err
		}
		return &file{info: info{name: id}, load: func() ([]byte, error) {
			text, err := m.of.session(context.Background(), m.host, id)
			return text, at("read", name, err)
		}}, nil
	}
	return m.FS.Open(name)
}

func (m mounted) Stat(name string) (fs.FileInfo, error) {
	id, ok := m.session(name)
	if !ok && name != m.name {
		return fs.Stat(m.FS, name)
	}
	i, err := fs.Stat(m.FS, m.name)
	switch {
	case err != nil:
		return nil, err
	case !i.Mode().IsRegular(): // and no database
		return i, nil
	case ok:
		return info{name: id}, nil
	}
	return folder{i}, nil
}

func (m mounted) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != m.name {
		return fs.ReadDir(m.FS, name)
	}
	list, err := m.of.list(context.Background(), m.host)
	entries := make([]fs.DirEntry, len(list))
	for i := range list {
		entries[i] = fs.FileInfoToDirEntry(list[i])
	}
	return entries, at("list", name, err)
}

func (m mounted) Lstat(name string) (fs.FileInfo, error) {
	if _, ok := m.session(name); ok {
		return m.Stat(name)
	}
	return fs.Lstat(m.FS, name)
}

func (m mounted) ReadLink(name string) (string, error) { return fs.ReadLink(m.FS, name) }

// at adds what file systems add to an error.
func at(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// info describes a session.
type info struct {
	name     string
	changed  time.Time
	revision int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.revision }
func (i info) Mode() fs.FileMode  { return 0o400 }
func (i info) ModTime() time.Time { return i.changed }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }

// folder is the database's description as a folder.
type folder struct{ fs.FileInfo }

func (f folder) Mode() fs.FileMode { return fs.ModeDir | 0o500 }
func (f folder) IsDir() bool       { return true }
func (f folder) Sys() any          { return nil }

// file is a session, which is loaded when it is first read.
type file struct {
	info
	load func() ([]byte, error)
	text *bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

func (f *file) Read(p []byte) (int, error) {
	if f.text == nil {
		text, err := f.load()
		if err != nil {
			return 0, err
		}
		f.text = bytes.NewReader(text)
	}
	return f.text.Read(p)
}

var _ io.Reader = (*file)(nil)
