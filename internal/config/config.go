package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Scope is a layer of the configuration.
type Scope string

// The layers, the strongest first.
const (
	ScopeFlag        Scope = "flag"
	ScopeProfile     Scope = "profile"
	ScopeEnvironment Scope = "environment"
	ScopeProject     Scope = "project"
	ScopeUser        Scope = "global"
	ScopeDefault     Scope = "default"
)

// Origin says where a value comes from: its layer, and the file or the variable in it.
type Origin struct {
	Scope Scope  `json:"scope"`
	Where string `json:"where,omitempty"`
}

// String is the origin for people.
func (o Origin) String() string {
	if o.Where == "" {
		return string(o.Scope)
	}
	return fmt.Sprintf("%s (%s)", o.Scope, o.Where)
}

// Value is one configured value as it holds, with its origin.
type Value struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Origin Origin          `json:"origin"`
}

// Config is the configuration of one place: environment, project and user together. It is immutable.
type Config struct {
	UserPath    string  // where the user's file is, or would be
	ProjectPath string  // where the project's file is, or would be; empty when the user's file is the project's
	layers      []layer // the strongest first
	dirs        Dirs
}

// variables are what the environment can say. Durations are written as 90s or 20m.
var variables = []struct {
	name, key string
	duration  bool
	number    bool
}{
	{name: "DRAWBAR_AGENT", key: "defaultAgent"},
	{name: "DRAWBAR_MODEL", key: "defaultModel"},
	{name: "DRAWBAR_PROFILE", key: "profile"},
	{name: "DRAWBAR_APPROVE", key: "approvalMode"},
	{name: "DRAWBAR_SANDBOX", key: "sandbox"},
	{name: "DRAWBAR_EFFORT", key: "thinkingEffort"},
	{name: "DRAWBAR_ENVIRONMENT", key: "environment"},
	{name: "DRAWBAR_STREAM", key: "stream"},
	{name: "DRAWBAR_TIMEOUT", key: "timeout", duration: true},
	{name: "DRAWBAR_IDLE_TIMEOUT", key: "inactivityTimeout", duration: true},
	{name: "DRAWBAR_GRACE", key: "gracePeriodMs", duration: true},
	{name: "DRAWBAR_MAX_TURNS", key: "maxTurns", number: true},
	{name: "DRAWBAR_BUDGET", key: "maxBudgetUsd", number: true},
}

// Variables names the environment variables that are read, with the key each stands for.
func Variables() map[string]string {
	m := map[string]string{}
	for _, v := range variables {
		m[v.name] = v.key
	}
	return m
}

// Read reads the configuration for work in cwd. Files that are not there are empty; one that cannot be used is a
// CONFIG_ERROR with its name.
func Read(cwd string, getenv func(string) string) (*Config, error) {
	dirs, err := FindDirs(cwd, getenv)
	if err != nil {
		return nil, err
	}
	c := &Config{dirs: dirs, UserPath: dirs.UserFile(), ProjectPath: dirs.ProjectFile()}
	env, err := environment(getenv)
	if err != nil {
		return nil, err
	}
	c.layers = append(c.layers, env)
	if !dirs.OneDirectory() {
		project, err := dirs.readLayer(ScopeProject)
		if err != nil {
			return nil, err
		}
		c.layers = append(c.layers, project)
	} else {
		c.ProjectPath = ""
	}
	user, err := dirs.readLayer(ScopeUser)
	if err != nil {
		return nil, err
	}
	c.layers = append(c.layers, user)
	return c, nil
}

// environment is the layer of the variables.
func environment(getenv func(string) string) (layer, error) {
	l := layer{scope: ScopeEnvironment, path: "environment", raw: map[string]json.RawMessage{}}
	for _, v := range variables {
		text := getenv(v.name)
		if text == "" {
			continue
		}
		var value any = text
		switch {
		case v.duration:
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 {
				return l, execution.Errorf(execution.CodeConfig, "%s: %q is no duration", v.name, text).WithHint("%s=90s", v.name)
			}
			value = d.Milliseconds()
		case v.number:
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return l, execution.Errorf(execution.CodeConfig, "%s: %q is no number", v.name, text)
			}
			value = n
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return l, execution.Errorf(execution.CodeConfig, "%s: %w", v.name, err)
		}
		l.raw[v.key] = raw
	}
	whole, err := json.Marshal(l.raw)
	if err != nil {
		return l, execution.Errorf(execution.CodeConfig, "environment: %w", err)
	}
	if err := strict(whole, &l.file); err != nil {
		return l, execution.Errorf(execution.CodeConfig, "environment: %w", err)
	}
	return l, l.check()
}

