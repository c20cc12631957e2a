package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Remote is a remote repository of a workspace. Its commands run in a separate git directory that shares the repository's objects, but not
// its configuration or hooks: an agent could write those, and they decide which programs connect. Only the remote's URL comes from the
// repository; all other settings are the user's own. It is not safe for concurrent use.
type Remote struct {
	w           *Workspace
	dir         string // the git directory
	name        string
	fetch, push string // URLs
	env         []string
}

// remoteTime limits a command that connects to a remote, or signs.
const remoteTime = 2 * time.Minute

// remoteSettings apply instead of settings. The programs that connect come from the user's own configuration.
var remoteSettings = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "submodule.recurse=false", "-c", "push.recurseSubmodules=no", "-c", "push.gpgSign=false", "-c", "fetch.recurseSubmodules=no"}

// connecting are the variables that git needs to reach a remote repository, besides passed.
var connecting = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "SSH_ASKPASS",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// OpenRemote prepares a remote by name. dir becomes its git directory, which is recreated, and removed by Close. Only one process may use a
// dir at a time.
func (w *Workspace) OpenRemote(ctx context.Context, name, dir string, environ []string) (*Remote, error) {
	if err := w.needGit("use the remote " + name); err != nil {
		return nil, err
	}
	all, err := w.configured(ctx, w.root)
	if err != nil {
		return nil, w.wrap("read the remote "+name, err)
	}
	r := &Remote{w: w, dir: dir, name: name}
	for _, s := range all {
		switch s.key {
		case "remote." + name + ".url":
			r.fetch = s.value
		case "remote." + name + ".pushurl":
			r.push = s.value
		}
	}
	if r.fetch == "" {
		return nil, execution.Errorf(execution.CodeConfig, "the repository %s has no remote %q", w.top, name).
			WithHint("git remote add %s URL, or name another one: drawbar govern config set record_remote NAME", quote(name))
	}
	if r.push == "" {
		r.push = r.fetch
	}
	r.env = slices.Concat(w.env, withNames(environ, connecting), w.privateEnv(dir), []string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"})
	return r, r.make(ctx)
}

// withNames returns the variables with these names.
func withNames(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, strings.ToUpper(name))
	})
}

// Close removes the git directory.
func (r *Remote) Close() error { return os.RemoveAll(r.dir) }

// make writes the git directory. Its refs tell the other side which commits are here.
func (r *Remote) make(ctx context.Context) error {
	h, err := r.w.head(ctx)
	if err != nil {
		return err
	}
	if h.commit == "" {
		return execution.Errorf(execution.CodeConfig, "%s has no commit yet", r.w.top).WithHint("git add -A && git commit -m start")
	}
	out, err := r.w.git(ctx, command{args: []string{"for-each-ref", "--format=%(objectname)", "refs/drawbar/", "refs/remotes/" + r.name + "/"}})
	if err != nil {
		return r.w.wrap("list the refs", err)
	}
	refs := strings.Builder{}
	have := append(strings.Fields(string(out)), h.commit)
	slices.Sort(have)
	for i, id := range slices.Compact(have) {
		fmt.Fprintf(&refs, "%s refs/have/%06d\n", id, i)
	}
	err = errors.Join(os.RemoveAll(r.dir), emptyGitDir(r.dir, len(h.commit) == 64),
		os.WriteFile(filepath.Join(r.dir, "packed-refs"), []byte(refs.String()), 0o600))
	if shallow, e := os.ReadFile(filepath.Join(r.w.common, "shallow")); e == nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, "shallow"), shallow, 0o600))
	}
	return r.w.wrap("prepare the remote "+r.name, err)
}

func (r *Remote) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, fmt.Errorf("no end within %s", remoteTime))
	defer cancel()
	out, exit, err := r.w.run(ctx, process.Spec{Path: r.w.program, Args: slices.Concat(remoteSettings, args), Dir: r.w.top, Env: r.env, Stdin: stdin, MaxLine: 256 << 20})
	switch {
	case err != nil:
		return nil, err
	case exit.Err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], exit.Err)
	case exit.Code != 0:
		return out, &gitError{args[0], exit.Code, exit.StderrTail}
	}
	return out, nil
}

