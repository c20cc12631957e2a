// Package agents is "drawbar agents": which agents are known, what they can do, and which of them are installed.
package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/conform"
	"github.com/drawbar/drawbar/internal/cli/host"
	"github.com/drawbar/drawbar/internal/cli/install"
	"github.com/drawbar/drawbar/internal/cli/negotiate"
	"github.com/spf13/cobra"
)

// New makes the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Short: "List agents, show their capabilities, install and remove them", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return list(app) }}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the agents that Drawbar supports", Args: cli.Args(cobra.NoArgs),
			RunE: func(*cobra.Command, []string) error { return list(app) }},
		&cobra.Command{Use: "show AGENT", Short: "Show an agent's capabilities and installation", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return show(app, args[0]) }},
		newMatrix(app), NewDetect(app), negotiate.New(app), conform.New(app), host.New(app), install.New(app), install.NewUpdate(app), install.NewUninstall(app),
	)
	return cmd
}

// NewDetect makes "detect [AGENT...]".
func NewDetect(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "detect [AGENT...]", Short: "Show which agents are installed, their versions and logins",
		RunE: func(cmd *cobra.Command, args []string) error { return detect(cmd.Context(), app, args) }}
}

func list(app *cli.App) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	infos := c.Adapters().List()
	return app.Answer(infos, func() {
		w := app.Table()
		fmt.Fprintln(w, "AGENT\tNAME\tCOMMAND\tMINIMUM\tSOURCE")
		for _, i := range infos {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Agent, i.DisplayName, orNone(i.Command), orNone(i.MinVersion), i.Source)
		}
		w.Flush()
	})
}

// view is what "agents show" answers.
type view struct {
	Agent        string                  `json:"agent"`
	DisplayName  string                  `json:"displayName"`
	Command      string                  `json:"cliCommand"`
	Aliases      []string                `json:"aliases,omitempty"`
	MinVersion   string                  `json:"minVersion,omitempty"`
	Tested       []string                `json:"testedVersions,omitempty"`
	Docs         string                  `json:"documentation,omitempty"`
	Install      []adapter.InstallMethod `json:"installMethods"`
	Config       adapter.ConfigSchema    `json:"configSchema"`
	Capabilities execution.Capabilities  `json:"capabilities"`
}

func show(app *cli.App, name string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	e, err := c.Adapters().Get(name)
	if err != nil {
		return err
	}
	install, err := c.Adapters().InstallInstructions(name, "")
	if err != nil {
		return err
	}
	d := e.Descriptor
	v := view{Agent: d.Name, DisplayName: d.DisplayName, Command: d.Command, Aliases: d.Aliases, MinVersion: d.MinVersion, Tested: d.TestedVersions,
		Docs: d.Docs, Install: install, Config: d.Config, Capabilities: e.Capabilities()}
	return app.Answer(v, func() {
		app.Printf("%s (%s)\n\n", v.DisplayName, v.Agent)
		w := app.Table()
		field := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
		if v.Capabilities.Agent.TakesCommand {
			field("command", "yours, after --")
		} else {
			field("command", v.Command)
		}
		field("aliases", orNone(strings.Join(v.Aliases, ", ")))
		field("minimum version", orNone(v.MinVersion))
		field("tested versions", orNone(strings.Join(v.Tested, ", ")))
		for _, m := range v.Install {
			field("install ("+m.Type+")", m.Command)
		}
		field("configuration", orNone(strings.Join(slices.Concat(v.Config.ConfigFiles, v.Config.ProjectConfigFiles), ", ")))
		field("documentation", orNone(v.Docs))
		w.Flush()
		app.Printf("\n")
		for _, a := range abilities(v.Capabilities) {
			field(a.name, a.value)
		}
		for _, n := range v.Capabilities.Notes {
			field("note", n)
		}
		w.Flush()
	})
}

// ability is one line of what an agent can do.
type ability struct{ name, value string }

