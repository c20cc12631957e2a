package settings

// PluginOptions say which plugin of several to manage, and how to install it. What an agent's command cannot do is a
// CAPABILITY_ERROR.
type PluginOptions struct {
	// Consent says that the person accepts a third-party program, for agents that ask.
	Consent bool
	// Version is the version to install; empty for the agent's choice.
	Version string
	// Scope is the user's settings, which an empty one means, or those of the project in Dir.
	Scope Scope
	Dir   string // absolute
}

// The formats of plugins.
const (
	PluginDirectory = "skill-directory" // a folder with skills, commands, hooks and servers
	PluginExtension = "extension"       // a folder with a manifest, skills, commands and servers
	PluginPackage   = "npm-package"     // a package with a manifest, skills, commands and code
)

// Plugin is an installed plugin of an agent.
type Plugin struct {
	PluginID    string `json:"pluginId"` // the id to uninstall it with
	Name        string `json:"name"`
	Version     string `json:"version"`
	Agent       string `json:"agent"`
	Format      string `json:"format"`
	Description string `json:"description,omitempty"`
	InstalledAt string `json:"installedAt,omitempty"` // empty if the agent does not state it
	Enabled     bool   `json:"enabled"`
	// Scope is empty if the agent does not state it.
	Scope Scope `json:"scope,omitempty"`
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
