package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Scope is a layer of the configuration.
type Scope string

// The layers below flags and profiles, strongest first.
const (
	ScopeEnvironment Scope = "environment"
	ScopeProject     Scope = "project"
	ScopeUser        Scope = "global"
	ScopeDefault     Scope = "default"
)

// Origin says where a value comes from: its layer, and the file or variable in it.
type Origin struct {
	Scope Scope  `json:"scope"`
	Where string `json:"where,omitempty"`
}

// String returns the origin for people.
func (o Origin) String() string {
	if o.Where == "" {
		return string(o.Scope)
	}
	return fmt.Sprintf("%s (%s)", o.Scope, o.Where)
}

// Value is an effective value and its origin.
type Value struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Origin Origin          `json:"origin"`
}

// Config is the effective configuration of a directory: environment, project and user. It is immutable.
type Config struct {
	UserPath    string  // path of the user's file, whether it exists or not
	ProjectPath string  // path of the project's file, whether it exists or not; empty if it is the user's file
	layers      []layer // strongest first
	dirs        Dirs
}

// Read reads the configuration for work in cwd. Missing files are empty; a file that cannot be used is a
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

// environment returns the layer of the variables. Durations have the form 90s or 20m.
func environment(getenv func(string) string) (layer, error) {
	l := layer{scope: ScopeEnvironment, path: "environment", raw: map[string]json.RawMessage{}}
	for o := range execution.Options() {
		if o.Env == "" || getenv(o.Env) == "" {
			continue
		}
		value, err := variable(o, getenv(o.Env))
		if err != nil {
			return l, err
		}
		if l.raw[fileKey(o)], err = json.Marshal(value); err != nil {
			return l, execution.Errorf(execution.CodeConfig, "%s: %w", o.Env, err)
		}
	}
	if len(l.raw) == 0 {
		return l, nil
	}
	whole, err := json.Marshal(l.raw)
	if err == nil {
		err = l.read(whole)
	}
	if err != nil {
		return l, execution.Errorf(execution.CodeConfig, "environment: %w", err)
	}
	return l, l.check()
}

// variable parses the text of an option's variable.
func variable(o execution.Option, text string) (any, error) {
	switch reflect.Zero(o.Field().Type).Interface().(type) {
	case int64, *int64:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, execution.Errorf(execution.CodeConfig, "%s: %q is not a valid duration", o.Env, text).WithHint("%s=90s", o.Env)
		}
		return d.Milliseconds(), nil
	case int, *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "%s: %q is not a number", o.Env, text)
		}
		return n, nil
	}
	return text, nil
}

// origin returns where a key of the layer comes from.
func (l layer) origin(key string) Origin {
	if l.scope != ScopeEnvironment {
		return Origin{l.scope, l.path}
	}
	for o := range execution.Options() {
		if fileKey(o) == key || o.Name == key {
			return Origin{l.scope, o.Env}
		}
	}
	return Origin{Scope: l.scope}
}

