// Package root assembles the command line.
package root

import (
	"cmp"
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
	"github.com/drawbar/drawbar/internal/cli/adopt"
	"github.com/drawbar/drawbar/internal/cli/agents"
	"github.com/drawbar/drawbar/internal/cli/answer"
	"github.com/drawbar/drawbar/internal/cli/attach"
	"github.com/drawbar/drawbar/internal/cli/auth"
	"github.com/drawbar/drawbar/internal/cli/batch"
	"github.com/drawbar/drawbar/internal/cli/budget"
	"github.com/drawbar/drawbar/internal/cli/config"
	"github.com/drawbar/drawbar/internal/cli/conform"
	"github.com/drawbar/drawbar/internal/cli/continuations"
	"github.com/drawbar/drawbar/internal/cli/cost"
	"github.com/drawbar/drawbar/internal/cli/demo"
	"github.com/drawbar/drawbar/internal/cli/doctor"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/first"
	"github.com/drawbar/drawbar/internal/cli/govern"
	"github.com/drawbar/drawbar/internal/cli/hooks"
	"github.com/drawbar/drawbar/internal/cli/host"
	"github.com/drawbar/drawbar/internal/cli/initialize"
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
	"github.com/drawbar/drawbar/internal/cli/roadmap"
	"github.com/drawbar/drawbar/internal/cli/rpc"
	"github.com/drawbar/drawbar/internal/cli/run"
	"github.com/drawbar/drawbar/internal/cli/script"
	"github.com/drawbar/drawbar/internal/cli/sessions"
	"github.com/drawbar/drawbar/internal/cli/skills"
	"github.com/drawbar/drawbar/internal/cli/steer"
	"github.com/drawbar/drawbar/internal/cli/stop"
	"github.com/drawbar/drawbar/internal/cli/top"
	"github.com/drawbar/drawbar/internal/cli/trust"
	"github.com/drawbar/drawbar/internal/cli/version"
	"github.com/drawbar/drawbar/internal/cli/wait"
	"github.com/drawbar/drawbar/internal/cli/worktrees"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	collectLater()
	app := &cli.App{In: in, Out: out, Err: errs, Getenv: os.Getenv, Version: first.Version()}
	cmd := tree(app, named(args), asksForHelp(args))
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
	short string // of a command that drawbar --help lists; the help of a neighbour names the others
	other bool   // alternative spelling of a listed command
	make  func(*cli.App) *cobra.Command
}

var entries = []entry{
	{name: "run", group: "run", short: "Run an agent and stream what it does; many prompts: batch FILE; from other languages: rpc", make: run.New},
	{name: "batch", group: "run", make: batch.New},
	{name: "attach", group: "run", short: "Follow a live run and send it messages", make: attach.New},
	{name: "ps", group: "run", short: "List live runs, or all runs with --all; on one screen: top", make: ps.New},
	{name: "top", group: "run", make: top.New},
	{name: "steer", group: "run", make: steer.New},
	{name: "interrupt", group: "run", make: steer.NewInterrupt},
	{name: "diff", group: "run", make: steer.NewDiff},
	{name: "logs", group: "run", short: "Print the events of a run; -f follows a live one", make: logs.New},
	{name: "approve", group: "run", short: "Approve what a waiting run asks; also: deny RUN, answer RUN TEXT, continuations", make: answer.NewApprove},
	{name: "deny", group: "run", make: answer.NewDeny},
	{name: "answer", group: "run", make: answer.New},
	{name: "continuations", group: "run", make: continuations.New},
	{name: "rpc", group: "run", make: rpc.New},
	{name: "wait", group: "run", short: "Wait until runs end; exits with the code of the first that did not complete", make: wait.New},
	{name: "stop", group: "run", short: "Stop runs and everything they started", make: stop.New},
	{name: "worktrees", group: "run", short: "List and remove the git worktrees of runs; to have their work: adopt, merge", make: worktrees.New},
	{name: "adopt", group: "run", make: adopt.New},
	{name: "merge", group: "run", make: adopt.Merge},
	{name: "govern", alias: "gov", group: "govern", short: "Govern agents in a repository: phases, gates, approvals and a record; tasks of a ROADMAP.md: roadmap", make: govern.New},
	{name: "roadmap", group: "govern", make: roadmap.New},
	{name: "script", group: "govern", make: script.New},
	{name: "trust", group: "govern", short: "Show what a project would run on this machine, and trust it", make: trust.New},
	{name: "agents", group: "agents", short: "List agents, show their capabilities, install and remove them", make: agents.New},
	{name: "auth", group: "agents", short: "Check logins, show how to log in, and log in", make: auth.New},
	{name: "models", group: "agents", short: "List models, with context windows and prices; estimate costs", make: models.New},
	{name: "doctor", group: "agents", short: "Diagnose this machine: agents, logins, settings, sessions, records and tools", make: doctor.New},
	{name: "cost", group: "past", short: "Sum up the cost of runs by day, agent, model, project, tag or session; to limit it: budget", make: cost.New},
	{name: "budget", group: "past", make: budget.New},
	{name: "sessions", group: "past", short: "Read the conversations that agents save on disk", make: sessions.New},
	{name: "config", group: "settings", short: "Read and change the configuration of agents; to begin with: init", make: config.New},
	{name: "init", group: "settings", make: initialize.New},
	{name: "profiles", group: "settings", short: "Save and reuse run options", make: profiles.New},
	{name: "mcp", group: "settings", short: "List, add and remove agents' MCP servers", make: mcp.New},
	{name: "hooks", group: "settings", short: "Run your own commands before and after agent actions", make: hooks.New},
	{name: "skills", group: "settings", short: "List, add and remove agents' skills; also: subagents", make: skills.New},
	{name: "subagents", group: "settings", make: skills.NewSubagents},
	{name: "plugins", group: "settings", short: "List, install, update, disable, uninstall and search an agent's plugins", make: plugins.New},
	{name: "demo", group: "test", short: "Watch a run and a governed run; needs no agent, network or key", make: demo.New},
	{name: "model", group: "test", short: "Serve a scripted model to agents, for tests", make: model.New},
	{name: "conform", other: true, make: conform.New},
	{name: "detect", other: true, make: agents.NewDetect},
	{name: "host", other: true, make: host.New},
	{name: "install", other: true, make: install.New},
	{name: "negotiate", other: true, make: negotiate.New},
	{name: "uninstall", other: true, make: install.NewUninstall},
	{name: "update", other: true, make: install.NewUpdate},
	{name: "version", group: "test", make: version.New},
	{name: "adapter", make: newadapter.Spelling},
	{name: "exit-codes", short: "Explain the exit codes", make: exitCodes},
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

// asksForHelp reports whether the arguments ask for the list of commands and nothing else.
func asksForHelp(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return arg != "-h" && arg != "--help" && arg != "--json" && arg != "--no-color" })
}

