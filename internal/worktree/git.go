package worktree

import (
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
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(local, func(name string) bool { return strings.HasPrefix(v, name) })
	})
	program, err := lookpath.In(env, dir, "git")
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "worktrees need git, which is not on PATH").WithHint("install git")
	}
	out, exit := process.Run(ctx, process.Spec{Path: program, Args: args, Dir: dir, MaxLine: 64 << 20, Grace: 5 * time.Second,
		Env: append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")})
	switch {
	case exit.Err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], exit.Err)
	case exit.Code != 0:
		said := strings.TrimSpace(exit.StderrTail)
		if said == "" {
			said = fmt.Sprintf("exit code %d", exit.Code)
		}
		return "", execution.Errorf(execution.CodeConfig, "git %s in %s: %s", args[0], dir, said)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