// Values returns all effective values with their origins, sorted by key. Objects that are merged key by key
// (env, agents) have a value per key: env.NAME, agents.claude.model.
func (c *Config) Values() []Value {
	found := map[string]Value{}
	for o := range execution.Options() {
		if o.Default != "" {
			found[o.Name] = Value{o.Name, json.RawMessage(o.Default), Origin{Scope: ScopeDefault}}
		}
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
	// An agent's value applies only within a tighter limit.
	for key := range found {
		name, option, ok := agentKey(key)
		if !ok || !narrowing(option) {
			continue
		}
		delete(found, key)
		if o, from := c.resolve(name); o[option] != nil {
			found[key] = Value{key, o[option], from[option]}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Value) int { return cmp.Compare(a.Key, b.Key) })
}

// agentKey splits agents.NAME.KEY. The name may contain dots.
func agentKey(key string) (name, option string, ok bool) {
	rest, ok := strings.CutPrefix(key, "agents.")
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 0 {
		return "", "", false
	}
	return rest[:at], rest[at+1:], true
}

// values adds a value, or those of its keys if the object is merged.
func (l layer) values(found map[string]Value, top, key string, raw json.RawMessage) {
	var object map[string]json.RawMessage
	if isMerged(top) && json.Unmarshal(raw, &object) == nil && (key == top || top == "agents" && depth(key) < 3) {
		for k, v := range object {
			l.values(found, top, key+"."+k, v)
		}
		return
	}
	found[key] = Value{key, joined(key, found[key].Value, raw), l.origin(top)}
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

// Get returns the value of a key, optionally prefixed with an agent; ok is false if it is not configured and
// has no default.
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

// DefaultAgent returns the agent of runs that name none, empty if none is configured.
func (c *Config) DefaultAgent() string {
	return first(c.layers, func(f File) string { return f.DefaultAgent })
}

// Profiles returns the profiles of this directory.
func (c *Config) Profiles() Profiles { return Profiles{Dirs: c.dirs, config: c} }

// Profile returns the profile of runs that name none.
func (c *Config) Profile() string { return first(c.layers, func(f File) string { return f.Profile }) }

func first(layers []layer, of func(File) string) string {
	for _, l := range layers {
		if v := of(l.file); v != "" {
			return v
		}
	}
	return ""
}

// AgentNames returns the configured agents, sorted.
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

// Models returns the configured models, strongest layer last, so that a later one replaces an earlier one.
func (c *Config) Models() []Model {
	var list []Model
	for _, l := range slices.Backward(c.layers) {
		list = append(list, l.file.Models...)
	}
	return list
}

// Run returns the configured options for runs of an agent: within a layer the agent's own values precede the
// general ones, and stronger layers precede weaker ones. A project's limits apply if they are tighter than the
// user's; Ignored returns the others.
func (c *Config) Run(agent string) (execution.RunOptions, error) {
	o, err := c.Stated(agent).Decode()
	if err != nil {
		return o, execution.Errorf(execution.CodeConfig, "configuration: %w", err)
	}
	return o, nil
}

// Stated is Run with stated options distinguishable from unstated ones.
func (c *Config) Stated(agent string) Options {
	o, _ := c.resolve(agent)
	return o
}

// DefaultModel returns the model of an agent's runs if it is that of every agent, and not one that the configuration states for this
// agent; else empty.
func (c *Config) DefaultModel(agent string) (model string) {
	for _, l := range c.layers { // the strongest first
		if _, own := l.file.Agents[agent]["model"]; own {
			return ""
		}
		if raw, ok := l.general()["model"]; ok {
			if json.Unmarshal(raw, &model) != nil {
				return ""
			}
			return model
		}
	}
	return ""
}

// resolve merges the layers for an agent, or for none, and returns the origin of each value.
func (c *Config) resolve(agent string) (Options, map[string]Origin) {
	merged, from := Options{}, map[string]Origin{}
	for _, l := range slices.Backward(c.layers) {
		own := l.options(agent)
		if l.scope == ScopeProject {
			own, _ = narrow(own, merged, l.path)
		}
		for key := range own {
			from[key] = l.origin(key)
		}
		merged.Lay(own)
	}
	return merged, from
}

// user merges the user's layers for an agent.
func (c *Config) user(agent string, scopes ...Scope) Options {
	merged := Options{}
	for _, l := range slices.Backward(c.layers) {
		if slices.Contains(scopes, l.scope) {
			merged.Lay(l.options(agent))
		}
	}
	return merged
}

// Ignored returns the parts of the project's configuration that do not apply to runs of an agent because they
// allow more than the user does.
func (c *Config) Ignored(agent string) []string {
	for _, l := range c.layers {
		if l.scope == ScopeProject {
			_, ignored := l.narrowed(agent, c.user(agent, ScopeUser))
			return ignored
		}
	}
	return nil
}

// AllIgnored is Ignored for every configured agent.
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

// Dirs returns the directories that the configuration was read from.
func (c *Config) Dirs() Dirs { return c.dirs }

// narrowed returns what applies of a project's layer for an agent.
func (l layer) narrowed(agent string, user Options) (held Options, ignored []string) {
	return narrow(l.options(agent), user, l.path)
}

// options returns the layer's options for runs of an agent: its own before the general ones.
func (l layer) options(agent string) Options {
	o := l.general()
	o.Lay(l.file.Agents[agent])
	return o
}

// general returns the layer's options for runs of every agent.
func (l layer) general() Options {
	o := Options{}
	for row := range execution.Options() {
		if raw, ok := l.raw[fileKey(row)]; ok && perAgent(row) {
			o.Lay(Options{row.Name: raw})
		}
	}
	return o
}
