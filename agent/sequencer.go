package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// sequencer brings the events of an adapter into the order of the contract (agent-mux specification, events): the session
// first, turns that begin and end, whole messages where streaming is off or missing, a turn's end before the error that
// ended it. It runs under emit's exclusion.
type sequencer struct {
	run      *Run
	n        uint64
	last     time.Time
	turn     int // index of the open or last turn
	turns    int // turns begun
	open     bool
	session  bool
	ended    bool
	fallback map[string]bool
	early    []execution.Event // what came before the session and belongs behind its start
	failure  *execution.Event  // an error that may be the last word of the open turn
	own      speech
	others   map[string]*speech // of sub-agents, by Event.Parent
	work     openWork
	asked    map[execution.QuestionID]bool // permission questions that were shown and have no answer yet
}

// maxEarly bounds the events that wait for the session to start; then it is taken as started.
const maxEarly = 256

// speech is a message and the thinking before it.
type speech struct{ text, thinking passage }

// passage is text that comes in pieces, which are held back while streaming is off.
type passage struct {
	held  strings.Builder // not yet published
	whole string          // published out of held, from the start of the message
	said  bool            // a piece has come
}

// take empties the passage: the piece to publish and everything so far.
func (p *passage) take() (piece, whole string) {
	piece = p.held.String()
	p.held.Reset()
	p.whole += piece
	return piece, p.whole
}

func (p *passage) end() { p.whole, p.said = "", false }

// order calls publish for e and for what the contract wants around it.
func (s *sequencer) order(e execution.Event, publish func(execution.Event)) {
	own := e.Parent == ""
	if s.failure != nil && !accounting(e.Body) {
		s.releaseFailure(publish)
	}
	if s.work.late(e.Body) {
		return // its end was reported
	}
	switch b := e.Body.(type) {
	case execution.SessionStart:
		if own {
			if s.session && (s.run.col.sessionID == b.SessionID || s.run.col.sessionID == "") {
				// An agent repeats its session with every turn, or names it only after the run had to start one without a name.
				s.run.col.startSession(b)
				return
			}
			s.session = true
			publish(e)
			s.releaseEarly(publish)
			return
		}
	case execution.SessionEnd:
		if own {
			return // the run ends the session, see finish
		}
	case execution.TurnStart:
		if own {
			s.ensureSession(publish)
			s.closeTurn(execution.TurnCompleted, publish)
			s.begin(publish)
			return
		}
		s.ensureTurn(publish)
	case execution.TurnEnd:
		if own {
			s.endTurn(e, b, publish)
			return
		}
		s.ensureTurn(publish)
	case execution.TextDelta:
		s.ensureTurn(publish)
		s.delta(e, b.Delta, false, publish)
		return
	case execution.ThinkingDelta:
		s.ensureTurn(publish)
		s.delta(e, b.Delta, true, publish)
		return
	case execution.ToolInputDelta:
		s.ensureTurn(publish)
		if s.run.req.Run.Stream == execution.StreamOff {
			return // tool_call_ready carries the whole
		}
	case execution.MessageStart:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		s.of(e.Parent).text.end()
	case execution.MessageStop:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		p := &s.of(e.Parent).text
		if !p.said && b.Text != "" {
			s.noteFallback("text", "the agent sends it whole", publish)
			publish(execution.Event{Parent: e.Parent, Body: execution.TextDelta{Delta: b.Text, Accumulated: b.Text}})
		}
		p.end()
	case execution.ThinkingStart:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		s.of(e.Parent).thinking.end()
	case execution.ThinkingStop:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		p := &s.of(e.Parent).thinking
		if !p.said && b.Thinking != "" {
			s.noteFallback("thinking", "the agent sends it whole", publish)
			publish(execution.Event{Parent: e.Parent, Body: execution.ThinkingDelta{Delta: b.Thinking, Accumulated: b.Thinking}})
		}
		p.end()
	case execution.StepStart:
		s.ensureTurn(publish)
		b.TurnIndex = s.turn
		e.Body = b
	case execution.StepEnd:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		b.TurnIndex = s.turn
		e.Body = b
	case execution.ToolCallReady:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
		if !s.run.col.caps.Agent.ToolCallStreaming {
			s.noteFallback("tool_calls", "the agent sends their input whole", publish)
		}
	case execution.ToolCallStart, execution.ToolResultEvent, execution.ToolError, execution.FileRead, execution.FileWrite,
		execution.FileCreate, execution.FileDelete, execution.FilePatch, execution.ShellStart, execution.ShellStdoutDelta, execution.ShellStderrDelta,
		execution.ShellExit, execution.MCPToolCallStart, execution.MCPToolResult, execution.MCPToolError, execution.SubagentSpawn,
		execution.SubagentResult, execution.SubagentError, execution.ApprovalRequired, execution.InputRequired, execution.ImageOutput:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
	case execution.ApprovalDenied:
		shown := s.asked[b.ID]
		if !shown { // a question that was shown may outlive its turn, and its answer begins none
			s.ensureTurn(publish)
		}
		s.flush(e.Parent, publish)
		if !shown {
			s.askFirst(e, b, publish)
		}
	case execution.SessionResume, execution.SessionFork, execution.SessionCheckpoint, execution.PluginLoaded, execution.PluginInvoked,
		execution.PluginError, execution.SkillLoaded, execution.SkillInvoked, execution.AgentdocRead, execution.ImageInputAck:
		if !s.session {
			if s.early = append(s.early, e); len(s.early) >= maxEarly {
				s.ensureSession(publish)
			}
			return
		}
	case execution.Crash, execution.AuthError, execution.RateLimitError, execution.ContextExceeded:
		if own && s.open {
			s.hold(e)
			return
		}
	case execution.ErrorEvent:
		if own && s.open && !b.Recoverable {
			s.hold(e)
			return
		}
	}
	s.publish(e, publish)
}

