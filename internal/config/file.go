package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
)

// File is the shape of a configuration file. Nothing in it is required. Unknown keys are an error.
type File struct {
	Schema       string `json:"$schema,omitempty" jsonschema:"where the schema of this file is published"`
	DefaultAgent string `json:"defaultAgent,omitempty" jsonschema:"agent of drawbar run when none is named"`
	DefaultModel string `json:"defaultModel,omitempty" jsonschema:"model of every agent that has none of its own here"`
	Profile      string `json:"profile,omitempty" jsonschema:"profile of runs that name none"`
	Defaults
	Agents map[string]AgentDefaults `json:"agents,omitempty" jsonschema:"by agent: what goes before the general values"`
	Models []Model                  `json:"models,omitempty" jsonschema:"models that are added, or declared otherwise"`
	// SafeDirectories are projects whose .drawbar counts although it belongs to another user.
	SafeDirectories []string `json:"safeDirectories,omitempty" jsonschema:"projects of other users whose .drawbar counts, * for all; user's file only"`
}

// Defaults are the options of runs that can be configured. Names and meaning are those of execution.RunOptions.
type Defaults struct {
	ApprovalMode         execution.ApprovalMode     `json:"approvalMode,omitempty" jsonschema:"who answers permission questions"`
	Sandbox              execution.SandboxMode      `json:"sandbox,omitempty" jsonschema:"what commands may touch, where the agent has a sandbox"`
	ThinkingEffort       execution.ThinkingEffort   `json:"thinkingEffort,omitempty"`
	ThinkingBudgetTokens int                        `json:"thinkingBudgetTokens,omitempty" jsonschema:"1024 or more; wins over the effort"`
	MaxOutputTokens      int                        `json:"maxOutputTokens,omitempty"`
	MaxTurns             int                        `json:"maxTurns,omitempty"`
	MaxBudgetUSD         *float64                   `json:"maxBudgetUsd,omitempty" jsonschema:"US dollars"`
	TimeoutMs            *int64                     `json:"timeout,omitempty" jsonschema:"milliseconds; 0 is none"`
	InactivityTimeoutMs  *int64                     `json:"inactivityTimeout,omitempty" jsonschema:"milliseconds; 0 is none"`
	GracePeriodMs        *int64                     `json:"gracePeriodMs,omitempty" jsonschema:"milliseconds from TERM to KILL"`
	Stream               execution.StreamMode       `json:"stream,omitempty"`
	RetryPolicy          *execution.RetryPolicy     `json:"retryPolicy,omitempty"`
	SystemPromptMode     execution.SystemPromptMode `json:"systemPromptMode,omitempty"`
	Environment          execution.EnvironmentMode  `json:"environment,omitempty" jsonschema:"what agents inherit of the environment"`
	Env                  map[string]string          `json:"env,omitempty" jsonschema:"variables of every run; user's file only"`
	MCPServers           []execution.MCPServer      `json:"mcpServers,omitempty" jsonschema:"MCP servers of every run; user's file only"`
	Skills               []string                   `json:"skills,omitempty" jsonschema:"folders of skills of every run; user's file only"`
	Tags                 []string                   `json:"tags,omitempty"`
	ProjectID            string                     `json:"projectId,omitempty"`
}

// AgentDefaults are Defaults of one agent.
type AgentDefaults struct {
	Model string `json:"model,omitempty"`
	Defaults
}

// Model adds a model to an agent, or says something else about one that it has: what is stated replaces what is known.
type Model struct {
	Agent string `json:"agent" jsonschema:"name of an agent, or * for every one"`
	execution.Model
}

// fileError is a configuration file that cannot be used: CONFIG_ERROR with the file, the place and the reason.
func fileError(path, format string, args ...any) *execution.Error {
	return execution.Errorf(execution.CodeConfig, "%s: "+format, append([]any{path}, args...)...)
}

// layer is one file as it was read: its keys as they stand there, and its typed form.
type layer struct {
	scope Scope
	path  string
	raw   map[string]json.RawMessage
	file  File
}

func (l *layer) decode(data []byte) error {
	standard, err := standardize(data)
	if err != nil {
		return fileError(l.path, "%v", err).WithHint("correct the file, or move it away; drawbar config validate checks it")
	}
	if err := strict(standard, &l.file); err != nil {
		return fileError(l.path, "%v", err).WithHint("drawbar config schema lists the keys")
	}
	// The same text, of which strict has made sure that it can be read in one way only.
	if err := json.Unmarshal(standard, &l.raw); err != nil {
		return fileError(l.path, "want an object at the top: %v", err)
	}
	return l.check()
}

// standardize takes comments and trailing commas out of JSON. An empty file is an empty object.
func standardize(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte("{}"), nil
	}
	return hujson.Standardize(data)
}

// aliases are other spellings that values of a run are read in.
var aliases = exactjson.Aliases{reflect.TypeFor[execution.RetryPolicy](): {"maxRetries", "max_retries"}}

