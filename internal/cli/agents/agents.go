// Package agents is "drawbar agents": the known agents, their capabilities and installations.
package agents

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/conform"
	"github.com/drawbar/drawbar/internal/cli/customagent"
	"github.com/drawbar/drawbar/internal/cli/host"
	"github.com/drawbar/drawbar/internal/cli/install"
	"github.com/drawbar/drawbar/internal/cli/negotiate"
	"github.com/drawbar/drawbar/internal/cli/newadapter"
	"github.com/drawbar/drawbar/internal/cli/serve"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return list(app, false) }}
	cmd.AddCommand(
		newList(app),
		&cobra.Command{Use: "show AGENT", Short: "Show an agent's capabilities and installation", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return show(app, args[0]) }},
		newMatrix(app), NewDetect(app), negotiate.New(app), conform.New(app), host.New(app), install.New(app), install.NewUpdate(app), install.NewUninstall(app), newadapter.New(app), serve.New(app),
		serve.NewConnect(app),
	)
	cmd.AddCommand(customagent.Commands(app)...)
	return cmd
}

// NewDetect returns "detect [AGENT...]".
func NewDetect(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "detect [AGENT...]", Short: "Show which agents are installed, their versions and logins",
		RunE: func(cmd *cobra.Command, args []string) error { return detect(cmd.Context(), app, args) }}
}

func newList(app *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List the agents that Drawbar supports",
		Long: "List the agents that Drawbar supports: those with an adapter of their own, and of those that it reaches over the Agent Client " +
			"Protocol alone the ones whose program is installed. External adapters are programs named drawbar-adapter-AGENT on PATH.",
		Args: cli.Args(cobra.NoArgs), RunE: func(*cobra.Command, []string) error { return list(app, all) }}
	cmd.Flags().BoolVar(&all, "all", false, "include agents over ACP that are not installed")
	return cmd
}

func list(app *cli.App, all bool) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	infos := c.Adapters().Listed()
	every := c.Adapters().List()
	hidden := len(every) - len(infos)
	if all {
		infos, hidden = every, 0
	}
	external, passed := c.Adapters().External()
	infos = append(infos, external...)
	slices.SortStableFunc(infos, func(a, b catalog.Info) int { return strings.Compare(a.Agent, b.Agent) })
	return app.Answer(infos, func() {
		w := app.Table("AGENT", "NAME", "COMMAND", "MINIMUM", "KIND", "SOURCE")
		for _, i := range infos {
			w.Row(i.Agent, i.DisplayName, i.Command, i.MinVersion, i.Kind, i.Source)
		}
		w.Flush()
		for _, why := range slices.Concat(c.Adapters().Problems(), passed) {
			app.Warnf("%s", why)
		}
		if hidden > 0 {
			app.Notef("%d more agents are reached over the Agent Client Protocol and not installed: drawbar agents list --all", hidden)
		}
	})
}

// view is the answer of "agents show".
type view struct {
	Agent        string                  `json:"agent"`
	DisplayName  string                  `json:"displayName"`
	Command      string                  `json:"cliCommand"`
	Aliases      []string                `json:"aliases,omitempty"`
	MinVersion   string                  `json:"minVersion,omitempty"`
	Tested       []string                `json:"testedVersions,omitempty"`
	Docs         string                  `json:"documentation,omitempty"`
	Kind         string                  `json:"kind"`
	Documented   string                  `json:"documentedAt,omitempty"`
	Install      []adapter.InstallMethod `json:"installMethods"`
	Config       settings.Schema         `json:"configSchema"`
	Capabilities execution.Capabilities  `json:"capabilities"`
}

func show(app *cli.App, name string) error {
	e, err := app.Agent(name)
	if err != nil {
		return err
	}
	c, err := app.Client()
	if err != nil {
		return err
	}
	install, err := c.Adapters().InstallInstructions(name, "")
	if err != nil {
		return err
	}
	d := e.Descriptor
	v := view{Agent: d.Name, DisplayName: d.DisplayName, Command: d.Command, Aliases: d.Aliases, MinVersion: d.MinVersion, Tested: d.TestedVersions,
		Docs: d.Docs, Kind: d.Kind(), Documented: d.Documented, Install: install, Config: d.Config, Capabilities: e.Capabilities()}
	return app.Answer(v, func() {
		app.Printf("%s (%s)\n\n", v.DisplayName, v.Agent)
		w := app.Table()
		command := v.Command
		if v.Capabilities.Agent.TakesCommand {
			command = "yours, after --"
		}
		w.Row("command", command)
		w.Row("kind", v.Kind)
		w.Row("aliases", strings.Join(v.Aliases, ", "))
		w.Row("minimum version", v.MinVersion)
		w.Row("tested versions", strings.Join(v.Tested, ", "))
		for _, m := range v.Install {
			w.Row("install ("+m.Type+")", cmp.Or(m.Command, m.Notes))
		}
		w.Row("configuration", strings.Join(slices.Concat(v.Config.ConfigFiles, v.Config.ProjectConfigFiles), ", "))
		w.Row("documentation", v.Docs)
		w.Flush()
		app.Printf("\n")
		for _, a := range abilities(v.Capabilities) {
			w.Row(a.name, a.value)
		}
		for _, n := range v.Capabilities.Notes {
			w.Row("note", n)
		}
		w.Flush()
	})
}

