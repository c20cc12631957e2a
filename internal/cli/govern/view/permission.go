package view

import (
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Permission describes how an agent's permission requests are handled.
func Permission(mode string) string {
	what := map[string]string{
		protocol.ApprovePrompt: "asks on the terminal before it acts; without a terminal its turn is blocked",
		protocol.ApproveYolo:   "acts without asking",
		protocol.ApproveDeny:   "is denied every request",
	}[mode]
	return fmt.Sprintf("%s (approve: %s)", what, mode)
}

// Permissions returns one line for every role with a runtime of type agent.
func Permissions(all protocol.Ordered[string], line func(string)) {
	for role, mode := range all.All() {
		line(role + " " + Permission(mode))
	}
}
