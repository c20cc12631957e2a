package agentconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/settings"
)

// Change describes an edit of one file. Apply gets the file's text at the time of writing.
type Change struct {
	File   File
	Path   configfile.Path // full path in the file
	Value  any
	Remove bool
	// New refuses to replace an existing value: adding a server must not overwrite another.
	New string
}

// Apply edits a document and reports whether it changed.
func (ch Change) Apply(d *configfile.Document) (changed bool, err error) {
	before := d.Bytes()
	if ch.Remove {
		_, err = d.Unset(ch.Path)
	} else {
		if _, there := d.Get(ch.Path); there && ch.New != "" {
			return false, execution.Errorf(execution.CodeConfig, "%s has %s already", ch.File.Name, ch.New).
				WithHint("remove it first, or choose another name")
		}
		err = d.Set(ch.Path, ch.Value)
	}
	if err != nil {
		return false, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	return string(before) != string(d.Bytes()), nil
}

// Set returns the change that sets a target in one scope. The value is checked against the schema: the error is a
// VALIDATION_ERROR that lists every fault, or a CAPABILITY_ERROR for a scope that the agent does not have.
func (c *Config) Set(t Target, value any, scope settings.Scope) (Change, error) {
	if t.whole() && t.Field.Type == settings.TypeMCPServers {
		return Change{}, execution.Errorf(execution.CodeValidation, "%s is set server by server", t.Name).
			WithHint("drawbar mcp add %s NAME -- COMMAND", c.Schema.Agent)
	}
	if t.whole() {
		native, faults := check(*t.Field, value)
		if len(faults) > 0 {
			return Change{}, validation(c.Schema.Agent, faults)
		}
		value = native
	}
	f, err := c.file(t, scope)
	if err != nil {
		return Change{}, err
	}
	return Change{File: *f, Path: slices.Concat(f.Keys, t.Path), Value: value}, nil
}

// Unset returns the changes that remove a target from one scope: one for each file of that scope that contains it.
func (c *Config) Unset(t Target, scope settings.Scope) ([]Change, error) {
	if _, err := c.file(t, scope); err != nil {
		return nil, err
	}
	var changes []Change
	for i := range c.Files {
		f := &c.Files[i]
		if f.ID != t.File || f.Scope != scope {
			continue
		}
		if f.Err != nil {
			return nil, f.Err
		}
		if _, ok := f.get(t.Path); ok {
			changes = append(changes, Change{File: *f, Path: slices.Concat(f.Keys, t.Path), Remove: true})
		}
	}
	return changes, nil
}

// file returns where a target is written in a scope: the file that contains it, else the scope's first file.
func (c *Config) file(t Target, scope settings.Scope) (*File, error) {
	if scope == settings.Both || scope == "" {
		scope = settings.Global
	}
	if t.Field != nil && scope == settings.Project && t.Field.Scope == settings.Global || t.Field != nil && scope == settings.Global && t.Field.Scope == settings.Project {
		return nil, c.noScope(t, scope)
	}
	var first *File
	for i := range c.Files {
		f := &c.Files[i]
		if f.ID != t.File || f.Scope != scope {
			continue
		}
		if _, ok := f.get(t.Path); ok {
			return f, nil
		}
		first = f // the list runs from the last to the first file of a scope
	}
	if first == nil {
		return nil, c.noScope(t, scope)
	}
	return first, nil
}

func (c *Config) noScope(t Target, scope settings.Scope) error {
	var have []string
	for _, f := range c.Files {
		s := string(f.Scope)
		if f.ID == t.File && !slices.Contains(have, s) && (t.Field == nil || t.Field.Scope == settings.Both || t.Field.Scope == f.Scope) {
			have = append(have, s)
		}
	}
	return (&execution.Error{Code: execution.CodeCapability, Agent: c.Schema.Agent, Capability: "config:" + string(scope),
		Message: fmt.Sprintf("%s has no %s in the scope %s", c.Schema.Agent, t.Name, scope)}).WithHint("--scope %s", strings.Join(have, " or "))
}

// AddMCPServer returns the change that adds a server to a scope. If the scope has a server of that name, the error is
// a CONFIG_ERROR.
func (c *Config) AddMCPServer(m execution.MCPServer, scope settings.Scope) (Change, error) {
	t, err := c.mcpField()
	if err != nil {
		return Change{}, err
	}
	if err := m.Validate(); err != nil {
		return Change{}, err
	}
	value, err := encode(c.Schema.MCP, c.Schema.Agent, m)
	if err != nil {
		return Change{}, err
	}
	have, err := c.MCPServers(scope)
	if err != nil {
		return Change{}, err
	}
	for _, h := range have {
		if h.Name == m.Name {
			return Change{}, execution.Errorf(execution.CodeConfig, "%s has an MCP server %s already, in %s", c.Schema.Agent, m.Name, h.File).
				WithHint("drawbar mcp remove %s %s --scope %s", c.Schema.Agent, m.Name, scope)
		}
	}
	// The next server goes where the others are.
	f, err := c.file(t, scope)
	if err != nil {
		return Change{}, err
	}
	return Change{File: *f, Path: slices.Concat(f.Keys, t.Path, configfile.Path{m.Name}), Value: value, New: "an MCP server " + m.Name}, nil
}

// RemoveMCPServer returns the changes that remove a server from a scope. A missing server is a CONFIG_ERROR.
func (c *Config) RemoveMCPServer(name string, scope settings.Scope) ([]Change, error) {
	t, err := c.mcpField()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, execution.Errorf(execution.CodeValidation, "the MCP server needs a name")
	}
	sub := c.target(*t.Field, configfile.Path{name})
	changes, err := c.Unset(sub, scope)
	if err != nil || len(changes) > 0 {
		return changes, err
	}
	e := execution.Errorf(execution.CodeConfig, "%s has no MCP server %q in the scope %s", c.Schema.Agent, name, scope)
	all, err := c.MCPServers("")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range all {
		if m.Name == name {
			return nil, e.WithHint("it is in the scope %s: --scope %s", m.Scope, m.Scope)
		}
		names = append(names, m.Name)
	}
	if meant := near.Word(name, names); meant != "" {
		return nil, e.WithHint("do you mean %s?", meant)
	}
	return nil, e.WithHint("drawbar mcp list %s", c.Schema.Agent)
}
