package copilot

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
	return cliagent.PluginCommand(ctx, h, name, "copilot", nil, append([]string{"plugin"}, args...)...)
}

// ListPlugins lists the plugins of the user. Those that come with Copilot are none of them. It uses those of a marketplace on this
// machine where they lie, and lists them all: one that is off is not installed.
func (Adapter) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	out, err := plugin(ctx, h, "list", "--json")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name        string `json:"name"`
		Marketplace string `json:"marketplace"`
		Version     string `json:"version"`
		Enabled     bool   `json:"enabled"`
		Source      string `json:"source"`
	}
	if err := cliagent.ParsePlugins(name, out.Stdout, &rows); err != nil {
		return nil, err
	}
	list := []adapter.InstalledPlugin{}
	for _, r := range rows {
		if r.Source == "builtin" || r.Source == "live" && !r.Enabled {
			continue
		}
		id := r.Name
		if r.Marketplace != "" {
			id += "@" + r.Marketplace
		}
		list = append(list, adapter.InstalledPlugin{PluginID: id, Name: r.Name, Version: r.Version, Agent: name, Format: adapter.PluginDirectory, Enabled: r.Enabled})
	}
	return list, nil
}

// InstallPlugin installs NAME@MARKETPLACE, OWNER/REPOSITORY or the address of a repository.
func (a Adapter) InstallPlugin(ctx context.Context, h adapter.Host, id string, _ adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	if err := cliagent.CheckPluginID(id); err != nil {
		return adapter.InstalledPlugin{}, err
	}
	before, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	out, err := plugin(ctx, h, "install", id)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	after, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	if p, ok := cliagent.FindPlugin(after, id); ok {
		return p, nil
	}
	for _, p := range after { // an address says nothing of the name
		if _, had := cliagent.FindPlugin(before, p.PluginID); !had {
			return p, nil
		}
	}
	return adapter.InstalledPlugin{}, cliagent.Missing(name, id, out)
}

// UninstallPlugin removes a plugin; one that Copilot uses where it lies is switched off.
func (Adapter) UninstallPlugin(ctx context.Context, h adapter.Host, id string) error {
	if err := cliagent.CheckPluginID(id); err != nil {
		return err
	}
	_, err := plugin(ctx, h, "uninstall", id)
	return err
}

// SearchPlugins looks through the marketplaces that Copilot knows.
func (Adapter) SearchPlugins(ctx context.Context, h adapter.Host, query string) ([]adapter.PluginListing, error) {
	out, err := plugin(ctx, h, "marketplace", "list", "--json")
	if err != nil {
		return nil, err
	}
	var markets []struct {
		Name string `json:"name"`
	}
	if err := cliagent.ParsePlugins(name, out.Stdout, &markets); err != nil {
		return nil, err
	}
	list := []adapter.PluginListing{}
	var fault error
	for _, m := range markets {
		if strings.HasPrefix(m.Name, "-") {
			continue
		}
		out, err := plugin(ctx, h, "marketplace", "browse", m.Name, "--json")
		if err != nil {
			fault = err // one that cannot be reached does not hide the others
			continue
		}
		var rows []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Version     string `json:"version"`
		}
		if err := cliagent.ParsePlugins(name, out.Stdout, &rows); err != nil {
			return nil, err
		}
		for _, r := range rows {
			l := adapter.PluginListing{PluginID: r.Name + "@" + m.Name, Name: r.Name, LatestVersion: r.Version, Description: r.Description,
				Agents: []string{name}, Formats: []string{adapter.PluginDirectory}, Registry: m.Name, Tags: []string{}}
			if cliagent.MatchPlugin(l, query) {
				list = append(list, l)
			}
		}
	}
	if len(list) == 0 && fault != nil {
		return nil, fault
	}
	return list, nil
}