// publish publishes an event of the backend and notes what it leaves open.
func (s *sequencer) publish(e execution.Event, publish func(execution.Event)) {
	switch b := e.Body.(type) {
	case execution.ApprovalRequired:
		s.ask(b.ID)
	case execution.InputRequired:
		s.ask(b.ID)
	case execution.ApprovalGranted:
		delete(s.asked, b.ID)
	case execution.ApprovalDenied:
		delete(s.asked, b.ID)
	case execution.QuestionWithdrawn:
		delete(s.asked, b.ID)
	default:
		s.work.note(e)
	}
	publish(e)
}

func (s *sequencer) ask(id execution.QuestionID) {
	if s.asked == nil {
		s.asked = map[execution.QuestionID]bool{}
	}
	s.asked[id] = true
}

// askFirst shows the question that a denial answers, where nobody was asked: a rule or a hook denied the call.
func (s *sequencer) askFirst(e execution.Event, b execution.ApprovalDenied, publish func(execution.Event)) {
	q := execution.ApprovalRequired{ID: b.ID, Action: cmp.Or(b.ToolName, "a tool call"), Detail: b.Reason, ToolName: b.ToolName, Risk: execution.RiskMedium}
	s.run.col.unasked = true // nobody waits for an answer
	publish(execution.Event{Parent: e.Parent, Origin: e.Origin, Body: q})
	s.run.col.unasked = false
}

// accounting reports whether an event may come between an error and the end of the turn that it ended.
func accounting(b execution.Body) bool {
	switch b.(type) {
	case execution.TurnEnd, execution.Debug, execution.Log, execution.TokenUsage, execution.CostEvent, execution.RateLimited, execution.SessionEnd,
		execution.Timeout, execution.Aborted, execution.Interrupted, execution.Paused, execution.Resumed, execution.TurnLimit,
		execution.InputQueued, execution.InputTaken, execution.InputCancelled, execution.QuestionWithdrawn:
		return true
	}
	return false
}

// hold keeps an error back until it is known whether anything of the turn follows it.
func (s *sequencer) hold(e execution.Event) { s.failure = &e }

func (s *sequencer) releaseFailure(publish func(execution.Event)) {
	if e := s.failure; e != nil {
		s.failure = nil
		publish(*e)
	}
}

func (s *sequencer) of(parent string) *speech {
	if parent == "" {
		return &s.own
	}
	p := s.others[parent]
	if p == nil {
		if s.others == nil {
			s.others = map[string]*speech{}
		}
		p = &speech{}
		s.others[parent] = p
	}
	return p
}

// delta publishes a piece of text or thinking, or holds it back while streaming is off. That an agent cannot stream is
// said once.
func (s *sequencer) delta(e execution.Event, piece string, thinking bool, publish func(execution.Event)) {
	sp := s.of(e.Parent)
	p, kind, streams := &sp.text, "text", s.run.col.caps.Agent.TextStreaming
	if thinking {
		p, kind, streams = &sp.thinking, "thinking", s.run.col.caps.Agent.ThinkingStreaming
	}
	p.said = true
	if s.run.req.Run.Stream == execution.StreamOff {
		if !thinking {
			s.flushThinking(e.Parent, sp, publish)
		}
		p.held.WriteString(piece)
		return
	}
	if !streams {
		s.noteFallback(kind, "the agent sends it whole", publish)
	}
	publish(e)
}

func (s *sequencer) noteFallback(kind, reason string, publish func(execution.Event)) {
	streams := s.run.col.caps.Agent
	if s.run.req.Run.Stream == execution.StreamOff || s.fallback[kind] || kind == "text" && streams.TextStreaming || kind == "thinking" && streams.ThinkingStreaming {
		return
	}
	if s.fallback == nil {
		s.fallback = map[string]bool{}
	}
	s.fallback[kind] = true
	publish(execution.Event{Body: execution.StreamFallback{Capability: kind, Reason: reason}})
}

