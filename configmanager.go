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

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/configstore"
)

// ConfigManager reads and changes the agents' own configuration files. It holds nothing in memory: every call reads the files
// as they are. Values are those of the files, secrets included; the Masked methods of what it returns take them out.
//
// A change locks the file (FILE.lock), replaces it as a whole, and keeps every byte that is not part of the change:
// comments, order, keys nobody knows. A file that cannot be parsed is never touched. Errors are *execution.Error:
// CONFIG_ERROR for files, CONFIG_LOCK_ERROR (recoverable) for a lock that somebody else keeps, VALIDATION_ERROR for
// values, CAPABILITY_ERROR for what an agent has no setting for, AGENT_NOT_FOUND.
type ConfigManager struct{ client *Client }

// Config gives access to the configuration files of the agents. Drawbar's own is read by Configured.
func (c *Client) Config() ConfigManager { return ConfigManager{c} }

// ConfigPlace says whose configuration is meant.
type ConfigPlace struct {
	// Project is the project's directory; empty is the current one.
	Project string
	// Scope narrows reading to one scope, and names the one that is written; empty reads all and writes global.
	Scope adapter.ConfigScope
}

// Load reads the files of an agent, for questions that the other methods do not answer.
func (m ConfigManager) Load(agent string, at ConfigPlace) (*agentconfig.Config, error) {
	e, err := m.client.registry.Get(agent)
	if err != nil {
		return nil, err
	}
	switch at.Scope {
	case "", adapter.ScopeGlobal, adapter.ScopeProject, adapter.ScopeLocal:
	default:
		return nil, execution.Errorf(execution.CodeValidation, "%q is no scope", at.Scope).WithHint("global, project or local")
	}
	project := at.Project
	if project == "" {
		if project, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "the current directory cannot be read: %w", err).WithHint("name the project's")
		}
	}
	if project, err = filepath.Abs(project); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "the project %s: %w", at.Project, err)
	}
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		return nil, execution.Errorf(execution.CodeValidation, "the project %s is no directory", project)
	}
	return agentconfig.Load(m.client.host, e.Descriptor.Config, project)
}

// Resolve says what a name stands for in an agent's configuration. For one of Drawbar's names that the agent has no
// setting for it is a CAPABILITY_ERROR that names the agents that have one.
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
	return t, e.WithHint("these agents have one: %s", strings.Join(can, ", "))
}

// Schema is what can be configured.
func (m ConfigManager) Schema(agent string) (adapter.ConfigSchema, error) {
	e, err := m.client.registry.Get(agent)
	return e.Descriptor.Config, err
}

// Get is the configuration of all scopes, merged: scalars and lists of the narrower scope win, objects are merged.
func (m ConfigManager) Get(agent string, at ConfigPlace) (agentconfig.AgentConfig, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return agentconfig.AgentConfig{}, err
	}
	return c.Agent()
}

// GetField is one value, and whether it is set. The name is a field of the schema, a part of an object (env.NAME), or a
// key of the agent's own behind "native.".
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

// Set gives several fields values, in one scope. Objects are merged into what is there, lists and scalars replace it.
// Every value is checked before the first file is written. The files that changed are the answer.
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

// SetField gives one field a value; see Set.
func (m ConfigManager) SetField(ctx context.Context, agent, name string, value any, at ConfigPlace) ([]string, error) {
	return m.Set(ctx, agent, map[string]any{name: value}, at)
}

// Unset takes a field out of one scope. The files that changed are the answer: none when it was not set there.
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

// Validate holds the files against the schema. What is wrong with them is in the answer, not in the error.
func (m ConfigManager) Validate(agent string, at ConfigPlace) (agentconfig.Validation, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return agentconfig.Validation{}, err
	}
	return c.Validate(), nil
}

// MCPServers are the MCP servers an agent is configured with, by name; of two of one name the one that wins is first.
func (m ConfigManager) MCPServers(agent string, at ConfigPlace) ([]agentconfig.MCPServer, error) {
	c, err := m.Load(agent, at)
	if err != nil {
		return nil, err
	}
	return c.MCPServers(at.Scope)
}

// AddMCPServer adds a server in the agent's own shape, to one scope. One of that name in the scope is a CONFIG_ERROR.
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

// RemoveMCPServer removes a server from one scope. One that is not there is a CONFIG_ERROR.
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

// ModelSelection is which model an agent uses when a run names none, as far as its configuration says.
type ModelSelection struct {
	ConfiguredModel    string `json:"configuredModel,omitempty"`
	ConfiguredProvider string `json:"configuredProvider,omitempty"`
	DefaultModel       string `json:"defaultModel,omitempty"`   // what the adapter declares
	EffectiveModel     string `json:"effectiveModel,omitempty"` // empty: the agent chooses
}

// ModelSelection reads it.
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

// SetModelSelection sets the model, and the provider unless it is empty.
func (m ConfigManager) SetModelSelection(ctx context.Context, agent, model, provider string, at ConfigPlace) ([]string, error) {
	values := map[string]any{"model": model}
	if provider != "" {
		values["provider"] = provider
	}
	return m.Set(ctx, agent, values, at)
}

func place(at ConfigPlace) adapter.ConfigScope {
	if at.Scope == "" {
		return adapter.ScopeGlobal
	}
	return at.Scope
}

// write makes changes, those of one file at once.
func (m ConfigManager) write(ctx context.Context, changes []agentconfig.Change) ([]string, error) {
	if reflect.TypeOf(m.client.host.FS) != reflect.TypeOf(adapter.OSHost(nil).FS) {
		return nil, execution.Errorf(execution.CodeConfig, "the client's host is not this machine: nothing can be written there")
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
		if file.Root != "" && file.Scope == adapter.ScopeProject {
			o.Mode = 0o644 // the project's files are for everybody in it
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
				err = errors.Join(err, execution.Errorf(execution.CodeConfig, "changed before that: %v", changed))
			}
			return changed, err
		}
	}
	return changed, nil
}
