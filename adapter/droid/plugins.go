package droid

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins come from marketplaces: NAME@MARKETPLACE. A plugin is in one scope, and its version is that of its files.
var plugins = declared.PluginTable{
	Format: settings.PluginDirectory,
	List:   []string{"plugin", "list"}, Install: []string{"plugin", "install"}, Remove: []string{"plugin", "uninstall"},
	Update: []string{"plugin", "update"}, Scopes: declared.UserAndProject(),
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		active := false
		for line := range strings.Lines(said.Stdout) {
			if section, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
				active = section == "Active"
				continue
			}
			cells := strings.Fields(line)
			if len(cells) != 3 || !strings.HasPrefix(line, "  ") || !strings.HasPrefix(cells[1], "[") {
				continue
			}
			name, _, _ := strings.Cut(cells[0], "@")
			list = append(list, settings.Plugin{PluginID: cells[0], Name: name, Version: cells[2], Enabled: active,
				Scope: declared.ScopeOf(strings.Trim(cells[1], "[]"))})
		}
		return list, nil
	},
}
