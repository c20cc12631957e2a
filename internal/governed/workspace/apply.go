package workspace

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Apply moves the branch to the checkpoint if the branch has not moved, and updates a person's index for its paths;
// what they staged themselves stays staged. It is idempotent, also after a crash and after later commits. If the branch
// has moved, the error matches ErrMoved: see Rebase.
func (w *Workspace) Apply(ctx context.Context, p Prepared) error {
	if err := w.needGit("apply a checkpoint"); err != nil {
		return err
	}
	return w.wrap("apply the checkpoint "+p.Commit, w.apply(ctx, p, func(string) {}))
}

// ErrMoved matches the error of Apply if somebody committed in between.
var ErrMoved = errors.New("the branch has moved")

// apply is Apply with interruption points for tests.
func (w *Workspace) apply(ctx context.Context, p Prepared, point func(string)) error {
	if !IsObject(p.Commit) || p.Parent != "" && !IsObject(p.Parent) || p.Ref != "HEAD" && !strings.HasPrefix(p.Ref, "refs/heads/") {
		return execution.Errorf(execution.CodeInternal, "not a prepared checkpoint: commit %q on %q", p.Commit, p.Ref)
	}
	if p.Ref == "HEAD" {
		// With a branch checked out, moving HEAD would detach it.
		if h, err := w.head(ctx); err != nil || h.ref != p.Ref {
			return cmp.Or(err, moved(p, h.ref))
		}
	}
	now := p.Commit
	err := w.move(ctx, p)
	if errors.Is(err, ErrMoved) {
		now, err = w.already(ctx, p)
	}
	if err != nil {
		return err
	}
	point("moved")
	if !w.checkedOut(ctx, p.Ref) || now == p.Commit && w.installIndex(now) {
		return nil
	}
	stale, err := w.stale(ctx, p, now)
	if err != nil || len(stale) == 0 {
		return err
	}
	return w.stage(ctx, stale)
}

func moved(p Prepared, now string) error {
	return execution.Errorf(execution.CodeConfig, "%w: it is at %s now, the checkpoint was made on %s of %s", ErrMoved, cmp.Or(now, "no commit"),
		cmp.Or(p.Parent, "no commit"), p.Ref).WithHint("make the checkpoint again: drawbar govern checkpoint")
}

// already returns the commit of the branch if it contains the checkpoint; otherwise the error matches ErrMoved.
func (w *Workspace) already(ctx context.Context, p Prepared) (string, error) {
	out, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", p.Ref + "^{commit}"}, ok: []int{1}})
	if err != nil {
		return "", err
	}
	now := strings.TrimSpace(string(out))
	if code == 1 || now == "" {
		return "", moved(p, "")
	}
	_, code, err = w.gitCode(ctx, command{args: []string{"merge-base", "--is-ancestor", p.Commit, now}, ok: []int{1}})
	if err == nil && code == 1 {
		err = moved(p, now)
	}
	return now, err
}

// checkedOut reports whether HEAD refers to ref: otherwise the index is not that branch's.
func (w *Workspace) checkedOut(ctx context.Context, ref string) bool {
	if data, err := readPlain(filepath.Join(w.gitDir, "HEAD")); err == nil && strings.TrimSpace(string(data)) == "ref: "+ref {
		return true
	}
	h, err := w.head(ctx) // HEAD is detached, or kept in another format
	return err == nil && h.ref == ref
}

// move moves the branch from the parent to the checkpoint, atomically.
func (w *Workspace) move(ctx context.Context, p Prepared) error {
	old := p.Parent
	if old == "" {
		old = strings.Repeat("0", len(p.Commit)) // it must not exist
	}
	subject, _, _ := strings.Cut(p.Message, "\n")
	args := []string{"update-ref", "-m", subject}
	if p.Ref == "HEAD" {
		args = append(args, "--no-deref")
	}
	_, err := w.git(ctx, command{args: append(args, p.Ref, p.Commit, old)})
	if says(err, "is at ") || says(err, "reference already exists") || says(err, "unable to resolve reference") {
		return execution.Errorf(execution.CodeConfig, "%w: %v", ErrMoved, err).WithHint("make the checkpoint again: drawbar govern checkpoint")
	}
	return err
}

// maxArgs limits the arguments of a git command.
const maxArgs = 64 << 10

// entryChange is the old and new entry of one path of the index.
type entryChange struct {
	path     string
	mode, id string
}

// stale returns the entries of a person's index that the checkpoint must bring up to date once the branch is at the
// commit now. An entry that differs from the parent's was staged since: by the agent, unless the baseline lists it.
func (w *Workspace) stale(ctx context.Context, p Prepared, now string) ([]entryChange, error) {
	if len(p.Paths) == 0 {
		return nil, nil
	}
	args := []string{"diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", now, "--"}
	size := 0
	for _, path := range p.Paths {
		size += len(path) + 1
	}
	if size < maxArgs {
		args = append(args, p.Paths...)
	}
	out, err := w.git(ctx, command{args: args})
	if err != nil {
		return nil, err
	}
	differs, err := w.fromTop().parseRaw(out)
	if err != nil || len(differs) == 0 {
		return nil, err
	}
	var own map[string]change
	if p.KeepAll || now != p.Commit {
		if own, err = w.changes(ctx, p); err != nil {
			return nil, err
		}
	}
	var list []entryChange
	for _, path := range p.Paths {
		d, ok := differs[path]
		if !ok {
			continue // already up to date
		}
		if c, known := own[path]; own != nil {
			if !known || d.oldMode != c.newMode || d.oldID != c.newID {
				continue // not changed by the checkpoint, or changed again by a later commit
			}
			if p.KeepAll && (d.newMode != c.oldMode || d.newID != c.oldID) {
				continue
			}
		}
		if was, ok := p.Kept.Get(path); ok && was == stagedAs(d.newMode, d.newID) {
			continue
		}
		list = append(list, entryChange{path, d.oldMode, d.oldID})
	}
	return list, nil
}

