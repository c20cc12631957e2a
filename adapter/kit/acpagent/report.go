package acpagent

import (
	"bytes"
	"cmp"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Report is what an extension of the agent states on standard error about a model call, because the protocol leaves it out.
// The zero value states that the extension is there.
type Report struct {
	Session string              // the session of the call, which may be a sub-agent's; empty for the run's own
	Model   string              // the session's, for an agent that names none in the protocol
	Usage   execution.Usage     // of a call that ended
	USD     float64             // its price, 0 if unknown
	Ended   bool                // the call ended
	Failed  execution.ErrorCode // it failed
	Retry   execution.ErrorCode // it failed and is tried again
	Limit   bool                // it was the last one of the request's turn limit, see Spec.TurnLimit
	Lost    bool                // it was cut off, and nothing is known of what it used
	Message string              // why
	Notice  string              // what a person should know besides
}

// Reported reads a line that an extension of a run wrote to standard error: "drawbar:" and an object of that shape.
func Reported[F any](line []byte, shape *jsonscan.Shape[F]) (f F, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte("drawbar:"))
	if !ok {
		return f, false
	}
	return shape.Read(line)
}

// reportWait is how long an agent that answers a prompt with an error has to report why.
const reportWait = 500 * time.Millisecond

// limitWait is how long a turn that the agent cancelled waits for the report that its limit was reached, which was
// written before the reply.
const limitWait = 10 * time.Second

// reports is what was reported. Standard error is read beside the conversation, so a report may come after the reply to
// the prompt: once there is one, usage and prices are counted from reports alone.
type reports struct {
	reporting bool
	fault     *failure // of the last call that ended
	vague     *failure // error reply to the running prompt, whose report may follow

	limited bool         // the turn limit was reached
	unasked *turnOutcome // of the running prompt, which the agent cancelled: the report of the limit may follow
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
	if r.Notice != "" {
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: p.spec.Name + " " + r.Notice})
	}
	if r.Lost {
		s.Emit(execution.CostEvent{Cost: execution.Cost{Unpriced: true, Source: execution.CostFromAgent}})
	}
	if r.USD > 0 {
		s.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &r.USD, execution.CostFromAgent)})
	}
	if r.Session != "" && r.Session != p.session.id {
		return true
	}
	p.model = cmp.Or(r.Model, p.model)
	switch {
	case r.Limit:
		p.limited = true
		p.endUnasked(s)
	case r.Retry != "":
		p.fault = nil
		p.retries++
		s.Emit(execution.Retry{Attempt: p.retries, Reason: r.Message, Code: r.Retry})
	case r.Failed != "":
		p.fault = &failure{Failure: cliagent.Failure{Code: r.Failed, Message: r.Message}}
		if p.vague != nil {
			p.turnFailed(p.vague, s)
		}
	case r.Ended:
		p.fault = nil
	}
	return true
}

// endUnasked ends a turn that the agent cancelled without being asked to. If that was because of the turn limit, nothing follows.
func (p *parser) endUnasked(s *cliagent.Sink) {
	out := p.unasked
	if out == nil {
		return
	}
	p.unasked = nil
	if p.limited {
		out.Reason = execution.TurnLimitReached
		s.Emit(execution.TurnLimit{MaxTurns: p.req.Run.MaxTurns})
		p.dropQueue("the turn limit was reached", s)
		p.ended = true
	}
	p.finishTurn(out, s)
	p.goOn(s)
}

// Noise reports whether a line of standard error is a report, which is not part of a failure's text.
func (p *parser) Noise(line string) bool {
	if p.spec.Report == nil {
		return false
	}
	_, ok := p.spec.Report([]byte(line))
	return ok
}
