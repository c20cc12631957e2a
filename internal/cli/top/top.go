// Package top is "drawbar top": a live board of runs on a terminal.
package top

import (
	"context"
	"errors"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/worktree"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "top [WORD...]",
		Long: `Show the live runs on one screen: what each of them does and since when, what it waits for, how full its context is, tokens, cost,
the memory of its processes, changed files and the branch. Columns that do not fit the terminal are left out. Runs that wait come
first; runs that end stay until you leave. With words, only runs with all of them are shown.

  key     does                                     as a command
  a       answers what the chosen run asks         drawbar approve, deny, answer
  s       sends a message to its running turn      drawbar steer
  i       ends its turn                            drawbar interrupt
  v       shows what has changed in its directory  drawbar diff
  /       shows only runs with certain words       drawbar top WORD..., ps --agent
  q       leaves; the runs continue`,
		Example: "  drawbar top\n  drawbar top claude login",
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), app, strings.Join(args, " "))
		},
	}
}

func show(ctx context.Context, app *cli.App, filter string) error {
	if app.JSON || !cli.IsTerminal(app.In) || !cli.IsTerminal(app.Out) || app.Getenv("TERM") == "dumb" {
		return cli.Usage("drawbar top needs a terminal").WithHint("drawbar ps, drawbar ps --json")
	}
	ctx, leave := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer leave()
	store, err := app.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	b := &board{store: store, window: app.Window}
	defer b.close()
	current := false
	s := &screen{app: app, ctx: ctx, color: app.Color(app.Out), now: time.Now(), filter: filter, do: control.Do,
		editor: app.Getenv("VISUAL") != "" || app.Getenv("EDITOR") != "",
		poll: func() polled {
			now := time.Now()
			err := b.poll(now)
			if !b.behind && !current {
				current = true
				debug.FreeOSMemory() // what reading the records so far took: the board may stay for hours
			}
			return polled{b.snapshot(), now, b.behind, err}
		},
		diff: worktree.Changed}
	_, err = tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(app.In), tea.WithOutput(app.Out), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if s.err != nil {
		return cli.RecordError(s.err)
	}
	return err
}
