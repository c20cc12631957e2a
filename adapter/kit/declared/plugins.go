package declared

import (
	"cmp"
	"context"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// PluginTable describes an agent's own plugin command. The plugin's id follows the arguments of Install and Remove.
type PluginTable struct {
	Format        string            // plugin format
	Env           map[string]string // environment of the command
	List          []string
	Install, Then []string // Then follows the id
	Remove        []string
	// Update, Enable and Disable are empty for an agent that cannot; its adapter does not embed UpdatesOf or SwitchesOf then.
	Update, Enable, Disable []string
	// Scopes are the arguments for each scope; an agent without those of projects manages the user's plugins only.
	Scopes map[settings.Scope][]string
	// Version returns a plugin's id, and arguments behind it, for one of its versions; nil if the agent chooses.
	Version func(id, version string) (string, []string)
	AtHome  bool // what the user disabled is disabled only below the home directory, so the command runs there
	Consent bool // installing requires a person's consent
	Unnamed bool // the name of an installed plugin may differ from its id, for example a URL
	// Rows parses the list. Agent and format are filled in.
	Rows func(said adapter.SpawnOutcome) ([]settings.Plugin, error)
	// Search lists installable plugins; run runs the command. Agents, formats and tags are filled in.
	Search func(run Run) ([]settings.PluginListing, error)
}

// Run runs an agent's command with arguments.
type Run func(args ...string) (adapter.SpawnOutcome, error)

// run returns how to run the agent's command in a project's folder, or in no project.
func (t *Table) run(ctx context.Context, h adapter.Host, dir string) Run {
	if dir == "" && t.Plugins.AtHome {
		dir = h.Home
	}
	return func(args ...string) (adapter.SpawnOutcome, error) {
		return command(ctx, h, t.Agent, execution.CodePlugin, adapter.SpawnRequest{Command: t.Command, Args: args, Env: t.Plugins.Env, Cwd: dir})
	}
}

// PluginsOf implements adapter.PluginManager from the table.
type PluginsOf[D Declares] struct{}

// ListPlugins lists the user's plugins.
func (PluginsOf[D]) ListPlugins(ctx context.Context, h adapter.Host) ([]settings.Plugin, error) {
	return of[D]().plugins(ctx, h, "")
}

func (t *Table) plugins(ctx context.Context, h adapter.Host, dir string) ([]settings.Plugin, error) {
	said, err := t.run(ctx, h, dir)(t.Plugins.List...)
	if err != nil {
		return nil, err
	}
	list, err := t.Plugins.Rows(said)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Agent, list[i].Format = t.Agent, t.Plugins.Format
	}
	return append([]settings.Plugin{}, list...), nil
}

// InstallPlugin installs the plugin that id names in the agent's syntax.
func (PluginsOf[D]) InstallPlugin(ctx context.Context, h adapter.Host, id string,
	o settings.PluginOptions) (settings.Plugin, error) {
	t, none := of[D](), settings.Plugin{}
	if err := checkPluginID(id); err != nil {
		return none, err
	}
	if t.Plugins.Consent && !o.Consent {
		return none, execution.Errorf(execution.CodeValidation,
			"%s requires a person's consent: a plugin is third-party code with servers, commands and hooks of its own", t.Agent).
			WithHint("review it first, then give --consent")
	}
	if _, err := t.scope(o); err != nil {
		return none, err
	}
	then := t.Plugins.Then
	if o.Version != "" {
		if t.Plugins.Version == nil {
			return none, t.incapable("plugins.version", "%s installs a plugin in no version but its own choice", t.Agent)
		}
		if err := checkPluginID(o.Version); err != nil {
			return none, err
		}
		var args []string
		id, args = t.Plugins.Version(id, o.Version)
		then = slices.Concat(then, args)
	}
	var before []settings.Plugin
	if t.Plugins.Unnamed {
		var err error
		if before, err = t.plugins(ctx, h, o.Dir); err != nil {
			return none, err
		}
	}
	said, err := t.manage(ctx, h, t.Plugins.Install, id, o, then...)
	if err != nil {
		return none, err
	}
	after, err := t.plugins(ctx, h, o.Dir)
	if err != nil {
		return none, err
	}
	if p, ok := findPlugin(after, id, o.Scope); ok {
		return p, nil
	}
	for _, p := range after {
		if _, had := findPlugin(before, p.PluginID, p.Scope); t.Plugins.Unnamed && !had {
			return p, nil
		}
	}
	return none, missing(t.Agent, id, said)
}

