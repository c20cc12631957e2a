package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/settings"
)

// Any matches every agent or every event.
const Any = "*"

// DefaultPriority is the priority of a registration that states none. Lower ones run first.
const DefaultPriority = 100

// Handler is the kind of a registration's action.
type Handler string

// The handlers: a built-in function, a shell command line, a program.
const (
	Builtin Handler = "builtin"
	Command Handler = "command"
	Script  Handler = "script"
)

// Registration says what to run at which event of which agent.
type Registration struct {
	ID       string         `json:"id"`
	Agent    string         `json:"agent"`    // a name, or *
	HookType string         `json:"hookType"` // the agent's name of an event, the specification's, an event type, or *
	Handler  Handler        `json:"handler"`
	Target   string         `json:"target"` // the function, the command line or the program
	Priority *int           `json:"priority,omitempty"`
	Enabled  *bool          `json:"enabled,omitempty"` // absent: yes
	Metadata map[string]any `json:"metadata,omitempty"`

	origin *origin // of a project's registration
}

// Order returns the registration's priority.
func (r Registration) Order() int {
	if r.Priority == nil {
		return DefaultPriority
	}
	return *r.Priority
}

// On reports whether the registration is enabled.
func (r Registration) On() bool { return r.Enabled == nil || *r.Enabled }

// Matches reports whether the registration applies to an event of an agent, which may have several names.
func (r Registration) Matches(agent string, names ...string) bool {
	return (r.Agent == Any || r.Agent == agent) && (r.HookType == Any || slices.Contains(names, r.HookType))
}

// idForm is compiled on first use, not at every start of the program.
var idForm = lazy.Regexp(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// Validate validates a registration.
func (r Registration) Validate() error {
	fault := func(field, format string, args ...any) error {
		return execution.Errorf(execution.CodeValidation, "hook %q: %s %s", r.ID, field, fmt.Sprintf(format, args...))
	}
	switch {
	case !idForm().MatchString(r.ID):
		return fault("id", "is not a valid id: want 1 to 64 letters, digits, dots, dashes and underscores")
	case r.Agent == "":
		return fault("agent", "is missing; * means all")
	case r.HookType == "":
		return fault("hookType", "is missing; * means all")
	case r.Handler != Builtin && r.Handler != Command && r.Handler != Script:
		return fault("handler", "is %q, want builtin, command or script", r.Handler)
	case strings.TrimSpace(r.Target) == "":
		return fault("target", "is empty")
	case strings.ContainsRune(r.Target, 0):
		return fault("target", "contains a NUL")
	case r.Handler == Builtin && !slices.Contains(BuiltinNames, r.Target):
		return fault("target", "is %q, the built-in handlers are %s", r.Target, strings.Join(BuiltinNames, " and "))
	}
	return nil
}

// file is hooks.json.
type file struct {
	Version int            `json:"version"`
	Hooks   []Registration `json:"hooks"`
}

// Parse parses a hooks.json. An unknown key, a repeated key and data after the object are errors.
func Parse(name string, data []byte) ([]Registration, error) {
	fault := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "read the hooks of %s: %v", name, err).WithHint("correct the file, or move it away")
	}
	var f file
	if err := exactjson.Decode(data, &f, nil); err != nil {
		return nil, fault(err)
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
			return nil, fault(fmt.Errorf("the id %q is used twice", r.ID))
		}
		seen[r.ID] = true
	}
	return f.Hooks, nil
}

// Merge joins the registrations of both scopes in running order: the user's first, then the project's, which
// never replace or reorder the user's, whatever their ids. Within a scope lower priorities come first, and
// equal ones keep the order of the file.
func Merge(global, project []Registration) []Registration {
	ordered := func(list []Registration) []Registration {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b Registration) int { return cmp.Compare(a.Order(), b.Order()) })
		return list
	}
	return append(ordered(global), ordered(project)...)
}

const (
	global  = settings.Global
	project = settings.Project
)

// Files are the two hooks.json.
type Files struct {
	Global, Project string // Project is empty if the project's directory is the user's
	dirs            config.Dirs
}

// Path returns the file of a scope.
func (f Files) Path(s settings.Scope) string {
	if s == project {
		return f.Project
	}
	return f.Global
}

// FilesIn returns the files in Drawbar's directories.
func FilesIn(dirs config.Dirs) Files {
	f := Files{Global: filepath.Join(dirs.User, fileName), Project: filepath.Join(dirs.Project, fileName), dirs: dirs}
	if dirs.OneDirectory() {
		f.Project = ""
	}
	return f
}

const fileName = "hooks.json"

// ReadScope reads one hooks.json; a missing file has no registrations.
func (f Files) ReadScope(s settings.Scope) ([]Registration, error) {
	path := f.Path(s)
	if path == "" {
		return nil, nil
	}
	data, err := f.dirs.ReadFile(config.Scope(s), fileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, execution.Errorf(execution.CodeConfig, "read the hooks of %s: %v", path, err).WithHint("replace it with a readable regular file, or move it away")
	}
	return Parse(path, data)
}

// Change edits the registrations of one file. Additions of the user to a project's file, and changes to
// registrations that the user already trusts, are trusted as written; nothing else is.
func (f Files) Change(ctx context.Context, store trust.Store, scope settings.Scope, edit func([]Registration) ([]Registration, error)) error {
	path := f.Path(scope)
	if path == "" {
		return execution.Errorf(execution.CodeConfig, "the project has no hooks of its own: its directory is that of the user").WithHint("--scope global")
	}
	if _, err := f.ReadScope(scope); err != nil {
		return err
	}
	within, err := f.dirs.Within(config.Scope(scope))
	if err != nil {
		return err
	}
	var before, after []Registration
	_, err = configstore.Edit(ctx, path, configfile.JSON, func(d *configfile.Document) (bool, error) {
		var list []Registration
		var err error
		if data := d.Bytes(); len(bytes.TrimSpace(data)) > 0 && string(bytes.TrimSpace(data)) != "{}" {
			if list, err = Parse(path, data); err != nil {
				return false, err
			}
		}
		before = slices.Clone(list)
		next, err := edit(list)
		if err != nil {
			return false, err
		}
		after = next
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
	}, configstore.Options{Within: within})
	if err != nil || scope != project {
		return err
	}
	items, err := f.written(store, before, after)
	if err != nil {
		return err
	}
	return f.Trust(ctx, store, items, false)
}

// plain converts a list to JSON values.
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
