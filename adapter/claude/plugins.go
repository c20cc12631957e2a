package claude

import (
	"context"
	"strings"

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
	return cliagent.PluginCommand(ctx, h, name, "claude", nil, append([]string{"plugin"}, args...)...)
}

// ListPlugins lists the plugins of the user.
func (Adapter) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	out, err := plugin(ctx, h, "list", "--json")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID          string `json:"id"`
		Version     string `json:"version"`
		Enabled     bool   `json:"enabled"`
		InstalledAt string `json:"installedAt"`
	}
	if err := cliagent.ParsePlugins(name, out.Stdout, &rows); err != nil {
		return nil, err
	}
	list := []adapter.InstalledPlugin{}
	for _, r := range rows {
		short, _, _ := strings.Cut(r.ID, "@")
		list = append(list, adapter.InstalledPlugin{PluginID: r.ID, Name: short, Version: r.Version, Agent: name, Format: adapter.PluginDirectory,
			InstalledAt: r.InstalledAt, Enabled: r.Enabled})
	}
	return list, nil
}

// InstallPlugin installs a plugin of a marketplace: NAME or NAME@MARKETPLACE. A command that a marketplace declares is not
// confirmed.
func (a Adapter) InstallPlugin(ctx context.Context, h adapter.Host, id string, _ adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	if err := cliagent.CheckPluginID(id); err != nil {
		return adapter.InstalledPlugin{}, err
	}
	out, err := plugin(ctx, h, "install", id)
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
	_, err := plugin(ctx, h, "uninstall", id)
	return err
}

// SearchPlugins looks through the marketplaces that Claude Code knows.
func (Adapter) SearchPlugins(ctx context.Context, h adapter.Host, query string) ([]adapter.PluginListing, error) {
	out, err := plugin(ctx, h, "list", "--json", "--available")
	if err != nil {
		return nil, err
	}
	var found struct {
		Available []struct {
			PluginID    string `json:"pluginId"`
			Name        string `json:"name"`
			Description string `json:"description"`
			Marketplace string `json:"marketplaceName"`
			Version     string `json:"version"`
		} `json:"available"`
	}
	if err := cliagent.ParsePlugins(name, out.Stdout, &found); err != nil {
		return nil, err
	}
	list := []adapter.PluginListing{}
	for _, r := range found.Available {
		l := adapter.PluginListing{PluginID: r.PluginID, Name: r.Name, LatestVersion: r.Version, Description: r.Description,
			Agents: []string{name}, Formats: []string{adapter.PluginDirectory}, Registry: r.Marketplace, Tags: []string{}}
		if cliagent.MatchPlugin(l, query) {
			list = append(list, l)
		}
	}
	return list, nil
}
