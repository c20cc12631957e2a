package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
)

// The trailers of a checkpoint that name the run and the turn.
const (
	RunTrailer  = "AgentXchain-Run"
	TurnTrailer = "AgentXchain-Turn"
)

// CheckpointCommit is an ancestor of HEAD whose trailers mark it as a checkpoint.
type CheckpointCommit struct {
	Commit  string
	Run     string
	Turn    string
	Head    string // of the record's hash chain; empty in a checkpoint of another program
	Rebased string // the commit that it replaced; empty for none
}

// Checkpoints returns the checkpoints of the current branch, newest first.
func (w *Workspace) Checkpoints(ctx context.Context) ([]CheckpointCommit, error) {
	if w.kind == NoGit {
		return nil, nil
	}
	h, err := w.head(ctx)
	if err != nil || h.commit == "" {
		return nil, w.wrap("read the checkpoints", err)
	}
	format := "%H"
	for _, key := range []string{RunTrailer, TurnTrailer, ChainTrailer, RebasedTrailer} {
		format += "%x01%(trailers:key=" + key + ",valueonly,separator=%x20)"
	}
	args := []string{"log", "-z", "--grep=^" + ChainTrailer + ": ", "--grep=^" + TurnTrailer + ": ", "--format=" + format, h.commit, "--"}
	if w.prefix != "" {
		args = append(args, strings.TrimSuffix(w.prefix, "/")) // other projects in the repository have their own records
	}
	out, err := w.git(ctx, command{args: args})
	if err != nil {
		return nil, w.wrap("read the checkpoints", err)
	}
	var list []CheckpointCommit
	for _, item := range items(out) {
		f := strings.Split(item, "\x01")
		if len(f) != 5 {
			continue
		}
		for i := range f {
			f[i], _, _ = strings.Cut(strings.TrimSpace(f[i]), " ") // a checkpoint has one of each
		}
		if f[2] != "" || f[3] != "" {
			list = append(list, CheckpointCommit{Commit: f[0], Run: f[1], Turn: f[2], Head: f[3], Rebased: f[4]})
		}
	}
	return list, nil
}

// Heads returns the heads of the record's hash chain that checkpoints name, newest first.
func (w *Workspace) Heads(ctx context.Context) ([]string, error) {
	all, err := w.Checkpoints(ctx)
	var list []string
	for _, c := range all {
		if c.Head != "" {
			list = append(list, c.Head)
		}
	}
	return list, err
}

// Head is the commit of HEAD; empty if there is none.
func (w *Workspace) Head(ctx context.Context) (string, error) {
	if w.kind == NoGit {
		return "", nil
	}
	h, err := w.head(ctx)
	return h.commit, w.wrap("read HEAD", err)
}

// Contains reports whether a commit is another or its ancestor. A missing commit is an ancestor of none.
func (w *Workspace) Contains(ctx context.Context, commit, head string) (bool, error) {
	if commit == head {
		return true, nil
	}
	if head == "" {
		return false, nil
	}
	_, code, err := w.gitCode(ctx, command{args: []string{"merge-base", "--is-ancestor", commit, head}, ok: []int{1, 128}})
	return err == nil && code == 0, err
}

