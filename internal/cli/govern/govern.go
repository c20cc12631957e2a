// Package govern implements "drawbar govern": runs in which several agents and people move a repository through phases
// and gates, under rules and with a record. The sub-packages implement its subcommands.
package govern

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/alias"
	"github.com/drawbar/drawbar/internal/cli/govern/approve"
	"github.com/drawbar/drawbar/internal/cli/govern/conformance"
	"github.com/drawbar/drawbar/internal/cli/govern/intake"
	"github.com/drawbar/drawbar/internal/cli/govern/multi"
	"github.com/drawbar/drawbar/internal/cli/govern/notify"
	"github.com/drawbar/drawbar/internal/cli/govern/objection"
	"github.com/drawbar/drawbar/internal/cli/govern/proposal"
	"github.com/drawbar/drawbar/internal/cli/govern/record"
	"github.com/drawbar/drawbar/internal/cli/govern/schedule"
	"github.com/drawbar/drawbar/internal/cli/govern/setup"
	"github.com/drawbar/drawbar/internal/cli/govern/status"
	"github.com/drawbar/drawbar/internal/cli/govern/submit"
	"github.com/drawbar/drawbar/internal/cli/govern/sync"
	"github.com/drawbar/drawbar/internal/cli/govern/turn"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "govern", Aliases: []string{"gov"},
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	app.DirFlag(cmd)
	cmd.AddCommand(setup.New(app)...)
	cmd.AddCommand(status.New(app))
	cmd.AddCommand(turn.New(app)...)
	cmd.AddCommand(record.New(app)...)
	cmd.AddCommand(intake.New(app)...)
	replay := &cobra.Command{Use: "replay", Hidden: true, Args: cli.Args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error {
		return cli.Usage("%s needs a command", cmd.CommandPath()).WithHint("drawbar govern verify turn --accepted")
	}}
	replay.AddCommand(turn.NewReplay(app))
	cmd.AddCommand(replay)
	cmd.AddCommand(approve.New(app), approve.NewDecline(app), proposal.New(app), submit.New(app), sync.New(app), multi.New(app), notify.New(app), schedule.New(app), conformance.New(app))
	for _, c := range cmd.Commands() {
		switch c.Name() {
		case "verify":
			c.AddCommand(conformance.NewProtocol(app), turn.NewVerify(app))
		case "objections":
			c.AddCommand(objection.New(app)...)
		case "conformance":
			check := conformance.NewProtocol(app)
			check.Use = "check"
			c.AddCommand(check)
		}
	}
	completions(app, cmd)
	alias.Install(app, cmd)
	unknown(cmd)
	return cmd
}

// unknown makes commands with subcommands suggest a name for an unknown one.
func unknown(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		unknown(c)
	}
	if !cmd.HasSubCommands() || cmd.DisableFlagParsing {
		return
	}
	check := cmd.Args
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || len(args) == 0 {
			return err
		}
		e := cli.Usage("unknown command %q", cmd.CommandPath()+" "+args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return e.WithHint("%s", cmd.CommandPath()+" "+strings.Join(near, ", "+cmd.CommandPath()+" "))
		}
		return e.WithHint("%s --help", cmd.CommandPath())
	}
}
