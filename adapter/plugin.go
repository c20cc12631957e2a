package adapter

import (
	"context"

	"github.com/drawbar/drawbar/settings"
)

// PluginManager is an agent whose own command manages its plugins. The methods run it through the host and wait
// for it.
type PluginManager interface {
	ListPlugins(ctx context.Context, h Host) ([]settings.Plugin, error)
	// InstallPlugin installs the plugin that the agent calls id and returns what is installed. A command that
	// reports success and installs nothing is an error.
	InstallPlugin(ctx context.Context, h Host, id string, o settings.PluginOptions) (settings.Plugin, error)
	UninstallPlugin(ctx context.Context, h Host, id string, o settings.PluginOptions) error
}

// PluginUpdater is an agent whose command updates plugins.
type PluginUpdater interface {
	// UpdatePlugin installs the latest version of a plugin, if there is a newer one, and returns what is installed.
	UpdatePlugin(ctx context.Context, h Host, id string, o settings.PluginOptions) (settings.Plugin, error)
}

// PluginSwitcher is an agent whose command disables plugins and enables them again.
type PluginSwitcher interface {
	// SwitchPlugin enables or disables an installed plugin, and returns it. One that is already so stays so.
	SwitchPlugin(ctx context.Context, h Host, id string, on bool, o settings.PluginOptions) (settings.Plugin, error)
}

// PluginSearcher is an agent whose plugins can be searched for.
type PluginSearcher interface {
	// SearchPlugins lists the installable plugins whose name or description contains the query; all if it is
	// empty.
	SearchPlugins(ctx context.Context, h Host, query string) ([]settings.PluginListing, error)
}

// SkillKeeper is an agent that reads skills and sub-agents from folders by convention. The methods perform no
// I/O.
type SkillKeeper interface {
	// SkillFolder returns where the agent reads skills in a scope, SubagentFolder where it reads sub-agents;
	// false if it reads none. dir is the project.
	SkillFolder(h Host, scope settings.Scope, dir string) (settings.Folder, bool)
	SubagentFolder(h Host, scope settings.Scope, dir string) (settings.Folder, bool)
}
