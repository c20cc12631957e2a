// Package profiles is "drawbar profiles": named run options.
package profiles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/configstore"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "profiles", Args: cli.Args(cobra.NoArgs),
		Long: "A profile is a named set of options of drawbar run, stored as a file in the user's configuration directory or in a " +
			"project's\n.drawbar. If both have a profile of the same name, the name means the user's, and project/NAME the " +
			"project's. A project's profile\ncan only tighten what the user allows, and cannot name programs, variables, MCP servers " +
			"or skills.",
		Example: "  drawbar profiles set careful --agent claude --model opus --approve deny --max-turns 20\n  drawbar run --profile careful \"review the last commit\"",
		RunE:    func(*cobra.Command, []string) error { return list(app, "") }}
	cmd.AddCommand(newList(app), newShow(app), newSet(app), newDelete(app), newApply(app))
	return cmd
}

func open(app *cli.App) (config.Profiles, error) {
	dir, err := app.ProjectDir()
	if err != nil {
		return config.Profiles{}, err
	}
	cfg, err := app.Config(dir)
	if err != nil {
		return config.Profiles{}, err
	}
	return cfg.Profiles(), nil
}

func newList(app *cli.App) *cobra.Command {
	var where string
	cmd := &cobra.Command{Use: "list", Short: "List profiles", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return list(app, where) }}
	cmd.Flags().StringVar(&where, "scope", "", "global or project (default: both)")
	app.DirFlag(cmd)
	return cmd
}

func list(app *cli.App, where string) error {
	scope, err := cli.Scope(where)
	if err != nil {
		return err
	}
	s := config.Scope(scope)
	p, err := open(app)
	if err != nil {
		return err
	}
	found, err := p.List(s)
	if err != nil {
		return err
	}
	return app.Answer(found, func() {
		if len(found) == 0 {
			app.Notef("no profiles; create one with: drawbar profiles set NAME --model MODEL")
			return
		}
		w := app.Table("PROFILE", "SCOPE", "AGENT", "MODEL")
		for _, f := range found {
			w.Row(f.Name, f.Scope, f.Agent, f.Model)
		}
		w.Flush()
		for _, f := range found {
			if f.Corrupt != "" {
				app.Warnf("%s", f.Corrupt)
			}
		}
	})
}

func newShow(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "show NAME", Short: "Show the effective profile", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := open(app)
			if err != nil {
				return err
			}
			d, err := p.Show(args[0])
			if err != nil {
				return err
			}
			return app.Answer(d, func() {
				for _, path := range []string{d.GlobalPath, d.ProjectPath} {
					if path != "" {
						app.Notef("from %s", path)
					}
				}
				if d.Also != "" {
					app.Notef("this project has a profile of the same name: drawbar profiles show project/%s", d.Name)
				}
				for _, ignored := range d.Ignored {
					app.Warnf("%s", ignored)
				}
				printOptions(app, d.Data)
			})
		}}
	app.DirFlag(cmd)
	return cmd
}

func printOptions(app *cli.App, run execution.RunOptions) {
	o, err := config.Of(run)
	if err != nil {
		return
	}
	w := app.Table()
	for _, k := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(w, "%s\t%s\n", k, o[k])
	}
	w.Flush()
}

func newSet(app *cli.App) *cobra.Command {
	var flags cli.RequestFlags
	var where, agent string
	cmd := &cobra.Command{Use: "set NAME [FLAGS of drawbar run]", Short: "Write a profile, replacing an existing one", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := cli.Scope(where)
			if err != nil {
				return err
			}
			s := config.Scope(scope)
			app.SetDir(flags.Dir())
			p, err := open(app)
			if err != nil {
				return err
			}
			name, inProject := strings.CutPrefix(args[0], "project/")
			switch {
			case inProject && s == config.ScopeUser:
				return cli.Usage("%s is a profile of the project, not a global one", args[0]).WithHint("--scope project, or another name")
			case inProject:
				s = config.ScopeProject
			case s == "":
				s = p.Scope()
			}
			if agent, err = named(app, agent); err != nil {
				return err
			}
			o, err := flags.Stated(app, cmd, agent)
			if err != nil {
				return err
			}
			data, err := p.Encode(s, name, o)
			if err != nil {
				return err
			}
			within, err := p.Dirs.Within(s)
			if err != nil {
				return err
			}
			path := p.Path(s, name)
			if _, err := configstore.Edit(cmd.Context(), path, configfile.JSONC, func(d *configfile.Document) (bool, error) {
				for key := range d.Value() {
					if _, err := d.Unset(configfile.Path{key}); err != nil {
						return false, err
					}
				}
				var values map[string]any
				if err := json.Unmarshal(data, &values); err != nil {
					return false, err
				}
				return true, d.Merge(nil, values)
			}, configstore.Options{Within: within}); err != nil {
				return err
			}
			return app.Answer(map[string]any{"name": name, "scope": s, "path": path, "data": json.RawMessage(data)}, func() {
				app.Notef("wrote %s", path)
			})
		}}
	flags.Register(cmd)
	cmd.Flags().StringVar(&where, "scope", "", "global or project (default: project where there is a .drawbar, else global)")
	cmd.Flags().StringVar(&agent, "agent", "", "agent of the profile; it runs when the command line names none")
	flags.Refuse(cmd, func(o execution.Option) bool { return o.In(execution.ReachProfile) || o.Name == "cwd" },
		"belongs to one run; a profile cannot contain it", "give it to drawbar run")
	return cmd
}

// named returns the name of an agent that is given by name or alias, empty for none.
func named(app *cli.App, agent string) (string, error) {
	if agent == "" {
		return "", nil
	}
	e, err := app.Agent(agent)
	return e.Descriptor.Name, err
}

func newDelete(app *cli.App) *cobra.Command {
	var where string
	cmd := &cobra.Command{Use: "delete NAME", Short: "Delete a profile (project/NAME: the project's)", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			scope, err := cli.Scope(where)
			if err != nil {
				return err
			}
			s := config.Scope(scope)
			p, err := open(app)
			if err != nil {
				return err
			}
			path, err := p.Delete(args[0], s)
			if err != nil {
				return err
			}
			return app.Answer(map[string]string{"removed": path}, func() { app.Notef("removed %s", path) })
		}}
	cmd.Flags().StringVar(&where, "scope", "", "global or project (default: the one that the name refers to)")
	app.DirFlag(cmd)
	return cmd
}

func newApply(app *cli.App) *cobra.Command {
	var flags cli.RequestFlags
	var agent string
	cmd := &cobra.Command{Use: "apply NAME [FLAGS of drawbar run]", Short: "Show the run options that result from a profile and flags", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			app.SetDir(flags.Dir())
			p, err := open(app)
			if err != nil {
				return err
			}
			if agent, err = named(app, agent); err != nil {
				return err
			}
			d, err := p.For(args[0], agent)
			if err != nil {
				return err
			}
			stated, err := flags.Stated(app, cmd, agent)
			if err != nil {
				return err
			}
			d.Stated.Lay(stated)
			run, err := d.Stated.Decode()
			if err != nil {
				return err
			}
			return app.Answer(run, func() { printOptions(app, run) })
		}}
	flags.Register(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "agent of the run")
	flags.Refuse(cmd, func(o execution.Option) bool { return o.Name != "profile" }, "does not change the options of a run", "give it to drawbar run")
	return cmd
}
