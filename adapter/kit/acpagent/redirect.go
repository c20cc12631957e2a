package acpagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// Loopback returns the environment of a redirected agent: NAME=VALUE pairs, a private home, and no proxy for a server on this
// machine.
func Loopback(home string, more ...string) map[string]string {
	env := map[string]string{"HOME": home, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
	for _, pair := range more {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// ScriptedShell returns the scripted calls of a tool that runs its input's command.
func ScriptedShell(tool string) func(command string, ask bool) adapter.ScriptedCall {
	return func(command string, _ bool) adapter.ScriptedCall {
		return cliagent.Scripted(tool, map[string]any{"command": command, "description": "run it"})
	}
}

// ScriptedMCP returns the scripted calls of tools that are named by a format with the server and the tool.
func ScriptedMCP(format string) func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
	return func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
		return adapter.ScriptedCall{Name: fmt.Sprintf(format, server, tool), Input: input}
	}
}
