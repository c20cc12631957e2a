package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// ChainTrailer is the trailer of a checkpoint that names the head of the record's hash chain.
const ChainTrailer = "Drawbar-Chain-Head"

// RebasedTrailer is the trailer of a checkpoint that was made again on another head; it names the first one.
const RebasedTrailer = "Drawbar-Rebased-From"

// Subject is the subject of a turn's checkpoint.
func Subject(turn, role, phase, runtime string) string {
	return fmt.Sprintf("checkpoint: %s (role=%s, phase=%s, runtime=%s)", turn, role, phase, runtime)
}

// CheckpointRequest describes a checkpoint.
type CheckpointRequest struct {
	// Paths are the files to commit as they are in the work tree, relative to the root; a missing file is removed.
	Paths []string
	// Files are contents to commit under their paths, regardless of the work tree and .gitignore.
	Files map[string][]byte
	// Message is subject and body; Trailers follow it.
	Message  string
	Trailers [][2]string
	// Baseline is the turn's baseline: what a person had staged then stays staged. Without it everything staged
	// stays.
	Baseline *protocol.Baseline
	Sign     bool // the commit is signed, as git would
}

// Prepared is a checkpoint that exists only as objects: no branch contains it yet. It is a plain value, so it can be
// recorded and applied after a crash.
type Prepared struct {
	Commit  string   `json:"commit"`
	Parent  string   `json:"parent"` // empty on a branch without commits
	Ref     string   `json:"ref"`    // refs/heads/<branch>, or HEAD when it is detached
	Message string   `json:"message"`
	Paths   []string `json:"paths"` // what it may change, by path from the top of the work tree, sorted
	// Kept are the index entries that a person had staged before the turn: path from the top to "<mode> <object>" or "deleted".
	Kept    protocol.Ordered[string] `json:"kept,omitzero"`
	KeepAll bool                     `json:"keep_all,omitempty"` // everything staged was staged by a person
	Sign    bool                     `json:"sign,omitempty"`
}

// fallbackIdentity is the author of checkpoints if git has no identity configured.
const (
	fallbackName  = "Drawbar"
	fallbackEmail = "drawbar@localhost"
)

// Prepare makes the objects of a checkpoint on the current head: no branch moves, no hook runs, and a person's index
// and staged work stay. A checkpoint that is never applied loses nothing.
func (w *Workspace) Prepare(ctx context.Context, r CheckpointRequest) (Prepared, error) {
	if err := w.needGit("make a checkpoint"); err != nil {
		return Prepared{}, err
	}
	if strings.TrimSpace(r.Message) == "" {
		return Prepared{}, execution.Errorf(execution.CodeInternal, "create a checkpoint: no message")
	}
	p, err := w.prepare(ctx, r)
	return p, w.wrap("make a checkpoint", err)
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
	if err := w.fill(ctx, &index, h.commit, r); err != nil {
		return Prepared{}, err
	}
	p := Prepared{Parent: h.commit, Ref: h.ref, Message: message(r.Message, r.Trailers), Paths: []string{}, Sign: r.Sign}
	for path := range r.Files {
		p.Paths = append(p.Paths, w.prefix+path)
	}
	for _, path := range r.Paths {
		p.Paths = append(p.Paths, w.prefix+path)
	}
	slices.Sort(p.Paths)
	p.Paths = slices.Compact(p.Paths)
	if r.Baseline == nil || r.Baseline.Detail == nil {
		p.KeepAll = true
	} else {
		for path, staged := range r.Baseline.Detail.Staged.All() {
			p.Kept.Set(w.prefix+path, staged)
		}
	}
	return p, w.finish(ctx, index, &p)
}

// head is the commit and ref of HEAD.
type head struct {
	commit string // empty: no commit yet
	ref    string // the branch, or HEAD
}

