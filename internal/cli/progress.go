package cli

import (
	"fmt"

	"github.com/drawbar/drawbar/execution"
)

// Progress is where a run is, by its events. The zero value is ready; it is not safe for concurrent use.
type Progress struct {
	Doing   string // the current step in words
	Tokens  int64
	USD     float64 // as far as it is known
	context contextFill
}

// Event adds the next event of the run.
func (p *Progress) Event(e execution.Event) {
	p.context.event(e)
	switch b := e.Body.(type) {
	case execution.TurnStart:
		p.Doing = "waiting for the model"
	case execution.ThinkingStart:
		p.Doing = "thinking"
	case execution.MessageStart:
		p.Doing = "answering"
	case execution.ToolCallReady:
		p.Doing = b.ToolName + " " + Summarize(b.Input)
	case execution.MCPToolCallStart:
		p.Doing = b.Server + "/" + b.ToolName
	case execution.ToolResultEvent, execution.ToolError, execution.MCPToolResult, execution.MCPToolError:
		p.Doing = "waiting for the model"
	case execution.Retry:
		p.Doing = "waiting to retry"
	case execution.Paused:
		p.Doing = "paused"
	case execution.Resumed:
		p.Doing = "continuing"
	case execution.TokenUsage:
		p.Tokens += b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens
	case execution.CostEvent:
		if b.Cost.TotalUSD != nil {
			p.USD += *b.Cost.TotalUSD
		}
	}
}

// spent is what the run has used, as far as it is known.
func (p *Progress) spent() (parts []string) {
	if p.Tokens > 0 {
		parts = append(parts, Count(p.Tokens)+" tokens")
	}
	if p.USD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", p.USD))
	}
	return parts
}

// Context returns how many tokens the conversation has, 0 if unknown.
func (p *Progress) Context() int64 { return p.context.tokens }
