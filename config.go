package drawbar

import (
	"os"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/customagent"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/settings/unasked"
)

// Configured returns the options of a client that follows Drawbar's own configuration for work in cwd (empty:
// the current directory), as the command line does: default agent, agents that it describes, models, profile and run
// options by agent. A request overrides them; they override Options.Defaults. The files are read once. The error is a CONFIG_ERROR
// that names the file and the position in it.
func Configured(cwd string) (Options, error) {
	cfg, err := readConfig(cwd)
	if err != nil {
		return Options{}, err
	}
	o := Options{DefaultAgent: cfg.DefaultAgent(), configured: cfg}
	for _, m := range cfg.Models() {
		o.Models = append(o.Models, ModelDeclaration(m))
	}
	for _, b := range cfg.Budgets() {
		o.Budgets = append(o.Budgets, Budget(b))
	}
	store := trust.Store{File: trust.FileIn(cfg.Dirs().User)}
	o.Declared, o.Allow = customagent.Load(cfg, store), unasked.Check(store)
	return o, nil
}

func readConfig(cwd string) (*config.Config, error) {
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "read the current directory: %w", err)
		}
	}
	return config.Read(cwd, os.Getenv)
}