// strict decodes JSON into v; see exactjson.Decode. An unknown key is an error that names the nearest known one.
func strict(data []byte, v any) error {
	err := exactjson.Decode(data, v, aliases)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if mismatch.Field == "" {
			return fmt.Errorf("want %s, not a %s", kindName(mismatch.Type), mismatch.Value)
		}
		return fmt.Errorf("%s: want %s, not a %s", mismatch.Field, kindName(mismatch.Type), mismatch.Value)
	}
	unknown, ok := errors.AsType[*exactjson.UnknownKeyError](err)
	if !ok {
		return err
	}
	if unknown.Like != "" {
		return unknown
	}
	switch near := Nearest(unknown.Key); near {
	case "":
		return fmt.Errorf("there is no key %q", unknown.Key)
	case unknown.Key: // it is one elsewhere
		return fmt.Errorf("there is no key %q at this place", unknown.Key)
	default:
		return fmt.Errorf("there is no key %q; did you mean %q?", unknown.Key, near)
	}
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a text"
}

// check finds what the types cannot say.
func (l *layer) check() error {
	if err := l.checkDefaults("", AgentDefaults{Defaults: l.file.Defaults}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.file.Agents)) {
		if err := l.checkDefaults("agents."+name+".", l.file.Agents[name]); err != nil {
			return err
		}
	}
	for i, m := range l.file.Models {
		at := fmt.Sprintf("models[%d]", i)
		switch {
		case m.Agent == "":
			return fileError(l.path, "%s.agent: is required", at).WithHint(`"agent": "claude", or "*" for every agent`)
		case strings.TrimSpace(m.ID) == "":
			return fileError(l.path, "%s.modelId: is required", at)
		case m.ContextWindow < 0 || m.MaxOutputTokens < 0:
			return fileError(l.path, "%s: a number of tokens is negative", at)
		}
		if p := m.Price; p != nil {
			for name, v := range map[string]*float64{"input": &p.Input, "output": &p.Output, "cacheRead": p.CacheRead, "cacheWrite": p.CacheWrite, "cacheWrite1h": p.CacheWrite1h, "thinking": p.Thinking} {
				if v != nil && *v < 0 {
					return fileError(l.path, "%s.price.%s: %g is no price", at, name, *v)
				}
			}
		}
	}
	if p := l.file.Profile; p != "" && !IsProfileName(strings.TrimPrefix(p, inProject)) {
		return fileError(l.path, "profile: %q is no name of a profile", p)
	}
	if l.scope == ScopeProject {
		return l.checkProject()
	}
	return nil
}

func (l *layer) checkDefaults(at string, d AgentDefaults) error {
	if err := d.options().Validate(); err != nil {
		var e *execution.Error
		if errors.As(err, &e) && len(e.Fields) > 0 {
			f := e.Fields[0]
			return fileError(l.path, "%s%s: %s %s (want %s)", at, strings.TrimPrefix(f.Field, "run."), f.Received, f.Message, f.Expected)
		}
		return fileError(l.path, "%v", err)
	}
	return nil
}

// options are the defaults as options of a run.
func (d AgentDefaults) options() execution.RunOptions {
	o := execution.RunOptions{Model: d.Model, ApprovalMode: d.ApprovalMode, Sandbox: d.Sandbox, ThinkingEffort: d.ThinkingEffort,
		ThinkingBudgetTokens: d.ThinkingBudgetTokens, MaxOutputTokens: d.MaxOutputTokens, MaxTurns: d.MaxTurns, MaxBudgetUSD: d.MaxBudgetUSD,
		GracePeriodMs: d.GracePeriodMs, Stream: d.Stream, RetryPolicy: d.RetryPolicy, SystemPromptMode: d.SystemPromptMode,
		Environment: d.Environment, Env: d.Env, MCPServers: d.MCPServers, Skills: d.Skills, Tags: d.Tags, ProjectID: d.ProjectID}
	if d.TimeoutMs != nil {
		o.TimeoutMs = *d.TimeoutMs
	}
	if d.InactivityTimeoutMs != nil {
		o.InactivityTimeoutMs = *d.InactivityTimeoutMs
	}
	return o
}

// pathless is an error of the file system without the path, which the message has already.
func pathless(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// keys are the names of every key that may stand at the top, beside $schema.
var keys = sync.OnceValue(func() []string {
	var list []string
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				walk(f.Type)
				continue
			}
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "$schema" {
				list = append(list, name)
			}
		}
	}
	walk(reflect.TypeFor[File]())
	slices.Sort(list)
	return list
})

// Known reports whether a dotted key begins with one that a file may have.
func Known(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	return top == "$schema" || slices.Contains(keys(), top)
}

// Check says what is wrong with the text of a configuration file of a scope.
func Check(scope Scope, path string, data []byte) error {
	l := layer{scope: scope, path: path, raw: map[string]json.RawMessage{}}
	return l.decode(data)
}
