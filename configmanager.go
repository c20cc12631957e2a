package drawbar

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/settings"
)

// ConfigManager reads and changes the agents' own configuration files. It caches nothing: every call reads the
// files as they are. Values are returned as stored, secrets included; use the Masked methods of the returned
// values to hide them.
//
// A change locks the file (FILE.lock), replaces it atomically, and keeps every byte outside the change,
// including comments, order and unknown keys. A file that cannot be parsed is never modified. Errors are
// *execution.Error: CONFIG_ERROR for files, CONFIG_LOCK_ERROR (recoverable) when another process holds the
// lock, VALIDATION_ERROR for values, CAPABILITY_ERROR when the agent has no such setting, AGENT_NOT_FOUND.
type ConfigManager struct{ client *Client }

// Config returns access to the agents' configuration files. Configured reads Drawbar's own.
func (c *Client) Config() ConfigManager { return ConfigManager{c} }

// ConfigPlace selects the configuration to use.
type ConfigPlace struct {
	// Project is the project directory; empty means the current directory.
	Project string
	// Scope limits reads to one scope and selects the scope to write; empty reads all and writes global.
	Scope settings.Scope
}

// Load reads an agent's files, for questions that the other methods do not answer.
func (m ConfigManager) Load(agent string, at ConfigPlace) (*agentconfig.Config, error) {
	e, err := m.client.registry.Get(agent)
	if err != nil {
		return nil, err
	}
	switch at.Scope {
	case "", settings.Global, settings.Project, settings.Local:
	default:
		return nil, execution.Errorf(execution.CodeValidation, "%q is not a scope", at.Scope).WithHint("global, project or local")
	}
	project := at.Project
	if project == "" {
		if project, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "read the current directory: %w", err).WithHint("specify the project directory")
		}
	}
	if project, err = filepath.Abs(project); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "the project %s: %w", at.Project, err)
	}
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		return nil, execution.Errorf(execution.CodeValidation, "the project %s is not a directory", project)
	}
	return agentconfig.Load(m.client.host, e.Descriptor.Config, project)
}

// Resolve returns the field that a name refers to in an agent's configuration. If the name is one of Drawbar's
// and the agent has no setting for it, the error is a CAPABILITY_ERROR that lists the agents that have one.
func (m ConfigManager) Resolve(c *agentconfig.Config, name string) (agentconfig.Target, error) {
	t, err := c.Resolve(name)
	e, ok := errors.AsType[*execution.Error](err)
	if !ok || e.Code != execution.CodeCapability {
		return t, err
	}
	var can []string
	for _, i := range m.client.registry.List() {
		if other, err := m.client.registry.Get(i.Agent); err == nil {
			if _, has := other.Descriptor.Config.Field(e.Capability); has {
				can = append(can, i.Agent)
			}
		}
	}
	if len(can) == 0 {
		return t, err
	}
	return t, e.WithHint("agents with this setting: %s", strings.Join(can, ", "))
}

// Schema returns the fields that can be configured.
func (m ConfigManager) Schema(agent string) (settings.Schema, error) {
	e, err := m.client.registry.Get(agent)
	return e.Descriptor.Config, err
}

// Get returns the configuration of all scopes, merged: the narrower scope wins for scalars and lists; objects
// are merged.
func (m ConfigManager) Get(agent string, at ConfigPlace) (agentconfig.AgentConfig, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return agentconfig.AgentConfig{}, err
	}
	return c.Agent()
}

// GetField returns one value and whether it is set. The name is a field of the schema, a part of an object
// (env.NAME), or one of the agent's own keys prefixed with "native.".
func (m ConfigManager) GetField(agent, name string, at ConfigPlace) (any, bool, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, false, err
	}
	t, err := m.Resolve(c, name)
	if err != nil {
		return nil, false, err
	}
	return c.Get(t, at.Scope)
}

// Set writes several fields in one scope and returns the files that changed. Objects are merged into the
// existing ones; lists and scalars are replaced. Every value is checked before the first file is written.
func (m ConfigManager) Set(ctx context.Context, agent string, values map[string]any, at ConfigPlace) ([]string, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	var changes []agentconfig.Change
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t, err := m.Resolve(c, name)
		if err != nil {
			return nil, err
		}
		ch, err := c.Set(t, values[name], at.Scope)
		if err != nil {
			return nil, err
		}
		changes = append(changes, ch)
	}
	return m.write(ctx, changes)
}

// SetField writes one field; see Set.
func (m ConfigManager) SetField(ctx context.Context, agent, name string, value any, at ConfigPlace) ([]string, error) {
	return m.Set(ctx, agent, map[string]any{name: value}, at)
}

