package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Dirs are the directories of the configuration.
type Dirs struct {
	User    string // config.json and profiles/ of this person
	Project string // .drawbar of the nearest directory that has one, else that of the working directory
	Found   bool   // Project exists
}

// UserFile is the configuration file of the user.
func (d Dirs) UserFile() string { return filepath.Join(d.User, "config.json") }

// ProjectFile is the configuration file of the project.
func (d Dirs) ProjectFile() string { return filepath.Join(d.Project, "config.json") }

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

// FindDirs finds the directories of the configuration for work in cwd. DRAWBAR_CONFIG_DIR and DRAWBAR_PROJECT_DIR
// override them.
func FindDirs(cwd string, getenv func(string) string) (Dirs, error) {
	var d Dirs
	if d.User = getenv("DRAWBAR_CONFIG_DIR"); d.User == "" {
		base := getenv("XDG_CONFIG_HOME")
		if base == "" || !filepath.IsAbs(base) {
			var err error
			if base, err = os.UserConfigDir(); err != nil {
				return d, execution.Errorf(execution.CodeConfig, "find the configuration directory: %w", err).WithHint("set DRAWBAR_CONFIG_DIR")
			}
		}
		d.User = filepath.Join(base, "drawbar")
	}
	if !filepath.IsAbs(d.User) {
		return d, execution.Errorf(execution.CodeConfig, "DRAWBAR_CONFIG_DIR: %q is no absolute path", d.User)
	}
	if d.Project = getenv("DRAWBAR_PROJECT_DIR"); d.Project != "" {
		if !filepath.IsAbs(d.Project) {
			return d, execution.Errorf(execution.CodeConfig, "DRAWBAR_PROJECT_DIR: %q is no absolute path", d.Project)
		}
		d.Found = isDir(d.Project)
		return d, nil
	}
	d.Project = filepath.Join(cwd, ".drawbar")
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		if candidate := filepath.Join(dir, ".drawbar"); isDir(candidate) {
			d.Project, d.Found = candidate, true
			return d, nil
		}
		if filepath.Dir(dir) == dir {
			return d, nil
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
	if !sameFile(dirs.User, dirs.Project) {
		project, err := readLayer(ScopeProject, c.ProjectPath)
		if err != nil {
			return nil, err
		}
		c.layers = append(c.layers, project)
	} else {
		c.ProjectPath = ""
	}
	user, err := readLayer(ScopeUser, c.UserPath)
	if err != nil {
		return nil, err
	}
	c.layers = append(c.layers, user)
	return c, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
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
var defaults = map[string]string{"approvalMode": `"prompt"`, "environment": `"inherit"`, "gracePeriodMs": "5000", "stream": `"auto"`}

// Values are all values that hold, sorted by key, with their origins. Objects that are merged key by key (env, agents) have
// a value per key: env.NAME, agents.claude.model.
func (c *Config) Values() []Value {
	found := map[string]Value{}
	for key, v := range defaults {
		found[key] = Value{key, json.RawMessage(v), Origin{Scope: ScopeDefault}}
	}
	for _, l := range slices.Backward(c.layers) {
		for key, raw := range l.raw {
			if key == "$schema" {
				continue
			}
			l.values(found, key, key, raw)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Value) int { return cmp.Compare(a.Key, b.Key) })
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
func (c *Config) Profiles() Profiles { return Profiles{c.dirs} }

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
// layers before weaker ones.
func (c *Config) Run(agent string) (execution.RunOptions, error) {
	var o execution.RunOptions
	merged := Options{}
	for _, l := range slices.Backward(c.layers) {
		general := maps.Clone(l.raw)
		for _, k := range []string{"$schema", "defaultAgent", "profile", "agents", "models"} {
			delete(general, k)
		}
		if m, ok := general["defaultModel"]; ok {
			delete(general, "defaultModel")
			general["model"] = m
		}
		merged.Lay(general)
		var own map[string]map[string]json.RawMessage
		if raw := l.raw["agents"]; raw != nil {
			if err := json.Unmarshal(raw, &own); err != nil {
				return o, fileError(l.path, "agents: %v", err)
			}
		}
		merged.Lay(own[agent])
	}
	o, err := merged.Decode()
	if err != nil {
		return o, execution.Errorf(execution.CodeConfig, "configuration: %w", err)
	}
	o.Agent = ""
	return o, nil
}

// Options are options of a run as their JSON names and values, so that what is stated can be told from what is not.
type Options map[string]json.RawMessage

// Lay puts other options over these: scalars and lists replace, env, thinkingOverride and retryPolicy are merged one level deep.
func (o Options) Lay(over map[string]json.RawMessage) {
	for key, raw := range over {
		var under, top map[string]json.RawMessage
		if (mergedObject(key) || key == "thinkingOverride") && json.Unmarshal(o[key], &under) == nil && json.Unmarshal(raw, &top) == nil && under != nil {
			maps.Copy(under, top)
			if b, err := json.Marshal(under); err == nil {
				raw = b
			}
		}
		o[key] = raw
	}
}

// Decode makes options of a run. An unknown key is an error.
func (o Options) Decode() (execution.RunOptions, error) {
	var run execution.RunOptions
	b, err := json.Marshal(o)
	if err != nil {
		return run, err
	}
	if err := strict(b, &run); err != nil {
		return run, err
	}
	return run, nil
}

// Of gives the options that are stated in run: those with another than the zero value.
func Of(run execution.RunOptions) (Options, error) {
	b, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	o := Options{}
	return o, json.Unmarshal(b, &o)
}

// Nearest is the known key that a wrong one probably means, empty when none is near.
func Nearest(key string) string {
	best, found := 30, ""
	for _, k := range append([]string{"model", "agent", "price", "modelId"}, keys()...) {
		// Of two that are as near the one of the same length is meant: letters are swapped more often than forgotten.
		if d := 10*distance(key, k) + max(len(k)-len(key), len(key)-len(k)); d < best {
			best, found = d, k
		}
	}
	return found
}

// distance counts the letters to add, drop or change, without regard to case.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if lower(a[i]) != lower(b[j]) {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
		}
		last = row
	}
	return last[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
