package workspace

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Actions of a FileChange.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
	Renamed  = "renamed" // listed under its new name; the old one is listed as Deleted
	Mode     = "mode"    // only the executable bit changed
)

// FileChange is one file that a turn changed. Path is relative to the root, with slashes.
type FileChange struct {
	Path   string
	Action string
	From   string // the old name of a renamed file
	Marker string // "sha256:<hex>" of the content, "deleted", or another word for what is not a regular file
}

// Observation is what changed since a baseline.
type Observation struct {
	// Available is false if changes cannot be determined reliably, as without git; a warning says why. Files may be
	// present all the same, for information.
	Available bool
	// Files are the turn's changes, sorted by path, without operational and ignored files, a person's unchanged work,
	// and files that only a person's commit changed.
	Files []FileChange
	// OperatorCommits are the commits made since the baseline that are not known to be a turn's, newest first;
	// TurnCommits are those of a turn. Commits are never a reason to reject a result.
	OperatorCommits, TurnCommits []Commit
	// Committed are the files that only OperatorCommits changed, sorted.
	Committed   []string
	DiffSummary string
	HeadRef     string // empty on a branch without commits and without git
	Branch      string // empty with a detached head
	Warnings    []string
}

// Paths are the paths of Files.
func (o Observation) Paths() []string {
	list := make([]string, len(o.Files))
	for i, f := range o.Files {
		list[i] = f.Path
	}
	return list
}

// Created are the paths of Files that did not exist before.
func (o Observation) Created() []string {
	var list []string
	for _, f := range o.Files {
		if f.Action == Created || f.Action == Renamed {
			list = append(list, f.Path)
		}
	}
	return list
}

// Renames are the renamed files: new name to old name.
func (o Observation) Renames() map[string]string {
	m := map[string]string{}
	for _, f := range o.Files {
		if f.Action == Renamed {
			m[f.Path] = f.From
		}
	}
	return m
}

// Markers returns the markers of Files by path, in order.
func (o Observation) Markers() protocol.Ordered[string] {
	var m protocol.Ordered[string]
	for _, f := range o.Files {
		m.Set(f.Path, f.Marker)
	}
	return m
}

// Observe returns what changed since base in dir: the root if empty, else the worktree of a turn as returned by
// Worktree, where every commit is the turn's own.
func (w *Workspace) Observe(ctx context.Context, base protocol.Baseline, dir string) (Observation, error) {
	at, own, err := w.at(dir)
	if err != nil {
		return Observation{}, err
	}
	if w.kind == NoGit {
		return w.observeFiles(ctx, base)
	}
	if base.Kind == string(NoGit) {
		o := Observation{Warnings: []string{"the workspace became a git repository after the turn was assigned: its changes are unknown"}}
		return o, nil
	}
	if own && !w.lookTree(at.top).whole {
		return Observation{}, execution.Errorf(execution.CodeConfig, "the worktree %s is no longer one of this repository: its .git file is gone or changed", at.top).
			WithHint("discard the attempt and start again: drawbar govern reissue")
	}
	s, err := at.status(ctx)
	if err != nil {
		return Observation{}, w.wrap("observe the workspace", err)
	}
	v := &view{w: at, s: s, base: base, own: own}
	if err := v.moves(ctx); err != nil {
		return Observation{}, w.wrap("observe the workspace", err)
	}
	if err := v.look(ctx); err != nil {
		return Observation{}, w.wrap("observe the workspace", err)
	}
	return v.result(), nil
}

