package cliagent

import (
	"bytes"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Sink receives the parser's events and requests. It belongs to one run and is used only within calls of the parser;
// it is not safe for concurrent use. Nothing here blocks.
type Sink struct {
	events  []execution.Event
	writes  [][]byte
	debug   bool
	done    bool
	closeIn bool
	alarm   time.Time // when Alarm is due, zero for never
	rung    bool      // alarm changed since the kit last read it
	failure *execution.Error
	broken  bool // the failure is a panic in Drawbar, not the agent's
	unknown int
	// complaints are those of unknown lines on standard error.
	complaints int
	asm        StreamAssembler

	session   string
	turn      int // index of the current or last turn, -1 before the first
	turns     int // turns that ended
	idle      bool
	count     uint64
	last      execution.EventType
	openTools CallSet
	called    int  // tool calls that were ready
	asked     int  // held questions
	intercept bool // permission questions are held for the hook
	held      []execution.Event
	questions map[execution.QuestionID]struct{}
	crashed   bool
	outputs   map[string][]byte
}

// NewSink returns a sink without a process, for tests and benchmarks of parsers.
func NewSink(debug bool) *Sink {
	return &Sink{debug: debug, turn: -1, questions: map[execution.QuestionID]struct{}{}}
}

// Emit adds an event of the agent itself.
func (s *Sink) Emit(b execution.Body) { s.emit(execution.Event{Body: b}) }

// EmitFrom adds an event of the sub-agent that the tool call parent started; without a parent it is the agent's own.
func (s *Sink) EmitFrom(parent string, b execution.Body) {
	s.emit(execution.Event{Parent: parent, Body: b})
}

func (s *Sink) emit(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.TextDelta, execution.ThinkingDelta, execution.ToolInputDelta:
	case execution.SessionStart, execution.TurnStart, execution.TurnEnd:
		if e.Parent == "" {
			s.ownEvent(e.Body)
		}
	case execution.ToolCallReady:
		s.openTools.Add(b.ToolCallID)
		s.called++
	case execution.MCPToolCallStart:
		s.openTools.Add(b.ToolCallID)
		s.called++
	case execution.ToolResultEvent:
		s.openTools.Remove(b.ToolCallID)
	case execution.ToolError:
		s.openTools.Remove(b.ToolCallID)
	case execution.MCPToolResult:
		s.openTools.Remove(b.ToolCallID)
	case execution.MCPToolError:
		s.openTools.Remove(b.ToolCallID)
	case execution.ApprovalRequired:
		s.questions[b.ID] = struct{}{}
		if s.intercept {
			s.asked++
			s.held = append(s.held, e)
			return
		}
	case execution.InputRequired:
		s.questions[b.ID] = struct{}{}
	case execution.ApprovalGranted:
		delete(s.questions, b.ID)
	case execution.ApprovalDenied:
		delete(s.questions, b.ID)
	case execution.QuestionWithdrawn:
		delete(s.questions, b.ID)
	case execution.Crash:
		s.crashed = true
	}
	s.count++
	s.last = e.Body.Type()
	s.events = append(s.events, e)
}

// takeHeld returns the questions held since the last call.
func (s *Sink) takeHeld() []execution.Event {
	h := s.held
	s.held = nil
	return h
}

// release emits a held question unless it was withdrawn.
func (s *Sink) release(e execution.Event) {
	q, _ := e.Body.(execution.ApprovalRequired)
	if _, open := s.questions[q.ID]; !open {
		return
	}
	s.intercept = false
	s.emit(e)
	s.intercept = true
}

// ownEvent updates state that only the agent's own events change: a sub-agent's session and turns are not those of
// the run.
func (s *Sink) ownEvent(b execution.Body) {
	switch b := b.(type) {
	case execution.SessionStart:
		s.session = b.SessionID
	case execution.TurnStart:
		s.turn = b.TurnIndex
		s.idle = false
	case execution.TurnEnd:
		s.openTools.Clear() // unanswered questions end with the turn
		s.turns++
		s.idle = true
	}
}

