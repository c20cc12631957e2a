// Package root assembles the command line.
package root

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	"github.com/drawbar/drawbar/internal/cli/govern"
	"github.com/drawbar/drawbar/internal/cli/hooks"
	"github.com/drawbar/drawbar/internal/cli/host"
	"github.com/drawbar/drawbar/internal/cli/install"
	"github.com/drawbar/drawbar/internal/cli/logs"
	"github.com/drawbar/drawbar/internal/cli/mcp"
	"github.com/drawbar/drawbar/internal/cli/model"
	"github.com/drawbar/drawbar/internal/cli/models"
	"github.com/drawbar/drawbar/internal/cli/negotiate"
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

// Version is set at build time by the linker; a build without it says so.
var Version = ""

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	app := &cli.App{In: in, Out: out, Err: errs, Getenv: os.Getenv, Version: buildVersion()}
	cmd := New(app)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	// An error in the arguments comes before the flags are read, and is to be told in their way too.
	app.JSON = slices.Contains(args, "--json")
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		app.Complete(cmd) // for shells only: every other start would pay for it
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

func buildVersion() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// New makes the tree of commands.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "drawbar",
		Short:         "Drive any coding agent through one seam",
		Long:          "Drawbar drives coding agents: one way to ask, one stream of events, one result, whatever the agent.",
		Example:       "  drawbar demo                       # see it work, nothing installed\n  drawbar agents detect              # what is on this machine\n  drawbar run claude \"fix the test\"  # run an agent here",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			e := cli.Usage("there is no command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return e.WithHint("drawbar %s", strings.Join(near, ", drawbar "))
			}
			return e.WithHint("drawbar --help")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.PersistentFlags().BoolVar(&app.JSON, "json", false, "answer in JSON on standard output")
	cmd.PersistentFlags().BoolVar(&app.NoColor, "no-color", false, "no colours, as with NO_COLOR")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cli.Usage("%s: %v", c.CommandPath(), err).WithHint("%s --help", c.CommandPath())
	})
	cmd.AddGroup(&cobra.Group{ID: "run", Title: "Run agents:"}, &cobra.Group{ID: "know", Title: "Know agents:"}, &cobra.Group{ID: "test", Title: "Try and test:"})
	add := func(group string, list ...*cobra.Command) {
		for _, c := range list {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	add("run", run.New(app), ps.New(app), logs.New(app), attach.New(app), wait.New(app), stop.New(app), cost.New(app), govern.New(app))
	add("know", agents.New(app), install.New(app), install.NewUpdate(app), install.NewUninstall(app), agents.NewDetect(app))
	add("know", auth.New(app), config.New(app), profiles.New(app), mcp.New(app), models.New(app), negotiate.New(app), sessions.New(app), doctor.New(app), host.New(app), trust.New(app))
	add("know", hooks.New(app), skills.New(app), skills.NewSubagents(app), plugins.New(app))
	add("test", demo.New(app), conform.New(app), model.New(app))
	cmd.AddCommand(version.New(app), run.NewDetached(app), conform.NewEcho(app), exitCodes(app))
	return cmd
}

// exitCodes is the help topic "drawbar help exit-codes".
func exitCodes(app *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return app.Answer(exitcode.Table(), func() { app.Printf("%s", exitcode.Help()) })
		}}
	c.SetHelpFunc(func(*cobra.Command, []string) { fmt.Fprint(app.Out, exitcode.Help()) })
	return c
}