// manage runs one of the agent's commands about a plugin in the scope of the options.
func (t *Table) manage(ctx context.Context, h adapter.Host, command []string, id string, o settings.PluginOptions, then ...string) (adapter.SpawnOutcome, error) {
	if err := checkPluginID(id); err != nil {
		return adapter.SpawnOutcome{}, err
	}
	scope, err := t.scope(o)
	if err != nil {
		return adapter.SpawnOutcome{}, err
	}
	return t.run(ctx, h, o.Dir)(slices.Concat(command, scope, []string{id}, then)...)
}

// scope returns the arguments for the scope of the options.
func (t *Table) scope(o settings.PluginOptions) ([]string, error) {
	args, ok := t.Plugins.Scopes[cmp.Or(o.Scope, settings.Global)]
	if !ok && o.Scope == settings.Project {
		return nil, t.incapable("plugins.scope", "%s manages the plugins of no single project", t.Agent)
	}
	return args, nil
}

func (t *Table) incapable(capability, format string, args ...any) error {
	e := execution.Errorf(execution.CodeCapability, format, args...)
	e.Agent, e.Capability = t.Agent, capability
	return e
}

// UninstallPlugin removes a plugin.
func (PluginsOf[D]) UninstallPlugin(ctx context.Context, h adapter.Host, id string, o settings.PluginOptions) error {
	t := of[D]()
	_, err := t.manage(ctx, h, t.Plugins.Remove, id, o)
	return err
}

// UpdatesOf implements adapter.PluginUpdater from the table.
type UpdatesOf[D Declares] struct{}

// UpdatePlugin updates a plugin.
func (UpdatesOf[D]) UpdatePlugin(ctx context.Context, h adapter.Host, id string, o settings.PluginOptions) (settings.Plugin, error) {
	t := of[D]()
	said, err := t.manage(ctx, h, t.Plugins.Update, id, o)
	if err != nil {
		return settings.Plugin{}, err
	}
	list, err := t.plugins(ctx, h, o.Dir)
	if err != nil {
		return settings.Plugin{}, err
	}
	if p, ok := findPlugin(list, id, o.Scope); ok {
		return p, nil
	}
	if t.Plugins.Unnamed { // it is listed by another name than the one that the command accepted
		return settings.Plugin{PluginID: id, Name: id, Agent: t.Agent, Format: t.Plugins.Format, Enabled: true, Scope: o.Scope}, nil
	}
	return settings.Plugin{}, missing(t.Agent, id, said)
}

// SwitchesOf implements adapter.PluginSwitcher from the table.
type SwitchesOf[D Declares] struct{}

// SwitchPlugin enables or disables a plugin.
func (SwitchesOf[D]) SwitchPlugin(ctx context.Context, h adapter.Host, id string, on bool, o settings.PluginOptions) (settings.Plugin, error) {
	t, none := of[D](), settings.Plugin{}
	if err := checkPluginID(id); err != nil {
		return none, err
	}
	if _, err := t.scope(o); err != nil {
		return none, err
	}
	list, err := t.plugins(ctx, h, o.Dir)
	if err != nil {
		return none, err
	}
	if p, ok := findPlugin(list, id, o.Scope); ok && p.Enabled == on { // some commands fail then
		return p, nil
	}
	command := t.Plugins.Disable
	if on {
		command = t.Plugins.Enable
	}
	said, err := t.manage(ctx, h, command, id, o)
	if err != nil {
		return none, err
	}
	if list, err = t.plugins(ctx, h, o.Dir); err != nil {
		return none, err
	}
	p, ok := findPlugin(list, id, o.Scope)
	switch {
	case ok && p.Enabled == on:
		return p, nil
	case !ok && !on: // listed only while it is enabled
		return settings.Plugin{PluginID: id, Name: id, Agent: t.Agent, Format: t.Plugins.Format}, nil
	}
	return none, unchanged(t.Agent, id, said)
}

// SearchOf implements adapter.PluginSearcher from the table.
type SearchOf[D Declares] struct{}

// SearchPlugins lists installable plugins whose name or description contains the query.
func (SearchOf[D]) SearchPlugins(ctx context.Context, h adapter.Host, query string) ([]settings.PluginListing, error) {
	t := of[D]()
	all, err := t.Plugins.Search(t.run(ctx, h, ""))
	list := []settings.PluginListing{}
	for _, l := range all {
		if matchPlugin(l, query) {
			l.Agents, l.Formats, l.Tags = []string{t.Agent}, []string{t.Plugins.Format}, []string{}
			list = append(list, l)
		}
	}
	if err != nil && len(list) == 0 {
		return nil, err
	}
	return list, nil
}