// farError explains an error of a command that connects.
func (r *Remote) farError(ctx context.Context, what string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return (&execution.Error{Code: execution.CodeConfig, Recoverable: true, Message: fmt.Sprintf("%s %s: %s", what, r.name, oneLine(err)), Cause: err}).
		WithHint("git ls-remote %s", quote(r.name))
}

// oneLine returns an error of git as one line, without the advice after it.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n\n") // advice follows
	return strings.Join(strings.Fields(line), " ")
}

// Refs returns the commits of the remote's refs that begin with prefix, by name.
func (r *Remote) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	out, err := r.git(ctx, nil, "ls-remote", "--refs", "--", r.fetch, prefix+"*")
	if err != nil {
		return nil, r.farError(ctx, "list the records of", err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && IsObject(id) {
			refs[name] = id
		}
	}
	return refs, nil
}

// Fetch fetches the commits of refs.
func (r *Remote) Fetch(ctx context.Context, refs []string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", r.fetch}
	for i, ref := range refs {
		args = append(args, fmt.Sprintf("+%s:refs/fetched/%d", ref, i))
	}
	_, err := r.git(ctx, nil, args...)
	return r.farError(ctx, "fetch from", err)
}

// ErrRefMoved matches the error of Push when the remote's ref is no longer what it was.
var ErrRefMoved = errors.New("the ref has moved")

// Push moves a ref of the remote from one commit to another atomically; old is empty for a new ref. The error matches ErrRefMoved if the ref
// is not at old.
func (r *Remote) Push(ctx context.Context, ref, old, commit string) error {
	_, err := r.git(ctx, nil, "push", "--quiet", "--no-verify", "--force-with-lease="+ref+":"+old, "--", r.push, commit+":"+ref)
	if err == nil {
		return nil
	}
	// The answer may have been lost, and texts differ between hosts: only the ref shows what happened.
	refs, look := r.Refs(ctx, ref)
	switch now := refs[ref]; {
	case look != nil:
		return r.farError(ctx, "push to", err)
	case now == commit:
		return nil
	case now != old:
		return fmt.Errorf("%s of %s: %w", ref, r.name, ErrRefMoved)
	}
	return execution.Errorf(execution.CodeConfig, "%s refuses %s: %s", r.name, ref, oneLine(err)).
		WithHint("if the host accepts only branches: drawbar govern config set record_refs refs/heads/drawbar/")
}

// Draft is a commit to create without a work tree.
type Draft struct {
	From        string   // the commit whose files it has, but for Files; empty: it begins with none
	Also        []string // more parents
	Name, Email string   // of the author
	Time        time.Time
	Message     string
	Files       map[string][]byte // by path; nil: the file is removed
}

// Write creates a commit without a ref.
func (r *Remote) Write(ctx context.Context, c Draft) (string, error) {
	var b bytes.Buffer
	person := fmt.Sprintf("%s <%s> %d +0000\n", plainName(c.Name, fallbackName), plainName(c.Email, fallbackEmail), c.Time.Unix())
	b.WriteString("feature done\ncommit refs/heads/none\nmark :1\nauthor " + person + "committer " + person)
	data := func(text []byte) { fmt.Fprintf(&b, "data %d\n", len(text)); b.Write(text); b.WriteByte('\n') }
	data([]byte(c.Message))
	if c.From != "" {
		b.WriteString("from " + c.From + "\n")
	}
	for _, parent := range c.Also {
		b.WriteString("merge " + parent + "\n")
	}
	for path, content := range c.Files {
		if content == nil {
			b.WriteString("D \"" + inQuotes.Replace(path) + "\"\n")
			continue
		}
		b.WriteString("M 100644 inline \"" + inQuotes.Replace(path) + "\"\n")
		data(content)
	}
	b.WriteString("\nget-mark :1\ndone\n")
	out, err := r.git(ctx, b.Bytes(), "fast-import", "--quiet", "--force", "--cat-blob-fd=1")
	id := strings.TrimSpace(string(out))
	if err == nil && !IsObject(id) {
		err = fmt.Errorf("git fast-import: no commit, but %q", id)
	}
	return id, r.w.wrap("write the commit of the record", err)
}

