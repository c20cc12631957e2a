package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// signers are the variables that signing programs need, besides passed.
var signers = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY", "GNUPGHOME", "GPG_TTY", "GPG_AGENT_INFO"}

// Signs reports whether git signs commits here: commit.gpgsign of the user or of the repository.
func (w *Workspace) Signs(ctx context.Context) (bool, error) {
	if w.kind == NoGit {
		return false, nil
	}
	all, err := w.configured(ctx, w.root)
	signs := map[bool]bool{} // by whether the user's own settings say so; the last value of each counts
	for _, s := range all {
		if s.key == "commit.gpgsign" {
			own := s.file == "" || !within(w.common, s.file) && !within(w.gitDir, s.file)
			signs[own] = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(s.value))
		}
	}
	return signs[true] || signs[false], w.wrap("read git's settings", err)
}

// signed creates the signed version of a commit. The signing program comes from the user's own configuration: an agent could write the
// repository's, from which only the name of the key is used.
func (w *Workspace) signed(ctx context.Context, x privateIndex, commit string) (string, error) {
	out, err := w.git(ctx, command{args: []string{"cat-file", "commit", commit}})
	if err != nil {
		return "", err
	}
	all, err := w.configured(ctx, w.root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(x.dir, "sign.git")
	if err := emptyGitDir(dir, len(commit) == 64); err != nil {
		return "", err
	}
	args := slices.Clone(remoteSettings)
	for _, s := range all {
		if s.key == "user.signingkey" {
			args = append(args, "-c", "user.signingkey="+s.value)
		}
	}
	env := slices.Concat(w.env, w.signing, w.privateEnv(dir))
	args = append(args, "commit-tree", "-S")
	head, text, _ := strings.Cut(string(out), "\n\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			args = append(args, value)
		case "parent":
			args = append(args, "-p", value)
		case "author", "committer":
			name, rest, _ := strings.Cut(value, " <")
			email, date, _ := strings.Cut(rest, "> ")
			role := "GIT_" + strings.ToUpper(key)
			env = append(env, role+"_NAME="+name, role+"_EMAIL="+email, role+"_DATE=@"+date)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, fmt.Errorf("no end within %s", remoteTime))
	defer cancel()
	out, exit, err := w.run(ctx, process.Spec{Path: w.program, Args: append(args, "-F", "-"), Dir: w.top, Env: env, Stdin: []byte(text)})
	if err == nil && exit.Err != nil {
		err = exit.Err
	}
	if err == nil && exit.Code != 0 {
		err = errors.New(strings.Join(strings.Fields(exit.StderrTail), " "))
	}
	if id := strings.TrimSpace(string(out)); err == nil && IsObject(id) {
		return id, nil
	}
	return "", execution.Errorf(execution.CodeConfig, "the checkpoint cannot be signed, so nothing was accepted: %w", err).
		WithHint("fix git's signing (test it with git commit --allow-empty -S -m test), or do not sign: drawbar govern config set checkpoint.sign false")
}

// privateEnv is the environment of git in a directory of its own that has the repository's objects.
func (w *Workspace) privateEnv(dir string) []string {
	return []string{"GIT_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + filepath.Join(w.common, "objects")}
}

// emptyGitDir writes a bare git directory without refs.
func emptyGitDir(dir string, sha256 bool) (err error) {
	for _, sub := range []string{"objects", "refs"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if sha256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600))
}
