package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/spf13/cobra"
)

// Config is Drawbar's own configuration for work in a directory.
func (a *App) Config(cwd string) (*config.Config, error) {
	dir, err := filepath.Abs(cwd)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "cannot read the current directory: %w", err)
	}
	cfg, err := config.Read(dir, a.Getenv)
	if err == nil {
		a.passedOver(cfg.Dirs())
	}
	return cfg, err
}

// Dirs are the directories of Drawbar's own files for work in a directory.
func (a *App) Dirs(cwd string) (config.Dirs, error) {
	dirs, err := config.FindDirs(cwd, a.Getenv)
	a.passedOver(dirs)
	return dirs, err
}

// passedOver warns once of directories that belong to somebody else.
func (a *App) passedOver(dirs config.Dirs) {
	for _, why := range dirs.Skipped {
		if !slices.Contains(a.warned, why) {
			a.warned = append(a.warned, why)
			a.Warnf("%s", why)
		}
	}
}

// DirFlag offers --cwd to a command that is about a project, and to those below it.
func (a *App) DirFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVarP(&a.dir, "cwd", "C", "", "directory of the project (default: here)")
}

// SetDir makes dir the directory that the command is about; empty leaves it as it is.
func (a *App) SetDir(dir string) { a.dir = cmp.Or(dir, a.dir) }

// ProjectDir is the directory that the command is about: that of --cwd, which has to be there, else the current one.
func (a *App) ProjectDir() (string, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "cannot read the current directory: %w", err).WithHint("cd to an existing directory")
	}
	if info, err := os.Stat(dir); a.dir != "" && (err != nil || !info.IsDir()) {
		return "", Usage("--cwd %s is not a directory", a.dir).WithHint("name an existing directory")
	}
	return dir, nil
}

// Dir is ProjectDir, empty when it cannot be told.
func (a *App) Dir() string {
	dir, err := a.ProjectDir()
	if err != nil {
		return ""
	}
	return dir
}

// Agent finds the agent of a command line and gives the words behind its name. Where none is named it is that of the profile,
// or the configured one: a first word that names no agent is taken for a prompt only when it cannot be the name of one.
func (f *RequestFlags) Agent(app *App, cmd *cobra.Command, args []string) (catalog.Entry, []string, error) {
	client, err := app.Client()
	if err != nil {
		return catalog.Entry{}, nil, err
	}
	named := len(args) > 0 && !strings.ContainsAny(args[0], " \t\n")
	if named && f.flags("profile") == "" {
		e, err := client.Adapters().Get(args[0])
		return e, args, err
	}
	cwd, err := f.cwd()
	if err != nil {
		return catalog.Entry{}, nil, err
	}
	cfg, err := app.Config(cwd)
	if err != nil {
		return catalog.Entry{}, nil, err
	}
	name := cfg.DefaultAgent()
	if profile, err := f.profile(cfg, ""); err != nil {
		return catalog.Entry{}, nil, err
	} else if profile.Agent != "" {
		name = profile.Agent
	}
	if named {
		e, err := client.Adapters().Get(args[0])
		return e, args, err
	}
	if name == "" {
		return catalog.Entry{}, nil, Usage("%s: which agent?", cmd.CommandPath()).WithHint("%s AGENT \"what to do\", or set a default: drawbar config set defaultAgent claude", cmd.CommandPath())
	}
	e, err := client.Adapters().Get(name)
	return e, append([]string{name}, args...), err
}

// profile is the profile of a run of an agent, empty when it has none.
func (f *RequestFlags) profile(cfg *config.Config, agent string) (config.ProfileData, error) {
	name := cmp.Or(f.flags("profile"), cfg.Profile())
	if name == "" {
		return config.ProfileData{}, nil
	}
	return cfg.Profiles().For(name, agent)
}

// configured puts what is configured, and the profile, under what the flags state.
func (f *RequestFlags) configured(app *App, cwd, agent string, stated config.Options) (execution.RunOptions, error) {
	var none execution.RunOptions
	cfg, err := app.Config(cwd)
	if err != nil {
		return none, err
	}
	profile, err := f.profile(cfg, agent)
	if err != nil {
		return none, err
	}
	if profile.Also != "" {
		app.Notef("using your profile %s; the project has one of the same name: --profile project/%s", profile.Name, profile.Name)
	}
	for _, ignored := range append(cfg.Ignored(agent), profile.Ignored...) {
		app.Warnf("%s", ignored)
	}
	o := cfg.Stated(agent)
	o.Lay(profile.Stated)
	o.Lay(stated)
	return o.Decode()
}
