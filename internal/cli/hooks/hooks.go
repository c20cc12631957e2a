// Package hooks is "drawbar hooks": registered commands, and their installation in the agents' settings.
package hooks

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/hook"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// command is the state that the subcommands share.
type command struct {
	app   *cli.App
	scope string
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	c := &command{app: app}
	cmd := &cobra.Command{Use: "hooks", Args: cli.Args(cobra.NoArgs),
		Long: `Run your own commands before and after agent actions.

There are three kinds:

  runtime  for one run: drawbar run --hook preToolUse=COMMAND. See "drawbar agents show" for what an agent supports.
           Events: preToolUse, userPromptSubmit (can deny or modify), postToolUse, sessionStart, sessionEnd, stop.
  native   registered here (add) and with the agent (install): the agent calls them, also when it runs without Drawbar.
  virtual  registered here for an event that the agent does not have: called from the events of "drawbar run"; cannot block.

A command gets the call as JSON on standard input: agent, hookType, event, sessionId, data {tool_name, tool_input, prompt, cwd ...}.
Exit code 0 allows the call; any other code denies it. Standard error gives the reason, to you and to the model (with a
runtime hook on Gemini: to you only). With exit code 0 the command may print an object instead: {"decision": "allow" or "deny" or
"modify", "message": TEXT, "modifiedInput": {...}}; members of modifiedInput replace those of the tool's input.
A hook that fails or exceeds its time limit counts as a denial, and so does "modify" where the agent does not support it
(see "drawbar agents show").

Registrations are stored in hooks.json in Drawbar's configuration directory and in the project's .drawbar. The project's hooks run
after yours, in the project's directory, and never replace one of yours. They run only after you trust them: see "drawbar trust".`,
		Example: `  drawbar run claude --hook 'preToolUse=grep -qv "rm -rf"' "clean up"
  drawbar hooks add claude PreToolUse --command ./check-tool.sh
  drawbar hooks install codex PreToolUse ./check-tool.sh --trust
  drawbar hooks add '*' tool_error --builtin log
  drawbar hooks discover gemini`,
		RunE: func(*cobra.Command, []string) error { return c.list() }}
	cmd.PersistentFlags().StringVar(&c.scope, "scope", "", "global or project (default: project where there is a .drawbar, else global)")
	app.DirFlag(cmd)
	cmd.AddCommand(c.discoverCommand(), c.listCommand(), c.addCommand(), c.removeCommand(), c.setCommand(), c.trustCommand(), c.handleCommand(),
		c.installCommand(), c.uninstallCommand())
	return cmd
}

// place is a project's directory with its hooks.
type place struct {
	cwd   string
	dirs  config.Dirs
	files hook.Files
	store trust.Store
}

func (c *command) place() (p place, err error) {
	if p.cwd, err = c.app.ProjectDir(); err != nil {
		return p, err
	}
	if p.dirs, err = c.app.Dirs(p.cwd); err != nil {
		return p, err
	}
	p.files = hook.FilesIn(p.dirs)
	p.store, err = c.app.TrustStore()
	return p, err
}

// chosen returns the scope of --scope or its default.
func (c *command) chosen(dirs config.Dirs) (settings.Scope, error) {
	s, err := cli.Scope(c.scope)
	if s == "" && dirs.Found {
		return settings.Project, err
	}
	return cmp.Or(s, settings.Global), err
}

// native returns an agent's own hooks. For an agent without hooks, the error lists the agents that have some.
func (c *command) native(agentName string) (catalog.Entry, adapter.NativeHooks, error) {
	return cli.Offer[adapter.NativeHooks](c.app, agentName, "hooks of its own", "hooks")
}

// eventsOf returns the hook events of an agent.
func eventsOf(e catalog.Entry) []settings.Hook {
	if n, ok := adapter.As[adapter.NativeHooks](e.Adapter); ok {
		return n.Hooks()
	}
	return nil
}

// event finds an event of an agent by its own name or by the specification's.
func event(entry catalog.Entry, n adapter.NativeHooks, name string) (settings.Hook, error) {
	if e, ok := settings.FindHook(n.Hooks(), name); ok {
		return e, nil
	}
	var names []string
	for _, e := range n.Hooks() {
		names = append(names, e.Name)
	}
	return settings.Hook{}, execution.Errorf(execution.CodeValidation, "%s has no hook event %q", entry.Descriptor.Name, name).
		WithHint("its events: %s", strings.Join(names, ", "))
}

