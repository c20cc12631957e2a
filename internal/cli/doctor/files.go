package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/hook"
)

// failed returns an error as a finding.
func failed(name string, err error) check {
	c := check{name, problem, err.Error(), ""}
	if e, is := errors.AsType[*execution.Error](err); is && e.Hint != "" {
		c.Found, c.Do = strings.TrimSuffix(c.Found, "; "+e.Hint), e.Hint
	}
	return c
}

// own checks Drawbar's own files: configuration, profiles, hooks.
func own(app *cli.App, dir string) []check {
	var list []check
	cfg, err := app.Config(dir)
	if err != nil {
		list = append(list, failed("configuration", err))
	} else {
		list = append(list, check{"configuration", ok, cfg.UserPath, ""})
		for _, ignored := range cfg.AllIgnored() {
			list = append(list, check{"configuration", note, ignored, "drawbar config show --origin"})
		}
	}
	dirs, err := app.Dirs(dir)
	if err != nil {
		return list // reported with the configuration
	}
	profiles, err := config.Profiles{Dirs: dirs}.List("")
	if err != nil {
		list = append(list, failed("profiles", err))
	}
	for _, p := range profiles {
		if p.Corrupt != "" {
			list = append(list, check{"profile", problem, p.Corrupt, "drawbar profiles delete " + p.Name + ", or repair the file by hand"})
		}
	}
	return append(list, hooks(app, dirs)...)
}

func hooks(app *cli.App, dirs config.Dirs) []check {
	files := hook.FilesIn(dirs)
	store, err := app.TrustStore()
	if err != nil {
		return []check{failed("hooks", err)}
	}
	_, pending, err := files.Read(store)
	switch {
	case err != nil:
		return []check{failed("hooks", err)}
	case len(pending) > 0:
		return []check{{"hooks", note, fmt.Sprintf("not trusted: %s would run %d commands; no run starts here until you trust them", files.Project, len(pending)), "drawbar trust " + dirs.Root}}
	}
	return nil
}

// settings checks the agents' configuration files.
func settingsChecks(client *drawbar.Client, dir string) []check {
	var list []check
	for _, i := range client.Adapters().List() {
		name := i.Agent + " settings"
		c, err := client.Config().Load(i.Agent, drawbar.ConfigPlace{Project: dir})
		if execution.CodeOf(err) == execution.CodeCapability {
			continue // no configuration files
		}
		if err != nil {
			list = append(list, failed(name, err))
			continue
		}
		v := c.Validate()
		for _, f := range v.Errors {
			list = append(list, check{name, problem, f.Message, "drawbar config validate " + i.Agent})
		}
	}
	return list
}

// maxStoreProblems limits the problems that are printed per agent.
const maxStoreProblems = 3

// stores checks that the agents' sessions can be opened. Their contents are not read.
func stores(ctx context.Context, app *cli.App) []check {
	var list []check
	host := oshost.New(cliagent.Spawn)
	entries, _ := app.Agents() // errors were reported above
	for _, e := range entries {
		store, has := adapter.As[adapter.SessionStore](e.Adapter)
		if !has {
			continue
		}
		agent := e.Descriptor.Name
		name := agent + " sessions"
		found, problems := store.ListSessions(ctx, host)
		for _, f := range found {
			if f.Problem != "" {
				problems = append(problems, history.Problem{Path: f.Path, Message: f.Problem})
				continue
			}
			open, err := store.OpenSession(ctx, host, f)
			if err == nil {
				_ = open.Close() // nothing was read
			} else {
				problems = append(problems, history.Problem{Path: f.Path, Message: strings.TrimPrefix(err.Error(), "read "+f.Path+": ")})
			}
		}
		for n, p := range problems {
			if n == maxStoreProblems {
				list = append(list, check{name, note, fmt.Sprintf("%d more like these", len(problems)-n), ""})
				break
			}
			list = append(list, check{name, note, p.String(), "make it readable, or drawbar sessions list --agent " + agent + ", which skips it"})
		}
	}
	return list
}
