package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// ChainTrailer is the trailer of a checkpoint that names the head of the record's hash chain.
const ChainTrailer = "Drawbar-Chain-Head"

// RebasedTrailer is the trailer of a checkpoint that was made anew on another head; it names the first one.
const RebasedTrailer = "Drawbar-Rebased-From"

// Subject is the subject of a turn's checkpoint.
func Subject(turn, role, phase, runtime string) string {
	return fmt.Sprintf("checkpoint: %s (role=%s, phase=%s, runtime=%s)", turn, role, phase, runtime)
}

// CheckpointRequest says what a checkpoint holds.
type CheckpointRequest struct {
	// Paths are the files to commit as they are in the work tree, relative to the root; one that is not there is removed.
	Paths []string
	// Files are contents that are committed under their paths whatever the work tree and .gitignore say.
	Files map[string][]byte
	// Message is subject and body; Trailers follow it.
	Message  string
	Trailers [][2]string
	// Baseline is that of the turn: what a person had staged then stays staged. Without it everything staged stays.
	Baseline *protocol.Baseline
}

// Prepared is a checkpoint that exists as objects and that no branch shows yet. It is a plain value: written down, it can be
// applied after a crash.
type Prepared struct {
	Commit  string   `json:"commit"`
	Parent  string   `json:"parent"` // empty on a branch without commits
	Ref     string   `json:"ref"`    // refs/heads/<branch>, or HEAD when it is detached
	Message string   `json:"message"`
	Changes []Change `json:"changes"` // what differs from the parent, by path from the top of the work tree
	// Kept are the index entries that a person had staged before the turn: path from the top to "<mode> <object>" or "deleted".
	Kept protocol.Ordered[string] `json:"kept,omitzero"`
}

// Change is one path of a checkpoint. An absent side has the mode 000000.
type Change struct {
	Path    string `json:"path"`
	OldMode string `json:"old_mode"`
	OldID   string `json:"old_id"`
	NewMode string `json:"new_mode"`
	NewID   string `json:"new_id"`
}

// fallbackIdentity is the author of checkpoints where git knows nobody.
const (
	fallbackName  = "Drawbar"
	fallbackEmail = "drawbar@localhost"
)

// Prepare makes the objects of a checkpoint on the present head: no branch moves, no hook runs, and a person's index and staged
// work stay. Nothing is lost by never applying it.
func (w *Workspace) Prepare(ctx context.Context, r CheckpointRequest) (Prepared, error) {
	if err := w.needGit("make a checkpoint"); err != nil {
		return Prepared{}, err
	}
	if strings.TrimSpace(r.Message) == "" {
		return Prepared{}, execution.Errorf(execution.CodeInternal, "make a checkpoint: no message")
	}
	p, err := w.prepare(ctx, r)
	return p, wrap("make a checkpoint", err)
}

func (w *Workspace) prepare(ctx context.Context, r CheckpointRequest) (Prepared, error) {
	h, err := w.head(ctx)
	if err != nil {
		return Prepared{}, err
	}
	index, done, err := w.privateIndex()
	if err != nil {
		return Prepared{}, err
	}
	defer done()
	if err := w.fill(ctx, index, h.commit, r); err != nil {
		return Prepared{}, err
	}
	p := Prepared{Parent: h.commit, Ref: h.ref, Message: message(r.Message, r.Trailers)}
	if r.Baseline == nil || r.Baseline.Detail == nil {
		p.Kept.Set("", "") // everything
	} else {
		for path, staged := range r.Baseline.Detail.Staged.All() {
			p.Kept.Set(w.prefix+path, staged)
		}
	}
	return p, w.finish(ctx, index, &p)
}

// head is where HEAD points.
type head struct {
	commit string // empty: no commit yet
	ref    string // the branch, or HEAD
}

