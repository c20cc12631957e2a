package declared

import (
	"context"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// PluginTable is how an agent's own command manages its plugins. The arguments of each are words; the plugin's id stands behind
// those of Install and Remove.
type PluginTable struct {
	Format        string            // of the plugins
	Env           map[string]string // of the command
	List          []string
	Install, Then []string // Then stands behind the id
	Remove        []string
	Consent       bool // the agent wants a person's consent to an installation
	Unnamed       bool // what is installed may have another name than what names it, such as an address
	// Rows reads the list. Agent and format are filled in.
	Rows func(said adapter.SpawnOutcome) ([]adapter.InstalledPlugin, error)
	// Search lists what can be installed; run runs the command. Agents, formats and tags are filled in.
	Search func(run Run) ([]adapter.PluginListing, error)
}

// Run runs an agent's command with arguments.
type Run func(args ...string) (adapter.SpawnOutcome, error)

func (t *Table) run(ctx context.Context, h adapter.Host) Run {
	return func(args ...string) (adapter.SpawnOutcome, error) {
		return pluginCommand(ctx, h, t.Agent, t.Command, t.Plugins.Env, args...)
	}
}

// PluginsOf makes an adapter.PluginManager of the table.
type PluginsOf[D Declares] struct{}

// ListPlugins lists the plugins of the user.
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

// InstallPlugin installs what id names in the agent's own words.
func (PluginsOf[D]) InstallPlugin(ctx context.Context, h adapter.Host, id string,
	o adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	t, none := of[D](), adapter.InstalledPlugin{}
	if err := checkPluginID(id); err != nil {
		return none, err
	}
	if t.Plugins.Consent && !o.Consent {
		return none, execution.Errorf(execution.CodeValidation,
			"%s wants the consent of a person: a plugin is a program of somebody else, with servers, commands and hooks of its own", t.Agent).
			WithHint("look at it first, then give --consent")
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

// SearchOf makes an adapter.PluginSearcher of the table.
type SearchOf[D Declares] struct{}

// SearchPlugins lists the plugins that can be installed and have the query in their name or description.
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
