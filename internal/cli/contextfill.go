package cli

import (
	"fmt"

	"github.com/drawbar/drawbar/execution"
)

// contextFill is how many tokens the conversation has after the last model call that reports its own usage. Usage outside of
// calls is a sum over several, which does not say how full the context is.
type contextFill struct {
	tokens int64 // 0 if unknown
	step   int64 // of the model call that runs
	inStep bool
}

func (c *contextFill) event(e execution.Event) {
	if e.Parent != "" { // sub-agents have contexts of their own
		return
	}
	switch b := e.Body.(type) {
	case execution.StepStart:
		c.step, c.inStep = 0, true
	case execution.StepEnd:
		c.inStep = false
	case execution.ToolResultEvent, execution.ToolError, execution.MCPToolResult, execution.MCPToolError:
		c.inStep = false // the agent reports several calls as one step
	case execution.ContextCompacted:
		*c = contextFill{}
	case execution.TokenUsage:
		if c.inStep && !b.FromSession {
			c.step += b.InputTokens + b.CachedTokens + b.CacheWriteTokens + b.OutputTokens
			c.tokens = c.step
		} else {
			c.tokens = 0
		}
	}
}

// text returns the tokens and their part of the window, empty if one of them is unknown.
func (c *contextFill) text(window int64) string {
	if c.tokens <= 0 || c.tokens > window {
		return ""
	}
	return fmt.Sprintf("context %s of %s (%d%%)", Count(c.tokens), Count(window), c.tokens*100/window)
}
