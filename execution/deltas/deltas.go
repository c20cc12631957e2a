// Package deltas handles events that are pieces of a longer text: it removes or restores the accumulated text
// that they state besides their own piece.
package deltas

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Key names one stream of deltas within a run.
type Key struct {
	Kind Kind
	ID   string // the parent tool call for text and thinking, the tool call for others
}

// Kind is the content of a stream.
type Kind byte

// The kinds of streams.
const (
	Text Kind = iota
	Thinking
	Input // of a tool
	Stdout
	Stderr
)

// Of returns the stream and the piece that an event contains; ok is false for other events.
func Of(e execution.Event) (Key, string, bool) {
	switch b := e.Body.(type) {
	case execution.TextDelta:
		return Key{Text, e.Parent}, b.Delta, true
	case execution.ThinkingDelta:
		return Key{Thinking, e.Parent}, b.Delta, true
	case execution.ToolInputDelta:
		return Key{Input, b.ToolCallID}, b.Delta, true
	case execution.ShellStdoutDelta:
		return Key{Stdout, b.ToolCallID}, b.Delta, true
	case execution.ShellStderrDelta:
		return Key{Stderr, b.ToolCallID}, b.Delta, true
	}
	return Key{}, "", false
}

// With returns the body of a delta with a different piece.
func With(body execution.Body, delta string) execution.Body {
	switch b := body.(type) {
	case execution.TextDelta:
		b.Delta = delta
		return b
	case execution.ThinkingDelta:
		b.Delta = delta
		return b
	case execution.ToolInputDelta:
		b.Delta = delta
		return b
	case execution.ShellStdoutDelta:
		b.Delta = delta
		return b
	case execution.ShellStderrDelta:
		b.Delta = delta
		return b
	}
	return body
}

// Accumulated returns the accumulated text that an event states.
func Accumulated(body execution.Body) (string, bool) {
	switch b := body.(type) {
	case execution.TextDelta:
		return b.Accumulated, true
	case execution.ThinkingDelta:
		return b.Accumulated, true
	case execution.ToolInputDelta:
		return b.InputAccumulated, true
	}
	return "", false
}

// WithAccumulated returns the body of a delta with a different accumulated text.
func WithAccumulated(body execution.Body, text string) execution.Body {
	switch b := body.(type) {
	case execution.TextDelta:
		b.Accumulated = text
		return b
	case execution.ThinkingDelta:
		b.Accumulated = text
		return b
	case execution.ToolInputDelta:
		b.InputAccumulated = text
		return b
	}
	return body
}

// Ends returns the streams that an event ends: their accumulated text restarts.
func Ends(e execution.Event) []Key {
	text, thinking := Key{Text, e.Parent}, Key{Thinking, e.Parent}
	switch b := e.Body.(type) {
	case execution.MessageStart, execution.MessageStop, execution.StepStart, execution.StepEnd, execution.TurnStart, execution.TurnEnd,
		execution.SessionEnd:
		return []Key{text, thinking}
	case execution.ThinkingStart, execution.ThinkingStop:
		return []Key{thinking}
	case execution.ToolCallStart:
		return []Key{text, thinking, {Input, b.ToolCallID}}
	case execution.ToolCallReady:
		return []Key{{Input, b.ToolCallID}}
	case execution.ToolResultEvent:
		return toolStreams(b.ToolCallID)
	case execution.ToolError:
		return toolStreams(b.ToolCallID)
	case execution.ShellExit:
		return toolStreams(b.ToolCallID)
	}
	return nil
}

func toolStreams(id string) []Key {
	return []Key{{Input, id}, {Stdout, id}, {Stderr, id}}
}

// Slimmer removes accumulated texts that a reader can rebuild, because storing one with every piece is
// quadratic. A text that does not follow from the pieces is kept. The zero value is ready to use; it is not
// safe for concurrent use.
type Slimmer struct{ streams map[Key]*soFar }

type soFar struct {
	length int
	tail   string // the last bytes, to detect a text that has the right length by chance
}

const tailBytes = 48

// Slim returns the next event without its accumulated text.
func (s *Slimmer) Slim(e execution.Event) execution.Event {
	if stated, ok := Accumulated(e.Body); s.Follows(e) && ok && stated != "" {
		e.Body = WithAccumulated(e.Body, "")
	}
	return e
}

// Follows reports whether the accumulated text of the next event matches its stream; true for an event that
// states none.
func (s *Slimmer) Follows(e execution.Event) bool {
	for _, k := range Ends(e) {
		delete(s.streams, k)
	}
	if s.streams == nil {
		s.streams = map[Key]*soFar{}
	}
	if b, ok := e.Body.(execution.ToolCallStart); ok {
		if n := b.InputAccumulated; n != "" {
			s.streams[Key{Input, b.ToolCallID}] = &soFar{len(n), lastBytes(n)}
		}
		return true
	}
	stated, ok := Accumulated(e.Body)
	if !ok {
		return true
	}
	key, delta, _ := Of(e)
	st := s.streams[key]
	if st == nil {
		st = &soFar{}
		s.streams[key] = st
	}
	follows := stated == "" ||
		len(stated) == st.length+len(delta) && strings.HasSuffix(stated, delta) && strings.HasSuffix(stated[:st.length], st.tail)
	switch {
	case !follows:
		*st = soFar{len(stated), lastBytes(stated)}
	case len(delta) >= tailBytes:
		*st = soFar{st.length + len(delta), lastBytes(delta)}
	case stated != "":
		*st = soFar{len(stated), lastBytes(stated)}
	default:
		*st = soFar{st.length + len(delta), lastBytes(st.tail + delta)}
	}
	return follows
}

func lastBytes(s string) string { return s[max(0, len(s)-tailBytes):] }

// Accumulator restores what the Slimmer removed. The texts it returns share memory. The zero value is ready to
// use; it is not safe for concurrent use.
type Accumulator struct {
	streams map[Key]*strings.Builder
}

// Rebuild returns the next event with its accumulated text.
func (a *Accumulator) Rebuild(e execution.Event) execution.Event {
	for _, k := range Ends(e) {
		delete(a.streams, k)
	}
	if b, ok := e.Body.(execution.ToolCallStart); ok && b.InputAccumulated != "" {
		a.stream(Key{Input, b.ToolCallID}).WriteString(b.InputAccumulated)
	}
	stated, ok := Accumulated(e.Body)
	if !ok {
		return e
	}
	key, delta, _ := Of(e)
	if stated != "" {
		delete(a.streams, key)
		a.stream(key).WriteString(stated)
		return e
	}
	text := a.stream(key)
	text.WriteString(delta)
	e.Body = WithAccumulated(e.Body, text.String())
	return e
}

func (a *Accumulator) stream(k Key) *strings.Builder {
	b := a.streams[k]
	if b == nil {
		if a.streams == nil {
			a.streams = map[Key]*strings.Builder{}
		}
		b = &strings.Builder{}
		a.streams[k] = b
	}
	return b
}
