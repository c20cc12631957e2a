package cliagent

import (
	"bytes"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Sink takes what a parser has to say. It belongs to one run and is used only within calls of the parser; it is not safe for
// use from other goroutines. Nothing here blocks.
type Sink struct {
	events  []execution.Event
	writes  [][]byte
	debug   bool
	done    bool
	closeIn bool
	alarm   time.Time // when Alarm is due, zero for never
	rung    bool      // alarm was set since the kit looked last
	failure *execution.Error
	broken  bool // the failure is a panic, not something the agent did
	unknown int
	// complaints are those of the unknown lines that stood on standard error.
	complaints int
	asm        StreamAssembler

	session   string
	turn      int // index of the turn that runs or ran last, -1 before the first
	turns     int // turns that ended
	idle      bool
	count     uint64
	last      execution.EventType
	openTools CallSet
	called    int  // tool calls that were ready
	asked     int  // questions that were held
	intercept bool // permission questions are held for the hook
	held      []execution.Event
	questions map[execution.QuestionID]struct{}
	crashed   bool
	outputs   map[string][]byte
}

// NewSink makes a sink that is not attached to a process, for tests and benchmarks of parsers.
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

// takeHeld are the questions that were held since the last call.
func (s *Sink) takeHeld() []execution.Event {
	h := s.held
	s.held = nil
	return h
}

// release lets a held question go, if nobody has taken it back meanwhile.
func (s *Sink) release(e execution.Event) {
	q, _ := e.Body.(execution.ApprovalRequired)
	if _, open := s.questions[q.ID]; !open {
		return
	}
	s.intercept = false
	s.emit(e)
	s.intercept = true
}

// ownEvent notes what only the agent itself can say: a sub-agent's session and turns are not those of the run.
func (s *Sink) ownEvent(b execution.Body) {
	switch b := b.(type) {
	case execution.SessionStart:
		s.session = b.SessionID
	case execution.TurnStart:
		s.turn = b.TurnIndex
		s.idle = false
	case execution.TurnEnd:
		s.openTools.Clear() // what a turn leaves unanswered stays unanswered
		s.turns++
		s.idle = true
	}
}

// Write queues bytes for the agent's standard input. The sink owns p from here on.
func (s *Sink) Write(p []byte) { s.writes = append(s.writes, p) }

// CloseInput closes the agent's standard input after what is queued.
func (s *Sink) CloseInput() { s.closeIn = true }

// Done says that the agent has nothing more to do: its input is closed, and if it does not end by itself within
// Spec.Linger it is stopped. What Exit returns is the result.
func (s *Sink) Done() { s.done = true }

// AlarmIn has the parser's Alarm called once, d from now, unless it is set anew before; zero means never. It is for answers that
// an agent owes: an agent that says nothing brings no line. A paused run waits longer. The parser must be an Alarmed.
func (s *Sink) AlarmIn(d time.Duration) {
	s.alarm, s.rung = time.Time{}, true
	if d > 0 {
		s.alarm = time.Now().Add(d)
	}
}

// Fail ends the run with an error of the conversation itself, such as a refused handshake. The process is stopped. The
// first failure wins.
func (s *Sink) Fail(err *execution.Error) {
	if s.failure == nil {
		s.failure = err
	}
}

// fail is Fail for a panic of the adapter's own code.
func (s *Sink) fail(err *execution.Error) {
	s.broken = s.broken || s.failure == nil
	s.Fail(err)
}

// Unknown reports a line that the parser does not know. It is counted, and shown as a log event in debug mode.
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

// Output is what the agent wrote into the file that Launch.Output asked for by this name, nil when it wrote none. It is
// there in Parser.Exit.
func (s *Sink) Output(name string) []byte { return s.outputs[name] }

// Debug reports whether the run is in debug mode.
func (s *Sink) Debug() bool { return s.debug }

// SessionID is the session of the last session_start, empty before it.
func (s *Sink) SessionID() string { return s.session }

// TurnIndex is the zero-based index of the turn that runs or ran last, -1 before the first.
func (s *Sink) TurnIndex() int { return s.turn }

// EventCount counts the events emitted so far.
func (s *Sink) EventCount() uint64 { return s.count }

// LastEventType is the type of the last event emitted, empty before the first.
func (s *Sink) LastEventType() execution.EventType { return s.last }

// Assembler is the run's stream assembler.
func (s *Sink) Assembler() *StreamAssembler { return &s.asm }

// ToolsRunning counts tool calls that are ready and have no result yet.
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

// Failure is what Fail was called with first, nil when the conversation goes on.
func (s *Sink) Failure() *execution.Error { return s.failure }

// Finished reports whether Done was called.
func (s *Sink) Finished() bool { return s.done }

// UnknownLines counts the lines that were reported with Unknown.
func (s *Sink) UnknownLines() int { return s.unknown }

// exchange is Take for the kit's loop: the caller owns the events, and spare takes the next ones.
func (s *Sink) exchange(spare []execution.Event) []execution.Event {
	e := s.events
	s.events = spare[:0]
	return e
}

// answered notes that a question got its answer, which not every agent confirms with an event.
func (s *Sink) answered(id execution.QuestionID) { delete(s.questions, id) }