func (w *Workspace) head(ctx context.Context) (head, error) {
	out, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}, ok: []int{1}})
	if err != nil {
		return head{}, err
	}
	h := head{ref: "HEAD"}
	if code == 0 {
		h.commit = strings.TrimSpace(string(out))
	}
	out, code, err = w.gitCode(ctx, command{args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	if err == nil && code == 0 {
		h.ref = strings.TrimSpace(string(out))
	}
	return h, err
}

// privateIndex names an index of our own next to git's, and how to remove it.
func (w *Workspace) privateIndex() (env string, done func(), err error) {
	dir, err := os.MkdirTemp(w.gitDir, "drawbar-index-*")
	if err != nil {
		return "", nil, fmt.Errorf("make an index: %w", err)
	}
	return "GIT_INDEX_FILE=" + filepath.Join(dir, "index"), func() { os.RemoveAll(dir) }, nil
}

// fill makes the private index: the parent's tree with the given paths as they are now.
func (w *Workspace) fill(ctx context.Context, index, parent string, r CheckpointRequest) error {
	env := []string{index}
	tree := "--empty"
	if parent != "" {
		tree = parent
	}
	if _, err := w.git(ctx, command{args: []string{"read-tree", tree}, env: env}); err != nil {
		return err
	}
	args := []string{"update-index", "--add", "--remove", "--replace"}
	for _, path := range sortedKeys(r.Files) {
		full, err := w.full(path)
		if err != nil {
			return err
		}
		out, err := w.git(ctx, command{args: []string{"hash-object", "-w", "--stdin", "--no-filters"}, stdin: r.Files[path]})
		if err != nil {
			return err
		}
		args = append(args, "--cacheinfo", "100644,"+strings.TrimSpace(string(out))+","+full)
	}
	var list strings.Builder
	for _, path := range r.Paths {
		if _, ok := r.Files[path]; ok {
			continue
		}
		full, err := w.full(path)
		if err != nil {
			return err
		}
		if w.embedded(path) {
			return execution.Errorf(execution.CodeConfig, "%s is a git repository of its own and cannot be committed with the project", path).
				WithHint("make it a submodule (git submodule add), ignore it, or remove its .git folder")
		}
		list.WriteString(full)
		list.WriteByte(0)
	}
	_, err := w.git(ctx, command{args: append(args, "-z", "--stdin"), env: env, stdin: []byte(list.String())})
	return err
}

// full is the path from the top of the work tree. It must lie inside the root.
func (w *Workspace) full(path string) (string, error) {
	if err := checkRelative(path); err != nil {
		return "", err
	}
	return w.prefix + path, nil
}

// embedded reports whether the path is a folder with a repository of its own that is no submodule of this one.
func (w *Workspace) embedded(path string) bool {
	dir := filepath.Join(w.root, filepath.FromSlash(path))
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.IsDir() // a submodule has a file there
}

// finish writes the tree and the commit, and notes what they change.
func (w *Workspace) finish(ctx context.Context, index string, p *Prepared) error {
	env := []string{index}
	out, err := w.git(ctx, command{args: []string{"write-tree"}, env: env})
	if err != nil {
		return err
	}
	tree := strings.TrimSpace(string(out))
	if p.Commit, err = w.commit(ctx, tree, p.Parent, p.Message); err != nil {
		return err
	}
	older := p.Parent
	if older == "" {
		older = w.emptyTree(p.Commit)
	}
	raw, err := w.git(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", older, p.Commit}})
	if err != nil {
		return err
	}
	top := *w
	top.prefix = ""
	changes, err := top.parseRaw(raw)
	for _, path := range sortedKeys(changes) {
		c := changes[path]
		p.Changes = append(p.Changes, Change{path, c.oldMode, c.oldID, c.newMode, c.newID})
	}
	return err
}

// commit makes a commit object by the person that git knows, or else by a name of ours.
func (w *Workspace) commit(ctx context.Context, tree, parent, message string) (string, error) {
	args := []string{"-c", "user.useConfigOnly=true", "commit-tree", "--no-gpg-sign", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	c := command{args: append(args, "-F", "-"), stdin: []byte(message)}
	out, err := w.git(ctx, c)
	var failed *gitError
	if errors.As(err, &failed) && (strings.Contains(failed.stderr, "ident") || strings.Contains(failed.stderr, "tell me who you are")) {
		for _, v := range [][2]string{{"GIT_AUTHOR_NAME", fallbackName}, {"GIT_AUTHOR_EMAIL", fallbackEmail},
			{"GIT_COMMITTER_NAME", fallbackName}, {"GIT_COMMITTER_EMAIL", fallbackEmail}} {
			c.env = append(c.env, v[0]+"="+v[1])
		}
		out, err = w.git(ctx, c)
	}
	return strings.TrimSpace(string(out)), err
}

// message is subject, body and trailers.
func message(text string, trailers [][2]string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text) + "\n")
	for i, t := range trailers {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(t[0] + ": " + strings.Join(strings.Fields(t[1]), " ") + "\n")
	}
	return b.String()
}

// Apply shows the checkpoint on its branch, if the branch is still where it was, and brings a person's index up to date for its
// paths; what they staged themselves stays staged. Applying again is harmless, also after a crash and after later commits. A
// branch that moved on otherwise is an error that matches ErrMoved: see Rebase.
func (w *Workspace) Apply(ctx context.Context, p Prepared) error {
	if err := w.needGit("apply a checkpoint"); err != nil {
		return err
	}
	return wrap("apply the checkpoint "+p.Commit, w.apply(ctx, p, func(string) {}))
}

// ErrMoved is matched by the error of Apply when somebody committed in between.
var ErrMoved = errors.New("the branch has moved")

// apply is Apply with points at which a test ends it.
func (w *Workspace) apply(ctx context.Context, p Prepared, point func(string)) error {
	if !isObject(p.Commit) || p.Parent != "" && !isObject(p.Parent) || p.Ref != "HEAD" && !strings.HasPrefix(p.Ref, "refs/heads/") {
		return execution.Errorf(execution.CodeInternal, "not a prepared checkpoint: commit %q on %q", p.Commit, p.Ref)
	}
	now, err := w.tip(ctx, p)
	if err != nil {
		return err
	}
	point("looked")
	if now == p.Parent {
		if err := w.move(ctx, p); err != nil {
			return err
		}
		now = p.Commit
		point("moved")
	} else if now != p.Commit {
		_, code, err := w.gitCode(ctx, command{args: []string{"merge-base", "--is-ancestor", p.Commit, cmpOr(now, p.Commit)}, ok: []int{1}})
		if err != nil {
			return err
		}
		if code == 1 || now == "" {
			return execution.Errorf(execution.CodeConfig, "%w: %s is at %s, the checkpoint was made on %s", ErrMoved, p.Ref, cmpOr(now, "no commit"), cmpOr(p.Parent, "no commit")).
				WithHint("make the checkpoint again: drawbar govern checkpoint")
		}
	}
	defer point("refreshed")
	return w.refresh(ctx, p, now)
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// tip is the commit that the checkpoint's branch is at; empty when it has none.
func (w *Workspace) tip(ctx context.Context, p Prepared) (string, error) {
	if p.Ref == "HEAD" {
		h, err := w.head(ctx)
		if err == nil && h.ref != "HEAD" {
			return "", execution.Errorf(execution.CodeConfig, "%w: %s was checked out since the checkpoint was made on a detached head", ErrMoved, h.ref).
				WithHint("make the checkpoint again: drawbar govern checkpoint")
		}
		return h.commit, err
	}
	out, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", p.Ref + "^{commit}"}, ok: []int{1}})
	if err != nil || code == 1 {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// move moves the branch from the parent to the checkpoint, or not at all.
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

// maxArgs bounds what is given to git as arguments.
const maxArgs = 64 << 10

// refresh brings the person's index up to date for the paths of the checkpoint: an entry that is still the parent's becomes the
// checkpoint's. One that differs from both was staged meanwhile: by the agent, unless the baseline knows it.
func (w *Workspace) refresh(ctx context.Context, p Prepared, now string) error {
	if h, err := w.head(ctx); err != nil || h.ref != p.Ref || h.commit != now || len(p.Changes) == 0 {
		return err // another branch is checked out: the index is not this one's
	}
	args := []string{"diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", now, "--"}
	size := 0
	for _, c := range p.Changes {
		size += len(c.Path) + 1
	}
	if size < maxArgs {
		for _, c := range p.Changes {
			args = append(args, c.Path)
		}
	}
	out, err := w.git(ctx, command{args: args})
	if err != nil {
		return err
	}
	top := *w
	top.prefix = ""
	differs, err := top.parseRaw(out)
	if err != nil {
		return err
	}
	var input strings.Builder
	for _, c := range p.Changes {
		d, ok := differs[c.Path]
		if !ok || d.oldMode != c.NewMode || d.oldID != c.NewID {
			continue // up to date already, or changed by a later commit
		}
		if (d.newMode != c.OldMode || d.newID != c.OldID) && p.keeps(c.Path, stagedAs(d.newMode, d.newID)) {
			continue
		}
		fmt.Fprintf(&input, "%s %s\t%s\x00", zeroMode(c.NewMode), c.NewID, c.Path)
	}
	if input.Len() == 0 {
		return nil
	}
	if _, err := w.git(ctx, command{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(input.String())}); err != nil {
		return err
	}
	// The entries have no times yet, so that every later look would read the files.
	_, _, err = w.gitCode(ctx, command{args: []string{"update-index", "-q", "--refresh"}, ok: []int{1}})
	return err
}

// zeroMode is the mode by which update-index removes an entry.
func zeroMode(mode string) string {
	if n, err := strconv.ParseUint(mode, 8, 32); err == nil && n == 0 {
		return "0"
	}
	return mode
}

// keeps reports whether a person had staged this entry before the turn.
func (p Prepared) keeps(path, staged string) bool {
	if _, all := p.Kept.Get(""); all {
		return true
	}
	was, ok := p.Kept.Get(path)
	return ok && was == staged
}

// Rebase makes the checkpoint anew on the present head. Of a path that the commits in between changed too, their version stays:
// they were made from the same work tree, later.
func (w *Workspace) Rebase(ctx context.Context, p Prepared) (Prepared, error) {
	if err := w.needGit("rebase a checkpoint"); err != nil {
		return Prepared{}, err
	}
	n, err := w.rebase(ctx, p)
	return n, wrap("rebase the checkpoint "+p.Commit, err)
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
	tree := cmpOr(h.commit, "--empty")
	if _, err := w.git(ctx, command{args: []string{"read-tree", tree}, env: []string{index}}); err != nil {
		return Prepared{}, err
	}
	since := map[string]change{}
	if h.commit != "" {
		older := cmpOr(p.Parent, w.emptyTree(h.commit))
		raw, err := w.git(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", older, h.commit}})
		if err != nil {
			return Prepared{}, err
		}
		top := *w
		top.prefix = ""
		if since, err = top.parseRaw(raw); err != nil {
			return Prepared{}, err
		}
	}
	var input strings.Builder
	for _, c := range p.Changes {
		if _, ok := since[c.Path]; !ok {
			fmt.Fprintf(&input, "%s %s\t%s\x00", zeroMode(c.NewMode), c.NewID, c.Path)
		}
	}
	if input.Len() > 0 {
		if _, err := w.git(ctx, command{args: []string{"update-index", "-z", "--index-info"}, env: []string{index}, stdin: []byte(input.String())}); err != nil {
			return Prepared{}, err
		}
	}
	n := Prepared{Parent: h.commit, Ref: h.ref, Kept: p.Kept.Clone(), Message: rebasedMessage(p)}
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

// Heads are the heads of the record's hash chain that the checkpoints of the present branch name, newest first.
func (w *Workspace) Heads(ctx context.Context) ([]string, error) {
	if w.kind == NoGit {
		return nil, nil
	}
	h, err := w.head(ctx)
	if err != nil || h.commit == "" {
		return nil, wrap("read the checkpoints", err)
	}
	out, err := w.git(ctx, command{args: []string{"log", "-z", "--grep=^" + ChainTrailer + ": ",
		"--format=%(trailers:key=" + ChainTrailer + ",valueonly,separator=%x0a)", h.commit, "--"}})
	if err != nil {
		return nil, wrap("read the checkpoints", err)
	}
	var list []string
	for _, item := range items(out) {
		for v := range strings.FieldsSeq(item) {
			list = append(list, v)
		}
	}
	return list, nil
}
