package drawbar

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// Plugins manages the plugins of agents with the agents' own commands. What an agent's command cannot do is a
// CAPABILITY_ERROR whose hint names the agents that can. It is safe for concurrent use.
type Plugins struct {
	registry *catalog.Registry
	host     adapter.Host
}

// Plugins returns the plugins of the agents.
func (c *Client) Plugins() Plugins { return Plugins{c.registry, c.host} }

// PluginQuery selects plugins to install.
type PluginQuery struct {
	Text     string // in the id or the description; empty for all
	Format   string // one of PluginListing.Formats; empty for all
	Registry string // PluginListing.Registry; empty for all
	Limit    int    // 1 to MaxPluginLimit; 0 for DefaultPluginLimit
}

// The limits of a search.
const (
	DefaultPluginLimit = 25
	MaxPluginLimit     = 200
)

// PluginInfo is what an agent knows of one plugin.
type PluginInfo struct {
	Installed []settings.Plugin        `json:"installed"` // one per scope
	Available []settings.PluginListing `json:"available"` // one per registry; empty if the agent has no search
}

// List lists the installed plugins of an agent.
func (p Plugins) List(ctx context.Context, agent string) ([]settings.Plugin, error) {
	m, err := capable[adapter.PluginManager](p.registry, agent, "plugins that its own command manages", "plugins")
	if err != nil {
		return nil, err
	}
	return m.ListPlugins(ctx, p.host)
}

// Search lists plugins that an agent can install.
func (p Plugins) Search(ctx context.Context, agent string, q PluginQuery) ([]settings.PluginListing, error) {
	if q.Limit < 0 || q.Limit > MaxPluginLimit {
		return nil, execution.Errorf(execution.CodeValidation, "limit %d is out of range: want 1 to %d", q.Limit, MaxPluginLimit)
	}
	s, err := capable[adapter.PluginSearcher](p.registry, agent, "search for plugins", "plugins.search")
	if err != nil {
		return nil, err
	}
	found, err := s.SearchPlugins(ctx, p.host, q.Text)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l settings.PluginListing) bool {
		return q.Format != "" && !slices.Contains(l.Formats, q.Format) || q.Registry != "" && l.Registry != q.Registry
	})
	return found[:min(len(found), cmp.Or(q.Limit, DefaultPluginLimit))], nil
}

// Install installs a plugin; id is written as the agent expects it.
func (p Plugins) Install(ctx context.Context, agent, id string, o settings.PluginOptions) (settings.Plugin, error) {
	m, err := capable[adapter.PluginManager](p.registry, agent, "plugins that its own command manages", "plugins")
	if err != nil {
		return settings.Plugin{}, err
	}
	return m.InstallPlugin(ctx, p.host, id, o)
}

// Uninstall removes a plugin.
func (p Plugins) Uninstall(ctx context.Context, agent, id string, o settings.PluginOptions) error {
	m, err := capable[adapter.PluginManager](p.registry, agent, "plugins that its own command manages", "plugins")
	if err != nil {
		return err
	}
	return m.UninstallPlugin(ctx, p.host, id, o)
}

// Update installs the latest version of a plugin.
func (p Plugins) Update(ctx context.Context, agent, id string, o settings.PluginOptions) (settings.Plugin, error) {
	u, err := capable[adapter.PluginUpdater](p.registry, agent, "command that updates plugins", "plugins.update")
	if err != nil {
		return settings.Plugin{}, err
	}
	return u.UpdatePlugin(ctx, p.host, id, o)
}

// Enable enables a disabled plugin.
func (p Plugins) Enable(ctx context.Context, agent, id string, o settings.PluginOptions) (settings.Plugin, error) {
	return p.turn(ctx, agent, id, true, o)
}

// Disable keeps a plugin installed and unused.
func (p Plugins) Disable(ctx context.Context, agent, id string, o settings.PluginOptions) (settings.Plugin, error) {
	return p.turn(ctx, agent, id, false, o)
}

func (p Plugins) turn(ctx context.Context, agent, id string, on bool, o settings.PluginOptions) (settings.Plugin, error) {
	s, err := capable[adapter.PluginSwitcher](p.registry, agent, "command that enables and disables plugins", "plugins.enable")
	if err != nil {
		return settings.Plugin{}, err
	}
	return s.SwitchPlugin(ctx, p.host, id, on, o)
}

// Info returns what an agent knows of a plugin, found by its id or name. The error is PLUGIN_ERROR for an unknown one.
func (p Plugins) Info(ctx context.Context, agent, id string) (PluginInfo, error) {
	installed, err := p.List(ctx, agent)
	if err != nil {
		return PluginInfo{}, err
	}
	info := PluginInfo{Installed: []settings.Plugin{}, Available: []settings.PluginListing{}}
	for _, i := range installed {
		if i.PluginID == id || i.Name == id {
			info.Installed = append(info.Installed, i)
		}
	}
	if s, err := capable[adapter.PluginSearcher](p.registry, agent, "", ""); err == nil {
		name, _, _ := strings.Cut(id, "@")
		found, err := s.SearchPlugins(ctx, p.host, name)
		if err != nil && len(info.Installed) == 0 {
			return PluginInfo{}, err
		}
		for _, l := range found {
			if l.PluginID == id || l.Name == id {
				info.Available = append(info.Available, l)
			}
		}
	}
	if len(info.Installed)+len(info.Available) == 0 {
		e := execution.Errorf(execution.CodePlugin, "%s knows no plugin %s", agent, id)
		e.Agent = agent
		return PluginInfo{}, e.WithHint("drawbar plugins list %s", agent)
	}
	return info, nil
}

// capable returns an agent as a T. If it does not implement T, the error says that it has no WHAT, and names those that do.
func capable[T any](r *catalog.Registry, agent, what, capability string) (T, error) {
	var none T
	e, err := r.Get(agent)
	if err != nil {
		return none, err
	}
	if t, ok := adapter.As[T](e.Adapter); ok {
		return t, nil
	}
	var able []string
	for _, info := range r.List() {
		if other, err := r.Get(info.Agent); err == nil {
			if _, ok := adapter.As[T](other.Adapter); ok {
				able = append(able, info.Agent)
			}
		}
	}
	lacks := execution.Errorf(execution.CodeCapability, "%s has no %s", e.Descriptor.Name, what)
	lacks.Agent, lacks.Capability = e.Descriptor.Name, capability
	return none, lacks.WithHint("supported by: %s", strings.Join(able, ", "))
}