// Unreachable returns the commits that are not ancestors of HEAD. The value is false for those that are not in the
// repository.
func (w *Workspace) Unreachable(ctx context.Context, commits []string) (map[string]bool, error) {
	h, err := w.head(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	var ask []string
	for _, c := range commits {
		if IsObject(c) {
			ask = append(ask, c)
		}
		there[c] = false
	}
	out, err := w.git(ctx, command{args: []string{"cat-file", "--batch-check"}, stdin: []byte(strings.Join(ask, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	walk := []string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "commit" {
			walk = append(walk, f[0])
			there[f[0]] = true
		}
	}
	if len(walk) == 0 || h.commit == "" {
		return there, nil
	}
	out, err = w.git(ctx, command{args: []string{"rev-list", "--stdin"}, stdin: []byte("^" + h.commit + "\n" + strings.Join(walk, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	above := map[string]bool{}
	for c := range strings.FieldsSeq(string(out)) {
		above[c] = true
	}
	for _, c := range walk {
		if !above[c] {
			delete(there, c)
		}
	}
	return there, nil
}

// Shallow reports whether the repository lacks older commits because it is a shallow clone.
func (w *Workspace) Shallow() bool {
	return w.kind == Git && exists(filepath.Join(w.common, "shallow"))
}

// BranchWith returns a local branch that contains a commit; empty if there is none, or if the commit does not
// exist.
func (w *Workspace) BranchWith(ctx context.Context, commit string) (string, error) {
	if !IsObject(commit) {
		return "", nil
	}
	out, code, err := w.gitCode(ctx, command{args: []string{"for-each-ref", "--count=1", "--format=%(refname:short)", "--contains", commit, "refs/heads"}, ok: []int{128, 129}})
	if err != nil || code != 0 {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// Blobs returns the objects of files in a commit, by path below the root; a file that the commit does not contain is
// left out. It returns nil if the commit is missing.
func (w *Workspace) Blobs(ctx context.Context, commit string, paths []string) (map[string]string, error) {
	if !IsObject(commit) {
		return nil, nil
	}
	args := []string{"ls-tree", "-z", "--full-tree", commit, "--"}
	for _, p := range paths {
		full, err := w.full(p)
		if err != nil {
			return nil, err
		}
		args = append(args, full)
	}
	out, code, err := w.gitCode(ctx, command{args: args, ok: []int{128}})
	if err != nil || code != 0 {
		return nil, err
	}
	m := map[string]string{}
	for _, item := range items(out) {
		info, path, _ := strings.Cut(item, "\t")
		if p, ok := w.inside(path); ok {
			if f := strings.Fields(info); len(f) == 3 {
				m[p] = f[2]
			}
		}
	}
	return m, nil
}

// Had reports whether an ancestor of HEAD has a file with the content of an object; for an empty object, whether HEAD
// lacks the file.
func (w *Workspace) Had(ctx context.Context, path, object string) (bool, error) {
	h, err := w.head(ctx)
	if err != nil || h.commit == "" {
		return false, err
	}
	now, err := w.Blobs(ctx, h.commit, []string{path})
	if err != nil || now[path] == object {
		return err == nil, err
	}
	if object == "" {
		return false, nil
	}
	full, err := w.full(path)
	if err != nil {
		return false, err
	}
	out, code, err := w.gitCode(ctx, command{args: []string{"log", "--max-count=1", "--format=%H", "-m", "--find-object=" + object, h.commit, "--", ":(top,literal)" + full}, ok: []int{128}})
	return err == nil && code == 0 && len(strings.TrimSpace(string(out))) > 0, err
}

// Digest is the SHA-256 of a file's content in a commit; empty if the commit or the file is missing.
func (w *Workspace) Digest(ctx context.Context, commit, path string) (string, error) {
	full, err := w.full(path)
	if err != nil || !IsObject(commit) {
		return "", err
	}
	out, code, err := w.gitCode(ctx, command{args: []string{"cat-file", "blob", commit + ":" + full}, ok: []int{128}})
	if err != nil || code != 0 {
		return "", err
	}
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:]), nil
}

// Visible returns those of the paths below the root, or the files in them, that git shows as untracked.
func (w *Workspace) Visible(ctx context.Context, paths ...string) ([]string, error) {
	if w.kind == NoGit {
		return nil, nil
	}
	args := []string{"ls-files", "--others", "--exclude-standard", "--directory", "-z", "--"}
	out, err := w.git(ctx, command{dir: w.root, args: append(args, paths...)})
	if err != nil {
		return nil, w.wrap("look for untracked files", err)
	}
	return slices.Compact(items(out)), nil
}
