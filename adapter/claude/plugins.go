package claude

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins come from marketplaces: NAME or NAME@MARKETPLACE. A command that a marketplace declares is not confirmed.
var plugins = declared.PluginTable{
	Format: settings.PluginDirectory,
	List:   []string{"plugin", "list", "--json"}, Install: []string{"plugin", "install"}, Remove: []string{"plugin", "uninstall"},
	Update: []string{"plugin", "update"}, Enable: []string{"plugin", "enable"}, Disable: []string{"plugin", "disable"}, Scopes: declared.UserAndProject(),
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		var rows []struct {
			ID          string `json:"id"`
			Version     string `json:"version"`
			Scope       string `json:"scope"`
			Enabled     bool   `json:"enabled"`
			InstalledAt string `json:"installedAt"`
		}
		err = declared.ParsePlugins(name, said.Stdout, &rows)
		for _, r := range rows {
			short, _, _ := strings.Cut(r.ID, "@")
			list = append(list, settings.Plugin{PluginID: r.ID, Name: short, Version: r.Version, InstalledAt: r.InstalledAt,
				Enabled: r.Enabled, Scope: declared.ScopeOf(r.Scope)})
		}
		return list, err
	},
	Search: func(run declared.Run) (list []settings.PluginListing, err error) {
		said, err := run("plugin", "list", "--json", "--available")
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
		err = declared.ParsePlugins(name, said.Stdout, &found)
		for _, r := range found.Available {
			list = append(list, settings.PluginListing{PluginID: r.PluginID, Name: r.Name, LatestVersion: r.Version,
				Description: r.Description, Registry: r.Marketplace})
		}
		return list, err
	},
}
