package drawbar

import (
	"os"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// Configured are the options of a client whose runs take what Drawbar's own configuration states for work in cwd (empty: the
// current directory), as the command line does: the default agent, models, the profile, and options of runs by agent. What a
// request states is stronger, Options.Defaults is weaker. The files are read once. The error is a CONFIG_ERROR that names
// the file and the place in it.
func Configured(cwd string) (Options, error) {
	cfg, err := readConfig(cwd)
	if err != nil {
		return Options{}, err
	}
	o := Options{DefaultAgent: cfg.DefaultAgent(), configured: cfg}
	for _, m := range cfg.Models() {
		o.Models = append(o.Models, ModelDeclaration{Agent: m.Agent, Model: m.Model})
	}
	return o, nil
}

func readConfig(cwd string) (*config.Config, error) {
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "the current directory cannot be read: %w", err)
		}
	}
	return config.Read(cwd, os.Getenv)
}
