package agentconfig

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/settings"
)

// Origin is where a value comes from.
type Origin struct {
	Scope settings.Scope `json:"scope"`
	File  string         `json:"file"`
	Key   string         `json:"key"` // dotted path in the file
	Value any            `json:"value"`
}

// Setting is a value and all the places that set it.
type Setting struct {
	Name    string   `json:"name"`
	Value   any      `json:"value"`            // in Drawbar's names for a normalized field
	Origins []Origin `json:"origins"`          // the first one wins unless Joined; values in the agent's names
	Joined  bool     `json:"joined,omitempty"` // the value has the elements of all origins
	Secret  bool     `json:"secret,omitempty"`
}

// Get returns a target's value merged over the scopes: the narrowest scope wins for scalars and lists, lists that the
// agent joins have the elements of all scopes, and objects are merged by key. A file that cannot be parsed is an
// error.
func (c *Config) Get(t Target, scope settings.Scope) (any, bool, error) {
	var merged any
	found := false
	for i := range c.Files {
		f := &c.Files[i]
		if f.ID != t.File || scope != "" && f.Scope != scope {
			continue
		}
		if f.Err != nil {
			return nil, false, f.Err
		}
		if v, ok := f.get(t.Path); ok {
			merged, found = t.merge(merged, v), true
		}
	}
	return c.words(t, merged), found, nil
}

// joins reports whether the agent joins the lists of all scopes.
func (t Target) joins() bool { return t.whole() && t.Field.Merge == settings.MergeUnion }

// merge merges the value of a narrower scope into another.
func (t Target) merge(under, over any) any {
	u, list := asList(under)
	o, another := asList(over)
	if !t.joins() || !list || !another {
		return merge(under, over)
	}
	all := slices.Clone(u)
	for _, v := range o {
		if !slices.ContainsFunc(all, func(have any) bool { return reflect.DeepEqual(have, v) }) {
			all = append(all, v)
		}
	}
	return all
}

// asList returns a value as a list; some agents accept a string for a list of one.
func asList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case string:
		return []any{v}, true
	}
	return nil, false
}

// words converts a value to Drawbar's names.
func (c *Config) words(t Target, v any) any {
	if !t.whole() {
		return v
	}
	if s, ok := v.(string); ok {
		for _, w := range t.Field.Values {
			if w.Native == s {
				return w.Value
			}
		}
		if t.Field.Type == settings.TypeStringList {
			return []any{s} // some agents accept a string for a list of one
		}
	}
	return v
}

func merge(under, over any) any {
	u, ok := under.(map[string]any)
	o, object := over.(map[string]any)
	if !ok || !object {
		return over
	}
	m := maps.Clone(u)
	for k, v := range o {
		m[k] = merge(m[k], v)
	}
	return m
}

// Settings returns all values: the fields of the schema, then the other keys of the settings files under their native
// names, each sorted. Every member of an object is a setting of its own. MCP servers are not included.
func (c *Config) Settings() []Setting {
	byName := map[string]*Setting{}
	for _, f := range slices.Backward(c.Files) {
		if f.Doc == nil {
			continue
		}
		root, _ := f.Doc.Get(f.Keys)
		leaves(nil, root, func(path configfile.Path, v any) {
			t, known := c.native(path)
			if f.ID != settings.MainFile && !(known && t.File == f.ID) || known && t.Field.Type == settings.TypeMCPServers {
				return
			}
			s := byName[t.Name]
			if s == nil {
				s = &Setting{Name: t.Name, Value: c.words(t, v), Joined: known && t.joins(), Secret: known && t.Field.Secret || secret.Setting(path[len(path)-1])}
				byName[t.Name] = s
			} else if s.Joined {
				s.Value = t.merge(c.words(t, v), s.Value) // the files are ordered from the narrowest scope
			}
			s.Origins = append(s.Origins, Origin{f.Scope, f.Name, slices.Concat(f.Keys, path).String(), v})
		})
	}
	return slices.SortedFunc(func(yield func(Setting) bool) {
		for _, s := range byName {
			if !yield(*s) {
				return
			}
		}
	}, func(a, b Setting) int {
		rank := func(s Setting) int {
			if strings.HasPrefix(s.Name, nativePrefix) {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// leaves calls fn for every value that is not an object. An empty object sets nothing.
func leaves(path configfile.Path, v any, fn func(configfile.Path, any)) {
	m, ok := v.(map[string]any)
	if !ok {
		if len(path) > 0 {
			fn(path, v)
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		leaves(append(slices.Clip(path), k), m[k], fn)
	}
}

// AgentConfig is the merged configuration in the format of the agent-mux specification. It contains secrets if the
// files do; Masked removes them.
type AgentConfig struct {
	Agent      string
	Source     string // global, project, local, or merged if several scopes contribute
	FilePaths  []string
	Values     map[string]any // the normalized fields that are set
	MCPServers []MCPServer
	Native     map[string]any // everything in the settings files, in the agent's names
}

// MarshalJSON puts the normalized fields beside agent and source.
func (a AgentConfig) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	maps.Copy(m, a.Values)
	m["agent"], m["source"], m["filePaths"], m["native"] = a.Agent, a.Source, a.FilePaths, a.Native
	if a.MCPServers != nil {
		m["mcpServers"] = a.MCPServers
	}
	return json.Marshal(m)
}

// Agent returns the merged configuration.
func (c *Config) Agent() (AgentConfig, error) {
	a := AgentConfig{Agent: c.Schema.Agent, FilePaths: c.Paths(), Values: map[string]any{}, Native: map[string]any{}}
	if err := c.Err(); err != nil {
		return a, err
	}
	scopes := map[settings.Scope]bool{}
	for _, f := range c.Files {
		if f.Exists {
			scopes[f.Scope] = true
			a.Source = string(f.Scope)
		}
		if v, ok := f.get(nil); ok && f.ID == settings.MainFile {
			a.Native = merge(a.Native, v).(map[string]any)
		}
	}
	if len(scopes) != 1 {
		a.Source = "merged"
	}
	for _, field := range c.Schema.Fields {
		t := c.target(field, nil)
		if field.Type == settings.TypeMCPServers || !field.Normalized && !t.joins() {
			continue
		}
		v, ok, err := c.Get(t, "")
		if err != nil {
			return a, err
		}
		if ok && field.Normalized {
			a.Values[field.Path] = v
		}
		if ok && t.joins() && t.File == settings.MainFile {
			put(a.Native, t.Path, v)
		}
	}
	var err error
	if c.Schema.MCP != nil {
		a.MCPServers, err = c.MCPServers("")
	}
	return a, err
}

// put replaces a value in nested objects, copying them, so that the values of the files stay unchanged.
func put(m map[string]any, path configfile.Path, v any) {
	for ; len(path) > 1; path = path[1:] {
		inner, ok := m[path[0]].(map[string]any)
		if !ok {
			return
		}
		inner = maps.Clone(inner)
		m[path[0]] = inner
		m = inner
	}
	m[path[0]] = v
}
