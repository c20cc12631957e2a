// Package command is drawbar's command line, for programs that add agents of their own to it.
package command

import (
	"context"
	"io"

	"github.com/drawbar/drawbar/internal/cli/root"
)

// Main runs one command line (args without the program name) and returns the exit code. It uses the agents that
// the program imports. Call drawbar.Supervise first.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return root.Main(ctx, args, in, out, errs)
}
