package turnruntime

import (
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
)

// note processes an event of the agent: progress, evidence, and the facts of the job.
func (a *agentRuntime) note(j *job, e execution.Event, log *transcript) {
	j.event(e)
	keep := true
	switch b := e.Body.(type) {
	case execution.Debug, execution.InputQueued, execution.InputTaken, execution.InputCancelled, execution.Finished,
		execution.Timeout, execution.Aborted:
		// Drawbar's own events are not a sign of life of the agent.
	case execution.TextDelta, execution.ThinkingDelta, execution.ToolInputDelta, execution.ShellStdoutDelta, execution.ShellStderrDelta:
		keep = false // partial events repeat earlier ones, and the complete one follows
		j.sign("event", a.deps.Now())
	default:
		j.sign("event", a.deps.Now())
		j.change(func(p *govern.Progress) {
			p.Lines++
			switch b := b.(type) {
			case execution.CostEvent:
				if b.Cost.TotalUSD != nil {
					sum := *b.Cost.TotalUSD
					if p.CostUSD != nil {
						sum += *p.CostUSD
					}
					p.CostUSD = &sum
				}
			case execution.TokenUsage:
				p.Tokens += b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens
			case execution.ToolCallReady:
				p.Doing = b.ToolName
			case execution.MCPToolCallStart:
				p.Doing = b.ToolName
			case execution.ToolResultEvent, execution.ToolError:
				p.Doing = ""
			case execution.SessionStart:
				if b.Model != "" {
					p.Worker = j.d.Runtime.Agent + " " + b.Model
				}
			}
		})
	}
	if !keep {
		return
	}
	e.Raw = nil
	if b, ok := e.Body.(execution.Log); ok {
		b.Line = log.cleanLine(string(b.Source), b.Line)
		e.Body = b
	}
	if line, err := e.MarshalJSON(); err == nil {
		log.line("", line)
	}
}