// Write queues bytes for the agent's standard input. The sink owns p afterwards.
func (s *Sink) Write(p []byte) { s.writes = append(s.writes, p) }

// CloseInput closes the agent's standard input after the queued bytes.
func (s *Sink) CloseInput() { s.closeIn = true }

// Done reports that the agent has nothing more to do: its input is closed, and it is stopped if it does not exit
// within Spec.Linger. The result is that of Exit.
func (s *Sink) Done() { s.done = true }

// AlarmIn schedules one call of the parser's Alarm after d and replaces an earlier schedule; zero cancels it. It is
// for replies that an agent owes, because a silent agent causes no call. In a paused run the alarm waits. The parser
// must be an Alarmed.
func (s *Sink) AlarmIn(d time.Duration) {
	s.alarm, s.rung = time.Time{}, true
	if d > 0 {
		s.alarm = time.Now().Add(d)
	}
}

// Fail ends the run with an error of the conversation, such as a refused handshake, and stops the process. The first
// failure is kept.
func (s *Sink) Fail(err *execution.Error) {
	if s.failure == nil {
		s.failure = err
	}
}

// fail is Fail for a panic in the adapter's code.
func (s *Sink) fail(err *execution.Error) {
	s.broken = s.broken || s.failure == nil
	s.Fail(err)
}

// Unknown reports an unknown line. It is counted, and shown as a log event in debug mode.
func (s *Sink) Unknown(src process.Stream, line []byte) {
	s.unknown++
	source := execution.LogStdout
	if src == process.Stderr {
		s.complaints++
		source = execution.LogStderr
	}
	if !s.debug {
		return
	}
	s.Emit(execution.Log{Source: source, Line: string(bytes.ToValidUTF8(line, []byte("\uFFFD")))})
}

// Output returns the content of the file that Launch.Output reserved by this name, nil if the agent wrote none. It is
// available in Parser.Exit.
func (s *Sink) Output(name string) []byte { return s.outputs[name] }

// Debug reports whether the run is in debug mode.
func (s *Sink) Debug() bool { return s.debug }

// SessionID returns the session of the last session_start, empty before it.
func (s *Sink) SessionID() string { return s.session }

// TurnIndex returns the zero-based index of the current or last turn, -1 before the first.
func (s *Sink) TurnIndex() int { return s.turn }

// EventCount returns the number of events emitted so far.
func (s *Sink) EventCount() uint64 { return s.count }

// LastEventType returns the type of the last event, empty before the first.
func (s *Sink) LastEventType() execution.EventType { return s.last }

// Assembler returns the run's stream assembler.
func (s *Sink) Assembler() *StreamAssembler { return &s.asm }

// ToolsRunning returns the number of ready tool calls without a result.
func (s *Sink) ToolsRunning() int { return s.openTools.Len() }

// Take returns the events emitted since the last Take. The slice is valid until the next call of the parser.
func (s *Sink) Take() []execution.Event {
	e := s.events
	s.events = s.events[:0]
	return e
}

// TakeWrites returns what was queued for standard input since the last call.
func (s *Sink) TakeWrites() [][]byte {
	w := s.writes
	s.writes = nil
	return w
}

// Failure returns the first error of Fail, nil for none.
func (s *Sink) Failure() *execution.Error { return s.failure }

// Finished reports whether Done was called.
func (s *Sink) Finished() bool { return s.done }

// UnknownLines returns the number of lines reported with Unknown.
func (s *Sink) UnknownLines() int { return s.unknown }

// exchange is Take for the kit's loop: the caller owns the events, and spare receives the next ones.
func (s *Sink) exchange(spare []execution.Event) []execution.Event {
	e := s.events
	s.events = spare[:0]
	return e
}

// answered records that a question was answered, which some agents do not confirm with an event.
func (s *Sink) answered(id execution.QuestionID) { delete(s.questions, id) }
