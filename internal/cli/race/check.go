package race

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Check is the command that says whether a work is good: exit code 0 means it is.
type Check struct {
	Command string        // a line for the platform's shell
	Hidden  string        // directory whose files are put over those of the checkout; empty for none
	Protect []string      // patterns of files that are as in the base, as are those that the command names; see Protected
	Limit   time.Duration // on its time
}

// Protected are the files that decide what a check means, which a racer may not change for its own check: tests, and what says how they
// are run. A pattern without a slash matches a file's name, others match the path from the top of the repository.
var Protected = []string{
	"*_test.go", "*_test.py", "test_*.py", "conftest.py", "*.test.*", "*.spec.*", "*_spec.rb", "*Test.java", "*Tests.java", "*Test.kt", "*Tests.cs",
	"**/test/**", "**/tests/**", "**/testdata/**", "**/__tests__/**", "**/spec/**",
	"Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", "Rakefile", "noxfile.py", "tox.ini", "pytest.ini",
	"jest.config.*", "vitest.config.*", "vite.config.*", "playwright.config.*", "karma.conf.*", ".mocharc*", "phpunit.xml*", "codecov.yml",
	".github/**", ".gitlab-ci.yml", ".gitattributes",
}

// The exit codes of a shell that could not start a command.
const (
	notExecutable = 126
	notFound      = 127
)

// Verdict is what a check said.
type Verdict struct {
	ExitCode   int      `json:"exitCode"` // -1 if a signal ended it
	TimedOut   bool     `json:"timedOut,omitempty"`
	DurationMs int64    `json:"durationMs"`
	Output     string   `json:"output"`             // its end
	Restored   []string `json:"restored,omitempty"` // protected files that the racer changed; the check had those of the base
}

// Passed reports whether the work is good.
func (v Verdict) Passed() bool { return v.ExitCode == 0 && !v.TimedOut }

// Last is the last line that a check printed.
func (v Verdict) Last() string {
	if v.TimedOut {
		return "the check took too long"
	}
	text := strings.TrimSpace(v.Output)
	return cli.OneLine(text[strings.LastIndexByte(text, '\n')+1:], 100)
}

// CheckPatterns refuses patterns that cannot be read.
func CheckPatterns(patterns []string) error {
	for _, p := range patterns {
		if p == "" || !doublestar.ValidatePattern(p) {
			return cli.Usage("--protect %q is not a pattern of files", p).WithHint("--protect 'tests/**' --protect Makefile")
		}
	}
	return nil
}

// protects reports whether a file is as in the base. In file systems that fold case, so do patterns: a racer does not get past one by it.
func (c Check) protects(file string) bool {
	for _, p := range c.Protect {
		on := file
		if !strings.Contains(p, "/") {
			on = path.Base(file)
		}
		if ok, _ := doublestar.Match(strings.ToLower(p), strings.ToLower(on)); ok { // the pattern is valid
			return true
		}
	}
	return false
}

// keeps reports whether a file of a work is as in the base for the check: a protected one, one that the command or those of the set-up name
// and that was there before, and one that says how tests are run.
func (c Check) keeps(ctx context.Context, setup string, w worktree.Work, file string) bool {
	return len(c.Protect) > 0 && (c.protects(file) || (names(c.Command, file) || names(setup, file)) && w.Has(ctx, w.Base, file) || steers(ctx, w, file))
}

// names reports whether a command names a file: ./check.sh, scripts/check.
func names(command, file string) bool {
	for _, word := range strings.Fields(command) {
		if path.Clean(strings.Trim(word, `'"();&|`)) == file {
			return true
		}
	}
	return false
}

// hide puts the hidden files over those of a checkout. A link in the checkout does not lead them elsewhere.
func (c Check) hide(dir string) (err error) {
	if c.Hidden == "" {
		return nil
	}
	failed := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "put the files of --hidden into the checkout: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = root.Close() }() // nothing was written to it
	err = filepath.WalkDir(c.Hidden, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to, err := filepath.Rel(c.Hidden, file)
		if err != nil || to == "." {
			return err
		}
		if there, err := root.Lstat(to); err == nil && (!d.IsDir() || !there.IsDir()) {
			if err := root.RemoveAll(to); err != nil {
				return err
			}
		}
		if d.IsDir() {
			return root.MkdirAll(to, 0o755)
		}
		return put(root, to, file)
	})
	if err != nil {
		return failed(err)
	}
	return nil
}

// put copies a file, or what a link leads to.
func put(root *os.Root, to, file string) error {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	return worktree.CopyInto(root, to, in)
}

// In runs the check in a clean checkout of a commit, in a directory of it. name is that of the checkout.
func (c Check) In(ctx context.Context, m worktree.Manager, repository, name, commit, sub string) (v Verdict, err error) {
	dir, remove, err := m.Checkout(ctx, repository, name, commit)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := c.hide(dir); err != nil {
		return v, err
	}
	at := filepath.Join(dir, sub)
	if err := os.MkdirAll(at, 0o755); err != nil { // a directory without files is in no commit
		return v, execution.Errorf(execution.CodeConfig, "run the check: %w", err)
	}
	return c.run(ctx, at)
}

// run runs the check in a directory.
func (c Check) run(ctx context.Context, dir string) (v Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	r, err := worktree.Shell(ctx, dir, c.Command)
	v = Verdict{ExitCode: r.ExitCode, DurationMs: r.Duration.Milliseconds(), TimedOut: errors.Is(ctx.Err(), context.DeadlineExceeded), Output: r.Output}
	switch {
	case v.TimedOut:
		return v, nil
	case err != nil && ctx.Err() == nil:
		return v, execution.Errorf(execution.CodeConfig, "run the check: %w", err)
	}
	return v, err
}
