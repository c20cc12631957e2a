package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/configstore"
)

// Any stands for every agent, or every event.
const Any = "*"

// DefaultPriority is that of a registration that states none. Lower ones run first.
const DefaultPriority = 100

// Handler is what carries a registration out.
type Handler string

// The handlers: a function of Drawbar, a line for the shell, a program.
const (
	Builtin Handler = "builtin"
	Command Handler = "command"
	Script  Handler = "script"
)

// Registration says what happens at which event of which agent.
type Registration struct {
	ID       string         `json:"id"`
	Agent    string         `json:"agent"`    // a name, or *
	HookType string         `json:"hookType"` // the agent's name of an event, that of the specification, a type of event, or *
	Handler  Handler        `json:"handler"`
	Target   string         `json:"target"` // the function, the line, the program
	Priority *int           `json:"priority,omitempty"`
	Enabled  *bool          `json:"enabled,omitempty"` // absent: yes
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Order is the registration's priority.
func (r Registration) Order() int {
	if r.Priority == nil {
		return DefaultPriority
	}
	return *r.Priority
}

// On reports whether the registration is in force.
func (r Registration) On() bool { return r.Enabled == nil || *r.Enabled }

// Matches reports whether the registration is for an event of an agent, which may have several names.
func (r Registration) Matches(agent string, names ...string) bool {
	return (r.Agent == Any || r.Agent == agent) && (r.HookType == Any || slices.Contains(names, r.HookType))
}

// idForm is made when it is needed: every start of the program would pay for it.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`) })

// Validate checks a registration.
func (r Registration) Validate() error {
	fault := func(field, format string, args ...any) error {
		return execution.Errorf(execution.CodeValidation, "hook %q: %s %s", r.ID, field, fmt.Sprintf(format, args...))
	}
	switch {
	case !idForm().MatchString(r.ID):
		return fault("id", "is no id: want 1 to 64 letters, digits, dots, dashes and underscores")
	case r.Agent == "":
		return fault("agent", "is missing; * stands for all")
	case r.HookType == "":
		return fault("hookType", "is missing; * stands for all")
	case r.Handler != Builtin && r.Handler != Command && r.Handler != Script:
		return fault("handler", "is %q, want builtin, command or script", r.Handler)
	case strings.TrimSpace(r.Target) == "":
		return fault("target", "is empty")
	case strings.ContainsRune(r.Target, 0):
		return fault("target", "holds a NUL")
	case r.Handler == Builtin && !slices.Contains(BuiltinNames, r.Target):
		return fault("target", "is %q, there are the built-in handlers %s", r.Target, strings.Join(BuiltinNames, " and "))
	}
	return nil
}

// file is hooks.json.
type file struct {
	Version int            `json:"version"`
	Hooks   []Registration `json:"hooks"`
}

// Parse reads a hooks.json. An unknown member and whatever follows the object are faults.
func Parse(name string, data []byte) ([]Registration, error) {
	fault := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "read the hooks of %s: %v", name, err).WithHint("mend the file, or move it away")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fault(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fault(errors.New("something follows the object"))
	}
	if f.Version != 1 {
		return nil, fault(fmt.Errorf("version %d, this program reads version 1", f.Version))
	}
	seen := map[string]bool{}
	for _, r := range f.Hooks {
		if err := r.Validate(); err != nil {
			return nil, fault(err)
		}
		if seen[r.ID] {
			return nil, fault(fmt.Errorf("the id %q is there twice", r.ID))
		}
		seen[r.ID] = true
	}
	return f.Hooks, nil
}

// Merge joins the registrations of both scopes in the order in which they run: those of the project take the place of global
// ones with their id, lower priorities come first, and equal ones stay in the order of the files.
func Merge(global, project []Registration) []Registration {
	var all []Registration
	for _, r := range global {
		if !slices.ContainsFunc(project, func(p Registration) bool { return p.ID == r.ID }) {
			all = append(all, r)
		}
	}
	all = append(all, project...)
	slices.SortStableFunc(all, func(a, b Registration) int { return cmp.Compare(a.Order(), b.Order()) })
	return all
}

// Files are the two hooks.json.
type Files struct{ Global, Project string }

// Path is the file of a scope.
func (f Files) Path(s adapter.ConfigScope) string {
	if s == adapter.ScopeProject {
		return f.Project
	}
	return f.Global
}

// FilesIn are the files in Drawbar's directories for the user and for the project; see config.FindDirs.
func FilesIn(user, project string) Files {
	f := Files{Global: filepath.Join(user, "hooks.json"), Project: filepath.Join(project, "hooks.json")}
	if f.Project == f.Global {
		f.Project = ""
	}
	return f
}

// ReadFile reads one hooks.json; one that is not there has no registrations.
func ReadFile(path string) ([]Registration, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, execution.Errorf(execution.CodeConfig, "read the hooks: %w", err)
	}
	return Parse(path, data)
}

// Read reads both files. The project's registrations count only if they are trusted; skipped says that they do not.
func (f Files) Read() (list []Registration, skipped bool, err error) {
	global, err := ReadFile(f.Global)
	if err != nil {
		return nil, false, err
	}
	project, err := ReadFile(f.Project)
	if err != nil || len(project) == 0 {
		return Merge(global, nil), false, err
	}
	trusted, err := f.Trusted(project)
	if err != nil {
		return nil, false, err
	}
	if !trusted {
		project = nil
	}
	return Merge(global, project), !trusted, nil
}

// Change edits the registrations of one file. The file of a project that was trusted, or is new, stays trusted.
func (f Files) Change(ctx context.Context, scope adapter.ConfigScope, edit func([]Registration) ([]Registration, error)) error {
	path := f.Path(scope)
	if path == "" {
		return execution.Errorf(execution.CodeConfig, "the project has no hooks of its own: its directory is that of the user").WithHint("--scope global")
	}
	before, err := ReadFile(path)
	if err != nil {
		return err
	}
	trust := false
	if scope == adapter.ScopeProject {
		if trust = len(before) == 0; !trust {
			if trust, err = f.Trusted(before); err != nil {
				return err
			}
		}
	}
	_, err = configstore.Edit(ctx, path, configfile.JSON, func(d *configfile.Document) (bool, error) {
		var list []Registration
		if data := d.Bytes(); len(bytes.TrimSpace(data)) > 0 && string(bytes.TrimSpace(data)) != "{}" {
			if list, err = Parse(path, data); err != nil {
				return false, err
			}
		}
		next, err := edit(list)
		if err != nil {
			return false, err
		}
		for _, r := range next {
			if err := r.Validate(); err != nil {
				return false, err
			}
		}
		if err := d.Set(configfile.Path{"version"}, 1); err != nil {
			return false, err
		}
		value, err := plain(next)
		if err != nil {
			return false, err
		}
		return true, d.Set(configfile.Path{"hooks"}, value)
	}, configstore.Options{})
	if err != nil || !trust {
		return err
	}
	return f.Trust(ctx)
}

// plain is a list as values of JSON.
func plain(list []Registration) (any, error) {
	if list == nil {
		list = []Registration{}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	var v any
	return v, json.Unmarshal(b, &v)
}
