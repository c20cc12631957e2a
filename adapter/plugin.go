package adapter

import "context"

// PluginManager is an agent whose plugins are managed by its own command. The methods run it to its end through the host.
type PluginManager interface {
	ListPlugins(ctx context.Context, h Host) ([]InstalledPlugin, error)
	// InstallPlugin installs what id names in the agent's own words and says what is there then. A command that claims to have
	// succeeded and leaves nothing behind is an error.
	InstallPlugin(ctx context.Context, h Host, id string, o PluginOptions) (InstalledPlugin, error)
	UninstallPlugin(ctx context.Context, h Host, id string) error
}

// PluginSearcher is an agent whose plugins can be searched for.
type PluginSearcher interface {
	// SearchPlugins lists plugins that can be installed and whose name or description has the query, all with an empty one.
	SearchPlugins(ctx context.Context, h Host, query string) ([]PluginListing, error)
}

// PluginOptions say how a plugin is installed.
type PluginOptions struct {
	// Consent says that the person accepts that a plugin is a program of somebody else, for agents that ask.
	Consent bool
}

// The formats of plugins.
const (
	PluginDirectory = "skill-directory" // a folder with skills, commands, hooks and servers
	PluginExtension = "extension"       // a folder with a manifest, skills, commands and servers
)

// InstalledPlugin is a plugin that an agent has.
type InstalledPlugin struct {
	PluginID    string `json:"pluginId"` // what uninstalls it
	Name        string `json:"name"`
	Version     string `json:"version"`
	Agent       string `json:"agent"`
	Format      string `json:"format"`
	Description string `json:"description,omitempty"`
	InstalledAt string `json:"installedAt,omitempty"` // empty where the agent does not say it
	Enabled     bool   `json:"enabled"`
}

// PluginListing is a plugin that can be installed.
type PluginListing struct {
	PluginID      string   `json:"pluginId"` // what installs it
	Name          string   `json:"name"`
	LatestVersion string   `json:"latestVersion"` // empty where the agent does not say it
	Description   string   `json:"description"`
	Author        string   `json:"author"`
	Agents        []string `json:"agents"`
	Formats       []string `json:"formats"`
	Registry      string   `json:"registry"`
	Tags          []string `json:"tags"`
	URL           string   `json:"url"`
}
