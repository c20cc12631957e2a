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
	"time"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/agent/toolrule"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
)

// File is the schema of a configuration file without the options of runs, which are next to these keys and are
// defined by the option table of package execution. No key is required. Unknown keys are an error.
type File struct {
	Schema       string             `json:"$schema,omitempty" jsonschema:"where the schema of this file is published"`
	DefaultAgent string             `json:"defaultAgent,omitempty" jsonschema:"agent of drawbar run when none is named"`
	DefaultModel string             `json:"defaultModel,omitempty" jsonschema:"model of every agent that has none of its own here"`
	Profile      string             `json:"profile,omitempty" jsonschema:"profile of runs that name none"`
	Agents       map[string]Options `json:"agents,omitempty" jsonschema:"by agent: what goes before the general values"`
	// CustomAgents are checked against the table of package declarative.
	CustomAgents map[string]json.RawMessage `json:"customAgents,omitempty" jsonschema:"agents that are described without code, by name"`
	Models       []Model                    `json:"models,omitempty" jsonschema:"models that are added, or declared otherwise"`
	// SafeDirectories are projects whose .drawbar applies although it belongs to another user.
	SafeDirectories []string  `json:"safeDirectories,omitempty" jsonschema:"projects of other users whose .drawbar counts, * for all; user's file only"`
	Notify          *Notify   `json:"notify,omitempty" jsonschema:"who is told when a run waits or ends; user's file only"`
	Budgets         []Budget  `json:"budgets,omitempty" jsonschema:"what runs may cost together; user's file only"`
	Worktrees       Worktrees `json:"worktrees,omitzero" jsonschema:"what a new worktree of a run gets besides the files of its commit"`
}

// FileType is the type of a complete configuration file: File plus the options of runs, general and per agent.
var FileType = sync.OnceValue(func() reflect.Type {
	var general, own, all []reflect.StructField
	for o := range execution.Options() {
		if !perAgent(o) {
			continue
		}
		f := o.Field()
		if o.Doc != "" {
			f.Tag += reflect.StructTag(fmt.Sprintf(" jsonschema:%q", o.Doc))
		}
		own = append(own, f)
		if o.Key == "" {
			general = append(general, f)
		}
	}
	for f := range reflect.TypeFor[File]().Fields() {
		if f.Name == "Agents" {
			all = append(all, general...)
			f.Type = reflect.MapOf(reflect.TypeFor[string](), reflect.StructOf(own))
		}
		all = append(all, f)
	}
	return reflect.StructOf(all)
})

// Model adds a model to an agent or overrides a known one: stated fields replace the known ones.
type Model struct {
	Agent string `json:"agent" jsonschema:"name of an agent, or * for every one"`
	execution.Model
	PricedOn string `json:"pricedOn,omitempty" jsonschema:"date of the price, such as 2026-11-28"`
}

// fileError is a configuration file that cannot be used: CONFIG_ERROR with the file, the position and the
// reason.
func fileError(path, format string, args ...any) *execution.Error {
	return execution.Errorf(execution.CodeConfig, "%s: "+format, append([]any{path}, args...)...)
}

// layer is one file as read: its raw keys, and the File decoded from them.
type layer struct {
	scope Scope
	path  string
	raw   map[string]json.RawMessage
	file  File
	// agents are the file's custom agents.
	agents []CustomAgent
}

func (l *layer) decode(data []byte) error {
	standard, err := standardize(data)
	if err != nil {
		return fileError(l.path, "%v", err).WithHint("correct the file, or move it away; drawbar config validate checks it")
	}
	if err := l.read(standard); err != nil {
		return fileError(l.path, "%v", err).WithHint("drawbar config schema lists the keys")
	}
	if err := l.readAgents(standard); err != nil {
		return err
	}
	return l.check()
}

// read fills the layer from JSON in the form of a file.
func (l *layer) read(text []byte) error {
	if err := strict(text, reflect.New(FileType()).Interface()); err != nil {
		return err
	}
	// The same text, which strict has checked to be unambiguous.
	if err := json.Unmarshal(text, &l.raw); err != nil {
		return fmt.Errorf("want an object at the top: %w", err)
	}
	return json.Unmarshal(text, &l.file)
}