// at is the workspace of dir: w itself for the root, a copy for a turn's worktree.
func (w *Workspace) at(dir string) (*Workspace, bool, error) {
	if dir == "" || w.kind == NoGit {
		return w, false, nil
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, false, execution.Errorf(execution.CodeConfig, "the turn's folder %s cannot be used: %w", dir, err).
			WithHint("discard the attempt and start again: drawbar govern reissue")
	}
	if abs == w.root {
		return w, false, nil
	}
	c := *w
	c.root, c.known, c.index = abs, &knownSettings{}, &knownIndex{}
	c.top = strings.TrimSuffix(abs, filepath.FromSlash(strings.TrimSuffix("/"+w.prefix, "/")))
	c.gitDir = w.lookTree(c.top).admin
	// Without its .git file, git would use the surrounding repository.
	c.env = append(slices.Clone(w.env), "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.top))
	return &c, true, nil
}

// view is one observation under construction.
type view struct {
	w    *Workspace
	s    status
	base protocol.Baseline
	own  bool // the turn's own worktree

	entries  map[string]entry  // what differs from the head, by path from the root
	found    map[string]mark   // current content of the files in entries and in the baseline
	moved    map[string]change // what differs between the head of the baseline and the head, by path from the root
	byTurn   map[string]bool   // files of the turn's commits
	commits  []Commit
	warnings []string
}

// moves finds the commits since the baseline.
func (v *view) moves(ctx context.Context) error {
	from := ""
	if v.base.HeadRef != nil {
		from = *v.base.HeadRef
	}
	v.byTurn = map[string]bool{}
	if from == v.s.head {
		return nil
	}
	h, err := v.w.between(ctx, from, v.s.head)
	if err != nil {
		return err
	}
	v.moved, v.commits, v.warnings = h.changes, h.commits, h.warnings
	for i := range v.commits {
		if v.own {
			v.commits[i].byTurn = true
		}
		if v.commits[i].ByTurn() {
			for _, f := range v.commits[i].Files {
				v.byTurn[f] = true
			}
		}
	}
	return nil
}

// look reads the relevant files.
func (v *view) look(ctx context.Context) error {
	relevant := v.w.relevant(v.s)
	v.entries = make(map[string]entry, len(relevant))
	for _, e := range relevant {
		v.entries[e.path] = e
	}
	all := relevant
	for p := range v.base.DirtySnapshot.All() {
		if _, ok := v.entries[p]; !ok {
			all = append(all, entry{path: p, staged: '.', work: '.'})
		}
	}
	for p := range v.moved {
		if _, ok := v.entries[p]; !ok && !v.base.DirtySnapshot.Has(p) {
			all = append(all, entry{path: p, staged: '.', work: '.'})
		}
	}
	var err error
	v.found, err = v.w.marksOf(ctx, v.s.head, all)
	return err
}

// differs reports whether the file's content or mode differs from the head's; a difference of the index alone does not count.
func (v *view) differs(e entry) bool {
	if e.staged == '.' || e.unmerged || e.isSubmodule() {
		return true
	}
	m := v.found[e.path]
	if m.deleted() {
		return e.headMode != absent
	}
	return e.headMode == absent || m.id != e.headID || m.executable != (e.headMode == "100755") && !m.link
}

func (v *view) result() Observation {
	o := Observation{Available: true, HeadRef: v.s.head, Branch: v.s.branch, Warnings: v.warnings}
	for _, c := range v.commits {
		if c.ByTurn() {
			o.TurnCommits = append(o.TurnCommits, c)
		} else {
			o.OperatorCommits = append(o.OperatorCommits, c)
		}
	}
	paths := map[string]bool{}
	for p := range v.entries {
		paths[p] = true
	}
	for p := range v.base.DirtySnapshot.All() {
		paths[p] = true
	}
	for p := range v.moved {
		paths[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if protocol.Operational(p) {
			continue
		}
		action, whose := v.judge(p, &o)
		switch whose {
		case turns:
			o.Files = append(o.Files, FileChange{Path: p, Action: action, Marker: v.found[p].marker})
		case operators:
			o.Committed = append(o.Committed, p)
		}
	}
	v.renames(o.Files)
	o.DiffSummary = summarize(o.Files)
	return o
}

type owner int

const (
	nobody owner = iota
	turns
	operators
)

// judge decides what happened to one file and who changed it.
func (v *view) judge(p string, o *Observation) (action string, whose owner) {
	e, dirty := v.entries[p]
	dirty = dirty && v.differs(e)
	now := v.found[p]
	moved, hasMoved := v.moved[p]
	was, wasDirty := v.base.DirtySnapshot.Get(p)
	if e.embedded {
		if !wasDirty {
			o.Warnings = append(o.Warnings, fmt.Sprintf("%s is a git repository of its own: its files are neither seen nor committed", p))
		}
		return "", nobody
	}
	if strings.HasPrefix(now.marker, "commit:") && strings.Contains(now.marker, "+") && now.marker != was {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the submodule %s has uncommitted changes: a checkpoint contains only its commit", p))
	}
	if wasDirty {
		switch {
		case was == now.marker && !v.modeChanged(p, now):
			return "", nobody
		case !dirty && hasMoved && !v.byTurn[p]:
			return "", operators // a person continued their own work and committed it
		case now.deleted():
			return Deleted, turns
		case was == markDeleted:
			return Created, turns
		case was == now.marker:
			return Mode, turns
		}
		return Modified, turns
	}
	if hasMoved && moved.same(now) {
		return "", nobody // only the head moved, as after git reset
	}
	switch {
	case dirty && hasMoved:
		return actionOf(moved.oldMode == absent, now, moved.oldID), turns
	case dirty:
		return actionOf(e.headMode == absent, now, e.headID), turns
	case hasMoved && v.byTurn[p]:
		return actionOf(moved.oldMode == absent, now, moved.oldID), turns
	case hasMoved:
		return "", operators
	}
	return "", nobody
}

func (v *view) modeChanged(p string, now mark) bool {
	d := v.base.Detail
	return d != nil && strings.HasPrefix(now.marker, "sha256:") && now.executable != slices.Contains(d.Executable, p)
}

func actionOf(isNew bool, now mark, oldID string) string {
	switch {
	case now.deleted():
		return Deleted
	case isNew:
		return Created
	case oldID != "" && now.id == oldID && !strings.HasPrefix(now.marker, "commit:"):
		return Mode
	}
	return Modified
}

// renames pairs new files with deleted ones of the same content.
func (v *view) renames(files []FileChange) {
	gone := map[string]string{} // object name to path
	for _, f := range files {
		if f.Action != Deleted {
			continue
		}
		id := v.entries[f.Path].headID
		if c, ok := v.moved[f.Path]; ok {
			id = c.oldID
		}
		if strings.Trim(id, "0") != "" {
			gone[id] = f.Path
		}
	}
	for i, f := range files {
		m := v.found[f.Path]
		if old, ok := gone[m.id]; ok && f.Action == Created && m.size > 0 {
			files[i].Action, files[i].From = Renamed, old
			delete(gone, m.id)
		}
	}
}

// observeFiles compares the files of a folder without git.
func (w *Workspace) observeFiles(ctx context.Context, base protocol.Baseline) (Observation, error) {
	o := Observation{}
	why := "without a git repository, changes are not fully known: run git init to check and checkpoint turns"
	if base.Detail == nil || !base.Detail.Walked {
		o.Warnings = append(o.Warnings, why)
		return o, nil
	}
	found, whole, err := w.walk(ctx)
	if err != nil {
		return o, w.wrap("observe the workspace", err)
	}
	o.Warnings = append(o.Warnings, why)
	if !whole {
		return o, nil
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		switch was, ok := base.DirtySnapshot.Get(p); {
		case !ok:
			o.Files = append(o.Files, FileChange{Path: p, Action: Created, Marker: found[p].marker})
		case was != found[p].marker:
			o.Files = append(o.Files, FileChange{Path: p, Action: Modified, Marker: found[p].marker})
		}
	}
	for p := range base.DirtySnapshot.All() {
		if _, ok := found[p]; !ok {
			o.Files = append(o.Files, FileChange{Path: p, Action: Deleted, Marker: markDeleted})
		}
	}
	slices.SortFunc(o.Files, func(a, b FileChange) int { return compare(a.Path, b.Path) })
	o.DiffSummary = summarize(o.Files)
	return o, nil
}

// summaryFiles bounds the files that a summary names.
const summaryFiles = 50

// summarize names the changed files, one per line.
func summarize(files []FileChange) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	plural := "s"
	if len(files) == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "%d file%s changed", len(files), plural)
	for i, f := range files {
		if i == summaryFiles {
			fmt.Fprintf(&b, "\n... and %d more", len(files)-i)
			break
		}
		fmt.Fprintf(&b, "\n%-8s %s", f.Action, printable(f.Path))
		if f.From != "" {
			fmt.Fprintf(&b, " (from %s)", printable(f.From))
		}
	}
	return b.String()
}

// printable quotes a name that contains a line break or a similar character.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == 0xfffd }) {
		return fmt.Sprintf("%q", path)
	}
	return path
}
