package declared

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// maxPluginID bounds the name of a plugin, which may be a path or a URL.
const maxPluginID = 1024

// command runs a command of an agent, without a shell and without questions to a person. An error has the code and includes
// the output.
func command(ctx context.Context, h adapter.Host, agent string, code execution.ErrorCode, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
	program := r.Command
	path, err := h.LookPath(program)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return adapter.SpawnOutcome{}, &execution.Error{Code: execution.CodeAgentNotInstalled, Agent: agent, Cause: err,
				Message: fmt.Sprintf("%s is not installed: command %q not found on PATH", agent, program), Hint: "drawbar agents install " + agent}
		}
		return adapter.SpawnOutcome{}, execution.Errorf(execution.CodeSpawn, "find %s: %w", agent, err)
	}
	r.Command = path
	out, err := h.Spawn(ctx, r)
	if err != nil {
		return out, execution.Errorf(code, "%s %s: %w", program, strings.Join(r.Args, " "), err)
	}
	if out.Code != 0 {
		e := execution.Errorf(code, "%s %s ended with exit code %d: %s", program, strings.Join(r.Args, " "), out.Code,
			cmp.Or(lastLines(out.Stderr), lastLines(out.Stdout), "no output"))
		e.Agent = agent
		return out, e
	}
	return out, nil
}

// lastLines returns the end of a command's output.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-5):], "\n"))
}

// checkPluginID refuses names that an agent's command could take for something else.
func checkPluginID(id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return execution.Errorf(execution.CodeValidation, "the plugin has no name")
	case len(id) > maxPluginID:
		return execution.Errorf(execution.CodeValidation, "the plugin name has %d bytes; the limit is %d", len(id), maxPluginID)
	case strings.HasPrefix(id, "-"):
		return execution.Errorf(execution.CodeValidation, "%q is not a plugin name: it starts like a flag", id)
	case strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return execution.Errorf(execution.CodeValidation, "%q is not a plugin name: it contains control characters", id)
	}
	return nil
}

// ParsePlugins decodes a command's JSON output.
func ParsePlugins(agent, output string, v any) error {
	if err := json.Unmarshal([]byte(output), v); err != nil {
		e := execution.Errorf(execution.CodePlugin, "%s printed its list of plugins in an unknown format: %v", agent, err)
		e.Agent = agent
		return e.WithHint("this version of %s may be too new: drawbar doctor", agent)
	}
	return nil
}

// findPlugin finds an installed plugin by id or name, in a scope if the agent states scopes.
func findPlugin(list []settings.Plugin, id string, scope settings.Scope) (settings.Plugin, bool) {
	for _, p := range list {
		if (p.PluginID == id || p.Name == id) && (p.Scope == "" || p.Scope == cmp.Or(scope, settings.Global)) {
			return p, true
		}
	}
	return settings.Plugin{}, false
}

// matchPlugin reports whether a listing's name or description contains a query.
func matchPlugin(l settings.PluginListing, query string) bool {
	query = strings.ToLower(query)
	return strings.Contains(strings.ToLower(l.PluginID), query) || strings.Contains(strings.ToLower(l.Description), query)
}

// missing is the error for an installation that succeeded but is not listed.
func missing(agent, id string, said adapter.SpawnOutcome) error {
	e := execution.Errorf(execution.CodePlugin, "%s reported that it installed %s, but does not list it: %s", agent, id,
		cmp.Or(lastLines(said.Stdout+said.Stderr), "no output"))
	e.Agent = agent
	return e
}

// unchanged is the error for a plugin that a command reported to have switched, and that is listed as before.
func unchanged(agent, id string, said adapter.SpawnOutcome) error {
	e := execution.Errorf(execution.CodePlugin, "%s reported success, but lists %s as before: %s", agent, id,
		cmp.Or(lastLines(said.Stdout+said.Stderr), "no output"))
	e.Agent = agent
	return e
}

// ScopeOf converts an agent's word for a scope, empty for one that is neither the user's nor a project's.
func ScopeOf(word string) settings.Scope {
	return map[string]settings.Scope{"user": settings.Global, "project": settings.Project}[word]
}

// UserAndProject are the scopes of agents with a flag --scope.
func UserAndProject() map[settings.Scope][]string {
	return map[settings.Scope][]string{settings.Global: {"--scope=user"}, settings.Project: {"--scope=project"}}
}

// VersionBehindAt writes a version as packages do: ID@VERSION.
func VersionBehindAt(id, version string) (string, []string) { return id + "@" + version, nil }

// VersionAsRef names a version by the git ref that it is.
func VersionAsRef(id, version string) (string, []string) { return id, []string{"--ref=" + version} }