// origin is where a key of the layer comes from.
func (l layer) origin(key string) Origin {
	if l.scope != ScopeEnvironment {
		return Origin{l.scope, l.path}
	}
	for _, v := range variables {
		if v.key == key {
			return Origin{l.scope, v.name}
		}
	}
	return Origin{Scope: l.scope}
}

// defaults are what holds where nothing is configured and it is worth knowing.
var defaults = map[string]string{"approvalMode": `"prompt"`, "environment": `"inherit"`, "gracePeriodMs": strconv.Itoa(defaultGrace), "stream": `"auto"`}

// Values are all values that hold, sorted by key, with their origins. Objects that are merged key by key (env, agents) have
// a value per key: env.NAME, agents.claude.model.
func (c *Config) Values() []Value {
	found := map[string]Value{}
	for key, v := range defaults {
		found[key] = Value{key, json.RawMessage(v), Origin{Scope: ScopeDefault}}
	}
	for _, l := range slices.Backward(c.layers) {
		for key, raw := range l.raw {
			if key == "$schema" || l.scope == ScopeProject && narrowing(key) {
				continue
			}
			l.values(found, key, key, raw)
		}
		if l.scope == ScopeProject {
			general, _ := l.narrowed("", c.user("", ScopeUser))
			for key, raw := range general {
				if narrowing(key) {
					l.values(found, key, key, raw)
				}
			}
		}
	}
	// What is stated of an agent holds only as far as a tighter limit allows.
	for key := range found {
		name, option, ok := agentKey(key)
		if !ok || !narrowing(option) {
			continue
		}
		delete(found, key)
		if o, from, err := c.resolve(name); err == nil && o[option] != nil {
			found[key] = Value{key, o[option], from[option]}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Value) int { return cmp.Compare(a.Key, b.Key) })
}

// agentKey takes agents.NAME.KEY apart. The name may have dots.
func agentKey(key string) (name, option string, ok bool) {
	rest, ok := strings.CutPrefix(key, "agents.")
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 0 {
		return "", "", false
	}
	return rest[:at], rest[at+1:], true
}

// values adds a value, or those of its keys where an object is merged.
func (l layer) values(found map[string]Value, top, key string, raw json.RawMessage) {
	var object map[string]json.RawMessage
	if mergedObject(top) && json.Unmarshal(raw, &object) == nil && (key == top || top == "agents" && depth(key) < 3) {
		for k, v := range object {
			l.values(found, top, key+"."+k, v)
		}
		return
	}
	found[key] = Value{key, raw, l.origin(top)}
}

func depth(key string) int {
	n := 1
	for _, r := range key {
		if r == '.' {
			n++
		}
	}
	return n
}

// mergedObject reports whether the objects of several layers are put together; other values replace each other.
func mergedObject(key string) bool {
	return key == "env" || key == "retryPolicy" || key == "agents"
}

// Get is the value of a key, with or without an agent in front of it; ok is false when it is not configured and has no
// default.
func (c *Config) Get(key string) (Value, bool) {
	var inside []Value
	for _, v := range c.Values() {
		if v.Key == key {
			return v, true
		}
		if len(v.Key) > len(key) && v.Key[:len(key)] == key && v.Key[len(key)] == '.' {
			inside = append(inside, v)
		}
	}
	if len(inside) == 0 {
		return Value{}, false
	}
	object := map[string]json.RawMessage{}
	for _, v := range inside {
		object[v.Key[len(key)+1:]] = v.Value
	}
	raw, err := json.Marshal(object)
	return Value{key, raw, inside[0].Origin}, err == nil
}

// DefaultAgent is the agent of runs that name none, empty when none is configured.
func (c *Config) DefaultAgent() string {
	return first(c.layers, func(f File) string { return f.DefaultAgent })
}

// Profiles are the profiles of this place.
func (c *Config) Profiles() Profiles { return Profiles{Dirs: c.dirs, config: c} }

// Profile is the profile of runs that name none.
func (c *Config) Profile() string { return first(c.layers, func(f File) string { return f.Profile }) }

