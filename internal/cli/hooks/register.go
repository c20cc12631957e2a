package hooks

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/hook"
	"github.com/drawbar/drawbar/settings"
)

// target contains the flags of add and set.
type target struct {
	command, script, builtin string
	priority                 int
	disabled, enabled        bool
}

func (t *target) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&t.command, "command", "", "shell command line")
	fl.StringVar(&t.script, "script", "", "program to run without a shell")
	fl.StringVar(&t.builtin, "builtin", "", "log (a line in hook-log.jsonl) or trace (a line on standard error)")
	fl.IntVar(&t.priority, "priority", hook.DefaultPriority, "priority; lower numbers run first")
	fl.BoolVar(&t.disabled, "disabled", false, "register it but do not run it")
	cli.Exclusive(cmd, "command", "script", "builtin")
}

// apply copies the given flags to a registration.
func (t *target) apply(cmd *cobra.Command, r *hook.Registration) {
	for name, v := range map[string]struct {
		handler hook.Handler
		target  string
	}{"command": {hook.Command, t.command}, "script": {hook.Script, t.script}, "builtin": {hook.Builtin, t.builtin}} {
		if cmd.Flags().Changed(name) {
			r.Handler, r.Target = v.handler, v.target
		}
	}
	if cmd.Flags().Changed("priority") {
		p := t.priority
		r.Priority = &p
	}
	if cmd.Flags().Changed("disabled") {
		on := !t.disabled
		r.Enabled = &on
	}
	if cmd.Flags().Changed("enabled") {
		on := t.enabled
		r.Enabled = &on
	}
}

func (c *command) addCommand() *cobra.Command {
	var t target
	var id string
	cmd := &cobra.Command{Use: "add AGENT EVENT", Short: "Register a command for an agent event (* for any agent)", Args: cli.Args(cobra.ExactArgs(2)),
		Example: "  drawbar hooks add claude PreToolUse --command ./check-tool.sh\n  drawbar hooks add '*' tool_error --builtin log",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := hook.Registration{ID: id, Agent: args[0], HookType: args[1]}
			t.apply(cmd, &r)
			return c.add(cmd, r)
		}}
	t.register(cmd)
	cmd.Flags().StringVar(&id, "id", "", "name of the registration (default: from agent and event)")
	return cmd
}

// registered is the result of a registration.
type registered struct {
	ID    string         `json:"id"`
	Scope settings.Scope `json:"scope"`
	File  string         `json:"file"`
	Kind  hook.Kind      `json:"kind"`
}

// add registers r and prints the next step.
func (c *command) add(cmd *cobra.Command, r hook.Registration) error {
	done, err := c.register(cmd, &r, false)
	if err != nil {
		return err
	}
	return c.app.Answer(done, func() {
		c.app.Printf("%s\n", done.ID)
		c.app.Notef("registered in %s", done.File)
		switch {
		case done.Kind == hook.Virtual:
			c.app.Notef("this hook is virtual: called from the events of drawbar run; cannot block")
		case r.Agent != hook.Any && r.HookType != hook.Any:
			c.app.Notef("to have %s call it: drawbar hooks install %s %s", r.Agent, r.Agent, r.HookType)
		}
	})
}

// register adds r to the file of the chosen scope. With again, an identical registration is reused.
func (c *command) register(cmd *cobra.Command, r *hook.Registration, again bool) (registered, error) {
	var done registered
	if r.Handler == "" {
		return done, cli.Usage("no command is given").WithHint("--command LINE, --script FILE or --builtin NAME")
	}
	kind, agentName, err := c.kind(*r)
	if err != nil {
		return done, err
	}
	if r.Agent != hook.Any {
		r.Agent = agentName
	}
	at, err := c.place()
	if err != nil {
		return done, err
	}
	files := at.files
	scope, err := c.chosen(at.dirs)
	if err != nil {
		return done, err
	}
	if scope == settings.Global && r.Handler != hook.Builtin {
		r.Target = absolute(r.Target, at.cwd)
	}
	err = files.Change(cmd.Context(), at.store, scope, func(list []hook.Registration) ([]hook.Registration, error) {
		if i := slices.IndexFunc(list, func(h hook.Registration) bool {
			return again && h.Agent == r.Agent && h.HookType == r.HookType && h.Handler == r.Handler && h.Target == r.Target
		}); i >= 0 {
			r.ID = list[i].ID
			return list, nil
		}
		if r.ID == "" {
			r.ID = idFor(map[bool]string{true: "any", false: r.Agent}[r.Agent == hook.Any], map[bool]string{true: "any", false: r.HookType}[r.HookType == hook.Any], list)
		}
		if slices.ContainsFunc(list, func(h hook.Registration) bool { return h.ID == r.ID }) {
			return nil, execution.Errorf(execution.CodeConfig, "the hook %q already exists in %s", r.ID, files.Path(scope)).
				WithHint("change it: drawbar hooks set %s, or remove it: drawbar hooks remove %s", r.ID, r.ID)
		}
		return append(list, *r), nil
	})
	return registered{r.ID, scope, files.Path(scope), kind}, err
}

