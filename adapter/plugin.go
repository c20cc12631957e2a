package adapter

import "context"

// PluginManager is an agent whose own command manages its plugins. The methods run it through the host and wait
// for it.
type PluginManager interface {
	ListPlugins(ctx context.Context, h Host) ([]InstalledPlugin, error)
	// InstallPlugin installs the plugin that the agent calls id and returns what is installed. A command that
	// reports success and installs nothing is an error.
	InstallPlugin(ctx context.Context, h Host, id string, o PluginOptions) (InstalledPlugin, error)
	UninstallPlugin(ctx context.Context, h Host, id string, o PluginOptions) error
}

// PluginUpdater is an agent whose command updates plugins.
type PluginUpdater interface {
	// UpdatePlugin installs the latest version of a plugin, if there is a newer one, and returns what is installed.
	UpdatePlugin(ctx context.Context, h Host, id string, o PluginOptions) (InstalledPlugin, error)
}

// PluginSwitcher is an agent whose command disables plugins and enables them again.
type PluginSwitcher interface {
	// SwitchPlugin enables or disables an installed plugin, and returns it. One that is already so stays so.
	SwitchPlugin(ctx context.Context, h Host, id string, on bool, o PluginOptions) (InstalledPlugin, error)
}

// PluginSearcher is an agent whose plugins can be searched for.
type PluginSearcher interface {
	// SearchPlugins lists the installable plugins whose name or description contains the query; all if it is
	// empty.
	SearchPlugins(ctx context.Context, h Host, query string) ([]PluginListing, error)
}

// PluginOptions say which plugin of several to manage, and how to install it. What an agent's command cannot do is a
// CAPABILITY_ERROR.
type PluginOptions struct {
	// Consent says that the person accepts a third-party program, for agents that ask.
	Consent bool
	// Version is the version to install; empty for the agent's choice.
	Version string
	// Scope is the user's settings, which an empty one means, or those of the project in Dir.
	Scope ConfigScope
	Dir   string // absolute
}

// The formats of plugins.
const (
	PluginDirectory = "skill-directory" // a folder with skills, commands, hooks and servers
	PluginExtension = "extension"       // a folder with a manifest, skills, commands and servers
	PluginPackage   = "npm-package"     // a package with a manifest, skills, commands and code
)

// InstalledPlugin is an installed plugin of an agent.
type InstalledPlugin struct {
	PluginID    string `json:"pluginId"` // the id to uninstall it with
	Name        string `json:"name"`
	Version     string `json:"version"`
	Agent       string `json:"agent"`
	Format      string `json:"format"`
	Description string `json:"description,omitempty"`
	InstalledAt string `json:"installedAt,omitempty"` // empty if the agent does not state it
	Enabled     bool   `json:"enabled"`
	// Scope is empty if the agent does not state it.
	Scope ConfigScope `json:"scope,omitempty"`
}

// PluginListing is an installable plugin.
type PluginListing struct {
	PluginID      string   `json:"pluginId"` // the id to install it with
	Name          string   `json:"name"`
	LatestVersion string   `json:"latestVersion"` // empty if the agent does not state it
	Description   string   `json:"description"`
	Author        string   `json:"author"`
	Agents        []string `json:"agents"`
	Formats       []string `json:"formats"`
	Registry      string   `json:"registry"`
	Tags          []string `json:"tags"`
	URL           string   `json:"url"`
}