func first(layers []layer, of func(File) string) string {
	for _, l := range layers {
		if v := of(l.file); v != "" {
			return v
		}
	}
	return ""
}

// AgentNames are the agents that the configuration speaks of, sorted.
func (c *Config) AgentNames() []string {
	names := map[string]bool{}
	if a := c.DefaultAgent(); a != "" {
		names[a] = true
	}
	for _, l := range c.layers {
		for name := range l.file.Agents {
			names[name] = true
		}
		for _, m := range l.file.Models {
			if m.Agent != "*" {
				names[m.Agent] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Models are the configured models, the strongest layer last, so that a later one replaces an earlier one.
func (c *Config) Models() []Model {
	var list []Model
	for _, l := range slices.Backward(c.layers) {
		list = append(list, l.file.Models...)
	}
	return list
}

// Run is what is configured for runs of an agent: in each layer the agent's own values before the general ones, and stronger
// layers before weaker ones. A project's limits count where they are tighter than the user's; Ignored names the others.
func (c *Config) Run(agent string) (execution.RunOptions, error) {
	merged, _, err := c.resolve(agent)
	if err != nil {
		return execution.RunOptions{}, err
	}
	o, err := merged.Decode()
	if err != nil {
		return o, execution.Errorf(execution.CodeConfig, "configuration: %w", err)
	}
	o.Agent = ""
	return o, nil
}

// resolve puts the layers together for an agent, or for none, and says where each value is from.
func (c *Config) resolve(agent string) (Options, map[string]Origin, error) {
	merged, from := Options{}, map[string]Origin{}
	for _, l := range slices.Backward(c.layers) {
		own, err := l.options(agent)
		if err != nil {
			return nil, nil, err
		}
		if l.scope == ScopeProject {
			own, _ = narrow(own, merged, l.path)
		}
		for key := range own {
			from[key] = l.origin(key)
		}
		merged.Lay(own)
	}
	return merged, from, nil
}

// user is what layers of the user say for an agent.
func (c *Config) user(agent string, scopes ...Scope) Options {
	merged := Options{}
	for _, l := range slices.Backward(c.layers) {
		if own, err := l.options(agent); err == nil && slices.Contains(scopes, l.scope) {
			merged.Lay(own)
		}
	}
	return merged
}

// Ignored says what of the project's configuration does not count for runs of an agent, because it allows more than the user does.
func (c *Config) Ignored(agent string) []string {
	for _, l := range c.layers {
		if l.scope == ScopeProject {
			_, ignored := l.narrowed(agent, c.user(agent, ScopeUser))
			return ignored
		}
	}
	return nil
}

// AllIgnored is Ignored for every agent that the configuration speaks of.
func (c *Config) AllIgnored() []string {
	list := c.Ignored("")
	for _, name := range c.AgentNames() {
		for _, why := range c.Ignored(name) {
			if !slices.Contains(list, why) {
				list = append(list, why)
			}
		}
	}
	return list
}

// Skipped says which .drawbar directories were passed over because they belong to somebody else.
func (c *Config) Skipped() []string { return slices.Clone(c.dirs.Skipped) }

// Dirs are the directories that the configuration was read from.
func (c *Config) Dirs() Dirs { return c.dirs }

// narrowed is what holds of a project's layer for an agent.
func (l layer) narrowed(agent string, user Options) (held Options, ignored []string) {
	own, err := l.options(agent)
	if err != nil {
		return Options{}, nil // Run says so
	}
	return narrow(own, user, l.path)
}

// options are the layer's options of runs of an agent, its own before the general ones.
func (l layer) options(agent string) (Options, error) {
	general := Options{}
	general.Lay(l.raw)
	for _, k := range []string{"$schema", "defaultAgent", "profile", "agents", "models", "safeDirectories"} {
		delete(general, k)
	}
	if m, ok := general["defaultModel"]; ok {
		delete(general, "defaultModel")
		general["model"] = m
	}
	own, err := l.agent(agent)
	general.Lay(own)
	return general, err
}

// agent is what the layer says of one agent.
func (l layer) agent(name string) (Options, error) {
	var all map[string]Options
	if raw := l.raw["agents"]; raw != nil {
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, fileError(l.path, "agents: %v", err)
		}
	}
	return all[name], nil
}
