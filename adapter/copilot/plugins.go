package copilot

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins are NAME@MARKETPLACE, OWNER/REPOSITORY or a repository's URL, excluding those that come with Copilot.
// Copilot uses those of a local marketplace in place, and lists them all: a disabled one is not installed, and
// uninstalling disables it.
var plugins = declared.PluginTable{
	Format: settings.PluginDirectory,
	List:   []string{"plugin", "list", "--json"}, Install: []string{"plugin", "install"}, Remove: []string{"plugin", "uninstall"}, Unnamed: true,
	Update: []string{"plugin", "update"}, Enable: []string{"plugin", "enable"}, Disable: []string{"plugin", "disable"},
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		var rows []struct {
			Name        string `json:"name"`
			Marketplace string `json:"marketplace"`
			Version     string `json:"version"`
			Enabled     bool   `json:"enabled"`
			Source      string `json:"source"`
		}
		err = declared.ParsePlugins(name, said.Stdout, &rows)
		for _, r := range rows {
			if r.Source == "builtin" || r.Source == "live" && !r.Enabled {
				continue
			}
			id := r.Name
			if r.Marketplace != "" {
				id += "@" + r.Marketplace
			}
			list = append(list, settings.Plugin{PluginID: id, Name: r.Name, Version: r.Version, Enabled: r.Enabled})
		}
		return list, err
	},
	Search: searchPlugins,
}

// searchPlugins searches the marketplaces that Copilot knows. An unreachable one does not hide the others.
func searchPlugins(run declared.Run) (list []settings.PluginListing, fault error) {
	said, err := run("plugin", "marketplace", "list", "--json")
	if err != nil {
		return nil, err
	}
	var markets []struct {
		Name string `json:"name"`
	}
	if err := declared.ParsePlugins(name, said.Stdout, &markets); err != nil {
		return nil, err
	}
	for _, m := range markets {
		if strings.HasPrefix(m.Name, "-") {
			continue
		}
		said, err := run("plugin", "marketplace", "browse", m.Name, "--json")
		if err != nil {
			fault = err
			continue
		}
		var rows []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Version     string `json:"version"`
		}
		if err := declared.ParsePlugins(name, said.Stdout, &rows); err != nil {
			return nil, err
		}
		for _, r := range rows {
			list = append(list, settings.PluginListing{PluginID: r.Name + "@" + m.Name, Name: r.Name, LatestVersion: r.Version,
				Description: r.Description, Registry: m.Name})
		}
	}
	return list, fault
}
