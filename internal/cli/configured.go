package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/customagent"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// Config reads Drawbar's configuration for a directory.
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

// declared returns the custom agents of a configuration.
func (a *App) declared(cfg *config.Config) catalog.Declared {
	store, err := a.TrustStore()
	if err != nil {
		return catalog.Declared{Broken: err}
	}
	return customagent.Load(cfg, store)
}

// Dirs finds the directories of Drawbar's files for a directory.
func (a *App) Dirs(cwd string) (config.Dirs, error) {
	dirs, err := config.FindDirs(cwd, a.Getenv)
	a.passedOver(dirs)
	return dirs, err
}

// passedOver warns once about skipped directories of other users.
func (a *App) passedOver(dirs config.Dirs) {
	for _, why := range dirs.Skipped {
		if !slices.Contains(a.warned, why) {
			a.warned = append(a.warned, why)
			a.Warnf("%s", why)
		}
	}
}

// Scope parses --scope: global, its synonym user, project, or empty.
func Scope(word string) (settings.Scope, error) {
	switch word {
	case "", string(settings.Global), string(settings.Project):
		return settings.Scope(word), nil
	case "user":
		return settings.Global, nil
	}
	return "", Usage("--scope %q is not a scope", word).WithHint("global or project")
}

// DirFlag adds --cwd to a command and its subcommands.
func (a *App) DirFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVarP(&a.dir, "cwd", "C", "", "directory of the project (default: here)")
}

// SetDir sets the directory of the project unless dir is empty.
func (a *App) SetDir(dir string) { a.dir = cmp.Or(dir, a.dir) }

// ProjectDir returns the directory of the project: --cwd, which must exist, or the current directory.
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

// Dir is ProjectDir, empty on an error.
func (a *App) Dir() string {
	dir, err := a.ProjectDir()
	if err != nil {
		return ""
	}
	return dir
}

// Agent finds the agent of a command line and returns the arguments, its name first. Without a name, the agent of the profile or
// the configured default is used. A first argument without spaces is always an agent's name, never a prompt.
func (f *RequestFlags) Agent(app *App, cmd *cobra.Command, args []string) (catalog.Entry, []string, error) {
	app.SetDir(f.Dir())
	client, err := app.Client()
	if err != nil {
		return catalog.Entry{}, nil, err
	}
	named := len(args) > 0 && !strings.ContainsAny(args[0], " \t\n")
	if named {
		if args, err = f.splitModel(client, cmd, args); err != nil {
			return catalog.Entry{}, nil, err
		}
	}
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
		return catalog.Entry{}, nil, Usage("%s: no agent is given", cmd.CommandPath()).WithHint("%s AGENT \"what to do\", or set a default: drawbar config set defaultAgent claude", cmd.CommandPath())
	}
	e, err := client.Adapters().Get(name)
	return e, append([]string{name}, args...), err
}

// splitModel splits AGENT/MODEL at the first slash, which no agent's name contains, and sets --model.
func (f *RequestFlags) splitModel(client *drawbar.Client, cmd *cobra.Command, args []string) ([]string, error) {
	name, model, ok := strings.Cut(args[0], "/")
	if !ok || name == "" || model == "" {
		return args, nil
	}
	if _, err := client.Adapters().Get(name); execution.CodeOf(err) == execution.CodeUnknownAgent {
		return args, nil //nolint:nilerr // the caller reports the whole word
	} else if err != nil {
		return nil, err
	}
	if given := f.flags("model"); given != "" && given != model {
		return nil, Usage("two models are given: %s in %s, and --model %s", model, args[0], given)
	}
	if err := cmd.Flags().Set("model", model); err != nil {
		return nil, err
	}
	return append([]string{name}, args[1:]...), nil
}

// profile returns the profile for a run of an agent, empty if none is chosen.
func (f *RequestFlags) profile(cfg *config.Config, agent string) (config.ProfileData, error) {
	name := cmp.Or(f.flags("profile"), cfg.Profile())
	if name == "" {
		return config.ProfileData{}, nil
	}
	return cfg.Profiles().For(name, agent)
}

// fitModel removes a default model that the agent does not take, unless over states another one.
func (a *App) fitModel(cfg *config.Config, agent string, o config.Options, over ...config.Options) error {
	model := cfg.DefaultModel(agent)
	if model == "" || slices.ContainsFunc(over, func(o config.Options) bool { _, have := o["model"]; return have }) {
		return nil
	}
	e, err := a.Agent(agent)
	if err != nil {
		return err
	}
	if why := e.RefusedModel(model); why != "" {
		delete(o, "model")
		a.Warnf("%s", why)
	}
	return nil
}

// configured merges the flags over the profile and the configuration.
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
	if err := app.fitModel(cfg, agent, o, profile.Stated, stated); err != nil {
		return none, err
	}
	o.Lay(profile.Stated)
	o.Lay(stated)
	return o.Decode()
}
