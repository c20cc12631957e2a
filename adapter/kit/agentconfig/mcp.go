package agentconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// MCPServer is a server as an agent configures it, and its origin.
type MCPServer struct {
	execution.MCPServer
	Scope  settings.Scope `json:"scope"`
	File   string         `json:"file"`
	Native map[string]any `json:"native,omitempty"` // keys without a Drawbar name: timeout, trust, tools
	Error  string         `json:"error,omitempty"`  // why the entry cannot be read
}

// mcpField returns the field that contains the servers.
func (c *Config) mcpField() (Target, error) {
	for _, f := range c.Schema.Fields {
		if f.Type == settings.TypeMCPServers && c.Schema.MCP != nil {
			return c.target(f, nil), nil
		}
	}
	return Target{}, &execution.Error{Code: execution.CodeCapability, Agent: c.Schema.Agent, Capability: "mcp",
		Message: fmt.Sprintf("%s has no MCP servers in its configuration", c.Schema.Agent)}
}

// MCPServers returns the servers of all scopes, or of one, by name; the narrowest scope comes first among servers of
// one name.
func (c *Config) MCPServers(scope settings.Scope) ([]MCPServer, error) {
	t, err := c.mcpField()
	if err != nil {
		return nil, err
	}
	list := []MCPServer{}
	for _, f := range slices.Backward(c.Files) {
		if f.ID != t.File || scope != "" && f.Scope != scope {
			continue
		}
		if f.Err != nil {
			return nil, f.Err
		}
		v, _ := f.get(t.Path)
		if v == nil {
			continue
		}
		servers, ok := v.(map[string]any)
		if !ok {
			return nil, execution.Errorf(execution.CodeConfig, "%s: %s is not an object of servers by name", f.Name, slices.Concat(f.Keys, t.Path)).
				WithHint("repair the file by hand")
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			if isOther(c.Schema.MCP, servers[name]) {
				continue
			}
			m := MCPServer{Scope: f.Scope, File: f.Name}
			m.Name = name
			if err := decode(c.Schema.MCP, servers[name], &m); err != nil {
				m.Error = err.Error()
			}
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// isOther reports an entry that is no server.
func isOther(s *settings.MCPShape, v any) bool {
	entry, _ := v.(map[string]any)
	word, _ := entry["type"].(string)
	return word != "" && slices.Contains(s.Other, word)
}

// commandKey and envKey return the names of the command and of its variables.
func commandKey(k settings.MCPKind) string { return cmp.Or(k.Command, "command") }
func envKey(k settings.MCPKind) string     { return cmp.Or(k.Env, "env") }

// decode reads one server.
func decode(s *settings.MCPShape, v any, m *MCPServer) error {
	entry, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("the entry is not an object")
	}
	rest := maps.Clone(entry)
	take := func(key string) any { v := rest[key]; delete(rest, key); return v }
	word, _ := entry["type"].(string)
	i := slices.IndexFunc(s.Kinds, func(k settings.MCPKind) bool {
		if word != "" {
			return word == k.Type || slices.Contains(k.Aliases, word)
		}
		if k.URL == "" {
			_, has := entry[commandKey(k)]
			return has
		}
		_, has := entry[k.URL]
		return has
	})
	m.Native = rest
	if i < 0 {
		if word != "" {
			return fmt.Errorf("the type %q is unknown", word)
		}
		return fmt.Errorf("it has neither a command nor an address")
	}
	k := s.Kinds[i]
	delete(rest, "type")
	m.Transport = k.Transport
	var err error
	if k.URL == "" {
		if err := decodeCommand(k, take, m); err != nil {
			return err
		}
	} else {
		m.URL, _ = take(k.URL).(string)
		if k.Headers != "" {
			if m.Headers, err = textMap(take(k.Headers)); err != nil {
				return fmt.Errorf("%s: %w", k.Headers, err)
			}
		}
	}
	if rest[k.Name] == m.Name {
		delete(rest, k.Name)
	}
	if len(rest) == 0 {
		m.Native = nil
	}
	if m.Command == "" && m.URL == "" {
		return fmt.Errorf("it has neither a command nor an address")
	}
	return nil
}

// decodeCommand reads the command of a server, its arguments and its variables.
func decodeCommand(k settings.MCPKind, take func(string) any, m *MCPServer) (err error) {
	if k.Line {
		words, err := texts(take(commandKey(k)))
		if err != nil {
			return fmt.Errorf("%s: %w", commandKey(k), err)
		}
		if len(words) > 0 {
			m.Command, m.Args = words[0], words[1:]
		}
	} else {
		m.Command, _ = take(commandKey(k)).(string)
		if m.Args, err = texts(take("args")); err != nil {
			return fmt.Errorf("args: %w", err)
		}
	}
	if m.Env, err = textMap(take(envKey(k))); err != nil {
		return fmt.Errorf("%s: %w", envKey(k), err)
	}
	return nil
}

func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("is not a list")
	}
	var out []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("contains a %T, not a string", item)
		}
		out = append(out, s)
	}
	return out, nil
}

func textMap(v any) (map[string]string, error) {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("is not an object")
	}
	var out map[string]string
	for k, item := range m {
		if out == nil {
			out = map[string]string{}
		}
		switch item := item.(type) {
		case string:
			out[k] = item
		case int64, float64, bool:
			out[k] = fmt.Sprint(item)
		default:
			return nil, fmt.Errorf("%s is not a string", k)
		}
	}
	return out, nil
}

// encode writes a server in the agent's format.
func encode(s *settings.MCPShape, agent string, m execution.MCPServer) (configfile.Pairs, error) {
	i := slices.IndexFunc(s.Kinds, func(k settings.MCPKind) bool { return k.Transport == m.Transport })
	if i < 0 {
		var can []string
		for _, k := range s.Kinds {
			can = append(can, string(k.Transport))
		}
		return nil, (&execution.Error{Code: execution.CodeCapability, Agent: agent, Capability: "mcp:" + string(m.Transport),
			Message: fmt.Sprintf("%s supports no MCP servers of the transport %s in its configuration", agent, m.Transport)}).
			WithHint("it supports %s", strings.Join(can, ", "))
	}
	k := s.Kinds[i]
	var p configfile.Pairs
	if k.Type != "" {
		p = append(p, configfile.Pair{Key: "type", Value: k.Type})
	}
	if k.Name != "" {
		p = append(p, configfile.Pair{Key: k.Name, Value: m.Name})
	}
	if k.URL == "" {
		if k.Line {
			p = append(p, configfile.Pair{Key: commandKey(k), Value: append([]string{m.Command}, m.Args...)})
		} else {
			p = append(p, configfile.Pair{Key: commandKey(k), Value: m.Command}, configfile.Pair{Key: "args", Value: append([]string{}, m.Args...)})
		}
		if len(m.Env) > 0 {
			p = append(p, configfile.Pair{Key: envKey(k), Value: m.Env})
		}
	} else {
		p = append(p, configfile.Pair{Key: k.URL, Value: m.URL})
		if len(m.Headers) > 0 {
			if k.Headers == "" {
				return nil, &execution.Error{Code: execution.CodeCapability, Agent: agent, Capability: "mcp:headers",
					Message: fmt.Sprintf("%s supports no headers for MCP servers of the transport %s", agent, m.Transport)}
			}
			p = append(p, configfile.Pair{Key: k.Headers, Value: m.Headers})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.Constant)) {
		p = append(p, configfile.Pair{Key: key, Value: k.Constant[key]})
	}
	return p, nil
}
