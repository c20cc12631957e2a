// Package ownconfig is "drawbar config" without an agent: Drawbar's own configuration.
package ownconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/schema"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/settings"
)

// Show prints all effective values in dir, with their origins if origin is set.
func Show(app *cli.App, dir string, origin bool) error {
	cfg, err := app.Config(dir)
	if err != nil {
		return err
	}
	values := cfg.Values()
	for _, ignored := range cfg.AllIgnored() {
		app.Warnf("%s", ignored)
	}
	return app.Answer(values, func() {
		w := app.Table()
		for _, v := range values {
			if origin {
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, v.Value, v.Origin)
			} else {
				fmt.Fprintf(w, "%s\t%s\n", v.Key, v.Value)
			}
		}
		w.Flush()
	})
}

// Get prints one value: a string as it is, anything else as JSON.
func Get(app *cli.App, dir, key string) error {
	cfg, err := app.Config(dir)
	if err != nil {
		return err
	}
	v, ok := cfg.Get(key)
	if !ok {
		if !config.Known(key) {
			return unknown(key)
		}
		return execution.Errorf(execution.CodeConfig, "%s is not configured", key).WithHint("drawbar config set %s VALUE", key)
	}
	return app.Answer(v, func() {
		var text string
		if json.Unmarshal(v.Value, &text) == nil {
			app.Printf("%s\n", text)
			return
		}
		app.Printf("%s\n", v.Value)
	})
}

func unknown(key string) error {
	e := cli.Usage("Drawbar's configuration has no key %q", key)
	switch near := config.Nearest(key); {
	case near == "":
	case near != key:
		return e.WithHint("did you mean %s?", near)
	case key == "model":
		return e.WithHint("defaultModel is the model of every agent, agents.AGENT.model that of one, as in agents.claude.model")
	case key == "agent":
		return e.WithHint("defaultAgent is the agent of runs that name none")
	default:
		return e.WithHint("%s is a key of the list models; see: drawbar config schema", key)
	}
	return e.WithHint("drawbar config schema")
}

// file returns the configuration file of a scope: global (the default) or project.
func file(app *cli.App, dir, scope string) (s config.Scope, path, within string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", "", cli.Usage("--cwd %s: %v", dir, err)
	}
	dirs, err := app.Dirs(dir)
	if err != nil {
		return "", "", "", err
	}
	at, err := cli.Scope(scope)
	if err != nil {
		return "", "", "", err
	}
	if at == settings.Project {
		within, err = dirs.Within(config.ScopeProject)
		return config.ScopeProject, dirs.ProjectFile(), within, err
	}
	return config.ScopeUser, dirs.UserFile(), "", nil
}

// isDuration reports whether the value of a key may be written as 90s or 20m.
func isDuration(key configfile.Path) bool {
	o, ok := execution.OptionNamed(key[len(key)-1])
	return ok && o.Duration() && (len(key) == 1 || key[0] == "agents")
}

// Set writes one value, parsed as JSON if possible, otherwise as a string.
func Set(ctx context.Context, app *cli.App, dir, scope, key, text string) error {
	path, err := configfile.ParsePath(key)
	if err != nil {
		return cli.Usage("%q is not a key: %v", key, err)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
		if d, err := time.ParseDuration(text); err == nil && isDuration(path) {
			value = d.Milliseconds()
		}
	}
	if name, ok := value.(string); ok && key == "defaultAgent" {
		if _, err := app.Agent(name); err != nil {
			return err
		}
	}
	return edit(ctx, app, dir, scope, key, func(d *configfile.Document) (bool, error) { return true, d.Set(path, value) })
}

// SetAll writes values by key into the user's file, all or none.
func SetAll(ctx context.Context, app *cli.App, dir string, values map[string]any) error {
	return edit(ctx, app, dir, "", "", func(d *configfile.Document) (bool, error) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			path, err := configfile.ParsePath(key)
			if err == nil {
				err = d.Set(path, values[key])
			}
			if err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// Change replaces a list in the user's file by what change makes of it. An empty list goes.
func Change[T any](ctx context.Context, app *cli.App, dir, key string, change func([]T) ([]T, error)) error {
	return edit(ctx, app, dir, "", key, func(d *configfile.Document) (bool, error) {
		var list []T
		if have, stated := d.Get(configfile.Path{key}); stated {
			if err := convert(have, &list); err != nil {
				return false, cli.Usage("%s in the configuration is not a list of the right form: %v", key, err).WithHint("drawbar config validate")
			}
		}
		list, err := change(list)
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			return d.Unset(configfile.Path{key})
		}
		var plain any
		if err := convert(list, &plain); err != nil {
			return false, err
		}
		return true, d.Set(configfile.Path{key}, plain)
	})
}

// convert makes a value of another type with the same JSON.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// UserFile returns the user's file.
func UserFile(app *cli.App, dir string) (string, error) {
	_, path, _, err := file(app, dir, "")
	return path, err
}

// Unset removes one value.
func Unset(ctx context.Context, app *cli.App, dir, scope, key string) error {
	path, err := configfile.ParsePath(key)
	if err != nil {
		return cli.Usage("%q is not a key: %v", key, err)
	}
	return edit(ctx, app, dir, scope, key, func(d *configfile.Document) (bool, error) { return d.Unset(path) })
}

func edit(ctx context.Context, app *cli.App, dir, scope, key string, change func(*configfile.Document) (bool, error)) error {
	if key != "" && !config.Known(key) {
		return unknown(key)
	}
	s, path, within, err := file(app, dir, scope)
	if err != nil {
		return err
	}
	changed, err := configstore.Edit(ctx, path, configfile.JSONC, func(d *configfile.Document) (bool, error) {
		changed, err := change(d)
		if err != nil || !changed {
			return changed, err
		}
		return true, config.Check(s, path, d.Bytes())
	}, configstore.Options{Within: within})
	if err != nil {
		return err
	}
	return app.Answer(map[string]any{"file": path, "changed": changed}, func() {
		if changed {
			app.Notef("wrote %s", path)
		} else {
			app.Notef("%s has no %s", path, key)
		}
	})
}

// Validate validates the files that apply in dir.
func Validate(app *cli.App, dir string) error {
	cfg, err := app.Config(dir)
	if err != nil {
		return err
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	names := cfg.AgentNames()
	for _, name := range names {
		if _, err := client.Adapters().Get(name); err != nil {
			return execution.Errorf(execution.CodeConfig, "configuration: %w", err)
		}
	}
	if name := cfg.Profile(); name != "" {
		if _, err := cfg.Profiles().Show(name); err != nil {
			return err
		}
	}
	for _, ignored := range cfg.AllIgnored() {
		app.Warnf("%s", ignored)
	}
	files := []string{cfg.UserPath}
	if cfg.ProjectPath != "" {
		files = append(files, cfg.ProjectPath)
	}
	return app.Answer(map[string]any{"valid": true, "files": files}, func() {
		for _, f := range files {
			if _, err := os.Stat(f); errors.Is(err, fs.ErrNotExist) {
				app.Printf("valid: %s (missing)\n", f)
				continue
			}
			app.Printf("valid: %s\n", f)
		}
	})
}

// Schema prints the JSON Schema of the configuration files.
func Schema(app *cli.App) error {
	raw, err := schema.Config()
	if err != nil {
		return err
	}
	return app.Answer(json.RawMessage(raw), func() { app.Printf("%s", raw) })
}
