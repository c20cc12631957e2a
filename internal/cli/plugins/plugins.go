// Package plugins is "drawbar plugins": the plugins of agents, managed by the agents' own commands.
package plugins

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/settings"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "plugins",
		Long: "List, install, update, enable, disable, uninstall and search an agent's plugins, with the agent's own command. Gemini and Qwen call " +
			"them extensions. What an agent's command cannot do is refused with the agents that can.\n\nclaude, codex, copilot and droid install from " +
			"marketplaces that you add with their own commands, such as: claude plugin marketplace add OWNER/REPOSITORY",
		Example: "  drawbar plugins list claude\n  drawbar plugins search copilot review\n  drawbar plugins install gemini ./my-extension --consent\n" +
			"  drawbar plugins disable claude review@my-marketplace --scope project\n  drawbar plugins uninstall gemini my-extension",
		Args: cli.Args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(install(app), list(app), search(app), info(app),
		change(app, "update", "Install the latest version of a plugin", "updated", drawbar.Plugins.Update),
		change(app, "enable", "Enable a disabled plugin", "enabled", drawbar.Plugins.Enable),
		change(app, "disable", "Keep a plugin installed and unused", "disabled", drawbar.Plugins.Disable),
		change(app, "uninstall", "Uninstall a plugin", "uninstalled",
			func(p drawbar.Plugins, ctx context.Context, agent, id string, o settings.PluginOptions) (settings.Plugin, error) {
				return settings.Plugin{PluginID: id, Agent: agent}, p.Uninstall(ctx, agent, id, o)
			}))
	return cmd
}

// operation is one of the methods of Plugins that change a plugin.
type operation func(drawbar.Plugins, context.Context, string, string, settings.PluginOptions) (settings.Plugin, error)

// scoped adds --scope to a command. The returned function fills in the options.
func scoped(app *cli.App, cmd *cobra.Command, o *settings.PluginOptions) func() error {
	var scope string
	cmd.Flags().StringVar(&scope, "scope", "global", "global, or project for the settings of the current directory's project")
	return func() error {
		switch o.Scope = settings.Scope(scope); o.Scope {
		case settings.Global:
		case settings.Project:
			o.Dir = app.Dir()
		default:
			return cli.Usage("--scope %q is not a scope", scope).WithHint("global or project")
		}
		return nil
	}
}

func install(app *cli.App) *cobra.Command {
	var o settings.PluginOptions
	cmd := &cobra.Command{Use: "install AGENT PLUGIN", Short: "Install a plugin; PLUGIN is written as the agent expects it", Args: cli.Args(cobra.ExactArgs(2)),
		Example: "  drawbar plugins install claude review@my-marketplace\n  drawbar plugins install pi npm:@example/tools --version 1.0.0 --consent"}
	fill := scoped(app, cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fill(); err != nil {
			return err
		}
		id := args[1]
		if strings.HasPrefix(id, "./") || strings.HasPrefix(id, "../") { // the agent's command runs in another directory
			var err error
			if id, err = filepath.Abs(id); err != nil {
				return cli.Usage("%s: %v", args[1], err)
			}
		}
		return apply(cmd.Context(), app, "installed", drawbar.Plugins.Install, args[0], id, o)
	}
	cmd.Flags().BoolVar(&o.Consent, "consent", false, "accept third-party code, where the agent asks for consent (gemini, omp, pi, qwen)")
	cmd.Flags().StringVar(&o.Version, "version", "", "version to install (gemini, omp, pi, qwen)")
	return cmd
}

func change(app *cli.App, verb, short, done string, do operation) *cobra.Command {
	var o settings.PluginOptions
	cmd := &cobra.Command{Use: verb + " AGENT PLUGIN", Short: short, Args: cli.Args(cobra.ExactArgs(2))}
	fill := scoped(app, cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fill(); err != nil {
			return err
		}
		return apply(cmd.Context(), app, done, do, args[0], args[1], o)
	}
	return cmd
}

func apply(ctx context.Context, app *cli.App, done string, do operation, agent, id string, o settings.PluginOptions) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	p, err := do(c.Plugins(), ctx, agent, id, o)
	if err != nil {
		return err
	}
	if done == "uninstalled" {
		return app.Answer(map[string]string{done: id}, func() { app.Printf("%s %s\n", done, id) })
	}
	return app.Answer(p, func() { app.Printf("%s\n", strings.TrimSpace(done+" "+p.PluginID+" "+p.Version)) })
}

func list(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "list AGENT", Short: "List installed plugins", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := app.Client()
			if err != nil {
				return err
			}
			list, err := c.Plugins().List(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return app.Answer(list, func() {
				if len(list) == 0 {
					app.Notef("no plugins")
					return
				}
				w := app.Table("PLUGIN", "VERSION", "ENABLED", "FORMAT", "SCOPE")
				for _, p := range list {
					w.Row(p.PluginID, p.Version, p.Enabled, p.Format, p.Scope)
				}
				w.Flush()
			})
		}}
}

func search(app *cli.App) *cobra.Command {
	var q drawbar.PluginQuery
	cmd := &cobra.Command{Use: "search AGENT [QUERY]", Short: "Search for plugins to install", Args: cli.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Limit < 1 || q.Limit > drawbar.MaxPluginLimit {
				return cli.Usage("--limit %d is out of range", q.Limit).WithHint("1 to %d", drawbar.MaxPluginLimit)
			}
			if len(args) == 2 {
				q.Text = args[1]
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			list, err := c.Plugins().Search(cmd.Context(), args[0], q)
			if err != nil {
				return err
			}
			return app.Answer(list, func() { table(app, list) })
		}}
	f := cmd.Flags()
	f.IntVar(&q.Limit, "limit", drawbar.DefaultPluginLimit, "at most this many")
	f.StringVar(&q.Format, "format", "", "only plugins of this format: skill-directory, extension or npm-package")
	f.StringVar(&q.Registry, "registry", "", "only plugins of this registry or marketplace")
	return cmd
}

func table(app *cli.App, list []settings.PluginListing) {
	if len(list) == 0 {
		app.Notef("no plugins were found")
		return
	}
	w := app.Table("PLUGIN", "VERSION", "DESCRIPTION")
	for _, l := range list {
		w.Row(l.PluginID, l.LatestVersion, l.Description)
	}
	w.Flush()
}

func info(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "info AGENT PLUGIN", Short: "Show a plugin: what is installed, and what can be", Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := app.Client()
			if err != nil {
				return err
			}
			p, err := c.Plugins().Info(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return app.Answer(p, func() {
				for _, i := range p.Installed {
					state := "disabled"
					if i.Enabled {
						state = "enabled"
					}
					app.Printf("%s\n", strings.TrimSpace("installed: "+strings.Join(strings.Fields(i.PluginID+" "+i.Version+" "+string(i.Scope)+" "+state), " ")))
				}
				table(app, p.Available)
			})
		}}
}
