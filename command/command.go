// Package command is the command line of drawbar, for a program that adds agents of its own to it.
package command

import (
	"context"
	"io"

	"github.com/drawbar/drawbar/internal/cli/root"
)

// Main carries out one command line, without the program's name in front, and returns the exit code. It knows the agents that the
// program imports. Call drawbar.Supervise before it.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return root.Main(ctx, args, in, out, errs)
}
