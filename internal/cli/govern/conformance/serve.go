package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/governed/conformance"
	"github.com/drawbar/drawbar/internal/governed/conformance/product"
)

// newServe returns "serve": the implementation's side of both protocols.
func newServe(app *cli.App) *cobra.Command {
	var addr, token string
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer fixtures: one from standard input, or many over HTTP",
		Long: "Answer fixtures of the protocol with Drawbar's own implementation.\n\nWithout --http, one fixture is read from " +
			"standard input, and the answer {\"status\", \"message\", \"actual\"} goes to standard output; the\nexit code is 0 for " +
			"pass, 1 for fail, 2 for error, 3 for not_implemented. With --http, the server listens only on this machine,\nprints its " +
			"address once it is ready, and answers GET " + conformance.CapabilitiesPath + " and POST " + conformance.ExecutePath + `. Hook fixtures name commands, which the server runs: do not expose it to strangers.`,
		Example: `  drawbar govern conformance serve < fixture.json
  drawbar govern conformance serve --http 127.0.0.1:0`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			target := product.Target(app.Version)
			if addr != "" {
				if token == "" {
					token = app.Getenv(tokenVariable)
				}
				return serveHTTP(ctx, app, target, addr, token)
			}
			if token != "" {
				return cli.Usage("--token needs --http").WithHint("--http 127.0.0.1:0 --token TOKEN")
			}
			code, err := conformance.ServeStdio(ctx, target, app.In, app.Out)
			if err != nil {
				return err
			}
			if code != 0 {
				return &exitcode.Error{Code: code, Silent: true}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "http", "", "loopback address to listen on; port 0 picks a free one")
	cmd.Flags().StringVar(&token, "token", "", "bearer token required of every request (default: $"+tokenVariable+")")
	return cmd
}

func serveHTTP(ctx context.Context, app *cli.App, target conformance.Target, addr, token string) error {
	if !conformance.Loopback(addr) {
		return cli.Usage("--http %s is not a loopback address", addr).WithHint("--http 127.0.0.1:0")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return cli.Usage("--http: %v", err).WithHint("--http 127.0.0.1:0 picks a free port")
	}
	s := &http.Server{Handler: conformance.Handler(target, token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	url := "http://" + l.Addr().String()
	if err := app.Answer(map[string]string{"url": url}, func() { app.Printf("%s\n", url) }); err != nil {
		return errors.Join(err, s.Close(), ended(<-done))
	}
	select {
	case err = <-done:
		return ended(err)
	case <-ctx.Done():
	}
	// Running fixtures get some time to end.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.Shutdown(grace); err != nil {
		return errors.Join(s.Close(), ended(<-done))
	}
	return ended(<-done)
}

// ended drops the error with which every server ends.
func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
