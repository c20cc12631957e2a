// Package model is "drawbar model": the scripted model server for tests of agents.
package model

import (
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
	var script, addr, log string
	serve := &cobra.Command{
		Use: "serve --script FILE", Short: "Answer Anthropic, OpenAI and Gemini requests from a script",
		Long: `Answer model requests from a script: Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, with or without
streaming. The server listens on this machine only, requires no key, and prints its address on standard output once it is ready.
GET /__log shows the requests it received.`,
		Example: `  echo '{"turns":[{"text":"hello"}]}' > script.json
  drawbar model serve --script script.json --addr 127.0.0.1:18080 &
  ANTHROPIC_BASE_URL=http://127.0.0.1:18080 ANTHROPIC_API_KEY=dummy drawbar run claude "say hello"`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if script == "" {
				return cli.Usage("no script is given").WithHint("--script FILE; see drawbar model serve --help")
			}
			text, err := os.ReadFile(script)
			if err != nil {
				return cli.Unreadable("--script", err)
			}
			parsed, err := modelserver.Parse(text)
			if err != nil {
				return cli.Usage("--script %s: %v", script, err).WithHint("for the form of a script: drawbar model serve --help")
			}
			var w io.Writer
			if log != "" {
				f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return cli.Usage("--log: %v", err)
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				w = f
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			server := modelserver.New(parsed, modelserver.Options{Log: w})
			running, err := server.Listen(ctx, addr)
			if err != nil {
				return cli.Usage("%v", err)
			}
			if err := app.Answer(map[string]string{"url": running.URL()}, func() { app.Printf("%s\n", running.URL()) }); err != nil {
				return errors.Join(err, running.Close())
			}
			<-ctx.Done()
			return errors.Join(running.Close(), server.LogError())
		},
	}
	serve.Flags().StringVar(&script, "script", "", "script file")
	serve.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback address to listen on; port 0 picks a free one")
	serve.Flags().StringVar(&log, "log", "", "file for received requests, appended as one JSON object a line")
	cmd.AddCommand(serve)
	return cmd
}
