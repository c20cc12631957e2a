package worktree

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// local are variables that would make git work on another repository than the one of a directory.
var local = []string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR=", "GIT_OBJECT_DIRECTORY=", "GIT_PREFIX=", "GIT_NAMESPACE="}

// git runs git in a directory, with the user's configuration, and returns its output without the last line break. It asks for nothing.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return command{dir: dir, args: args}.output(ctx)
}

// command is a git command.
type command struct {
	dir   string
	env   []string // besides the user's
	stdin []byte
	args  []string
}

type output struct{ text, said string }

// output returns what git printed. Any exit code but 0 is an error.
func (c command) output(ctx context.Context) (string, error) {
	out, code, err := c.run(ctx)
	if err == nil && code != 0 {
		err = execution.Errorf(execution.CodeConfig, "git %s in %s: %s", c.args[0], c.dir, cmp.Or(out.said, fmt.Sprintf("exit code %d", code)))
	}
	return out.text, err
}

// run returns what git printed, and its exit code.
func (c command) run(ctx context.Context) (out output, code int, err error) {
	env := Environ()
	program, err := lookpath.In(env, c.dir, "git")
	if err != nil {
		return out, -1, execution.Errorf(execution.CodeConfig, "worktrees need git, which is not on PATH").WithHint("install git")
	}
	text, exit := process.Run(ctx, process.Spec{Path: program, Args: c.args, Dir: c.dir, Stdin: c.stdin, MaxLine: 64 << 20, Grace: 5 * time.Second,
		Env: slices.Concat(env, []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"}, c.env)})
	if exit.Err != nil {
		return out, -1, fmt.Errorf("git %s: %w", c.args[0], exit.Err)
	}
	return output{strings.TrimSuffix(string(text), "\n"), strings.TrimSpace(exit.StderrTail)}, exit.Code, nil
}

// Environ is the environment of this process without what would make git work on another repository than the one of its directory.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(local, func(name string) bool { return strings.HasPrefix(v, name) })
	})
}
