package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// settings apply to every git command: configured programs do not run. Content filters have arbitrary names, so neutral
// disables them; the environment disables network access.
var settings = []string{
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "gc.auto=0",
	"-c", "maintenance.auto=false", "-c", "advice.detachedHead=false", "-c", "core.pager=cat", "-c", "log.showSignature=false",
	"-c", "log.mailmap=false", "-c", "submodule.recurse=false", "-c", "diff.external=", "-c", "core.sshCommand=false", "-c", "credential.helper=",
}

// unfiltered are the subcommands that, as used here, touch neither the work tree nor the index. All others may read
// files through a filter, to see whether they changed in the same instant, so they are given the list of allowed
// filters.
var unfiltered = []string{"cat-file", "commit-tree", "config", "diff-tree", "for-each-ref", "hash-object", "log", "ls-files", "ls-tree", "merge-base",
	"merge-file", "rev-list", "rev-parse", "symbolic-ref", "update-ref", "var"}

// passed are the variables that git inherits. None of them locates a repository or an index.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "EMAIL",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"}

var passedPrefixes = []string{"XDG_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"}

// environment returns git's environment, which makes its output the same everywhere and keeps it from waiting for
// input.
func environment(environ []string) []string {
	env := make([]string, 0, 24)
	for _, v := range environ {
		name, _, ok := strings.Cut(v, "=")
		if ok && (slices.Contains(passed, strings.ToUpper(name)) ||
			slices.ContainsFunc(passedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })) {
			env = append(env, v)
		}
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1")
}

// command is one run of git.
type command struct {
	dir   string   // where it runs; empty: the top of the repository
	args  []string // without the settings
	env   []string // besides the environment
	stdin []byte
	ok    []int // exit codes besides 0 that are not failures
	plain bool  // without the settings: for commands that only query them
}

// name is the subcommand.
func (c command) name() string {
	args := c.args
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// gitError is a git command that failed.
type gitError struct {
	name   string // the subcommand
	code   int
	stderr string
}

func (e *gitError) Error() string {
	msg := strings.TrimSpace(e.stderr)
	if msg == "" {
		msg = fmt.Sprintf("exit code %d", e.code)
	}
	return fmt.Sprintf("git %s: %s", e.name, msg)
}

// lock is the path of the lock file that the message names.
func (e *gitError) lock() string {
	_, rest, _ := strings.Cut(e.stderr, "'")
	lock, _, _ := strings.Cut(rest, "'")
	return lock
}

// within reports whether a lock file lies in the repository's own folders.
func (w *Workspace) within(lock string) bool {
	return filepath.IsAbs(lock) && strings.HasSuffix(lock, ".lock") && (within(w.gitDir, lock) || within(w.common, lock))
}

// says reports whether err is a git error whose message contains text.
func says(err error, text string) bool {
	var e *gitError
	return errors.As(err, &e) && strings.Contains(e.stderr, text)
}

// lockTries is the number of attempts while another git holds a lock, with lockPause between them.
const (
	lockTries = 40
	lastTries = 5 // the last of which check whether a process holds it
	lockPause = 50 * time.Millisecond
)

// git runs git and returns its output.
func (w *Workspace) git(ctx context.Context, c command) ([]byte, error) {
	out, _, err := w.gitCode(ctx, c)
	return out, err
}

// gitCode runs git and returns its output and its exit code, which is 0 or one of c.ok.
func (w *Workspace) gitCode(ctx context.Context, c command) ([]byte, int, error) {
	dir := c.dir
	if dir == "" {
		dir = w.top
	}
	var before []string
	if !c.plain {
		before = settings
	}
	if !slices.Contains(unfiltered, c.name()) {
		off, err := w.neutral(ctx, dir, c.env)
		if err != nil {
			return nil, -1, err
		}
		before = slices.Concat(before, off)
	}
	spec := process.Spec{Path: w.program, Args: slices.Concat(before, c.args), Dir: dir, Env: slices.Concat(w.env, c.env), Stdin: c.stdin,
		MaxLine: 256 << 20}
	for try := 1; ; try++ {
		out, exit, err := w.run(ctx, spec)
		if err != nil {
			return nil, -1, err
		}
		switch {
		case exit.Err != nil:
			return nil, -1, fmt.Errorf("git %s in %s: %w", c.name(), dir, exit.Err)
		case exit.Code == 0 || slices.Contains(c.ok, exit.Code):
			return out, exit.Code, nil
		}
		failed := &gitError{c.name(), exit.Code, exit.StderrTail}
		locked := strings.Contains(failed.stderr, ".lock': File exists")
		if locked && try >= lockTries && try < lockTries+lastTries {
			// The last tries remove a lock that no process holds.
			if lock := failed.lock(); w.within(lock) && w.abandoned(lock) && os.Remove(lock) == nil {
				continue
			}
		}
		if !locked || try >= lockTries+lastTries {
			return nil, exit.Code, w.explain(failed, dir, locked)
		}
		select {
		case <-ctx.Done():
			return nil, -1, fmt.Errorf("git %s in %s: %w: %w", c.name(), dir, ctx.Err(), context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// explain adds a hint to errors that it knows.
func (w *Workspace) explain(err *gitError, dir string, locked bool) error {
	switch {
	case locked:
		lock := err.lock()
		return execution.Errorf(execution.CodeConfigLock, "the repository %s is locked by another git: %w", dir, err).
			WithHint("wait for the other git command to end; if none runs, type: rm %s", quote(lock))
	case strings.Contains(err.stderr, "dubious ownership"):
		return execution.Errorf(execution.CodeConfig, "git refuses the repository %s because it belongs to another user: %w", dir, err).
			WithHint("if you trust it, type: git config --global --add safe.directory %s", quote(dir))
	}
	return err
}

// quote makes a path safe to type into a shell.
func quote(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r))
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// lines splits output whose items end with a NUL byte.
func items(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// exists reports whether something is at path, a broken link included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