// abilities are what an agent declares, in the words of a table.
func abilities(caps execution.Capabilities) []ability {
	var list []ability
	row := func(name string, value any) { list = append(list, ability{name, fmt.Sprint(value)}) }
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	a := caps.Agent
	row("tool use", caps.ToolUse)
	row("structured tool calls", yes(caps.StructuredToolCalls))
	row("continuation", caps.ContinuationSupport)
	row("approval interrupts", caps.ApprovalInterrupts)
	row("trace depth", caps.TraceDepth)
	row("attachments", yes(caps.Attachments))
	row("context window", caps.MaxContextStrategy)
	row("resume a session", yes(a.CanResume))
	row("fork a session", yes(a.CanFork))
	row("run without saving a session", yes(a.CanRunEphemeral))
	row("conversation", a.StructuredSession)
	row("verbs", orNone(words(a.Verbs)))
	row("streams text", yes(a.TextStreaming))
	row("streams tool calls", yes(a.ToolCallStreaming))
	row("streams thinking", yes(a.ThinkingStreaming))
	row("MCP servers", orNone(words(a.MCPTransports)))
	row("approval modes", orNone(words(a.ApprovalModes)))
	row("sandbox", orNone(words(a.SandboxModes)))
	row("thinking efforts", orNone(words(a.ThinkingEfforts)))
	row("thinking budget", yes(a.ThinkingBudgetTokens))
	row("system prompt", orNone(words(a.SystemPromptModes)))
	row("structured output", yes(a.StructuredOutput))
	row("native turn limit", yes(a.MaxTurns))
	row("native budget", yes(a.Budget))
	row("reports its own price", yes(a.CostReported))
	row("output limit", yes(a.OutputTokenLimit))
	row("images", yes(a.ImageInput))
	row("skills for one run", yes(a.Skills))
	row("agents document for one run", yes(a.AgentsMD))
	row("plugins", yes(a.Plugins))
	h := a.RuntimeHooks
	row("hook before a tool", h.PreToolUse)
	row("hook can modify tool input", yes(h.ModifyToolInput))
	row("hook after a tool", h.PostToolUse)
	row("hook before a prompt", h.UserPromptSubmit)
	row("hooks at session start, end and stop", strings.Join([]string{string(h.SessionStart), string(h.SessionEnd), string(h.Stop)}, ", "))
	row("sub-agents", yes(a.SubagentDispatch))
	row("platforms", orNone(strings.Join(a.Platforms, ", ")))
	return list
}

func words[T ~string](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func detect(ctx context.Context, app *cli.App, names []string) error {
	c, err := app.Client()
	if err != nil {
		return err
	}
	var found []catalog.InstalledInfo
	if len(names) == 0 {
		found = c.Adapters().Installed(ctx)
	}
	for _, name := range names {
		if _, err := c.Adapters().Get(name); err != nil {
			return err
		}
		info, err := c.Adapters().Detect(ctx, name)
		if err != nil {
			return err
		}
		if info != nil {
			found = append(found, *info)
		}
	}
	return app.Answer(found, func() {
		w := app.Table()
		fmt.Fprintln(w, "AGENT\tINSTALLED\tVERSION\tLOGIN\tPATH")
		for _, i := range found {
			installed, version, path := "no", "-", "-"
			if i.Installed {
				installed = "yes"
			}
			if i.Version != "" {
				version = i.Version
				switch {
				case !i.MeetsMinVersion:
					version += " (too old, minimum " + i.MinVersion + ")"
				case !i.WithinTested:
					version += " (not tested)"
				}
			}
			if i.CLIPath != "" {
				path = i.CLIPath
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Agent, installed, version, i.AuthState, path)
		}
		w.Flush()
		for _, i := range found {
			if i.Notes != "" {
				app.Notef("%s: %s", i.Agent, i.Notes)
			}
			if !i.Installed {
				if methods, err := c.Adapters().InstallInstructions(i.Agent, ""); err == nil && len(methods) > 0 {
					app.Notef("install %s: %s", i.Agent, methods[0].Command)
				}
			}
		}
	})
}
