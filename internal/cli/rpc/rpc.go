// Package rpc is "drawbar rpc": Drawbar for programs in other languages, as JSON-RPC 2.0 over standard input and output, one message a line. The table of
// methods drives the server, clients/rpc.json and the clients.
package rpc

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var trust bool
	cmd := &cobra.Command{
		Use: "rpc", Short: "Serve another program: JSON-RPC over standard input and output",
		Long: `Serve another program over standard input and output: JSON-RPC 2.0, one message a line. clients/ has one for TypeScript and one for Python;
clients/rpc.json has the methods with their parameters and results.

Agents of the configuration, profiles, budgets, hooks and the record are as for drawbar run. When standard input ends, runs that are not over are
aborted and the command ends; so it does at SIGTERM. With --trust, what a project would run on this machine is trusted without being asked about.`,
		Example: `  drawbar rpc
  echo '{"jsonrpc":"2.0","id":1,"method":"agents.list"}' | drawbar rpc`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return serve(ctx, app, trust)
		},
	}
	cli.TrustFlag(cmd, &trust)
	return cmd
}

func serve(ctx context.Context, app *cli.App, trust bool) error {
	s := newServer(app, trust)
	defer s.close()
	return s.serve(ctx, app.In, app.Out)
}
