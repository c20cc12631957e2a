package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/submodule"
)

// Setup is what new worktrees and clean checkouts get besides the files of their commit. The zero value is nothing.
type Setup struct {
	// Copy are pathspecs of git, from the top of the repository, of files that git ignores there and in the new directory. Other files
	// stay: they would be changes of the run. Nothing that the commit has is replaced, and no link is followed.
	Copy []string
	// Command runs after that.
	Command Command
	// Say is told what a new worktree waits for. It may be nil.
	Say func(string)
}

// Command is a line for the platform's shell. The zero value is none.
type Command struct {
	Line string
	// Root is the directory of the repository in whose counterpart the line runs, empty for the top.
	Root string
	// Allowed refuses a line that would run other files in dir than the user has trusted. Nil refuses nothing.
	Allowed func(dir string) error
	// Limit is how long the line may take; zero is 30 minutes.
	Limit time.Duration
}

// in returns where the line runs in dir, a work tree of the repository at top.
func (c Command) in(top, dir string) (string, error) {
	root, err := filepath.EvalSymlinks(cmp.Or(c.Root, top))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, root)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in %s", root, top)
	}
	at := filepath.Join(dir, rel)
	return at, os.MkdirAll(at, 0o755) // a directory without files is in no commit
}

// repositoryVariable names the repository that a worktree was made from, for set-up commands.
const repositoryVariable = "DRAWBAR_REPOSITORY"

// apply sets up dir, a work tree of the repository at top.
func (s Setup) apply(ctx context.Context, top, dir string) error {
	without, err := submodule.CheckOut(ctx, git, top, dir)
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "check out submodules in %s: %w", dir, err)
	}
	if len(without) > 0 && s.Say != nil {
		s.Say("submodules without their files: " + strings.Join(without, ", ") + "; their repositories in " + top + " lack the commit or cannot be read")
	}
	if err := s.copy(ctx, top, dir); err != nil {
		return execution.Errorf(execution.CodeConfig, "copy files that git ignores into %s: %w", dir, err).WithHint("correct worktrees.copy: drawbar config get worktrees")
	}
	c := s.Command
	if c.Line == "" {
		return nil
	}
	at, err := c.in(top, dir)
	if err == nil && c.Allowed != nil {
		if err := c.Allowed(at); err != nil {
			return err
		}
	}
	if err == nil {
		if s.Say != nil {
			s.Say(c.Line)
		}
		limit := cmp.Or(c.Limit, 30*time.Minute)
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
		defer cancel()
		var r Ran
		if r, err = Shell(limited, at, c.Line, repositoryVariable+"="+top); err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("exit code %d: %s", r.ExitCode, cmp.Or(strings.TrimSpace(r.Output[max(0, len(r.Output)-500):]), "it printed nothing"))
		}
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "set up %s with %q: %w", dir, c.Line, err).WithHint("correct worktrees.setup: drawbar config get worktrees")
	}
	return nil
}

func (s Setup) copy(ctx context.Context, top, dir string) error {
	if len(s.Copy) == 0 {
		return nil
	}
	args := []string{"ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"}
	for _, p := range s.Copy {
		args = append(args, ":(top,glob)"+p)
	}
	list, err := git(ctx, top, args...)
	if err != nil || list == "" {
		return err
	}
	// The commit may ignore less than the files here do.
	same, code, err := command{dir: dir, args: []string{"check-ignore", "-z", "--stdin"}, stdin: []byte(list)}.run(ctx)
	if err == nil && code > 1 {
		err = errors.New(same.said)
	}
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // nothing was written to it
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // each file was closed
	for name := range strings.SplitSeq(same.text, "\x00") {
		if name == "" || strings.HasSuffix(name, "/") { // another repository
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := carry(from, to, filepath.FromSlash(name)); err != nil {
			return err
		}
	}
	return nil
}

// carry copies a file or a link. One that is gone, or is there already, stays as it is.
func carry(from, to *os.Root, name string) error {
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(target, name)
		}
		return unlessThere(err)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return unlessThere(CopyInto(to, name, in))
}

func unlessThere(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// CopyInto makes a file below root with the content, the mode and the time of in, which the caller closes. One that is there is an error. The copy
// shares its blocks with the original where the file system and Go do that.
func CopyInto(root *os.Root, name string, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return root.Chtimes(name, time.Time{}, info.ModTime())
}
