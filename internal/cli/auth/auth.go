// Package auth is "drawbar auth": the state of logins, instructions, and the login itself.
package auth

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "auth", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd.Context(), app, nil) }}
	cmd.AddCommand(
		&cobra.Command{Use: "check [AGENT...]", Short: "Check variables and login files: logged in, expired, or not logged in",
			Long: "Check the environment and the login files of agents. This makes no network requests, prompts for nothing and " +
				"shows no secrets.\n\nIf you name agents, the exit code is 5 when any of them is not logged in.",
			RunE: func(cmd *cobra.Command, args []string) error { return check(cmd.Context(), app, args) }},
		&cobra.Command{Use: "guide AGENT", Short: "Explain how to log in", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return guide(app, args[0]) }},
		&cobra.Command{Use: "login AGENT", Short: "Run the agent's own login in this terminal", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error { return login(cmd.Context(), app, args[0]) }},
	)
	return cmd
}

func check(ctx context.Context, app *cli.App, names []string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	var reports []catalog.AuthReport
	for _, name := range names {
		report, err := c.Adapters().CheckAuth(ctx, name)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	if len(names) == 0 {
		reports = c.Adapters().CheckAllAuth(ctx)
	}
	out := false
	for _, r := range reports {
		out = out || r.Status == adapter.Unauthenticated || r.Status == adapter.AuthExpired
	}
	err = app.Answer(reports, func() {
		w := app.Table("AGENT", "LOGIN", "METHOD", "IDENTITY", "EXPIRES", "DETAILS")
		for _, r := range reports {
			expires := ""
			if !r.ExpiresAt.IsZero() {
				expires = r.ExpiresAt.Local().Format(time.DateTime)
			}
			w.Row(r.Agent, r.Status, r.Method, r.Identity, expires, r.Details)
		}
		w.Flush()
		if out {
			app.Notef("to log in: drawbar auth guide AGENT, or drawbar auth login AGENT")
		}
	})
	return exitcode.If(out && len(names) > 0, execution.ExitAuth, err)
}

func guide(app *cli.App, name string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	g, err := c.Adapters().AuthGuidance(name)
	if err != nil {
		return err
	}
	return app.Answer(g, func() {
		app.Printf("How to log in to %s (%s)\n\n", g.Agent, g.Provider)
		for i, s := range g.Steps {
			app.Printf("%d. %s\n", i+1, s.Description)
			if s.Command != "" {
				app.Printf("     %s\n", s.Command)
			}
			if s.URL != "" {
				app.Printf("     %s\n", s.URL)
			}
		}
		if len(g.EnvVars) > 0 {
			app.Printf("\nVariables:\n")
			w := app.Table()
			for _, v := range g.EnvVars {
				what := v.Description
				if v.Required {
					what += " (required)"
				}
				if v.Example != "" {
					what += ", such as " + v.Example
				}
				w.Row("  "+v.Name, what)
			}
			w.Flush()
		}
		if note := g.PlatformNotes[runtime.GOOS]; note != "" {
			app.Printf("\nOn this system: %s\n", note)
		}
		if g.VerifyCommand != "" {
			app.Printf("\nTo check it: %s\n", g.VerifyCommand)
		}
		for _, u := range g.Documentation {
			app.Printf("More: %s\n", u)
		}
	})
}

func login(ctx context.Context, app *cli.App, name string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	g, err := c.Adapters().AuthGuidance(name)
	if err != nil {
		return err
	}
	argv := strings.Fields(g.LoginCommand)
	if len(argv) == 0 {
		e := execution.Errorf(execution.CodeCapability, "agent %s has no login command", g.Agent)
		e.Agent = g.Agent
		return e.WithHint("drawbar auth guide %s", g.Agent)
	}
	if app.JSON {
		return cli.Usage("auth login %s: a login needs a person at a terminal and cannot answer in JSON", g.Agent).WithHint("drawbar auth guide %s --json", g.Agent)
	}
	path, err := oshost.New(nil).LookPath(argv[0])
	if err != nil {
		e := execution.Errorf(execution.CodeAgentNotInstalled, "agent %s is not installed: %w", g.Agent, err)
		e.Agent = g.Agent
		return e.WithHint("drawbar agents install %s", g.Agent)
	}
	in, out, errs, ok := app.Files()
	if !ok {
		return cli.Usage("a login needs a terminal").WithHint("run drawbar auth login in a shell")
	}
	app.Notef("running: %s", g.LoginCommand)
	code, err := process.Attached(ctx, process.Spec{Path: path, Args: argv[1:], Env: os.Environ()}, in, out, errs)
	if err != nil {
		return execution.Errorf(execution.CodeSpawn, "log in to %s: %w", g.Agent, err)
	}
	if code != 0 {
		e := execution.Errorf(execution.CodeAuth, "log in to %s: %s ended with exit code %d", g.Agent, g.LoginCommand, code)
		e.Agent = g.Agent
		return e.WithHint("drawbar auth guide %s", g.Agent)
	}
	return check(ctx, app, []string{name})
}
