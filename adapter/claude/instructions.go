package claude

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// hasInstructions reports whether the request changes the system prompt.
func hasInstructions(req execution.Request) bool {
	replace, added := cliagent.Instructions(req)
	return replace != "" || added != ""
}
