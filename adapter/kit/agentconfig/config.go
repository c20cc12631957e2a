// Package agentconfig reads an agent's own configuration by the schema that its adapter declares: the files, the
// names of fields in them, precedence, validity, and the edit that sets a value.
//
// It reads through a Host and writes nothing: a Change describes an edit, and the product applies it. Names of
// vendors' files and keys belong to the adapters' schemas.
package agentconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/settings"
)

// maxFile bounds the size of a configuration file.
const maxFile = 32 << 20

// File is one configuration file as it was read.
type File struct {
	settings.File
	Name   string               // absolute path
	Keys   configfile.Path      // path of the object that contains the fields
	Root   string               // the project's directory for a file inside it, else empty
	Exists bool                 // false also when it cannot be read
	Doc    *configfile.Document // nil when Err is set
	Err    error                // why it cannot be read or parsed: a CONFIG_ERROR
}

// get returns a value below the file's keys.
func (f *File) get(path configfile.Path) (any, bool) {
	if f.Doc == nil {
		return nil, false
	}
	return f.Doc.Get(slices.Concat(f.Keys, path))
}

// Config is a snapshot of an agent's configuration files, safe for concurrent reads.
type Config struct {
	Schema  settings.Schema
	Project string // absolute
	Files   []File // from the widest scope to the narrowest
}

