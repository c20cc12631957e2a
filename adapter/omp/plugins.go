package omp

import (
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins are Oh My Pi's: packages from npm, a folder or git, and name@marketplace.
var plugins = declared.PluginTable{
	Format: settings.PluginPackage,
	List:   []string{"plugin", "list", "--json"}, Install: []string{"plugin", "install"}, Remove: []string{"plugin", "uninstall"}, Consent: true, Unnamed: true,
	Enable: []string{"plugin", "enable"}, Disable: []string{"plugin", "disable"}, Update: []string{"plugin", "upgrade"},
	Scopes: declared.UserAndProject(), Version: declared.VersionBehindAt,
	Rows: func(said adapter.SpawnOutcome) ([]settings.Plugin, error) {
		var found struct {
			NPM []struct {
				Name, Version string
				Enabled       bool
				Manifest      struct{ Description string }
			} `json:"npm"`
			Marketplace []struct {
				ID      string
				Scope   string
				Entries []struct {
					Version, InstalledAt string
					Enabled              *bool
				}
			}
		}
		if err := json.Unmarshal([]byte(said.Stdout), &found); err != nil {
			return nil, fmt.Errorf("omp plugin list --json: %w", err)
		}
		list := []settings.Plugin{}
		for _, p := range found.NPM {
			list = append(list, settings.Plugin{PluginID: p.Name, Name: p.Name, Version: p.Version, Description: p.Manifest.Description, Enabled: p.Enabled})
		}
		for _, p := range found.Marketplace {
			one := settings.Plugin{PluginID: p.ID, Name: p.ID, Enabled: true, Scope: declared.ScopeOf(p.Scope)}
			if len(p.Entries) > 0 {
				e := p.Entries[0]
				one.Version, one.InstalledAt, one.Enabled = e.Version, e.InstalledAt, e.Enabled == nil || *e.Enabled
			}
			list = append(list, one)
		}
		return list, nil
	},
}