// Unset removes a field from one scope and returns the files that changed: none if the field was not set there.
func (m ConfigManager) Unset(ctx context.Context, agent, name string, at ConfigPlace) ([]string, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	t, err := m.Resolve(c, name)
	if err != nil {
		return nil, err
	}
	changes, err := c.Unset(t, place(at))
	if err != nil {
		return nil, err
	}
	return m.write(ctx, changes)
}

// Validate checks the files against the schema. Findings are in the answer, not in the error.
func (m ConfigManager) Validate(agent string, at ConfigPlace) (agentconfig.Validation, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return agentconfig.Validation{}, err
	}
	return c.Validate(), nil
}

// MCPServers returns an agent's configured MCP servers, sorted by name. If two share a name, the effective one
// comes first.
func (m ConfigManager) MCPServers(agent string, at ConfigPlace) ([]agentconfig.MCPServer, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	return c.MCPServers(at.Scope)
}

// AddMCPServer adds a server to one scope, in the agent's own format. It fails with CONFIG_ERROR if the scope
// already has a server of that name.
func (m ConfigManager) AddMCPServer(ctx context.Context, agent string, server execution.MCPServer, at ConfigPlace) ([]string, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	ch, err := c.AddMCPServer(server, place(at))
	if err != nil {
		return nil, err
	}
	return m.write(ctx, []agentconfig.Change{ch})
}

// RemoveMCPServer removes a server from one scope. It fails with CONFIG_ERROR if there is no such server.
func (m ConfigManager) RemoveMCPServer(ctx context.Context, agent, name string, at ConfigPlace) ([]string, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	changes, err := c.RemoveMCPServer(name, place(at))
	if err != nil {
		return nil, err
	}
	return m.write(ctx, changes)
}

// ModelSelection is the model that an agent uses when a run names none, according to its configuration.
type ModelSelection struct {
	ConfiguredModel    string `json:"configuredModel,omitempty"`
	ConfiguredProvider string `json:"configuredProvider,omitempty"`
	DefaultModel       string `json:"defaultModel,omitempty"`   // declared by the adapter
	EffectiveModel     string `json:"effectiveModel,omitempty"` // empty: the agent chooses
}

// ModelSelection reads the agent's model selection.
func (m ConfigManager) ModelSelection(agent string, at ConfigPlace) (ModelSelection, error) {
	e, err := m.client.registry.Get(agent)
	if err != nil {
		return ModelSelection{}, err
	}
	c, err := m.Get(agent, at)
	if err != nil {
		return ModelSelection{}, err
	}
	s := ModelSelection{DefaultModel: e.Descriptor.DefaultModel}
	s.ConfiguredModel, _ = c.Values["model"].(string)
	s.ConfiguredProvider, _ = c.Values["provider"].(string)
	if s.EffectiveModel = s.ConfiguredModel; s.EffectiveModel == "" {
		s.EffectiveModel = s.DefaultModel
	}
	return s, nil
}

// SetModelSelection sets the model, and the provider if it is not empty.
func (m ConfigManager) SetModelSelection(ctx context.Context, agent, model, provider string, at ConfigPlace) ([]string, error) {
	values := map[string]any{"model": model}
	if provider != "" {
		values["provider"] = provider
	}
	return m.Set(ctx, agent, values, at)
}

func place(at ConfigPlace) settings.Scope {
	if at.Scope == "" {
		return settings.Global
	}
	return at.Scope
}

// write applies changes; all changes of one file are written together.
func (m ConfigManager) write(ctx context.Context, changes []agentconfig.Change) ([]string, error) {
	if reflect.TypeOf(m.client.host.FS) != reflect.TypeOf(oshost.New(nil).FS) {
		return nil, execution.Errorf(execution.CodeConfig, "the client's host is not this machine: configuration cannot be written there")
	}
	changed := []string{}
	for len(changes) > 0 {
		file := changes[0].File
		var now, later []agentconfig.Change
		for _, ch := range changes {
			if ch.File.Name == file.Name {
				now = append(now, ch)
			} else {
				later = append(later, ch)
			}
		}
		changes = later
		o := configstore.Options{Within: file.Root}
		if file.Root != "" && file.Scope == settings.Project {
			o.Mode = 0o644 // the project's files are shared
		}
		did, err := configstore.Edit(ctx, file.Name, configfile.Format(file.Format), func(d *configfile.Document) (bool, error) {
			any := false
			for _, ch := range now {
				did, err := ch.Apply(d)
				if err != nil {
					return false, err
				}
				any = any || did
			}
			return any, nil
		}, o)
		if did {
			changed = append(changed, file.Name)
		}
		if err != nil {
			if len(changed) > 0 {
				err = errors.Join(err, execution.Errorf(execution.CodeConfig, "already changed: %v", changed))
			}
			return changed, err
		}
	}
	return changed, nil
}
