package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
)

const mcpForm = `the expected form is {"mcpServers": {"name": {"command": "...", "args": []}}}`

// ReadMCP reads MCP servers from a file in the form that agents share: an object mcpServers with a server per name. Unknown
// members are errors. Errors name the flag.
func ReadMCP(flag, path string) ([]execution.MCPServer, error) {
	b, err := ReadFlag(flag, path, maxFlagFile)
	if err != nil {
		return nil, err
	}
	type server struct {
		Type    string            `json:"type"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	var doc struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := strict(b, &doc); err != nil {
		return nil, Usage("%s %s: %v", flag, path, err).WithHint(mcpForm)
	}
	if len(doc.Servers) == 0 {
		return nil, Usage("%s %s names no servers", flag, path).WithHint(mcpForm)
	}
	var list []execution.MCPServer
	for _, name := range slices.Sorted(maps.Keys(doc.Servers)) {
		var s server
		if err := strict(doc.Servers[name], &s); err != nil {
			return nil, Usage("%s %s: server %s: %v", flag, path, name, err).WithHint(mcpForm)
		}
		if s.Command == "" && s.URL == "" {
			return nil, Usage("%s %s: server %s has neither a command nor a url", flag, path, name).WithHint(mcpForm)
		}
		m := execution.MCPServer{Name: name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers}
		switch s.Type {
		case "stdio":
			m.Transport = execution.MCPStdio
		case "http", "streamable-http":
			m.Transport = execution.MCPStreamableHTTP
		case "sse":
			m.Transport = execution.MCPSSE
		case "":
			m.Transport = execution.MCPStdio
			if s.URL != "" {
				m.Transport = execution.MCPStreamableHTTP
			}
		default:
			return nil, Usage("%s %s: server %s has the type %q", flag, path, name, s.Type).WithHint("stdio, http or sse")
		}
		list = append(list, m)
	}
	return list, nil
}

// strict decodes JSON without unknown members. Its errors name JSON types instead of Go types.
func strict(b []byte, v any) error {
	err := exactjson.Decode(b, v, nil)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		place := wrong.Field
		if place == "" {
			place = "the value"
		}
		return fmt.Errorf("%s cannot be of type %s", place, wrong.Value)
	}
	return err
}
