package agentconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/settings"
)

// Hidden replaces a value that is not shown.
const Hidden = "***"

// hide masks every string and number in a value.
func hide(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k := range v {
			m[k] = hide(v[k])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = hide(v[i])
		}
		return list
	case nil, bool:
		return v
	}
	return Hidden
}

// mask hides values under secret names, environments and headers.
func mask(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k := range v {
			switch {
			case k == "env" || strings.HasSuffix(strings.ToLower(k), "headers") && k != "env_http_headers":
				m[k] = hide(v[k])
			case secret.Setting(k):
				m[k] = hide(v[k])
			case k == "args":
				m[k] = maskArgs(v[k])
			default:
				m[k] = mask(v[k])
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = mask(v[i])
		}
		return list
	case string:
		return secret.MaskURL(v, Hidden)
	}
	return v
}

func maskArgs(v any) any {
	list, ok := v.([]any)
	if !ok {
		return mask(v)
	}
	var args []string
	for _, a := range list {
		s, ok := a.(string)
		if !ok {
			return mask(v)
		}
		args = append(args, s)
	}
	out := make([]any, len(args))
	for i, a := range secret.MaskArgs(args, Hidden) {
		out[i] = a
	}
	return out
}

// Masked returns the setting without its secret.
func (s Setting) Masked() Setting {
	shown := mask
	if s.Secret {
		shown = hide
	}
	s.Value = shown(s.Value)
	s.Origins = slices.Clone(s.Origins)
	for i := range s.Origins {
		s.Origins[i].Value = shown(s.Origins[i].Value)
	}
	return s
}

// Masked returns the server without the values of its environment and headers.
func (m MCPServer) Masked() MCPServer {
	m.Args = secret.MaskArgs(m.Args, Hidden)
	m.Env, m.Headers = hideAll(m.Env), hideAll(m.Headers)
	m.URL = secret.MaskURL(m.URL, Hidden)
	m.Native, _ = mask(m.Native).(map[string]any)
	return m
}

func hideAll(values map[string]string) map[string]string {
	out := maps.Clone(values)
	for k := range out {
		out[k] = Hidden
	}
	return out
}

// MaskedValue returns a value of t without secrets.
func (c *Config) MaskedValue(t Target, v any) any {
	last := t.Path[len(t.Path)-1]
	inEnv := t.Field != nil && t.Field.Type == settings.TypeMCPServers && len(t.Rest) > 1 && (t.Rest[1] == "env" || strings.HasSuffix(strings.ToLower(t.Rest[1]), "headers"))
	if t.Field != nil && t.Field.Secret || secret.Setting(last) || inEnv {
		return hide(v)
	}
	// The key matters: env under an object, args as a list.
	return mask(map[string]any{last: v}).(map[string]any)[last]
}

// Masked returns the configuration without secrets.
func (a AgentConfig) Masked(schema settings.Schema) AgentConfig {
	values := map[string]any{}
	for k, v := range a.Values {
		if f, ok := schema.Field(k); ok && f.Secret || secret.Setting(k) {
			values[k] = hide(v)
		} else {
			values[k] = mask(v)
		}
	}
	a.Values = values
	a.MCPServers = slices.Clone(a.MCPServers)
	for i := range a.MCPServers {
		a.MCPServers[i] = a.MCPServers[i].Masked()
	}
	native := mask(a.Native).(map[string]any)
	for _, f := range schema.Fields {
		if f.Secret {
			native = hideAt(native, strings.Split(f.Native, "."))
		}
	}
	a.Native = native
	return a
}

func hideAt(m map[string]any, path []string) map[string]any {
	v, ok := m[path[0]]
	if !ok {
		return m
	}
	if len(path) == 1 {
		m[path[0]] = hide(v)
	} else if sub, ok := v.(map[string]any); ok {
		m[path[0]] = hideAt(sub, path[1:])
	}
	return m
}
