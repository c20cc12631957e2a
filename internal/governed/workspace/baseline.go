package workspace

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Baseline records the current state of the workspace: the head, whether it is clean apart from
// protocol.BaselineExempt, and a marker of every file that differs from the head, so that a person's uncommitted work
// can be distinguished from a turn's. Without git it has a marker of every file, unless there are too many.
func (w *Workspace) Baseline(ctx context.Context) (protocol.Baseline, error) {
	b := protocol.Baseline{Kind: string(w.kind), Clean: true, CapturedAt: protocol.At(time.Now()), Detail: &protocol.BaselineDetail{}}
	if w.kind == NoGit {
		files, whole, err := w.walk(ctx)
		if err != nil {
			return b, w.wrap("record the baseline", err)
		}
		if b.Detail.Walked = whole; whole {
			for _, p := range slices.Sorted(maps.Keys(files)) {
				b.DirtySnapshot.Set(p, files[p].marker)
			}
		}
		return b, nil
	}
	s, err := w.status(ctx)
	if err != nil {
		return b, w.wrap("record the baseline", err)
	}
	if s.head != "" {
		b.HeadRef = &s.head
	}
	b.Branch = s.branch
	entries := w.relevant(s)
	found, err := w.marksOf(ctx, s.head, entries)
	if err != nil {
		return b, w.wrap("record the baseline", err)
	}
	for _, e := range entries {
		m := found[e.path]
		b.DirtySnapshot.Set(e.path, m.marker)
		if m.executable {
			b.Detail.Executable = append(b.Detail.Executable, e.path)
		}
		if e.staged != '.' {
			b.Detail.Staged.Set(e.path, stagedAs(e.indexMode, e.indexID))
		}
		if !e.embedded && !protocol.BaselineExempt(e.path) {
			b.Clean = false
		}
	}
	return b, nil
}

// stagedAs is the form of an index entry in a baseline.
func stagedAs(mode, id string) string {
	if mode == absent || mode == "" {
		return markDeleted
	}
	return mode + " " + id
}

// relevant returns the entries below the root that do not belong to the orchestrator, with paths from the root, sorted.
func (w *Workspace) relevant(s status) []entry {
	list := make([]entry, 0, len(s.entries))
	for _, e := range s.entries {
		p, ok := w.inside(e.path)
		if !ok || protocol.Operational(p) || protocol.Operational(p+"/") {
			continue
		}
		e.path = p
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return compare(a.path, b.path) })
	return list
}

// marksOf reads the files of entries. Submodules and nested repositories are marked by their head.
func (w *Workspace) marksOf(ctx context.Context, head string, entries []entry) (map[string]mark, error) {
	paths := make([]string, 0, len(entries))
	var special []entry
	for _, e := range entries {
		if e.embedded || e.isSubmodule() {
			special = append(special, e)
			continue
		}
		paths = append(paths, e.path)
	}
	found, err := marks(ctx, w.root, paths, sha256Names(head, entries))
	if err != nil {
		return nil, err
	}
	for p, m := range found {
		if m.marker == markDirectory {
			found[p] = mark{marker: markDeleted} // the file is gone: a folder has taken its name
		}
	}
	for _, e := range special {
		if e.embedded {
			found[e.path] = mark{marker: markRepository}
			continue
		}
		found[e.path] = w.submodule(ctx, e)
	}
	return found, nil
}

// submodule marks a submodule by its commit and by whether its files differ from it.
func (w *Workspace) submodule(ctx context.Context, e entry) mark {
	dir := filepath.Join(w.root, filepath.FromSlash(e.path))
	if !exists(dir) {
		return mark{marker: markDeleted}
	}
	if !exists(filepath.Join(dir, ".git")) {
		m, err := look(ctx, dir, false)
		if err != nil || m.marker == markDirectory {
			return mark{marker: "commit:none"}
		}
		return m
	}
	// It has its own, unverified settings, and a broken one is not the surrounding repository.
	in := *w
	in.filters = nil
	out, err := in.git(ctx, command{dir: dir, env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)},
		args: []string{"status", "--porcelain=v2", "--branch", "-z", "--no-ahead-behind", "--ignore-submodules=dirty"}})
	if err != nil {
		return mark{marker: "commit:unknown"}
	}
	s, err := parseStatus(out)
	if err != nil {
		return mark{marker: "commit:unknown"}
	}
	m := mark{marker: "commit:" + s.head, id: s.head}
	if len(s.entries) > 0 {
		files := make([]string, len(s.entries))
		for i, f := range s.entries {
			files[i] = f.path
		}
		if within, err := marks(ctx, dir, files, false); err == nil {
			sum := ""
			for _, f := range files {
				sum += f + "\x00" + within[f].marker + "\x00"
			}
			m.marker += "+" + digest(sum)
		}
	}
	return m
}

// sha256Names reports whether the repository names its objects by SHA-256.
func sha256Names(head string, entries []entry) bool {
	return len(head) == 64 || slices.ContainsFunc(entries, func(e entry) bool { return len(e.headID) == 64 || len(e.indexID) == 64 })
}
