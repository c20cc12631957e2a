package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// mergedFile is kept in git's administrative folder of a worktree. It lists what a merge was about to write, so that an
// interrupted merge is finished and not mistaken for a person's change.
const mergedFile = "drawbar-merged"

// Merge merges the given files of a turn's worktree into the work tree at the root. A file that only the turn changed
// is copied; one that both changed is merged by lines. If that is impossible, or would overwrite a person's uncommitted
// work, the path is in conflicts and nothing is changed. It is idempotent.
func (w *Workspace) Merge(ctx context.Context, turn string, paths []string) (conflicts []string, err error) {
	return w.merge(ctx, turn, paths, func(string) {})
}

// merge is Merge with interruption points for tests.
func (w *Workspace) merge(ctx context.Context, turn string, paths []string, point func(string)) (conflicts []string, err error) {
	if err := errors.Join(checkTurn(turn), w.needGit("merge a worktree")); err != nil {
		return nil, err
	}
	dir := w.worktreeDir(turn)
	t := w.lookTree(dir)
	if !t.whole {
		return nil, execution.Errorf(execution.CodeConfig, "the worktree %s of turn %s is missing or incomplete", dir, turn).
			WithHint("repeat the turn: drawbar govern reissue")
	}
	m, err := w.newMerge(ctx, t, paths)
	if err != nil {
		return nil, w.wrap("merge the worktree of "+turn, err)
	}
	defer m.close()
	for _, p := range m.paths {
		ok, err := m.plan(ctx, p)
		if err != nil {
			return nil, w.wrap("merge "+p, err)
		}
		if !ok {
			conflicts = append(conflicts, p)
		}
	}
	if len(conflicts) > 0 {
		return conflicts, nil
	}
	return nil, w.wrap("merge the worktree of "+turn, m.carryOut(point))
}

// merging is one merge: everything is planned before anything is written.
type merging struct {
	w      *Workspace
	t      tree
	paths  []string
	main   *os.Root
	theirs *os.Root          // the project in the turn's worktree
	dirty  map[string]bool   // differences from the head in the work tree at the root
	moved  map[string]change // changes of the head since the turn began
	done   map[string]string // what an interrupted merge was writing
	bases  map[string]blob   // the files as the turn found them
	steps  []step
}

// step is one file to write.
type step struct {
	path   string
	remove bool
	link   bool
	data   []byte // the target of a link
	from   string // or the file to copy, by its path in the turn's worktree
	mode   fs.FileMode
	marker string
}

