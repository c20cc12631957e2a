package declared

import (
	"context"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// PluginTable describes an agent's own plugin command. The plugin's id follows the arguments of Install and Remove.
type PluginTable struct {
	Format        string            // plugin format
	Env           map[string]string // environment of the command
	List          []string
	Install, Then []string // Then follows the id
	Remove        []string
	Consent       bool // installing requires a person's consent
	Unnamed       bool // the name of an installed plugin may differ from its id, for example a URL
	// Rows parses the list. Agent and format are filled in.
	Rows func(said adapter.SpawnOutcome) ([]adapter.InstalledPlugin, error)
	// Search lists installable plugins; run runs the command. Agents, formats and tags are filled in.
	Search func(run Run) ([]adapter.PluginListing, error)
}

// Run runs an agent's command with arguments.
type Run func(args ...string) (adapter.SpawnOutcome, error)

func (t *Table) run(ctx context.Context, h adapter.Host) Run {
	return func(args ...string) (adapter.SpawnOutcome, error) {
		return command(ctx, h, t.Agent, execution.CodePlugin, adapter.SpawnRequest{Command: t.Command, Args: args, Env: t.Plugins.Env})
	}
}

// PluginsOf implements adapter.PluginManager from the table.
type PluginsOf[D Declares] struct{}

// ListPlugins lists the user's plugins.
func (PluginsOf[D]) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	return of[D]().plugins(ctx, h)
}

func (t *Table) plugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	said, err := t.run(ctx, h)(t.Plugins.List...)
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
	return append([]adapter.InstalledPlugin{}, list...), nil
}

// InstallPlugin installs the plugin that id names in the agent's syntax.
func (PluginsOf[D]) InstallPlugin(ctx context.Context, h adapter.Host, id string,
	o adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	t, none := of[D](), adapter.InstalledPlugin{}
	if err := checkPluginID(id); err != nil {
		return none, err
	}
	if t.Plugins.Consent && !o.Consent {
		return none, execution.Errorf(execution.CodeValidation,
			"%s requires a person's consent: a plugin is third-party code with servers, commands and hooks of its own", t.Agent).
			WithHint("review it first, then give --consent")
	}
	var before []adapter.InstalledPlugin
	if t.Plugins.Unnamed {
		var err error
		if before, err = t.plugins(ctx, h); err != nil {
			return none, err
		}
	}
	said, err := t.run(ctx, h)(slices.Concat(t.Plugins.Install, []string{id}, t.Plugins.Then)...)
	if err != nil {
		return none, err
	}
	after, err := t.plugins(ctx, h)
	if err != nil {
		return none, err
	}
	if p, ok := findPlugin(after, id); ok {
		return p, nil
	}
	for _, p := range after {
		if _, had := findPlugin(before, p.PluginID); t.Plugins.Unnamed && !had {
			return p, nil
		}
	}
	return none, missing(t.Agent, id, said)
}

// UninstallPlugin removes a plugin.
func (PluginsOf[D]) UninstallPlugin(ctx context.Context, h adapter.Host, id string) error {
	if err := checkPluginID(id); err != nil {
		return err
	}
	t := of[D]()
	_, err := t.run(ctx, h)(append(slices.Clone(t.Plugins.Remove), id)...)
	return err
}

// SearchOf implements adapter.PluginSearcher from the table.
type SearchOf[D Declares] struct{}

// SearchPlugins lists installable plugins whose name or description contains the query.
func (SearchOf[D]) SearchPlugins(ctx context.Context, h adapter.Host, query string) ([]adapter.PluginListing, error) {
	t := of[D]()
	all, err := t.Plugins.Search(t.run(ctx, h))
	list := []adapter.PluginListing{}
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
