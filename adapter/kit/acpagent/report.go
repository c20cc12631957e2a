package acpagent

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// Report is what an extension of the agent states on standard error about a model call, because the protocol leaves it out.
// The zero value states that the extension is there.
type Report struct {
	Session string              // the session of the call, which may be a sub-agent's; empty for the run's own
	Usage   execution.Usage     // of a call that ended
	USD     float64             // its price, 0 if unknown
	Ended   bool                // the call ended
	Failed  execution.ErrorCode // it failed
	Retry   execution.ErrorCode // it failed and is tried again
	Message string              // why
}

// reports is what was reported. Standard error is read beside the conversation, so a report may come after the reply to
// the prompt: once there is one, usage and prices are counted from reports alone.
type reports struct {
	reporting bool
	fault     *failure // of the last call that ended
}

// report handles a line of standard error. It returns false if it is not a report.
func (p *parser) report(line []byte, s *cliagent.Sink) bool {
	if p.spec.Report == nil {
		return false
	}
	r, ok := p.spec.Report(line)
	if !ok {
		return false
	}
	p.reporting = true
	p.count(r.Usage, s)
	if r.USD > 0 {
		s.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &r.USD, execution.CostFromAgent)})
	}
	if r.Session != "" && r.Session != p.session.id {
		return true
	}
	switch {
	case r.Retry != "":
		p.fault = nil
		p.retries++
		s.Emit(execution.Retry{Attempt: p.retries, Reason: r.Message, Code: r.Retry})
	case r.Failed != "":
		p.fault = &failure{Failure: cliagent.Failure{Code: r.Failed, Message: r.Message}}
	case r.Ended:
		p.fault = nil
	}
	return true
}

// Noise reports whether a line of standard error is a report, which is not part of a failure's text.
func (p *parser) Noise(line string) bool {
	if p.spec.Report == nil {
		return false
	}
	_, ok := p.spec.Report([]byte(line))
	return ok
}