// tree returns the root with the named command only, because building all of them takes time. If no command has that name, it
// contains all commands, for completion and suggestions; for the list of commands their names and descriptions do.
func tree(app *cli.App, name string, list bool) *cobra.Command {
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
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.SetHelpFunc(wrapped(cmd.HelpFunc()))
	cmd.AddGroup(groups...)
	wanted := func(e entry) bool { return e.name == name || e.alias != "" && e.alias == name }
	all := !slices.ContainsFunc(entries, wanted)
	for _, e := range entries {
		var c *cobra.Command
		switch {
		case list:
			c = &cobra.Command{Use: e.name, Hidden: e.short == "", Run: func(*cobra.Command, []string) {}}
		case all || wanted(e):
			c = e.make(app)
			c.Hidden = c.Hidden || e.other || e.short == "" && !strings.HasPrefix(name, cobra.ShellCompRequestCmd) // which offers every command
		default:
			continue
		}
		c.GroupID, c.Short = e.group, cmp.Or(e.short, c.Short)
		cmd.AddCommand(c)
	}
	switch name {
	case "help":
		if !list {
			refuseUnknownTopics(cmd)
		}
	case "completion":
		cmd.InitDefaultCompletionCmd(name)
		for _, c := range cmd.Commands() {
			if c.Name() == name {
				c.Args, c.RunE = cli.Args(cobra.NoArgs), func(c *cobra.Command, _ []string) error { return c.Help() }
				bash, _, _ := c.Find([]string{"bash"})
				bash.Long = strings.Replace(bash.Long, "This script depends on the 'bash-completion' package.\nIf it is not installed already, you can install it via your OS's package manager.\n\n", "", 1)
				bash.RunE = func(bash *cobra.Command, _ []string) error {
					brief, err := bash.Flags().GetBool("no-descriptions")
					if err != nil {
						return err
					}
					return cli.BashCompletion(bash.Root(), bash.OutOrStdout(), !brief)
				}
			}
		}
	}
	return cmd
}

// refuseUnknownTopics makes "drawbar help" of something that is no command an error.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		show := c.Run
		c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || found == root && len(args) > 0 || len(rest) > 0 {
				e := cli.Usage("there is no help for %q", strings.Join(args, " "))
				if meant := near.Words(args[0], whatToType()); len(meant) > 0 {
					return e.WithHint("%s --help", meant[0])
				}
				return e.WithHint("drawbar --help")
			}
			show(c, args)
			return nil
		}
	}
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
