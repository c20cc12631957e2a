package pi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// gate is the extension of a run. It attaches the run's MCP servers, and asks for permission, as Pi has no approvals of its own: by a dialog
// whose title is gateTitle, and about reading only if everything is asked. Servers that cannot be attached are a notice that begins with
// gateFault.
//
//go:embed gate.js
var gate string

const (
	gateTitle = "drawbar:tool"
	gateFault = "drawbar:mcp "
)

// gateFile returns the extension of a run, nil if it has nothing to do.
func gateFile(l *cliagent.Launch) ([]byte, error) {
	req, run, hooked := l.Request, l.Request.Run, l.Hook != nil
	does := map[string]any{}
	if hooked || run.ApprovalMode != execution.ApprovalYolo && run.ApprovalMode != execution.ApprovalDeny || cliagent.Asks(req) {
		does["asks"] = true
		if !hooked {
			does["free"] = slices.Concat(reading, freeTools(req))
		}
	}
	if len(run.MCPServers) > 0 {
		if err := unlikeOwn(l); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(cliagent.MCPFile(run.MCPServers, literal), &does); err != nil {
			panic(err) // it was encoded just now
		}
	}
	if len(does) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(does)
	if err != nil {
		panic(err) // strings always encode
	}
	return []byte(strings.Replace(gate, "const run = {};", "const run = "+string(b)+";", 1)), nil
}

// literal keeps Pi from reading variables and commands in values (docs/mcp.md, configuration rules).
func literal(e *cliagent.MCPEntry) {
	quote := func(values map[string]string) map[string]string {
		values = maps.Clone(values)
		for k, v := range values {
			if v = strings.ReplaceAll(v, "$", "$$"); strings.HasPrefix(v, "!") {
				v = "$" + v
			}
			values[k] = v
		}
		return values
	}
	e.Env, e.Headers = quote(e.Env), quote(e.Headers)
}

// spelled is a name as Pi writes it in the name of a tool.
func spelled(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// freeTools are the tools of the request that need no approval, as Pi names them: the caller chose them.
func freeTools(req execution.Request) (names []string) {
	for _, t := range req.Tools {
		if !t.RequiresApproval {
			names = append(names, tools.MCP.Name(cliagent.CallerTools, t.Name))
		}
	}
	return names
}

// unlikeOwn refuses a server of the run that has the name of one in mcp.json, which Pi would use in its place.
func unlikeOwn(l *cliagent.Launch) error {
	if l.Request.Run.Invocation.Elsewhere() {
		return nil // that file is not on this machine
	}
	userHome := l.Variable("HOME")
	if userHome == "" {
		userHome, _ = os.UserHomeDir() // without a home directory the user has no mcp.json
	}
	for _, path := range []string{home.Path(adapter.Host{Home: userHome, Getenv: l.Variable}, mcpFile), filepath.Join(l.Request.Run.Cwd, ".pi", mcpFile)} {
		data, err := os.ReadFile(path)
		var own struct {
			MCPServers map[string]struct{ Command, URL string }
		}
		if err != nil || json.Unmarshal(data, &own) != nil {
			continue // Pi says what is wrong with it
		}
		for _, m := range l.Request.Run.MCPServers {
			for name, s := range own.MCPServers {
				if spelled(name) == spelled(m.Name) && s.Command+s.URL != "" {
					return execution.Errorf(execution.CodeValidation, "the MCP server %s is in %s too, which takes precedence in pi", m.Name, path).
						WithHint("give the MCP server of the run another name")
				}
			}
		}
	}
	return nil
}
