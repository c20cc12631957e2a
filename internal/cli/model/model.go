// Package model is "drawbar model": model servers for tests of agents, which answer from a script or from a recording, and the
// recorder.
package model

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "model"}
	cmd.AddCommand(newServe(app), newRecord(app), newReplay(app))
	return cmd
}

func newServe(app *cli.App) *cobra.Command {
	var script string
	var example bool
	var at place
	serve := &cobra.Command{
		Use: "serve {--script FILE | --example}", Short: "Answer Anthropic, OpenAI and Gemini requests from a script",
		Long: `Answer model requests from a script: Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, with or without
streaming. The server listens on this machine only, requires no key, and prints its address on standard output once it is ready.
GET /__log shows the requests it received.`,
		Example: `  echo '{"turns":[{"text":"hello"}]}' > script.json
  drawbar model serve --script script.json --addr 127.0.0.1:18080 &
  ANTHROPIC_BASE_URL=http://127.0.0.1:18080 ANTHROPIC_API_KEY=dummy drawbar run claude "say hello"`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if example {
				app.Printf("%s", modelserver.Example)
				return nil
			}
			if script == "" {
				return cli.Usage("no script is given").WithHint("--script FILE; for one to begin with: drawbar model serve --example > script.json")
			}
			text, err := os.ReadFile(script)
			if err != nil {
				return cli.Unreadable("--script", err)
			}
			parsed, err := modelserver.Parse(text)
			if err != nil {
				return cli.Usage("--script %s: %v", script, err).WithHint("for the form of a script: drawbar model serve --example")
			}
			return at.serve(cmd, app, func(log io.Writer) (listener, error) {
				return modelserver.New(parsed, modelserver.Options{Log: log}), nil
			})
		},
	}
	serve.Flags().StringVar(&script, "script", "", "script file")
	serve.Flags().BoolVar(&example, "example", false, "print a script and end")
	at.register(serve)
	return serve
}

// place is where a server listens and logs.
type place struct{ addr, log string }

func (p *place) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.addr, "addr", "127.0.0.1:0", "loopback address to listen on; port 0 picks a free one")
	cmd.Flags().StringVar(&p.log, "log", "", "file for received requests, appended as one JSON object a line")
}

// listener is a server that is ready to listen.
type listener interface {
	Listen(ctx context.Context, addr string) (*modelserver.Running, error)
}

// serve prints the address of a server and serves until the process is asked to end.
func (p *place) serve(cmd *cobra.Command, app *cli.App, server func(log io.Writer) (listener, error)) (err error) {
	var w io.Writer
	if p.log != "" {
		f, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return cli.Usage("--log: %v", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := server(w)
	if err != nil {
		return err
	}
	running, err := l.Listen(ctx, p.addr)
	if err != nil {
		return cli.Usage("%v", err)
	}
	if err := app.Answer(map[string]string{"url": running.URL()}, func() { app.Printf("%s\n", running.URL()) }); err != nil {
		return errors.Join(err, running.Close())
	}
	<-ctx.Done()
	return running.Close()
}