func (w *Workspace) newMerge(ctx context.Context, t tree, paths []string) (*merging, error) {
	m := &merging{w: w, t: t, dirty: map[string]bool{}}
	for _, p := range paths {
		if err := checkRelative(p); err != nil {
			return nil, err
		}
		m.paths = append(m.paths, path.Clean(p))
	}
	slices.Sort(m.paths)
	m.paths = slices.Compact(m.paths)
	s, err := w.status(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range s.entries {
		if p, ok := w.inside(e.path); ok {
			m.dirty[p] = true
		}
	}
	if s.head != t.base {
		raw, err := w.git(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", t.base, s.head}})
		if err != nil {
			return nil, err
		}
		if m.moved, err = w.parseRaw(raw); err != nil {
			return nil, err
		}
	}
	if err := m.readBases(ctx); err != nil {
		return nil, err
	}
	m.done = t.merged()
	if m.main, err = os.OpenRoot(w.root); err != nil {
		return nil, err
	}
	if m.theirs, err = os.OpenRoot(filepath.Join(t.path, filepath.FromSlash(w.prefix))); err != nil {
		_ = m.main.Close()
		return nil, err
	}
	return m, nil
}

// merged is what an interrupted merge of the worktree was about to write: the marker of each file.
func (t tree) merged() map[string]string {
	done := map[string]string{}
	if data, err := os.ReadFile(filepath.Join(t.admin, mergedFile)); err == nil {
		_ = json.Unmarshal(data, &done) // a partly written file was planned before any other was written
	}
	return done
}

// UndoMerges takes back what interrupted merges of worktrees have written at the root, but for files that changed since. The
// worktrees keep it, and their next merge writes it again. It reports whether there was anything.
func (w *Workspace) UndoMerges(ctx context.Context) (undone bool, err error) {
	entries, err := os.ReadDir(w.worktreeDir(""))
	if errors.Is(err, fs.ErrNotExist) || w.kind == NoGit {
		return false, nil
	}
	var written []string
	for _, e := range entries {
		t := w.lookTree(w.worktreeDir(e.Name()))
		if !t.whole {
			continue
		}
		for p, marker := range t.merged() {
			if checkRelative(p) != nil {
				continue
			}
			if now, err := look(ctx, filepath.Join(w.root, filepath.FromSlash(p)), false); err == nil && now.marker == marker {
				written = append(written, p)
			}
		}
	}
	var h head
	if err == nil && len(written) > 0 {
		if h, err = w.head(ctx); err == nil {
			_, err = w.discard(ctx, protocol.Baseline{}, h.commit, written)
		}
	}
	return len(written) > 0, w.wrap("undo an interrupted merge", err)
}

func (m *merging) close() {
	_ = m.main.Close()
	_ = m.theirs.Close()
}

// plan decides about one file; false is a conflict.
func (m *merging) plan(ctx context.Context, p string) (bool, error) {
	ours, err := look(ctx, filepath.Join(m.w.root, filepath.FromSlash(p)), false)
	if err != nil {
		return false, err
	}
	theirs, err := look(ctx, filepath.Join(m.theirs.Name(), filepath.FromSlash(p)), false)
	if err != nil {
		return false, err
	}
	base := m.bases[p]
	if !base.absent() && base.mode != modeDir {
		// The file is gone: a folder has taken its name.
		for _, side := range []*mark{&ours, &theirs} {
			if side.marker == markDirectory {
				*side = mark{marker: markDeleted}
			}
		}
	}
	if !plain(ours) || !plain(theirs) || base.mode == modeDir {
		return false, nil
	}
	if ours.marker == theirs.marker && ours.executable == theirs.executable {
		return true, nil
	}
	if !ours.deleted() && m.done[p] == ours.marker {
		return true, nil // an interrupted merge has written it
	}
	c, changed := m.moved[p]
	switch {
	case m.dirty[p], !changed && ours.deleted() != base.absent(), changed && ours.deleted() != (c.newMode == absent):
		// A person's own: uncommitted, or ignored by git.
		return false, nil
	case !changed:
		return m.take(p, theirs), nil
	case base.same(theirs):
		return true, nil // the turn left it as it was
	case base.absent() || ours.deleted() || theirs.deleted() || ours.link || theirs.link || base.mode == "120000":
		return false, nil
	}
	return m.three(ctx, p, base, ours, theirs)
}

// plain reports whether the mark is of a file, a link or nothing.
func plain(m mark) bool {
	return m.deleted() || m.link || strings.HasPrefix(m.marker, "sha256:")
}

// blob is a file of the turn's base commit, as git would write it into a work tree.
type blob struct {
	mode string
	data []byte
}

func (b blob) absent() bool { return b.mode == "" }

func (b blob) same(m mark) bool {
	if m.deleted() || b.absent() {
		return m.deleted() && b.absent()
	}
	return m.link == (b.mode == "120000") && m.executable == (b.mode == "100755") && strings.HasSuffix(m.marker, "sha256:"+digest(string(b.data)))
}

// readBases finds the files as the turn found them. It reads their content only if the head has changed the file too.
func (m *merging) readBases(ctx context.Context) error {
	args := []string{"ls-tree", "-r", "-z", m.t.base, "--"}
	size := 0
	for _, p := range m.paths {
		size += len(p) + len(m.w.prefix)
	}
	if size < maxArgs {
		for _, p := range m.paths {
			args = append(args, m.w.prefix+p)
		}
	}
	out, err := m.w.git(ctx, command{args: args})
	if err != nil {
		return err
	}
	m.bases = map[string]blob{}
	for _, item := range items(out) {
		info, name, _ := strings.Cut(item, "\t")
		p, inside := m.w.inside(name)
		f := strings.Fields(info)
		if _, wanted := slices.BinarySearch(m.paths, p); !inside || !wanted || len(f) != 3 {
			continue
		}
		b := blob{mode: f[0]}
		if _, changed := m.moved[p]; changed && f[1] == "blob" {
			args := []string{"cat-file", "--filters", m.t.base + ":" + name}
			if f[0] == "120000" {
				args = []string{"cat-file", "blob", f[2]}
			}
			if b.data, err = m.w.git(ctx, command{args: args}); err != nil {
				return err
			}
		}
		m.bases[p] = b
	}
	return nil
}

// take plans to replace ours with theirs; false if something is in the way.
func (m *merging) take(p string, theirs mark) bool {
	s := step{path: p, marker: theirs.marker, remove: theirs.deleted(), link: theirs.link, mode: 0o644}
	if theirs.executable {
		s.mode = 0o755
	}
	if s.link {
		target, err := m.theirs.Readlink(filepath.FromSlash(p))
		if err != nil {
			return false
		}
		s.data = []byte(target)
	} else if !s.remove {
		s.from = p
	}
	m.steps = append(m.steps, s)
	return s.remove || m.roomFor(p)
}

// roomFor reports whether the folders of a new file can be created: none is a file or a link, unless the merge removes
// it.
func (m *merging) roomFor(p string) bool {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		info, err := m.main.Lstat(filepath.FromSlash(d))
		if err != nil || info.IsDir() {
			continue
		}
		if !slices.Contains(m.paths, d) {
			return false
		}
	}
	return true
}

// three merges a file that both changed.
func (m *merging) three(ctx context.Context, p string, base blob, ours, theirs mark) (bool, error) {
	read := func(r *os.Root) ([]byte, error) { return r.ReadFile(filepath.FromSlash(p)) }
	a, err := read(m.main)
	if err != nil {
		return false, err
	}
	b, err := read(m.theirs)
	if err != nil {
		return false, err
	}
	for _, text := range [][]byte{a, b, base.data} {
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			return false, nil // not text, as git defines it
		}
	}
	tmp, err := os.MkdirTemp(m.t.admin, "drawbar-merge-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	names := make([]string, 3)
	for i, text := range [][]byte{a, base.data, b} {
		names[i] = filepath.Join(tmp, []string{"ours", "base", "theirs"}[i])
		if err := os.WriteFile(names[i], text, 0o600); err != nil {
			return false, err
		}
	}
	// The exit code is the number of conflicts, at most 127; 255 is a failure.
	codes := make([]int, 127)
	for i := range codes {
		codes[i] = i + 1
	}
	out, code, err := m.w.gitCode(ctx, command{args: append([]string{"merge-file", "-p", "-q"}, names...), ok: codes})
	if err != nil || code != 0 {
		return false, err
	}
	mode := fs.FileMode(0o644)
	if wasExec := base.mode == "100755"; ours.executable != wasExec && ours.executable || theirs.executable != wasExec && theirs.executable ||
		wasExec && ours.executable && theirs.executable {
		mode = 0o755
	}
	m.steps = append(m.steps, step{path: p, data: out, mode: mode, marker: "sha256:" + digest(string(out))})
	return true, nil
}

// carryOut writes the planned changes: removals first, so that a folder may become a file and a file a folder.
func (m *merging) carryOut(point func(string)) error {
	if len(m.steps) == 0 {
		return nil
	}
	for _, s := range m.steps {
		m.done[s.path] = s.marker
	}
	note, err := json.Marshal(m.done)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(m.t.admin, mergedFile), note, 0o600, false); err != nil {
		return err
	}
	point("noted")
	slices.SortStableFunc(m.steps, func(a, b step) int {
		switch {
		case a.remove == b.remove:
			return 0
		case a.remove:
			return -1
		}
		return 1
	})
	for _, s := range m.steps {
		if err := m.write(s); err != nil {
			return fmt.Errorf("write %s: %w", s.path, err)
		}
		point("wrote " + s.path)
	}
	return nil
}

// write replaces one file atomically. It writes through no link that leads out of the root.
func (m *merging) write(s step) error {
	name := filepath.FromSlash(s.path)
	if s.remove {
		if err := m.main.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return err
		}
		// Git does not record empty folders.
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
			if m.main.Remove(d) != nil {
				break
			}
		}
		return nil
	}
	if err := m.main.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.FromSlash(protocol.WorktreesDir), ".merge-"+m.t.turn)
	_ = m.main.Remove(tmp) // left by an interrupted merge
	if s.link {
		if err := m.main.Symlink(string(s.data), tmp); err != nil {
			return err
		}
		return m.main.Rename(tmp, name)
	}
	if err := m.fill(tmp, s); err != nil {
		_ = m.main.Remove(tmp)
		return err
	}
	return m.main.Rename(tmp, name)
}

func (m *merging) fill(tmp string, s step) (err error) {
	f, err := m.main.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, s.mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var from io.Reader = bytes.NewReader(s.data)
	if s.from != "" {
		source, err := m.theirs.Open(filepath.FromSlash(s.from))
		if err != nil {
			return err
		}
		defer source.Close()
		from = source
	}
	_, err = io.Copy(f, from)
	return err
}
