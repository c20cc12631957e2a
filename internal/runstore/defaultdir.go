package runstore

import (
	"os"
	"runtime"

	"github.com/drawbar/drawbar/internal/base/statedir"
)

// DefaultDir returns the state directory of this process. It touches no file.
func DefaultDir() (string, error) { return statedir.In(runtime.GOOS, os.Getenv, os.UserHomeDir) }