// ability is a capability of an agent as a row of a table.
type ability struct{ name, value string }

// abilities returns the capabilities of an agent as rows.
func abilities(caps execution.Capabilities) []ability {
	var list []ability
	row := func(name string, value any) { list = append(list, ability{name, cli.Cell(value)}) }
	a := caps.Agent
	row("tool use", caps.ToolUse)
	row("structured tool calls", caps.StructuredToolCalls)
	row("continuation", caps.ContinuationSupport)
	row("approval interrupts", caps.ApprovalInterrupts)
	row("trace depth", caps.TraceDepth)
	row("attachments", caps.Attachments)
	row("context window", caps.MaxContextStrategy)
	row("resume a session", a.CanResume)
	row("fork a session", a.CanFork)
	row("run without saving a session", a.CanRunEphemeral)
	row("conversation", a.StructuredSession)
	row("verbs", cli.Words(a.Verbs))
	row("streams text", a.TextStreaming)
	row("streams tool calls", a.ToolCallStreaming)
	row("streams thinking", a.ThinkingStreaming)
	row("MCP servers", cli.Words(a.MCPTransports))
	row("approval modes", cli.Words(a.ApprovalModes))
	row("sandbox", cli.Words(a.SandboxModes))
	row("thinking efforts", cli.Words(a.ThinkingEfforts))
	row("thinking parameters", cli.Words(a.ThinkingOverrides))
	row("thinking budget", a.ThinkingBudgetTokens)
	row("system prompt", cli.Words(a.SystemPromptModes))
	row("structured output", a.StructuredOutput)
	row("native turn limit", a.MaxTurns)
	row("native budget", a.Budget)
	row("reports its own price", a.CostReported)
	row("output limit", a.OutputTokenLimit)
	row("images", a.ImageInput)
	row("skills for one run", a.Skills)
	row("agents document for one run", a.AgentsMD)
	row("plugins", a.Plugins)
	row("runs elsewhere", a.Elsewhere)
	h := a.RuntimeHooks
	row("hook before a tool", h.PreToolUse)
	row("hook can modify tool input", h.ModifyToolInput)
	row("hook after a tool", h.PostToolUse)
	row("hook before a prompt", h.UserPromptSubmit)
	row("hooks at session start, end and stop", strings.Join([]string{string(h.SessionStart), string(h.SessionEnd), string(h.Stop)}, ", "))
	row("sub-agents", a.SubagentDispatch)
	row("platforms", strings.Join(a.Platforms, ", "))
	return list
}

func detect(ctx context.Context, app *cli.App, names []string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	var found []catalog.InstalledInfo
	var passed []string
	if len(names) == 0 {
		found = c.Adapters().Installed(ctx)
		_, passed = c.Adapters().External()
	}
	for _, name := range names {
		info, err := c.Adapters().Detect(ctx, name)
		if err != nil {
			return err
		}
		if info != nil {
			found = append(found, *info)
		}
	}
	return app.Answer(found, func() {
		w := app.Table("AGENT", "INSTALLED", "VERSION", "LOGIN", "PATH")
		for _, i := range found {
			version := i.Version
			switch {
			case version == "":
			case !i.MeetsMinVersion:
				version += " (too old, minimum " + i.MinVersion + ")"
			case !i.WithinTested:
				version += " (not tested)"
			}
			w.Row(i.Agent, i.Installed, version, i.AuthState, i.CLIPath)
		}
		w.Flush()
		for _, why := range passed {
			app.Warnf("%s", why)
		}
		for _, i := range found {
			if i.Notes != "" {
				app.Notef("%s: %s", i.Agent, i.Notes)
			}
			if e, err := c.Adapters().Get(i.Agent); err == nil && i.Installed && i.MeetsMinVersion {
				if text := e.Descriptor.Untested(i.Version); text != "" {
					app.Notef("%s", text)
				}
			}
			if !i.Installed {
				if methods, err := c.Adapters().InstallInstructions(i.Agent, ""); err == nil && len(methods) > 0 {
					app.Notef("install %s: %s", i.Agent, methods[0].Command)
				}
			}
		}
	})
}
