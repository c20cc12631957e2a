package sessionfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// Lister walks the directories of a store.
type Lister struct {
	Host     adapter.Host
	ctx      context.Context
	agent    string
	root     string // as given
	real     string // with its links followed
	files    []adapter.SessionFile
	problems []adapter.SessionProblem
}

// Entry is what a directory of a store holds.
type Entry struct {
	Name    string
	Path    string // absolute
	Dir     bool
	Info    fs.FileInfo // nil with a Problem
	Problem string
}

// Root begins a tree. It reports whether there is one; what is no directory is a problem. The root itself may be a
// link: people keep their settings elsewhere. Links below it must not lead out of it.
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
		l.Problem(dir, "is no directory")
		return false
	}
	l.root, l.real = filepath.Clean(dir), filepath.Clean(dir)
	if real, err := l.Host.Follow(dir); err == nil {
		l.real = real
	}
	return true
}

// Dir lists a directory in order of names. One that is not there is empty.
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

// link looks where a link leads. A directory within the tree is met at its own place.
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

// Add lists a session. Where e is no readable file, the session is listed with its problem.
func (l *Lister) Add(f adapter.SessionFile, e Entry) {
	f.Agent, f.Path = l.agent, cmp.Or(f.Path, e.Path)
	f.Problem = cmp.Or(f.Problem, e.Problem)
	if e.Info != nil {
		if f.ModTime.Before(e.Info.ModTime()) {
			f.ModTime = e.Info.ModTime()
		}
		if f.Problem == "" && e.Dir {
			f.Problem = "is a directory, no file"
		}
		if !e.Dir {
			f.Size = e.Info.Size()
		}
	}
	l.files = append(l.files, f)
}

// Parts gives the files of sub-agents among entries, .jsonl all of them, and reports those that cannot be read.
func (l *Lister) Parts(entries []Entry) (paths []string) {
	for _, e := range entries {
		if e.Dir {
			e.Problem = cmp.Or(e.Problem, "is a directory, no file")
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

// Problem reports what keeps the lister from seeing sessions.
func (l *Lister) Problem(path, message string) {
	l.problems = append(l.problems, adapter.SessionProblem{Path: path, Message: message})
}

// Enter reports whether an entry is a directory to walk into; what keeps it from being one is reported.
func (l *Lister) Enter(e Entry) bool {
	if e.Problem != "" && (e.Info == nil || e.Info.IsDir()) {
		l.Problem(e.Path, e.Problem)
	}
	return e.Dir && e.Problem == ""
}
