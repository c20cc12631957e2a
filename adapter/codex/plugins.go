package codex

import (
	"context"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

var (
	_ adapter.NativeHooks    = Adapter{}
	_ adapter.SkillKeeper    = Adapter{}
	_ adapter.PluginManager  = Adapter{}
	_ adapter.PluginSearcher = Adapter{}
)

func plugin(ctx context.Context, h adapter.Host, args ...string) (adapter.SpawnOutcome, error) {
	return cliagent.PluginCommand(ctx, h, name, "codex", nil, append([]string{"plugin"}, args...)...)
}

// listedPlugin is a plugin as codex lists it, installed or not.
type listedPlugin struct {
	PluginID    string `json:"pluginId"`
	Name        string `json:"name"`
	Marketplace string `json:"marketplaceName"`
	Version     string `json:"version"`
	Enabled     bool   `json:"enabled"`
}

type pluginLists struct {
	Installed []listedPlugin `json:"installed"`
	Available []listedPlugin `json:"available"`
}

// ListPlugins lists the plugins of the user.
func (Adapter) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	out, err := plugin(ctx, h, "list", "--json")
	if err != nil {
		return nil, err
	}
	var found pluginLists
	if err := cliagent.ParsePlugins(name, out.Stdout, &found); err != nil {
		return nil, err
	}
	list := []adapter.InstalledPlugin{}
	for _, r := range found.Installed {
		list = append(list, adapter.InstalledPlugin{PluginID: r.PluginID, Name: r.Name, Version: r.Version, Agent: name,
			Format: adapter.PluginDirectory, Enabled: r.Enabled})
	}
	return list, nil
}

// InstallPlugin installs a plugin of a marketplace: NAME@MARKETPLACE.
func (a Adapter) InstallPlugin(ctx context.Context, h adapter.Host, id string, _ adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	if err := cliagent.CheckPluginID(id); err != nil {
		return adapter.InstalledPlugin{}, err
	}
	out, err := plugin(ctx, h, "add", id)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	list, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	if p, ok := cliagent.FindPlugin(list, id); ok {
		return p, nil
	}
	return adapter.InstalledPlugin{}, cliagent.Missing(name, id, out)
}

// UninstallPlugin removes a plugin.
func (Adapter) UninstallPlugin(ctx context.Context, h adapter.Host, id string) error {
	if err := cliagent.CheckPluginID(id); err != nil {
		return err
	}
	_, err := plugin(ctx, h, "remove", id)
	return err
}

// SearchPlugins looks through the marketplaces that Codex knows.
func (Adapter) SearchPlugins(ctx context.Context, h adapter.Host, query string) ([]adapter.PluginListing, error) {
	out, err := plugin(ctx, h, "list", "--json", "--available")
	if err != nil {
		return nil, err
	}
	var found pluginLists
	if err := cliagent.ParsePlugins(name, out.Stdout, &found); err != nil {
		return nil, err
	}
	list := []adapter.PluginListing{}
	for _, r := range found.Available {
		l := adapter.PluginListing{PluginID: r.PluginID, Name: r.Name, LatestVersion: r.Version, Agents: []string{name},
			Formats: []string{adapter.PluginDirectory}, Registry: r.Marketplace, Tags: []string{}}
		if cliagent.MatchPlugin(l, query) {
			list = append(list, l)
		}
	}
	return list, nil
}
