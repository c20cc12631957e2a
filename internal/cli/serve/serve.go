// Package serve is "drawbar agents serve": it gives an agent of this machine to another Drawbar.
package serve

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// New returns "serve AGENT".
func New(app *cli.App) *cobra.Command {
	var address string
	cmd := &cobra.Command{Use: "serve AGENT", Short: "Run an agent for another Drawbar", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Run an agent of this machine for another Drawbar, which starts this command itself, for example over ssh. Requests arrive on " +
			"standard input, events leave on standard output. Nothing of this machine's run options applies, and the run is recorded by the " +
			"other Drawbar. The agent is stopped when standard input ends.\n\n" +
			"With --listen it waits for connections instead, which are WebSockets with the same lines, until Ctrl-C. The address is one of this " +
			"machine alone; ssh or a proxy with TLS brings it to others. Whoever has the token in " + external.Token + " can run the agent.",
		Example: "  drawbar agents add box --ssh user@host --agent claude   # on the other machine\n" +
			"  " + external.Token + "=$(openssl rand -hex 32) drawbar agents serve claude --listen 127.0.0.1:7433",
		RunE: func(cmd *cobra.Command, args []string) error {
			if address == "" && cli.IsTerminal(app.In) {
				return cli.Usage("agents serve: another Drawbar starts this command").
					WithHint("there: drawbar agents add NAME --ssh HOST --agent %s --directory DIR", args[0])
			}
			server, err := open(app, args[0])
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			if address != "" {
				return listen(ctx, app, server, address)
			}
			// A write to a Drawbar that is gone must not end this process before the agent is stopped.
			signal.Ignore(syscall.SIGPIPE)
			return server.Serve(ctx, app.In, app.Out)
		}}
	cmd.Flags().StringVar(&address, "listen", "", "wait for connections at `HOST:PORT` of this machine; port 0 for any")
	return cmd
}

// open returns the server of an agent of this machine.
func open(app *cli.App, name string) (server external.Server, err error) {
	c, err := app.Client()
	if err != nil {
		return server, err
	}
	// Looked up without a connection: a chain of Drawbars could be a circle.
	listed, _ := c.Adapters().External()
	if slices.ContainsFunc(listed, func(i catalog.Info) bool { return i.Agent == name && i.Protocol == adapter.ProtocolDrawbar }) {
		return server, execution.Errorf(execution.CodeCapability, "%s is itself behind another Drawbar and cannot be served", name).
			WithHint("serve an agent of this machine; ssh reaches machines behind others with ProxyJump")
	}
	e, err := app.Agent(name)
	if err != nil {
		return server, err
	}
	if e.Capabilities().Agent.TakesCommand {
		return server, execution.Errorf(execution.CodeCapability, "%s runs a command of the caller and cannot be served", e.Descriptor.Name).
			WithHint("describe the program as an agent of this machine: drawbar agents add NAME -- COMMAND")
	}
	var plays []string
	if a, ok := adapter.As[*external.Adapter](e.Adapter); ok {
		plays = a.Conformance()
	}
	return external.Server{Descriptor: e.Descriptor, Conformance: plays,
		Detect: func(ctx context.Context) external.Found { return found(ctx, c, e.Descriptor.Name) },
		Negotiate: func(req execution.Request) (execution.Negotiation, error) {
			req.Run.Agent = e.Descriptor.Name
			return c.Negotiate(req, drawbar.RunOptions{})
		},
	}, nil
}

// found returns what this machine has of an agent.
func found(ctx context.Context, c *drawbar.Client, name string) external.Found {
	info, err := c.Detect(ctx, name)
	if err != nil || info == nil {
		return external.Found{Notes: "it was not detected", Login: adapter.AuthState{Status: adapter.AuthUnknown}}
	}
	return external.Found{Installed: info.Installed, Path: info.CLIPath, Version: info.Version, Notes: info.Notes,
		Login: adapter.AuthState{Status: info.AuthState, Method: info.AuthMethod, Identity: info.AuthIdentity, Details: info.AuthDetails}}
}