func (c *command) trustCommand() *cobra.Command {
	return &cobra.Command{Use: "trust", Short: "Trust this project's hooks as they are now; see drawbar trust", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := c.place()
			if err != nil {
				return err
			}
			files := at.files
			list, err := files.ReadScope(settings.Project)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return execution.Errorf(execution.CodeConfig, "this project has no hooks: %s is empty", files.Project)
			}
			if id := c.app.Getenv(protocol.TurnVariable); id != "" {
				return execution.Errorf(execution.CodeUntrusted, "trust cannot be granted from within turn %s", id).WithHint("run it yourself in a shell of your own")
			}
			items := files.Items(list)
			if err := files.Trust(cmd.Context(), at.store, items, true); err != nil {
				return err
			}
			return c.app.Answer(map[string]any{"trusted": files.Project, "hooks": list, "items": items}, func() {
				c.app.Printf("trusted %s\n", files.Project)
				for _, i := range items {
					c.app.Printf("  %s: %s\n", i.Place, strings.ReplaceAll(i.Runs, "\n", ", "))
					for _, f := range i.Files {
						c.app.Printf("    with the file %s\n", f.Path)
					}
				}
			})
		}}
}

// row is a registration in the list.
type row struct {
	hook.Registration
	Scope   settings.Scope       `json:"scope"`
	Kinds   map[string]hook.Kind `json:"kinds"` // by agent
	Running bool                 `json:"running"`
}

func (c *command) listCommand() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List registrations in the order in which they run", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.list() }}
}

func (c *command) list() error {
	at, err := c.place()
	if err != nil {
		return err
	}
	files := at.files
	all, pending, err := files.Read(at.store)
	if err != nil {
		return err
	}
	trusted := len(pending) == 0
	project, err := files.ReadScope(settings.Project)
	if err != nil {
		return err
	}
	if !trusted {
		all = hook.Merge(all, project)
	}
	entries, err := c.app.Agents()
	if err != nil {
		return err
	}
	rows := []row{}
	for n, r := range all {
		x := row{Registration: r, Scope: settings.Global, Kinds: map[string]hook.Kind{}}
		if n >= len(all)-len(project) { // the project's come last
			x.Scope = settings.Project
		}
		x.Running = r.On() && (trusted || x.Scope == settings.Global)
		for _, e := range entries {
			if k := hook.KindOf(r, e.Descriptor.Name, eventsOf(e)); k != hook.None {
				x.Kinds[e.Descriptor.Name] = k
			}
		}
		rows = append(rows, x)
	}
	return c.app.Answer(rows, func() {
		if len(rows) == 0 {
			c.app.Notef("no hooks are registered; see: drawbar hooks --help")
			return
		}
		w := c.app.Table("ID", "SCOPE", "AGENT", "EVENT", "KIND", "PRIORITY", "ON", "HANDLER")
		for _, x := range rows {
			on := "yes"
			switch {
			case !x.On():
				on = "no"
			case !x.Running:
				on = "not trusted"
			}
			w.Row(x.ID, x.Scope, x.Agent, x.HookType, kinds(x.Kinds), x.Order(), on, string(x.Handler)+" "+cli.OneLine(x.Target, 60))
		}
		w.Flush()
		if slices.ContainsFunc(rows, func(x row) bool { return slices.Contains(slices.Collect(maps.Values(x.Kinds)), hook.Virtual) }) {
			c.app.Notef("virtual hooks are called from the events of drawbar run and cannot block")
		}
		if !trusted {
			c.app.Notef("the hooks of %s do not run until you trust them: drawbar trust", files.Project)
		}
	})
}

// kinds describes who calls a registration.
func kinds(by map[string]hook.Kind) string {
	var all []hook.Kind
	for _, k := range by {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	switch len(all) {
	case 0:
		return "never called"
	case 1:
		return string(all[0])
	}
	return "native or virtual"
}

func (c *command) dispatcher(dirs config.Dirs) *hook.Dispatcher {
	return &hook.Dispatcher{Spawn: cliagent.Spawn, LogFile: filepath.Join(dirs.User, "hook-log.jsonl"), Trace: c.app.Err, Warn: c.app.Warnf}
}

// idFor returns an unused id made of agent and event.
func idFor(agentName, eventName string, taken []hook.Registration) string {
	base := strings.Map(func(r rune) rune {
		if r == '*' {
			return 'a'
		}
		return r
	}, cmp.Or(agentName, "any")+"-"+eventName)
	id := base
	for n := 2; slices.ContainsFunc(taken, func(r hook.Registration) bool { return r.ID == id }); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	return id
}
