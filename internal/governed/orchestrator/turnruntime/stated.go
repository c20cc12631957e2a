package turnruntime

import (
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/govern/protocol"
)

// stated collects what a program that prints the records of a known agent reports about itself: model, session, usage,
// cost, and why a turn failed. Free text never counts: a line that mentions a rate limit is not a rate limit.
type stated struct {
	read  adapter.OutputReader // nil: no agent is known
	now   func() time.Time
	tries int

	out   adapter.Output // nil until a line identifies the agent
	ran   ran
	usage execution.Usage
	cost  *float64
	used  bool
	doing string
	model string

	again *execution.ResultError // why it retries; if it ends that way, this is the reason
}

// recordTries bounds how many records are tried to identify the agent: other programs print JSON, too.
const recordTries = 20

// line processes a line of standard output. piece says that it is part of a message whose complete form follows in its
// own line.
func (s *stated) line(data []byte) (piece bool) {
	if s.out == nil {
		if s.read == nil || s.tries >= recordTries || len(data) < 2 || data[0] != '{' {
			return false
		}
		s.tries++
		if s.out = s.read.ReadOutput(data); s.out == nil {
			return false
		}
	}
	return s.take(s.out.Line(data))
}

// end is the end of the program.
func (s *stated) end(code int, stderr string) {
	if s.out != nil {
		var last []execution.Event
		last, s.ran.Result = s.out.End(code, stderr)
		s.take(last)
	}
}

// take processes events, and reports whether one of them is partial.
func (s *stated) take(events []execution.Event) (piece bool) {
	for _, e := range events {
		s.ran.note(e, s.now())
		switch b := e.Body.(type) {
		case execution.SessionStart:
			s.model, s.ran.SessionID = b.Model, b.SessionID
		case execution.Retry:
			s.again = execution.NewResultError(b.Code, b.Reason)
		case execution.MessageStop:
			s.again = nil // the model has answered
		case execution.ToolCallReady:
			s.doing = b.ToolName
		case execution.MCPToolCallStart:
			s.doing = b.ToolName
		case execution.ToolResultEvent, execution.ToolError:
			s.doing = ""
		case execution.TokenUsage:
			s.used = true
			s.usage.Input += b.InputTokens
			s.usage.Output += b.OutputTokens
			s.usage.Cached += b.CachedTokens
			s.usage.CacheWrite += b.CacheWriteTokens
		case execution.CostEvent:
			if b.Cost.TotalUSD != nil {
				sum := *b.Cost.TotalUSD
				if s.cost != nil {
					sum += *s.cost
				}
				s.cost = &sum
			}
		}
		_, _, is := deltas.Of(e)
		piece = piece || is
	}
	return piece
}

func (s *stated) tokens() int64 {
	return s.usage.Input + s.usage.Cached + s.usage.CacheWrite + s.usage.Output
}

// outcome is the failure that the program reported; false if it reported none.
func (s *stated) outcome(d Dispatch) (Outcome, bool) {
	r := s.ran
	if r.Error == nil && r.ExitReason == execution.ExitTurnLimit {
		r.Error = execution.NewResultError(execution.CodeTurnLimit, "it reached its turn limit")
	}
	if r.Status == "" {
		r.Error = s.again
	}
	if r.Error == nil {
		return Outcome{}, false
	}
	var o Outcome
	o.fault(d, r, s.now())
	o.Detail = r.Error.Message
	return o, true
}

// meta is what was reported about the work; nil if nothing was.
func (s *stated) meta() (*protocol.AdapterMeta, *protocol.Cost) {
	r := s.ran.Result
	if r.Model == "" {
		r.Model = s.model
	}
	if s.used || s.cost != nil {
		r.Usage = &s.usage
		r.Cost = &execution.Cost{TotalUSD: s.cost}
	}
	if r.Model == "" && r.SessionID == "" && r.Usage == nil {
		return nil, nil
	}
	return Account(r)
}
