package charter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// firstEditionGrace is the time between TERM and KILL for a first-edition role, in milliseconds.
const firstEditionGrace = 5000

// Normalize returns the configuration that all other code uses: roles of the first edition have their own runtime (its
// id is ADAPTER-ROLE), phases are declared even if routing is absent, and every phase's kit lists its artifacts. The
// argument is not changed; a normalized configuration is returned as it is.
func Normalize(c *protocol.Config) *protocol.Config {
	n := *c
	n.Roles, n.Runtimes = c.Roles.Clone(), c.Runtimes.Clone()
	if n.Project.DefaultBranch == "" {
		n.Project.DefaultBranch = "main"
	}
	n.Project.Goal = strings.TrimSpace(n.Project.Goal)
	if n.Template == "" {
		n.Template = "generic"
	}
	if n.Workspace == "" {
		n.Workspace = "shared"
	}
	for id, role := range c.Roles.All() {
		if role.FirstEdition() {
			n.Roles.Set(id, splitRole(&n, id, role))
		}
	}
	for _, id := range n.Runtimes.Keys() {
		n.Runtimes.Set(id, onAdapter(c, n.Runtimes.At(id)))
	}
	if n.Routing == nil || n.Routing.Len() == 0 {
		n.Routing = defaultRouting(&n)
	}
	n.WorkflowKit = expandKit(&n)
	return &n
}

// splitRole moves the settings of a first-edition role into a runtime.
func splitRole(c *protocol.Config, id string, role protocol.Role) protocol.Role {
	rt := onAdapter(c, runtimeOfAdapter(role))
	name := role.Adapter + "-" + id
	have, taken := c.Runtimes.Get(name)
	for i := 2; taken && !sameRuntime(have, rt); i++ {
		name = fmt.Sprintf("%s-%s-%d", role.Adapter, id, i)
		have, taken = c.Runtimes.Get(name)
	}
	c.Runtimes.Set(name, rt)
	role.Runtime = name
	if role.Title == "" {
		role.Title = titleOf(id)
	}
	if role.Mandate == "" {
		role.Mandate = fmt.Sprintf("Perform the role %s.", role.Title)
	}
	if role.WriteAuthority == "" {
		role.WriteAuthority = protocol.Authoritative
		if rt.Type == protocol.RuntimeAPIProxy {
			role.WriteAuthority = protocol.ReviewOnly
		}
	}
	return role
}

// onAdapter completes a runtime whose type is a custom adapter with what the adapter declares.
func onAdapter(c *protocol.Config, rt protocol.Runtime) protocol.Runtime {
	a, ok := c.Adapters.Get(rt.Type)
	if !ok || slices.Contains(RuntimeTypes(), rt.Type) || rt.Adapter != nil {
		return rt
	}
	rt.Adapter, rt.Command, rt.Args, rt.CWD, rt.Env = &a, a.Command, nil, a.CWD, a.Env
	if a.Module != "" {
		rt.Command = protocol.Words{List: []string{"node", a.Module}}
	}
	if rt.TimeoutMS == nil {
		rt.TimeoutMS = a.TimeoutMS
	}
	return rt
}

func sameRuntime(a, b protocol.Runtime) bool {
	if (a.GraceMS == nil) != (b.GraceMS == nil) || !same(a.Temperature, b.Temperature) || !same(a.MaxRetries, b.MaxRetries) {
		return false
	}
	x, errX := protocol.Marshal(a)
	y, errY := protocol.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// runtimeOfAdapter is the runtime that corresponds to a first-edition role's settings. A custom adapter has its name as
// type.
func runtimeOfAdapter(role protocol.Role) protocol.Runtime {
	rt := protocol.Runtime{Type: role.Adapter}
	switch role.Adapter {
	case protocol.RuntimeManual:
		s, _ := decodeRaw[struct {
			Poll    *int `json:"poll_interval_ms"`
			Timeout *int `json:"timeout_ms"`
		}](role.AdapterConfig)
		rt.PollIntervalMS, rt.TimeoutMS = s.Poll, s.Timeout
	case protocol.RuntimeLocalCLI:
		s, _ := decodeRaw[struct {
			Command   protocol.Words           `json:"command"`
			Args      []string                 `json:"args"`
			CWD       string                   `json:"cwd"`
			Transport string                   `json:"prompt_transport"`
			Timeout   *int                     `json:"timeout_ms"`
			Env       protocol.Ordered[string] `json:"env"`
		}](role.AdapterConfig)
		grace := firstEditionGrace
		rt.Command, rt.Args, rt.CWD, rt.TimeoutMS, rt.Env, rt.GraceMS = s.Command, s.Args, s.CWD, s.Timeout, s.Env, &grace
		if rt.PromptTransport = s.Transport; rt.PromptTransport == "" {
			rt.PromptTransport = protocol.TransportStdin
		}
	case protocol.RuntimeAPIProxy:
		s, _ := decodeRaw[struct {
			Provider    string   `json:"provider"`
			Model       string   `json:"model"`
			KeyVariable string   `json:"api_key_env"`
			BaseURL     string   `json:"base_url"`
			MaxTokens   *int     `json:"max_tokens"`
			Timeout     *float64 `json:"timeout_ms"`
			Temperature *float64 `json:"temperature"`
			MaxRetries  *int     `json:"max_retries"`
		}](role.AdapterConfig)
		rt.Provider, rt.Model, rt.AuthEnv, rt.BaseURL, rt.MaxOutputTokens = s.Provider, s.Model, s.KeyVariable, s.BaseURL, s.MaxTokens
		rt.Temperature, rt.MaxRetries = s.Temperature, s.MaxRetries
		if s.Timeout != nil {
			rt.TimeoutSeconds = new(*s.Timeout / 1000)
		}
	default:
		rt.AdapterConfig = slices.Clone(role.AdapterConfig)
	}
	return rt
}

// defaultRouting has the three phases of the protocol. Each starts with the role of that name, if there is one.
func defaultRouting(c *protocol.Config) *protocol.Ordered[protocol.Phase] {
	roles := c.Roles.Keys()
	var r protocol.Ordered[protocol.Phase]
	for _, p := range []struct{ phase, role string }{{"planning", "pm"}, {"implementation", "dev"}, {"qa", "qa"}} {
		entry := p.role
		if !c.Roles.Has(entry) {
			entry = ""
			if len(roles) > 0 {
				entry = roles[0]
			}
		}
		r.Set(p.phase, protocol.Phase{EntryRole: entry, AllowedNextRoles: append(slices.Clone(roles), protocol.Human)})
	}
	return &r
}

func titleOf(id string) string {
	parts := strings.FieldsFunc(id, func(r rune) bool { return r == '_' || r == '-' })
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	if len(parts) == 0 {
		return id
	}
	return strings.Join(parts, " ")
}