// absolute makes the relative path of a program absolute, because a hook of all projects runs in different directories.
func absolute(line, cwd string) string {
	program, rest, _ := strings.Cut(line, " ")
	if filepath.IsAbs(program) || !strings.ContainsAny(program, `/\`) || strings.ContainsAny(program, `"'$~`) {
		return line
	}
	path := filepath.Join(cwd, program)
	if _, err := os.Stat(path); err != nil {
		return line
	}
	return strings.TrimSuffix(hookrelay.Shell(runtime.GOOS, []string{path})+" "+rest, " ")
}

// kind returns who calls a registration. One that nothing can call is an error.
func (c *command) kind(r hook.Registration) (kind hook.Kind, agentName string, err error) {
	var names []string
	if r.Agent != hook.Any {
		names = []string{r.Agent}
	}
	agents, err := c.app.Agents(names...)
	if err != nil {
		return "", "", err
	}
	best := hook.None
	for _, e := range agents {
		agentName = e.Descriptor.Name
		r.Agent = agentName
		if k := hook.KindOf(r, agentName, eventsOf(e)); k == hook.Native || k == hook.Virtual && best == hook.None {
			best = k
		}
	}
	if best == hook.None {
		return "", "", execution.Errorf(execution.CodeValidation, "%q is not an event of %s or of a run", r.HookType, map[bool]string{true: "any agent", false: agentName}[len(agents) != 1]).
			WithHint("drawbar hooks discover lists the events of agents")
	}
	return best, agentName, nil
}

// find returns the scope of a registration.
func (c *command) find(id string) (place, settings.Scope, error) {
	at, err := c.place()
	if err != nil {
		return at, "", err
	}
	scopes := []settings.Scope{settings.Project, settings.Global}
	if c.scope != "" {
		scopes = []settings.Scope{settings.Scope(c.scope)}
	}
	var in []settings.Scope
	for _, s := range scopes {
		list, err := at.files.ReadScope(s)
		if err != nil {
			return at, "", err
		}
		if slices.ContainsFunc(list, func(r hook.Registration) bool { return r.ID == id }) {
			in = append(in, s)
		}
	}
	switch len(in) {
	case 1:
		return at, in[0], nil
	case 2:
		return at, "", cli.Usage("both you and this project have a hook %q", id).WithHint("--scope global or --scope project")
	}
	return at, "", execution.Errorf(execution.CodeConfig, "no hook %q is registered", id).WithHint("drawbar hooks list")
}

func (c *command) removeCommand() *cobra.Command {
	return &cobra.Command{Use: "remove ID", Aliases: []string{"rm"}, Short: "Remove a registration", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, scope, err := c.find(args[0])
			if err != nil {
				return err
			}
			err = at.files.Change(cmd.Context(), at.store, scope, func(list []hook.Registration) ([]hook.Registration, error) {
				return slices.DeleteFunc(list, func(r hook.Registration) bool { return r.ID == args[0] }), nil
			})
			if err != nil {
				return err
			}
			return c.app.Answer(map[string]any{"id": args[0], "scope": scope, "removed": true}, func() { c.app.Printf("removed %s\n", args[0]) })
		}}
}

func (c *command) setCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{Use: "set ID", Short: "Change a registration", Args: cli.Args(cobra.ExactArgs(1)),
		Example: "  drawbar hooks set claude-PreToolUse --enabled=false",
		RunE: func(cmd *cobra.Command, args []string) error {
			at, scope, err := c.find(args[0])
			if err != nil {
				return err
			}
			var changed hook.Registration
			err = at.files.Change(cmd.Context(), at.store, scope, func(list []hook.Registration) ([]hook.Registration, error) {
				for i := range list {
					if list[i].ID == args[0] {
						t.apply(cmd, &list[i])
						changed = list[i]
					}
				}
				return list, nil
			})
			if err != nil {
				return err
			}
			return c.app.Answer(changed, func() { c.app.Printf("changed %s\n", args[0]) })
		}}
	t.register(cmd)
	cmd.Flags().BoolVar(&t.enabled, "enabled", true, "enable the hook; --enabled=false disables it")
	cli.Exclusive(cmd, "enabled", "disabled")
	return cmd
}
