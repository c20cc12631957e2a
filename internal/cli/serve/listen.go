package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/transport/wsline"
)

// minToken is the shortest token that cannot be guessed.
const minToken = 16

// listen serves every connection until ctx ends, and then waits until their agents are stopped.
func listen(ctx context.Context, app *cli.App, server external.Server, address string) error {
	token := app.Getenv(external.Token)
	if len(token) < minToken {
		return cli.Usage("agents serve --listen: %s must be a secret of at least %d characters", external.Token, minToken).
			WithHint("export %s=$(openssl rand -hex 32)", external.Token)
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usage("agents serve --listen: %q is not an address of this machine alone", address).WithHint("--listen 127.0.0.1:7433")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return execution.Errorf(execution.CodeSpawn, "agents serve: %w", err).WithHint("choose another port: --listen 127.0.0.1:0")
	}
	var runs sync.WaitGroup
	defer runs.Wait()
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(wsline.Bearer(r)), []byte(token)) == 0 {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		c, err := websocket.Accept(w, r, nil) // which replies to what is no WebSocket, or comes from a web page
		if err != nil {
			return
		}
		runs.Add(1)
		defer runs.Done()
		if err := wsline.Serve(ctx, c, func(in io.Reader, out io.Writer) error { return server.Serve(ctx, in, out) }); err != nil {
			app.Notef("a connection ended: %v", err)
		}
	})}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	app.Printf("ws://%s\n", l.Addr())
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// NewConnect returns "connect URL".
func NewConnect(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "connect URL", Short: "Connect to an agent that another Drawbar serves", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Connect standard input and output to an agent that waits at a URL: drawbar agents serve AGENT --listen. Another command uses this one " +
			"to reach the agent. The token in " + external.Token + " goes with it; to another machine only with TLS.",
		Example: "  drawbar agents add box --output drawbar -- drawbar agents connect wss://host.example/claude",
		RunE: func(cmd *cobra.Command, args []string) error {
			token := app.Getenv(external.Token)
			if err := CheckURL(args[0], token); err != nil {
				return err
			}
			c, err := wsline.Dial(cmd.Context(), args[0], token)
			if err == nil {
				err = wsline.Copy(cmd.Context(), c, app.In, app.Out)
			}
			if err != nil {
				return execution.Errorf(execution.CodeSpawn, "%s: %w", args[0], err)
			}
			return nil
		}}
}
