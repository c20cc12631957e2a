// Package root assembles the command line.
package root

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/agents"
	"github.com/drawbar/drawbar/internal/cli/attach"
	"github.com/drawbar/drawbar/internal/cli/auth"
	"github.com/drawbar/drawbar/internal/cli/config"
	"github.com/drawbar/drawbar/internal/cli/conform"
	"github.com/drawbar/drawbar/internal/cli/cost"
	"github.com/drawbar/drawbar/internal/cli/demo"
	"github.com/drawbar/drawbar/internal/cli/doctor"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/first"
	"github.com/drawbar/drawbar/internal/cli/govern"
	"github.com/drawbar/drawbar/internal/cli/hooks"
	"github.com/drawbar/drawbar/internal/cli/host"
	"github.com/drawbar/drawbar/internal/cli/install"
	"github.com/drawbar/drawbar/internal/cli/logs"
	"github.com/drawbar/drawbar/internal/cli/mcp"
	"github.com/drawbar/drawbar/internal/cli/model"
	"github.com/drawbar/drawbar/internal/cli/models"
	"github.com/drawbar/drawbar/internal/cli/negotiate"
	"github.com/drawbar/drawbar/internal/cli/newadapter"
	"github.com/drawbar/drawbar/internal/cli/plugins"
	"github.com/drawbar/drawbar/internal/cli/profiles"
	"github.com/drawbar/drawbar/internal/cli/ps"
	"github.com/drawbar/drawbar/internal/cli/run"
	"github.com/drawbar/drawbar/internal/cli/sessions"
	"github.com/drawbar/drawbar/internal/cli/skills"
	"github.com/drawbar/drawbar/internal/cli/stop"
	"github.com/drawbar/drawbar/internal/cli/trust"
	"github.com/drawbar/drawbar/internal/cli/version"
	"github.com/drawbar/drawbar/internal/cli/wait"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	collectLater()
	app := &cli.App{In: in, Out: out, Err: errs, Getenv: os.Getenv, Version: first.Version()}
	cmd := tree(app, named(args))
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	// Errors in the arguments occur before the flags are parsed, and must respect --json too.
	app.JSON = slices.Contains(args, "--json")
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		app.Complete(cmd) // not needed for other starts
	}
	err := cmd.ExecuteContext(ctx)
	if closeErr := app.Close(); err == nil && closeErr != nil {
		app.Warnf("%v", closeErr)
	}
	var coded *exitcode.Error
	if err != nil && !(errors.As(err, &coded) && coded.Silent) {
		app.Fail(err)
	}
	return exitcode.Of(err)
}

// collectLater puts off the first garbage collection until the heap has 32 MiB, which few commands reach: collecting earlier took an
// eighth of the processor time of a governed turn. From then on the collector works as it always does.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(800) // of the 4 MiB that the runtime counts at least
	runtime.AddCleanup(new([64]byte), func(usual int) { debug.SetGCPercent(usual) }, usual)
}

// groups are the groups of commands in the help.
var groups = []*cobra.Group{
	{ID: "run", Title: "Run agents:"}, {ID: "govern", Title: "Govern a project:"}, {ID: "agents", Title: "Manage agents:"},
	{ID: "past", Title: "Review runs and costs:"}, {ID: "settings", Title: "Settings and extensions:"}, {ID: "test", Title: "Try and test:"},
}

// entry is a top-level command.
type entry struct {
	name  string
	alias string
	group string
	other bool // alternative spelling of a listed command
	make  func(*cli.App) *cobra.Command
}

