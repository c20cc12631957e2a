package drawbar

import (
	"os"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// Config is Drawbar's own configuration for one working directory: environment, project and user in layers. A client
// does not read it by itself; the command line does. Its Run is what to put under the options of a request.
type Config = config.Config

// Profiles are named options of runs in files of the user and of a project.
type Profiles = config.Profiles

// ReadConfig reads the configuration for work in cwd; empty is the current directory. The error is a CONFIG_ERROR that names
// the file and the place in it.
func ReadConfig(cwd string) (*Config, error) {
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "the current directory cannot be read: %w", err)
		}
	}
	return config.Read(cwd, os.Getenv)
}
