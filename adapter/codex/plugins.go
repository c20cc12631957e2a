package codex

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

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

// plugins come from marketplaces: NAME@MARKETPLACE.
var plugins = declared.PluginTable{
	Format: settings.PluginDirectory,
	List:   []string{"plugin", "list", "--json"}, Install: []string{"plugin", "add"}, Remove: []string{"plugin", "remove"},
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		var found pluginLists
		err = declared.ParsePlugins(name, said.Stdout, &found)
		for _, r := range found.Installed {
			list = append(list, settings.Plugin{PluginID: r.PluginID, Name: r.Name, Version: r.Version, Enabled: r.Enabled})
		}
		return list, err
	},
	Search: func(run declared.Run) (list []settings.PluginListing, err error) {
		said, err := run("plugin", "list", "--json", "--available")
		if err != nil {
			return nil, err
		}
		var found pluginLists
		err = declared.ParsePlugins(name, said.Stdout, &found)
		for _, r := range found.Available {
			list = append(list, settings.PluginListing{PluginID: r.PluginID, Name: r.Name, LatestVersion: r.Version, Registry: r.Marketplace})
		}
		return list, err
	},
}
