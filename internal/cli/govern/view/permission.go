package view

import (
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Permission says what happens when an agent asks for a permission.
func Permission(mode string) string {
	what := map[string]string{
		protocol.ApprovePrompt: "asks on the terminal before it acts; without a terminal its turn is blocked",
		protocol.ApproveYolo:   "acts without asking",
		protocol.ApproveDeny:   "is denied every request",
	}[mode]
	return fmt.Sprintf("%s (approve: %s)", what, mode)
}

// Permissions gives one line for every role that an agent carries out.
func Permissions(all protocol.Ordered[string], line func(string)) {
	for role, mode := range all.All() {
		line(role + " " + Permission(mode))
	}
}