// standardize removes comments and trailing commas from JSON. An empty file is an empty object.
func standardize(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte("{}"), nil
	}
	return hujson.Standardize(data)
}

// aliases are alternative spellings of a run's values.
var aliases = exactjson.Aliases{reflect.TypeFor[execution.RetryPolicy](): {"maxRetries", "max_retries"}}

// strict decodes JSON into v; see exactjson.Decode. An unknown key is an error that suggests the nearest known
// one.
func strict(data []byte, v any) error {
	err := exactjson.Decode(data, v, aliases)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if mismatch.Field == "" {
			return fmt.Errorf("want %s, not %s", kindName(mismatch.Type), valueName(mismatch.Value))
		}
		return fmt.Errorf("%s: want %s, not %s", mismatch.Field, kindName(mismatch.Type), valueName(mismatch.Value))
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
		return fmt.Errorf("unknown key %q", unknown.Key)
	case unknown.Key: // it is valid elsewhere
		return fmt.Errorf("the key %q is not valid here", unknown.Key)
	default:
		return fmt.Errorf("unknown key %q; did you mean %q?", unknown.Key, near)
	}
}

// valueName names the kind of a JSON value, as the decoder calls it.
func valueName(kind string) string {
	switch kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
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
	return "a string"
}

// check reports errors that the types cannot express.
func (l *layer) check() error {
	if err := l.checkOptions("", l.general()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.file.Agents)) {
		if err := l.checkOptions("agents."+name+".", l.file.Agents[name]); err != nil {
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
		if _, err := time.Parse(time.DateOnly, m.PricedOn); m.PricedOn != "" && err != nil {
			return fileError(l.path, "%s.pricedOn: %q is not a date such as 2026-11-28", at, m.PricedOn)
		}
		if m.Price == nil {
			continue
		}
		if names := m.Price.Faults(); len(names) > 0 {
			return fileError(l.path, "%s.price.%s is not a valid price", at, names[0]).WithHint("US dollars per million tokens, 0 or more; long.above is a number of tokens")
		}
	}
	if n := l.file.Notify; n != nil {
		if err := n.check(); err != nil {
			return fileError(l.path, "%v", err)
		}
	}
	if err := l.file.Worktrees.check(); err != nil {
		return fileError(l.path, "%v", err)
	}
	if err := CheckBudgets(l.file.Budgets); err != nil {
		return fileError(l.path, "%v", err)
	}
	if p := l.file.Profile; p != "" && !IsProfileName(strings.TrimPrefix(p, inProject)) {
		return fileError(l.path, "profile: %q is not a valid profile name", p)
	}
	if l.scope == ScopeProject {
		return l.checkProject()
	}
	return nil
}

func (l *layer) checkOptions(at string, stated Options) error {
	run, err := stated.Decode()
	if err == nil {
		err = run.Validate()
	}
	if err == nil {
		_, err = toolrule.ParseAll(slices.Concat(run.AllowTools, run.DenyTools))
	}
	var e *execution.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		f := e.Fields[0]
		key := strings.TrimPrefix(f.Field, "run.")
		if o, ok := execution.OptionNamed(key); ok && at == "" {
			key = fileKey(o)
		}
		return fileError(l.path, "%s%s: %s %s (want %s)", at, key, f.Received, f.Message, f.Expected)
	}
	if err != nil {
		return fileError(l.path, "%v", err)
	}
	return nil
}

// pathless returns a file system error without its path, which the message already contains.
func pathless(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// keys are the names of all top-level keys except $schema.
var keys = sync.OnceValue(func() []string {
	var list []string
	for f := range FileType().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "$schema" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
})

// Keys returns the names of all top-level keys.
func Keys() []string { return slices.Clone(keys()) }

// Known reports whether a dotted key begins with a key of the file.
func Known(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	return top == "$schema" || slices.Contains(keys(), top)
}

// Check validates the text of a scope's configuration file.
func Check(scope Scope, path string, data []byte) error {
	l := layer{scope: scope, path: path, raw: map[string]json.RawMessage{}}
	return l.decode(data)
}
