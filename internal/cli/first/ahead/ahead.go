// Package ahead starts the keeper of an agent before most packages are initialized. Only main imports it.
package ahead

import (
	"os"
	"slices"

	"github.com/drawbar/drawbar/transport/process/role"
)

func init() {
	if runsAgent(os.Args[1:]) {
		role.StartAhead()
	}
}

// runsAgent reports whether a command line is likely to start an agent soon.
func runsAgent(args []string) bool {
	switch {
	case len(args) < 2 || slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" || a == "-d" || a == "--detach" }):
		return false
	case args[0] == "govern":
		return args[1] == "step" || args[1] == "run"
	}
	return args[0] == "run"
}