// Load reads an agent's files. project is an absolute directory. A file that cannot be read or parsed is returned
// with its Err; the error is for a schema without files and for a variable with an unusable location.
func Load(h adapter.Host, schema settings.Schema, project string) (*Config, error) {
	if len(schema.Files) == 0 {
		return nil, &execution.Error{Code: execution.CodeCapability, Agent: schema.Agent, Capability: "config",
			Message: fmt.Sprintf("%s has no configuration files that drawbar knows", schema.Agent)}
	}
	if h.Getenv == nil {
		h.Getenv = func(string) string { return "" }
	}
	c := &Config{Schema: schema, Project: project}
	for _, scope := range settings.Scopes {
		for _, file := range slices.Backward(schema.Files) { // the first of a scope wins
			if file.Scope != scope {
				continue
			}
			name, keys, err := place(file, h, project)
			if err != nil {
				return nil, err
			}
			f := File{File: file, Name: name, Keys: keys}
			if inProject(file) {
				f.Root = strings.TrimRight(strings.TrimSuffix(strings.ReplaceAll(name, `\`, "/"), file.Path), "/")
			}
			f.read(h)
			c.Files = append(c.Files, f)
		}
	}
	return c, nil
}

func inProject(file settings.File) bool {
	return !strings.HasPrefix(file.Path, "~/") && !path.IsAbs(file.Path)
}

func (f *File) read(h adapter.Host) {
	name, err := h.Name(f.Name)
	var data []byte
	if err == nil {
		data, err = readFile(h.FS, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		f.Err = execution.Errorf(execution.CodeConfig, "read %s: %w", f.Name, reason(err))
		return
	default:
		f.Exists = true
	}
	f.Doc, err = configfile.Parse(configfile.Format(f.Format), f.Name, data)
	if err != nil {
		f.Err = Unparsable(err)
	}
}

// reason is the error without the path, which the message already contains.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Unparsable is the CONFIG_ERROR for a file that cannot be parsed.
func Unparsable(err error) error {
	return execution.Errorf(execution.CodeConfig, "%w", err).WithHint("repair the file by hand: drawbar does not edit files that it cannot parse")
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, more than a configuration file may have (%d)", info.Size(), maxFile)
	}
	return fs.ReadFile(fsys, name)
}

// Err joins the errors of the files; nil if all were read.
func (c *Config) Err() error {
	for _, f := range c.Files {
		if f.Err != nil {
			return f.Err
		}
	}
	return nil
}

// Paths returns the existing files.
func (c *Config) Paths() []string {
	paths := []string{}
	for _, f := range c.Files {
		if f.Exists && !slices.Contains(paths, f.Name) {
			paths = append(paths, f.Name)
		}
	}
	return paths
}

// Target is what a name refers to: a field, or a key of the agent's own.
type Target struct {
	Name  string          // for display
	Field *settings.Field // nil for a key that the schema does not know
	Rest  configfile.Path // below the field
	Path  configfile.Path // in the file, below the file's keys
	File  string          // ID of the files that contain it
}

// whole reports whether the target is a field rather than a part of one.
func (t Target) whole() bool { return t.Field != nil && len(t.Rest) == 0 }

// nativePrefix precedes the agent's own keys.
const nativePrefix = "native."

// Resolve returns what a name refers to: a field of the schema, a part of one (env.NAME), or, after "native.", any
// key of the agent's settings file by its dotted path. A native key needs no prefix if the schema or the file has it;
// other names are refused, because a misspelled field would become a key that nothing reads.
func (c *Config) Resolve(name string) (Target, error) {
	plain, native := strings.CutPrefix(name, nativePrefix)
	path, err := configfile.ParsePath(plain)
	if err != nil {
		return Target{}, execution.Errorf(execution.CodeValidation, "%w", err).WithHint(`quote a key that has a dot: 'env."A.B"'`)
	}
	if !native {
		if t, ok := c.field(path); ok {
			return t, nil
		}
	}
	if t, ok := c.native(path); ok || native {
		return t, nil
	}
	for _, f := range c.Files {
		if f.ID == settings.MainFile {
			if _, ok := f.get(path[:1]); ok {
				t, _ := c.native(path)
				return t, nil
			}
		}
	}
	return Target{}, c.unknown(name, path)
}

// field matches the longest field name that begins the path.
func (c *Config) field(path configfile.Path) (Target, bool) {
	for n := len(path); n > 0; n-- {
		f, ok := c.Schema.Field(strings.Join(path[:n], "."))
		if !ok || n < len(path) && f.Type != settings.TypeObject && f.Type != settings.TypeMCPServers {
			continue
		}
		return c.target(f, path[n:]), true
	}
	return Target{}, false
}

func (c *Config) target(f settings.Field, rest configfile.Path) Target {
	native, err := configfile.ParsePath(f.Native)
	if err != nil {
		native = configfile.Path{f.Native}
	}
	t := Target{Name: f.Path, Field: &f, Rest: rest, Path: slices.Concat(native, rest), File: cmp.Or(f.File, settings.MainFile)}
	if len(rest) > 0 {
		t.Name += "." + rest.String()
	}
	return t
}

// native matches the field whose own key begins the path; without one it is a key of the settings file.
func (c *Config) native(path configfile.Path) (Target, bool) {
	for n := len(path); n > 0; n-- {
		for _, f := range c.Schema.Fields {
			if native, err := configfile.ParsePath(f.Native); err != nil || !slices.Equal(native, path[:n]) {
				continue
			}
			if n == len(path) || f.Type == settings.TypeObject || f.Type == settings.TypeMCPServers {
				return c.target(f, path[n:]), true
			}
		}
	}
	return Target{Name: nativePrefix + path.String(), Path: path, File: settings.MainFile}, false
}

func (c *Config) unknown(name string, path configfile.Path) error {
	agent := c.Schema.Agent
	if _, has := c.Schema.Field(path[0]); !has && slices.Contains(Normalized, path[0]) {
		return &execution.Error{Code: execution.CodeCapability, Agent: agent, Capability: path[0],
			Message: fmt.Sprintf("%s has no setting for %s", agent, path[0])}
	}
	e := execution.Errorf(execution.CodeValidation, "%s has no setting %s that drawbar knows", agent, name)
	var names []string
	for _, f := range c.Schema.Fields {
		names = append(names, f.Path)
	}
	if meant := near.Word(name, names); meant != "" {
		return e.WithHint("do you mean %s? a key of %s's own is named with a prefix: %s%s", meant, agent, nativePrefix, name)
	}
	return e.WithHint("drawbar config schema %s lists them; a key of %s's own is named with a prefix: %s%s", agent, agent, nativePrefix, name)
}

// Normalized lists Drawbar's own names of settings, including those that an agent does not have.
var Normalized = []string{"model", "provider", "temperature", "maxTokens", "thinkingEffort", "approvalMode", "sandbox",
	"allowedCommands", "deniedCommands", "mcpServers", "skills", "agentsDoc", "env"}