// changes returns what the checkpoint changes, by path from the top.
func (w *Workspace) changes(ctx context.Context, p Prepared) (map[string]change, error) {
	older, err := w.olderTree(ctx, p.Parent)
	if err != nil {
		return nil, err
	}
	return w.diffTrees(ctx, older, p.Commit)
}

// diffTrees returns the differences of two commits or trees, by path from the top.
func (w *Workspace) diffTrees(ctx context.Context, older, newer string) (map[string]change, error) {
	raw, err := w.git(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", older, newer}})
	if err != nil {
		return nil, err
	}
	return w.fromTop().parseRaw(raw)
}

// stage puts the new side of changes into a person's index, with the files' times, so that git need not read them
// again.
func (w *Workspace) stage(ctx context.Context, changes []entryChange) error {
	args := []string{"update-index", "--add", "--replace"}
	var gone strings.Builder
	size := 0
	for _, c := range changes {
		if c.mode == absent {
			gone.WriteString(c.path + "\x00")
			continue
		}
		args = append(args, "--cacheinfo", c.mode+","+c.id+","+c.path)
		size += len(c.path) + 64
	}
	if size > maxArgs {
		if _, err := w.git(ctx, command{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(indexInfo(changes))}); err != nil {
			return err
		}
		args, gone = args[:1], strings.Builder{}
	}
	args = append(args, "--refresh")
	if gone.Len() > 0 {
		args = append(args, "--force-remove", "-z", "--stdin")
	}
	// The exit code says whether other files differ from the index, which does not matter here.
	_, _, err := w.gitCode(ctx, command{args: args, stdin: []byte(gone.String()), ok: []int{1}})
	return err
}

// indexInfo is the input of update-index --index-info.
func indexInfo(changes []entryChange) string {
	var b strings.Builder
	for _, c := range changes {
		mode := c.mode
		if mode == absent {
			mode = "0"
		}
		b.WriteString(mode + " " + c.id + "\t" + c.path + "\x00")
	}
	return b.String()
}

// Rebase makes the checkpoint again on the current head. For a path that the commits in between changed too, their
// version stays: they were made from the same work tree, later.
func (w *Workspace) Rebase(ctx context.Context, p Prepared) (Prepared, error) {
	if err := w.needGit("rebase a checkpoint"); err != nil {
		return Prepared{}, err
	}
	n, err := w.rebase(ctx, p)
	return n, w.wrap("rebase the checkpoint "+p.Commit, err)
}

func (w *Workspace) rebase(ctx context.Context, p Prepared) (Prepared, error) {
	h, err := w.head(ctx)
	if err != nil {
		return Prepared{}, err
	}
	index, done, err := w.privateIndex()
	if err != nil {
		return Prepared{}, err
	}
	defer done()
	tree := cmp.Or(h.commit, "--empty")
	if _, err := w.git(ctx, command{args: []string{"read-tree", tree}, env: index.env()}); err != nil {
		return Prepared{}, err
	}
	own, err := w.changes(ctx, p)
	if err != nil {
		return Prepared{}, err
	}
	since := map[string]change{}
	if h.commit != "" {
		older, err := w.olderTree(ctx, p.Parent)
		if err != nil {
			return Prepared{}, err
		}
		if since, err = w.diffTrees(ctx, older, h.commit); err != nil {
			return Prepared{}, err
		}
	}
	var list []entryChange
	for _, path := range slices.Sorted(maps.Keys(own)) {
		if _, ok := since[path]; !ok {
			list = append(list, entryChange{path, own[path].newMode, own[path].newID})
		}
	}
	if len(list) > 0 {
		if _, err := w.git(ctx, command{args: []string{"update-index", "-z", "--index-info"}, env: index.env(), stdin: []byte(indexInfo(list))}); err != nil {
			return Prepared{}, err
		}
	}
	n := Prepared{Parent: h.commit, Ref: h.ref, Paths: p.Paths, Kept: p.Kept.Clone(), KeepAll: p.KeepAll, Message: rebasedMessage(p), Sign: p.Sign}
	return n, w.finish(ctx, index, &n)
}

// rebasedMessage names the first commit of a checkpoint in its last paragraph.
func rebasedMessage(p Prepared) string {
	lines := strings.Split(strings.TrimSpace(p.Message), "\n")
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, RebasedTrailer+": ") }) {
		return strings.Join(lines, "\n") + "\n"
	}
	if i := slices.Index(lines, ""); i < 0 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, RebasedTrailer+": "+p.Commit), "\n") + "\n"
}