// flush publishes what was held back.
func (s *sequencer) flush(parent string, publish func(execution.Event)) {
	if s.run.req.Run.Stream != execution.StreamOff {
		return
	}
	sp := s.of(parent)
	s.flushThinking(parent, sp, publish)
	if sp.text.held.Len() > 0 {
		piece, whole := sp.text.take()
		publish(execution.Event{Parent: parent, Body: execution.TextDelta{Delta: piece, Accumulated: whole}})
	}
}

func (s *sequencer) flushThinking(parent string, sp *speech, publish func(execution.Event)) {
	if sp.thinking.held.Len() > 0 {
		piece, whole := sp.thinking.take()
		publish(execution.Event{Parent: parent, Body: execution.ThinkingDelta{Delta: piece, Accumulated: whole}})
	}
}

func (s *sequencer) ensureSession(publish func(execution.Event)) {
	if !s.session {
		s.session = true
		publish(execution.Event{Body: execution.SessionStart{Resumed: s.run.req.Run.SessionID != "", Model: s.run.req.Run.Model}})
		s.releaseEarly(publish)
	}
}

func (s *sequencer) releaseEarly(publish func(execution.Event)) {
	early := s.early
	s.early = nil
	for _, e := range early {
		publish(e)
	}
}

func (s *sequencer) ensureTurn(publish func(execution.Event)) {
	if !s.open {
		s.ensureSession(publish)
		s.begin(publish)
	}
}

func (s *sequencer) begin(publish func(execution.Event)) {
	s.turn, s.open = s.turns, true
	s.turns++
	publish(execution.Event{Body: execution.TurnStart{TurnIndex: s.turn}})
}

func (s *sequencer) closeTurn(reason execution.TurnEndReason, publish func(execution.Event)) {
	if s.open {
		s.endTurn(execution.Event{}, execution.TurnEnd{Reason: reason}, publish)
	}
}

// endTurn publishes the end of a turn, what was held back before it, and the error that ended it behind it.
func (s *sequencer) endTurn(e execution.Event, b execution.TurnEnd, publish func(execution.Event)) {
	s.ensureTurn(publish)
	for _, parent := range slices.Sorted(maps.Keys(s.others)) {
		s.flush(parent, publish)
	}
	s.flush("", publish)
	s.own.text.end()
	s.own.thinking.end()
	s.others = nil
	s.work.end(s.run.lastTurn(), publish)
	s.price(false, publish)
	s.open = false
	b.TurnIndex = s.turn
	if b.Reason == "" {
		b.Reason = execution.TurnCompleted
	}
	if b.Cost == nil {
		b.Cost = s.run.col.turnCost()
	}
	e.Body = b
	publish(e)
	s.releaseFailure(publish)
}

// price adds the cost of what was used and not stated, when the price of its model is known.
func (s *sequencer) price(over bool, publish func(execution.Event)) {
	if cost := s.run.col.unstatedCost(over); cost != nil {
		publish(execution.Event{Body: execution.CostEvent{Cost: *cost}})
	}
}

// finish closes what is open before the last event, and shows the failure of a failed run.
func (s *sequencer) finish(res execution.Result, publish func(execution.Event)) {
	if len(s.early) > 0 {
		s.ensureSession(publish)
	}
	if said := statedText(res); said != "" && s.run.col.text.Len() == 0 && (s.open || s.turns == 0) {
		// A backend that answers in one piece, in its result only, is heard like any other.
		s.order(execution.Event{Body: execution.TextDelta{Delta: said, Accumulated: said}}, publish)
	}
	reason := execution.TurnCompleted
	switch {
	case res.ExitReason == execution.ExitInterrupted:
		reason = execution.TurnInterrupted
	case res.ExitReason == execution.ExitTurnLimit:
		reason = execution.TurnLimitReached
	case res.Error.ErrorCode() == execution.CodeBudgetExceeded:
		reason = execution.TurnBudget
	case res.Status == execution.StatusFailed || res.Status == execution.StatusUnsupported:
		reason = execution.TurnFailed
	}
	s.closeTurn(reason, publish)
	s.work.end(true, publish)
	s.price(true, publish)
	if res.Status == execution.StatusFailed && !s.run.col.errorShown(res) {
		publish(execution.Event{Body: failureBody(res, s.run.col.after)})
	}
	if s.session {
		publish(execution.Event{Body: execution.SessionEnd{SessionID: s.run.col.sessionID, TurnCount: s.turns, Cost: s.run.col.cost()}})
	}
}

// statedText is the text of a completed result.
func statedText(res execution.Result) string {
	if res.Status != execution.StatusCompleted {
		return ""
	}
	if res.Text == "" && res.Output != nil {
		return res.Output.Text
	}
	return res.Text
}
