// Package plugins is "drawbar plugins": the plugins of agents, managed by the agents' own commands.
package plugins

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/internal/cli"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "plugins",
		Long: "List, install, uninstall and search an agent's plugins, with the agent's own command. Gemini and Qwen call them " +
			"extensions.\n\nclaude, codex and copilot install from marketplaces that you add with their own commands, such as: " +
			"claude plugin marketplace add OWNER/REPOSITORY",
		Example: "  drawbar plugins list claude\n  drawbar plugins search copilot review\n  drawbar plugins install gemini ./my-extension --consent\n  drawbar plugins uninstall gemini my-extension",
		Args:    cli.Args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var o adapter.PluginOptions
	install := &cobra.Command{Use: "install AGENT PLUGIN", Short: "Install a plugin; PLUGIN is written as the agent expects it", Args: cli.Args(cobra.ExactArgs(2)),
		Example: "  drawbar plugins install claude review@my-marketplace\n  drawbar plugins install gemini ./my-extension --consent",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, m, err := cli.Offer[adapter.PluginManager](app, args[0], "plugins that its own command manages", "plugins")
			if err != nil {
				return err
			}
			id := args[1]
			if strings.HasPrefix(id, "./") || strings.HasPrefix(id, "../") { // the agent's command runs in another directory
				if id, err = filepath.Abs(id); err != nil {
					return cli.Usage("%s: %v", args[1], err)
				}
			}
			p, err := m.InstallPlugin(cmd.Context(), adapter.OSHost(cliagent.Spawn), id, o)
			if err != nil {
				return err
			}
			return app.Answer(p, func() { app.Printf("installed %s %s\n", p.PluginID, p.Version) })
		}}
	install.Flags().BoolVar(&o.Consent, "consent", false, "accept third-party code, where the agent asks for consent (gemini, pi, qwen)")
	cmd.AddCommand(install,
		&cobra.Command{Use: "list AGENT", Short: "List installed plugins", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				_, m, err := cli.Offer[adapter.PluginManager](app, args[0], "plugins that its own command manages", "plugins")
				if err != nil {
					return err
				}
				list, err := m.ListPlugins(cmd.Context(), adapter.OSHost(cliagent.Spawn))
				if err != nil {
					return err
				}
				return app.Answer(list, func() {
					if len(list) == 0 {
						app.Notef("no plugins")
						return
					}
					w := app.Table("PLUGIN", "VERSION", "ENABLED", "FORMAT")
					for _, p := range list {
						w.Row(p.PluginID, p.Version, p.Enabled, p.Format)
					}
					w.Flush()
				})
			}},
		&cobra.Command{Use: "uninstall AGENT PLUGIN", Short: "Uninstall a plugin", Args: cli.Args(cobra.ExactArgs(2)),
			RunE: func(cmd *cobra.Command, args []string) error {
				_, m, err := cli.Offer[adapter.PluginManager](app, args[0], "plugins that its own command manages", "plugins")
				if err != nil {
					return err
				}
				if err := m.UninstallPlugin(cmd.Context(), adapter.OSHost(cliagent.Spawn), args[1]); err != nil {
					return err
				}
				return app.Answer(map[string]string{"uninstalled": args[1]}, func() { app.Printf("uninstalled %s\n", args[1]) })
			}},
		&cobra.Command{Use: "search AGENT [QUERY]", Short: "Search for plugins to install", Args: cli.Args(cobra.RangeArgs(1, 2)),
			RunE: func(cmd *cobra.Command, args []string) error {
				_, m, err := cli.Offer[adapter.PluginSearcher](app, args[0], "search for plugins", "plugins.search")
				if err != nil {
					return err
				}
				query := ""
				if len(args) == 2 {
					query = args[1]
				}
				list, err := m.SearchPlugins(cmd.Context(), adapter.OSHost(cliagent.Spawn), query)
				if err != nil {
					return err
				}
				return app.Answer(list, func() {
					if len(list) == 0 {
						app.Notef("no plugins were found")
						return
					}
					w := app.Table("PLUGIN", "VERSION", "DESCRIPTION")
					for _, l := range list {
						w.Row(l.PluginID, l.LatestVersion, l.Description)
					}
					w.Flush()
				})
			}})
	return cmd
}