var entries = []entry{
	{name: "run", group: "run", make: run.New},
	{name: "attach", group: "run", make: attach.New},
	{name: "ps", group: "run", make: ps.New},
	{name: "logs", group: "run", make: logs.New},
	{name: "wait", group: "run", make: wait.New},
	{name: "stop", group: "run", make: stop.New},
	{name: "govern", alias: "gov", group: "govern", make: govern.New},
	{name: "trust", group: "govern", make: trust.New},
	{name: "agents", group: "agents", make: agents.New},
	{name: "auth", group: "agents", make: auth.New},
	{name: "models", group: "agents", make: models.New},
	{name: "doctor", group: "agents", make: doctor.New},
	{name: "cost", group: "past", make: cost.New},
	{name: "sessions", group: "past", make: sessions.New},
	{name: "config", group: "settings", make: config.New},
	{name: "profiles", group: "settings", make: profiles.New},
	{name: "mcp", group: "settings", make: mcp.New},
	{name: "hooks", group: "settings", make: hooks.New},
	{name: "skills", group: "settings", make: skills.New},
	{name: "subagents", group: "settings", make: skills.NewSubagents},
	{name: "plugins", group: "settings", make: plugins.New},
	{name: "demo", group: "test", make: demo.New},
	{name: "model", group: "test", make: model.New},
	{name: "conform", other: true, make: conform.New},
	{name: "detect", other: true, make: agents.NewDetect},
	{name: "host", other: true, make: host.New},
	{name: "install", other: true, make: install.New},
	{name: "negotiate", other: true, make: negotiate.New},
	{name: "uninstall", other: true, make: install.NewUninstall},
	{name: "update", other: true, make: install.NewUpdate},
	{name: "version", make: version.New},
	{name: "adapter", make: newadapter.Spelling},
	{name: "exit-codes", make: exitCodes},
	{name: run.Hidden, make: run.NewDetached},
	{name: conform.Hidden, make: conform.NewEcho},
}

// whatToType maps the names of top-level commands to command lines.
func whatToType() map[string]string {
	names := map[string]string{}
	for _, e := range entries {
		switch {
		case e.other:
			names[e.name] = "drawbar agents " + e.name
		case e.group != "" || e.name == "version":
			names[e.name] = "drawbar " + e.name
		}
	}
	return names
}

// named returns the command that the arguments begin with.
func named(args []string) string {
	for _, arg := range args {
		if arg != "--json" && arg != "--no-color" {
			return arg
		}
	}
	return ""
}

// tree returns the root with the named command only, because building all of them takes time. If no command has that name, it
// contains all commands: for help, completion and suggestions.
func tree(app *cli.App, name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drawbar",
		Short: "Drive any coding agent through one seam",
		Long: "Drawbar drives coding agents through one interface: one request, one stream of events and one result for " +
			"every agent.",
		Example: "  drawbar demo                       # watch it work without an agent\n  drawbar agents detect              " +
			"# list the agents on this machine\n  drawbar run claude \"fix the test\"  # run an agent here",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			e := cli.Usage("unknown command %q", args[0])
			if meant := near.Words(args[0], whatToType()); len(meant) > 0 {
				return e.WithHint("%s", strings.Join(meant, ", "))
			}
			return e.WithHint("drawbar --help")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().BoolVar(&app.JSON, "json", false, "print JSON on standard output")
	cmd.PersistentFlags().BoolVar(&app.NoColor, "no-color", false, "disable colours (also: NO_COLOR)")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cli.Usage("%s: %v", c.CommandPath(), err).WithHint("%s --help", c.CommandPath())
	})
	cmd.SetHelpFunc(wrapped(cmd.HelpFunc()))
	cmd.AddGroup(groups...)
	wanted := func(e entry) bool { return e.name == name || e.alias != "" && e.alias == name }
	all := !slices.ContainsFunc(entries, wanted)
	for _, e := range entries {
		if all || wanted(e) {
			c := e.make(app)
			c.GroupID = e.group
			c.Hidden = c.Hidden || e.other
			cmd.AddCommand(c)
		}
	}
	return cmd
}

// wrapped returns a help function whose output is wrapped; see cli.Wrap.
func wrapped(help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		out := c.OutOrStdout()
		var text strings.Builder
		c.SetOut(&text)
		help(c, args)
		c.SetOut(out)
		_, _ = io.WriteString(out, cli.Wrap(text.String())) // nowhere to report an error
	}
}

// exitCodes returns the help topic "drawbar help exit-codes".
func exitCodes(app *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "exit-codes", Short: "Explain the exit codes", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return app.Answer(exitcode.Table(), func() { app.Printf("%s", cli.Wrap(exitcode.Help())) })
		}}
	c.SetHelpFunc(func(*cobra.Command, []string) { app.Printf("%s", cli.Wrap(exitcode.Help())) })
	return c
}