func (w *Workspace) head(ctx context.Context) (head, error) {
	if w.pinned != "" {
		return head{w.pinned, "HEAD"}, nil
	}
	// Two small files answer the usual case; git handles the others.
	if data, err := readPlain(filepath.Join(w.gitDir, "HEAD")); err == nil {
		ref, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
		if ok && strings.HasPrefix(ref, "refs/heads/") && checkRelative(ref) == nil {
			if data, err := readPlain(filepath.Join(w.common, filepath.FromSlash(ref))); err == nil && IsObject(strings.TrimSpace(string(data))) {
				return head{strings.TrimSpace(string(data)), ref}, nil
			}
		}
	}
	out, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"}, ok: []int{128}})
	if err != nil {
		return head{}, err
	}
	if commit, ref, ok := strings.Cut(strings.TrimSpace(string(out)), "\n"); ok && code == 0 && IsObject(commit) {
		return head{commit, ref}, nil
	}
	// No commit yet, or a case that only git can explain.
	out, code, err = w.gitCode(ctx, command{args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	if err != nil || code == 1 {
		return head{ref: "HEAD"}, err
	}
	h := head{ref: strings.TrimSpace(string(out))}
	_, code, err = w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", h.ref}, ok: []int{1}})
	if err == nil && code == 0 {
		err = execution.Errorf(execution.CodeConfig, "the branch %s points to no commit that git can read", h.ref).WithHint("inspect it with: git -C %s fsck", quote(w.root))
	}
	return h, err
}

// fill makes the private index: the parent's tree with the given paths as they are now.
func (w *Workspace) fill(ctx context.Context, index *privateIndex, parent string, r CheckpointRequest) error {
	args := []string{"update-index", "--add", "--remove", "--replace"}
	var readErr error
	var reading sync.WaitGroup
	reading.Go(func() {
		if !w.copyIndex(index, parent) {
			_, readErr = w.git(ctx, command{args: []string{"read-tree", cmp.Or(parent, "--empty")}, env: index.env()})
		}
	})
	defer reading.Wait()
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
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
	if reading.Wait(); readErr != nil {
		return readErr
	}
	_, err := w.git(ctx, command{args: append(args, "-z", "--stdin"), env: index.env(), stdin: []byte(list.String())})
	return err
}

// full is the path from the top of the work tree. It must lie inside the root.
func (w *Workspace) full(path string) (string, error) {
	if err := checkRelative(path); err != nil {
		return "", err
	}
	return w.prefix + path, nil
}

// embedded reports whether the path is a folder with its own repository that is not a submodule of this one.
func (w *Workspace) embedded(path string) bool {
	dir := filepath.Join(w.root, filepath.FromSlash(path))
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.IsDir() // a submodule has a file there
}

// finish writes the tree and the commit.
func (w *Workspace) finish(ctx context.Context, index privateIndex, p *Prepared) error {
	done, err := w.commitThere(ctx, index, p)
	if !done && err == nil {
		var out []byte
		if out, err = w.git(ctx, command{args: []string{"write-tree"}, env: index.env()}); err == nil {
			p.Commit, err = w.commit(ctx, strings.TrimSpace(string(out)), p.Parent, p.Message)
		}
	}
	if err == nil && p.Sign {
		p.Commit, err = w.signed(ctx, index, p.Commit)
	}
	if err == nil {
		w.keepIndex(index, p.Commit)
	}
	return err
}

// olderTree is what a commit is compared with: its parent, or the empty tree.
func (w *Workspace) olderTree(ctx context.Context, parent string) (string, error) {
	if parent != "" {
		return parent, nil
	}
	out, err := w.git(ctx, command{args: []string{"hash-object", "-t", "tree", "--stdin"}})
	return strings.TrimSpace(string(out)), err
}

// fromTop is the workspace whose paths begin at the top of the work tree.
func (w *Workspace) fromTop() *Workspace {
	c := *w
	c.root, c.prefix = c.top, ""
	return &c
}

// commit makes a commit object.
func (w *Workspace) commit(ctx context.Context, tree, parent, message string) (string, error) {
	args := []string{"-c", "user.useConfigOnly=true", "commit-tree", "--no-gpg-sign", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := w.identified(ctx, command{args: append(args, "-F", "-"), stdin: []byte(message)})
	return strings.TrimSpace(string(out)), err
}

// identified runs a command that commits, with git's identity or else the fallback one.
func (w *Workspace) identified(ctx context.Context, c command) ([]byte, error) {
	out, err := w.git(ctx, c)
	var failed *gitError
	if errors.As(err, &failed) && (strings.Contains(failed.stderr, "ident") || strings.Contains(failed.stderr, "tell me who you are")) {
		for _, v := range [][2]string{{"GIT_AUTHOR_NAME", fallbackName}, {"GIT_AUTHOR_EMAIL", fallbackEmail},
			{"GIT_COMMITTER_NAME", fallbackName}, {"GIT_COMMITTER_EMAIL", fallbackEmail}} {
			c.env = append(c.env, v[0]+"="+v[1])
		}
		out, err = w.git(ctx, c)
	}
	return out, err
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
