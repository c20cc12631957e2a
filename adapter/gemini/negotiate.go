package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds what the capabilities cannot say.
func negotiate(req execution.Request) []execution.Reason {
	var reasons []execution.Reason
	add := func(severity execution.Severity, code execution.ReasonCode, capability, format string, args ...any) {
		reasons = append(reasons, execution.Reason{Code: code, Severity: severity, Capability: capability, Message: fmt.Sprintf(format, args...)})
	}
	if req.Context != nil && len(req.Context.Structured) > 0 {
		if _, err := json.Marshal(req.Context.Structured); err != nil {
			add(execution.SeverityBlocking, execution.ReasonOther, "context", "the structured context is no JSON: %v", err)
		}
	}
	if _, added := cliagent.Instructions(req); added != "" && req.Run.SystemPromptMode == "" {
		add(execution.SeverityInfo, execution.ReasonOther, "systemPromptMode", "gemini has no place for added instructions; they go in front of the message")
	}
	if req.Run.MaxBudgetUSD != nil {
		add(execution.SeverityBlocking, execution.ReasonOther, "budget", "gemini has no budget of its own and states what it used only when a turn has ended")
	}
	return reasons
}
