package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// sequencer puts an adapter's events into the order of the contract (agent-mux specification, events): the
// session first, turns that begin and end, complete messages if streaming is off or missing, a turn's end
// before the error that ended it. It runs under emit's exclusion.
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
	early    []execution.Event // events before the session, to be shown after its start
	failure  *execution.Event  // an error that may be the last event of the open turn
	own      speech
	others   map[string]*speech // of sub-agents, by Event.Parent
	work     openWork
	asked    map[execution.QuestionID]bool // shown permission questions without an answer
}

// maxEarly limits the events that wait for the session to start; beyond it the session is assumed to have
// started.
const maxEarly = 256

// speech is a message and the thinking before it.
type speech struct{ text, thinking passage }

// passage is text in pieces, which are held while streaming is off.
type passage struct {
	held  strings.Builder // not yet published
	whole string          // already published, from the start of the message
	said  bool            // a piece has arrived
}

// take empties the passage and returns the piece to publish and the accumulated text.
func (p *passage) take() (piece, whole string) {
	piece = p.held.String()
	p.held.Reset()
	p.whole += piece
	return piece, p.whole
}

func (p *passage) end() { p.whole, p.said = "", false }

// order calls publish for e and for the events that the contract requires around it.
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
				// An agent repeats its session with every turn, or names it only after the run had to start one
				// without a name.
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
			return // tool_call_ready has the complete input
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
			s.noteFallback("text", "the agent sends it complete", publish)
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
			s.noteFallback("thinking", "the agent sends it complete", publish)
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
			s.noteFallback("tool_calls", "the agent sends their input complete", publish)
		}
	case execution.ToolCallStart, execution.ToolResultEvent, execution.ToolError, execution.FileRead, execution.FileWrite,
		execution.FileCreate, execution.FileDelete, execution.FilePatch, execution.ShellStart, execution.ShellStdoutDelta, execution.ShellStderrDelta,
		execution.ShellExit, execution.MCPToolCallStart, execution.MCPToolResult, execution.MCPToolError, execution.SubagentSpawn,
		execution.SubagentResult, execution.SubagentError, execution.ApprovalRequired, execution.InputRequired, execution.ImageOutput:
		s.ensureTurn(publish)
		s.flush(e.Parent, publish)
	case execution.ApprovalDenied:
		shown := s.asked[b.ID]
		if !shown { // a shown question may outlive its turn, and its answer does not begin one
			s.ensureTurn(publish)
		}
		s.flush(e.Parent, publish)
		if !shown {
			if e.Origin != originHook && s.run.nobodyAsked() {
				s.run.col.denied++
			}
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

// publish publishes an event of the backend and records what it leaves open.
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

// askFirst shows the question of a denial that was not preceded by one: a rule or a hook denied the call.
func (s *sequencer) askFirst(e execution.Event, b execution.ApprovalDenied, publish func(execution.Event)) {
	q := execution.ApprovalRequired{ID: b.ID, Action: cmp.Or(b.ToolName, "a tool call"), Detail: b.Reason, ToolName: b.ToolName, Risk: execution.RiskMedium}
	s.run.col.unasked = true // nobody waits for an answer
	publish(execution.Event{Parent: e.Parent, Origin: e.Origin, Body: q})
	s.run.col.unasked = false
}

// accounting reports whether an event may come between an error and the end of its turn.
func accounting(b execution.Body) bool {
	switch b.(type) {
	case execution.TurnEnd, execution.Debug, execution.Log, execution.TokenUsage, execution.CostEvent, execution.RateLimited, execution.SessionEnd,
		execution.Timeout, execution.Aborted, execution.Interrupted, execution.Paused, execution.Resumed, execution.TurnLimit,
		execution.InputQueued, execution.InputTaken, execution.InputCancelled, execution.QuestionWithdrawn:
		return true
	}
	return false
}

// hold holds an error until it is known whether events of the turn follow it.
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

// delta publishes a piece of text or thinking, or holds it while streaming is off. A missing streaming ability
// is reported once.
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
		s.noteFallback(kind, "the agent sends it complete", publish)
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

// flush publishes the held text.
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

// endTurn publishes the held text, the end of a turn, and then the error that ended it.
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

// price adds the cost of unstated usage if the model's price is known.
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
		// The answer of a backend that answers only in its result is shown like any other.
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

// statedText returns the text of a completed result.
func statedText(res execution.Result) string {
	if res.Status != execution.StatusCompleted {
		return ""
	}
	if res.Text == "" && res.Output != nil {
		return res.Output.Text
	}
	return res.Text
}
