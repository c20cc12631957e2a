package sessionfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

// Lister walks the directories of a store.
type Lister struct {
	Host     adapter.Host
	ctx      context.Context
	agent    string
	root     string // as given
	real     string // with links resolved
	files    []history.File
	problems []history.Problem
}

// Entry is an entry of a store's directory.
type Entry struct {
	Name    string
	Path    string // absolute
	Dir     bool
	Info    fs.FileInfo // nil if there is a Problem
	Problem string
}

// Root starts a tree and reports whether it exists; a root that is not a directory is a problem. The root may be a
// link, because people relocate their settings. Links below it must not lead out of it.
func (l *Lister) Root(dir string) bool {
	name, err := l.Host.Name(dir)
	if err != nil {
		l.Problem(dir, err.Error())
		return false
	}
	info, err := fs.Stat(l.Host.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		l.Problem(dir, cause(err).Error())
		return false
	case !info.IsDir():
		l.Problem(dir, "is not a directory")
		return false
	}
	l.root, l.real = filepath.Clean(dir), filepath.Clean(dir)
	if real, err := l.Host.Follow(dir); err == nil {
		l.real = real
	}
	return true
}

// Dir lists a directory sorted by name. A missing directory is empty.
func (l *Lister) Dir(dir string) []Entry {
	if l.ctx.Err() != nil {
		return nil
	}
	name, err := l.Host.Name(dir)
	if err != nil {
		l.Problem(dir, err.Error())
		return nil
	}
	// An error comes with the entries that could be read.
	list, err := fs.ReadDir(l.Host.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Problem(dir, "its entries cannot all be listed: "+cause(err).Error())
	}
	entries := make([]Entry, 0, len(list))
	for _, d := range list {
		e := Entry{Name: d.Name(), Path: filepath.Join(dir, d.Name())}
		if d.Type()&fs.ModeSymlink != 0 {
			l.link(&e)
		} else if info, err := d.Info(); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed since
			}
			e.Problem = cause(err).Error()
		} else {
			e.Info, e.Dir = info, info.IsDir()
			if !e.Dir && !info.Mode().IsRegular() {
				e.Problem = kindOf(info.Mode())
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// link resolves a link. A directory within the tree is listed at its own place.
func (l *Lister) link(e *Entry) {
	target, err := l.Host.Follow(e.Path)
	if err != nil {
		e.Problem = "is a link that leads nowhere: " + cause(err).Error()
		return
	}
	if rel, err := filepath.Rel(l.real, target); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		e.Problem = "is a link out of the store, to " + target + "; it is not followed"
		return
	}
	name, err := l.Host.Name(target)
	if err == nil {
		e.Info, err = fs.Stat(l.Host.FS, name)
	}
	switch {
	case err != nil:
		e.Problem = cause(err).Error()
	case e.Info.IsDir():
		e.Problem = "is a link to a directory of the store, which is listed by its own name"
	case !e.Info.Mode().IsRegular():
		e.Problem = kindOf(e.Info.Mode())
	}
}

// Add lists a session. If e is not a readable file, the session is listed with its problem.
func (l *Lister) Add(f history.File, e Entry) {
	f.Agent, f.Path = l.agent, cmp.Or(f.Path, e.Path)
	f.Problem = cmp.Or(f.Problem, e.Problem)
	if e.Info != nil {
		if f.ModTime.Before(e.Info.ModTime()) {
			f.ModTime = e.Info.ModTime()
		}
		if f.Problem == "" && e.Dir {
			f.Problem = "is a directory, not a file"
		}
		if !e.Dir {
			f.Size = e.Info.Size()
		}
	}
	l.files = append(l.files, f)
}

// Parts returns the files of sub-agents among entries, all of them .jsonl, and reports unreadable ones.
func (l *Lister) Parts(entries []Entry) (paths []string) {
	for _, e := range entries {
		if e.Dir {
			e.Problem = cmp.Or(e.Problem, "is a directory, not a file")
		}
		switch {
		case !strings.HasSuffix(e.Name, ".jsonl"):
		case e.Problem != "":
			l.Problem(e.Path, "the sub-agent cannot be read: "+e.Problem)
		default:
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// Problem reports an obstacle to listing sessions.
func (l *Lister) Problem(path, message string) {
	l.problems = append(l.problems, history.Problem{Path: path, Message: message})
}

// Enter reports whether an entry is a directory to walk into, and reports an unreadable one.
func (l *Lister) Enter(e Entry) bool {
	if e.Problem != "" && (e.Info == nil || e.Info.IsDir()) {
		l.Problem(e.Path, e.Problem)
	}
	return e.Dir && e.Problem == ""
}