// inQuotes escapes a path for git fast-import.
var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// plainName is a part of a person's name in a commit.
func plainName(name, none string) string {
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == '<' || c == '>' {
			return -1
		}
		return c
	}, name))
	if name == "" {
		return none
	}
	return name
}

// Tree returns the objects of a commit's regular files, by path.
func (w *Workspace) Tree(ctx context.Context, commit string) (map[string]string, error) {
	out, err := w.git(ctx, command{args: []string{"ls-tree", "-r", "-z", "--full-tree", commit}})
	if err != nil {
		return nil, w.wrap("read the commit "+commit, err)
	}
	files := map[string]string{}
	for _, item := range items(out) {
		about, path, _ := strings.Cut(item, "\t")
		if f := strings.Fields(about); len(f) == 3 && strings.HasPrefix(f[0], "100") {
			files[path] = f[2]
		}
	}
	return files, nil
}

// Contents returns the contents of objects, in their order.
func (w *Workspace) Contents(ctx context.Context, ids []string) ([][]byte, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := w.git(ctx, command{args: []string{"cat-file", "--batch"}, stdin: []byte(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return nil, w.wrap("read objects", err)
	}
	all := make([][]byte, 0, len(ids))
	for _, id := range ids {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(line))
		if len(f) != 3 || f[0] != id || f[1] != "blob" {
			return nil, w.wrap("read objects", fmt.Errorf("git has no file %s: %s", id, line))
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || n > len(rest)-1 {
			return nil, w.wrap("read objects", io.ErrUnexpectedEOF)
		}
		all, out = append(all, rest[:n:n]), rest[n+1:]
	}
	return all, nil
}

// At is the workspace as if HEAD were a commit.
func (w *Workspace) At(commit string) *Workspace {
	c := *w
	c.pinned = commit
	return &c
}

// Commit resolves a name to a commit; empty if there is none.
func (w *Workspace) Commit(ctx context.Context, name string) (string, error) {
	out, code, err := w.gitCode(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}, ok: []int{1, 128}})
	if err != nil || code != 0 {
		return "", w.wrap("look for "+name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Branch is the name of the current branch; empty without one.
func (w *Workspace) Branch(ctx context.Context) string {
	h, err := w.head(ctx)
	name, ok := strings.CutPrefix(h.ref, "refs/heads/")
	if err != nil || !ok {
		return ""
	}
	return name
}

// Ref returns the commit of a ref of this repository; empty if there is none.
func (w *Workspace) Ref(ctx context.Context, name string) (string, error) {
	out, err := w.git(ctx, command{args: []string{"for-each-ref", "--format=%(objectname)", name}})
	return strings.TrimSpace(string(out)), w.wrap("read the ref "+name, err)
}

// SetRef moves a ref of this repository.
func (w *Workspace) SetRef(ctx context.Context, name, commit string) error {
	_, err := w.git(ctx, command{args: []string{"update-ref", "-m", "drawbar govern", name, commit}})
	return w.wrap("move the ref "+name, err)
}

// FastForward moves the branch and the work tree to a descendant of HEAD. It fails without a change if files that differ have uncommitted
// changes.
func (w *Workspace) FastForward(ctx context.Context, commit string) error {
	_, err := w.git(ctx, command{args: []string{"-c", "merge.autoStash=false", "merge", "--ff-only", "--quiet", "--no-verify-signatures", "--no-stat", commit}})
	return w.moveError(err, commit)
}

// MoveTo moves the branch and the work tree to any commit, as FastForward does.
func (w *Workspace) MoveTo(ctx context.Context, commit string) error {
	_, err := w.git(ctx, command{args: []string{"reset", "--keep", "--quiet", commit}})
	return w.moveError(err, commit)
}

func (w *Workspace) moveError(err error, commit string) error {
	var failed *gitError
	if errors.As(err, &failed) {
		return execution.Errorf(execution.CodeInvalidStateTransition, "the branch cannot move to %.12s: %s", commit, oneLine(err)).
			WithHint("commit your changes, or stash them: git stash -u")
	}
	return w.wrap("move the branch", err)
}
