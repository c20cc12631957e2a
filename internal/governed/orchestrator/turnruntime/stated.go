package turnruntime

import (
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/govern/protocol"
)

// stated is what a program states about itself when it prints the records of a known agent: model, session, usage, cost, and why a
// turn failed. What a program says in words, to a person or in a log, never counts: a line that talks of a rate limit is no rate limit.
type stated struct {
	read  adapter.OutputReader // nil: no agent is known
	now   func() time.Time
	tries int

	out   adapter.Output // nil until a line told whose output it is
	ran   ran
	usage execution.Usage
	cost  *float64
	used  bool
	doing string
	model string

	again *execution.ResultError // why it tries again; if it ends like that, this is why
}

// recordTries bounds how many records are looked at for the first one of a known agent: other programs print JSON, too.
const recordTries = 20

// line takes a line of standard output. piece says that it is a piece of a message whose whole comes in a line of its own.
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

// take notes events, and reports whether one of them is a piece.
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

// outcome is the failure that the program stated; false when it stated none.
func (s *stated) outcome(d Dispatch) (Outcome, bool) {
	r := s.ran
	if r.Error == nil && r.ExitReason == execution.ExitTurnLimit {
		r.Error = execution.NewResultError(execution.CodeTurnLimit, "it has used all its turns")
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

// meta is what was stated of the work; nil when nothing was.
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
	return account(r)
}
