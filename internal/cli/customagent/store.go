package customagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/internal/settings/customagent"
	"github.com/drawbar/drawbar/settings"
)

// place is the configuration file of a scope.
type place struct {
	app    *cli.App
	scope  config.Scope
	dirs   config.Dirs
	path   string
	within string
}

// openPlace returns the file of a scope: global (the default) or project.
func openPlace(app *cli.App, scope string) (place, error) {
	at, err := cli.Scope(scope)
	if err != nil {
		return place{}, err
	}
	dir, err := app.ProjectDir()
	if err != nil {
		return place{}, err
	}
	p := place{app: app, scope: config.ScopeUser}
	if p.dirs, err = app.Dirs(dir); err != nil {
		return p, err
	}
	if p.path = p.dirs.UserFile(); at == settings.Project {
		p.scope, p.path = config.ScopeProject, p.dirs.ProjectFile()
		p.within, err = p.dirs.Within(config.ScopeProject)
	}
	return p, err
}

// text returns the text of an entry in the file, with its comments; nil if there is none.
func (p place) text(name string) ([]byte, error) {
	data, err := p.dirs.ReadFile(p.scope, "config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", p.path, err)
	}
	at, end := locate(data, name)
	return data[at:end:end], nil
}

// locate returns the range of an entry in the text of a configuration file, an empty one if there is none.
func locate(data []byte, name string) (from, to int) {
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // keeps positions
	if err != nil || !json.Valid(plain) {
		return 0, 0
	}
	v := shape.Parse(plain).Get(config.CustomAgents).Get(name)
	if v == nil {
		return 0, 0
	}
	return v.At, v.At + len(v.Raw())
}

// check returns why a valid entry cannot be stored under a name.
func (p place) check(name string, e declarative.Entry) error {
	if !config.IsAgentName(name) {
		return cli.Usage("%q is not a valid agent name", name).WithHint("a lower-case letter, then at most 63 lower-case letters, digits or -")
	}
	return customagent.Check(p.agent(name, e))
}

// agent returns the agent that an entry describes when it is stored here.
func (p place) agent(name string, e declarative.Entry) config.CustomAgent {
	a := config.CustomAgent{Name: name, Scope: p.scope, File: p.path, Entry: e}
	if p.scope == config.ScopeProject {
		a.Root = p.dirs.Root
	}
	return a
}

// edit changes the file. The result must be a valid configuration.
func (p place) edit(ctx context.Context, change func(*configfile.Document) (bool, error)) (bool, error) {
	return configstore.Edit(ctx, p.path, configfile.JSONC, func(d *configfile.Document) (bool, error) {
		changed, err := change(d)
		if err != nil || !changed {
			return changed, err
		}
		return true, config.Check(p.scope, p.path, d.Bytes())
	}, configstore.Options{Within: p.within})
}

// trust trusts an entry of the project that this user has just written.
func (p place) trust(ctx context.Context, name string) error {
	cfg, err := p.app.Config(p.dirs.Root)
	if err != nil {
		return err
	}
	store, err := p.app.TrustStore()
	if err != nil {
		return err
	}
	for _, a := range cfg.CustomAgents() {
		if a.Name != name || a.Scope != p.scope {
			continue
		}
		if root, items := customagent.Items(cfg, a); len(items) > 0 {
			return store.Trust(ctx, root, items, false)
		}
	}
	return nil
}

// ordered converts a value to one that keeps the order of keys.
func ordered(v *shape.Value) any {
	switch v.Kind {
	case "object":
		list := configfile.Pairs{}
		for _, m := range v.Members {
			list = append(list, configfile.Pair{Key: m.Key, Value: ordered(m.Value)})
		}
		return list
	case "array":
		list := []any{}
		for _, i := range v.Items {
			list = append(list, ordered(i))
		}
		return list
	case "number":
		return json.Number(v.Text)
	case "string":
		return v.Str()
	case "boolean":
		return string(v.Text) == "true"
	}
	return nil
}

// parse returns the value of an entry's text, which was read without a fault.
func parse(text []byte) (*shape.Value, error) {
	plain, err := hujson.Standardize(append(bytes.Clone(text), '\n'))
	if err != nil || !json.Valid(plain) {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return shape.Parse(plain), nil
}

// refusal returns the error of a text with faults. where is its file or the command line.
func refusal(where string, faults declarative.Faults) *execution.Error {
	lines := make([]string, len(faults))
	e := &execution.Error{Code: execution.CodeValidation}
	for i, f := range faults {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", where, f.Line, f.Column, f)
		e.Fields = append(e.Fields, execution.FieldError{Field: cmp.Or(f.Field, "entry"), Message: f.Message, Expected: f.Hint})
	}
	e.Message = strings.Join(lines, "\n  ")
	return e.WithHint("drawbar agents schema lists the keys")
}

// base returns the name that a file gives its agent.
func base(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".jsonc"), ".json")
}
