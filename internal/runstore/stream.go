package runstore

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// streamKey names one stream of deltas within a run.
type streamKey struct {
	kind streamKind
	id   string // the parent tool call for text and thinking, the tool call for the others
}

type streamKind byte

const (
	textStream streamKind = iota
	thinkingStream
	inputStream
	stdoutStream
	stderrStream
)

// deltaOf is the piece of a stream that an event carries.
func deltaOf(e execution.Event) (streamKey, string, bool) {
	switch b := e.Body.(type) {
	case execution.TextDelta:
		return streamKey{textStream, e.Parent}, b.Delta, true
	case execution.ThinkingDelta:
		return streamKey{thinkingStream, e.Parent}, b.Delta, true
	case execution.ToolInputDelta:
		return streamKey{inputStream, b.ToolCallID}, b.Delta, true
	case execution.ShellStdoutDelta:
		return streamKey{stdoutStream, b.ToolCallID}, b.Delta, true
	case execution.ShellStderrDelta:
		return streamKey{stderrStream, b.ToolCallID}, b.Delta, true
	}
	return streamKey{}, "", false
}

func withDelta(body execution.Body, delta string) execution.Body {
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

// accumulatedOf is the text of a stream so far, as an event states it.
func accumulatedOf(body execution.Body) (string, bool) {
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

func withAccumulated(body execution.Body, text string) execution.Body {
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

// endsOf lists the streams that an event ends. Writer and reader must agree on it: both start to accumulate anew there.
func endsOf(e execution.Event) []streamKey {
	text, thinking := streamKey{textStream, e.Parent}, streamKey{thinkingStream, e.Parent}
	switch b := e.Body.(type) {
	case execution.MessageStart, execution.MessageStop, execution.StepStart, execution.StepEnd, execution.TurnStart, execution.TurnEnd,
		execution.SessionEnd:
		return []streamKey{text, thinking}
	case execution.ThinkingStart, execution.ThinkingStop:
		return []streamKey{thinking}
	case execution.ToolCallStart:
		return []streamKey{text, thinking, {inputStream, b.ToolCallID}}
	case execution.ToolCallReady:
		return []streamKey{{inputStream, b.ToolCallID}}
	case execution.ToolResultEvent:
		return toolStreams(b.ToolCallID)
	case execution.ToolError:
		return toolStreams(b.ToolCallID)
	case execution.ShellExit:
		return toolStreams(b.ToolCallID)
	}
	return nil
}

func toolStreams(id string) []streamKey {
	return []streamKey{{inputStream, id}, {stdoutStream, id}, {stderrStream, id}}
}

// slimmer takes out of the deltas what a reader can rebuild, because storing the text so far with every piece of it is
// quadratic. A text that does not follow from the pieces is left in.
type slimmer struct{ streams map[streamKey]*soFar }

type soFar struct {
	length int
	tail   string // the last bytes, to notice a text that has the right length by chance
}

const tailBytes = 48

func newSlimmer() *slimmer { return &slimmer{map[streamKey]*soFar{}} }

func (s *slimmer) slim(e execution.Event) execution.Event {
	for _, k := range endsOf(e) {
		delete(s.streams, k)
	}
	switch b := e.Body.(type) {
	case execution.ToolCallStart:
		if n := b.InputAccumulated; n != "" {
			s.streams[streamKey{inputStream, b.ToolCallID}] = &soFar{len(n), lastBytes(n)}
		}
		return e
	case execution.Finished:
		b.Result.Events = nil
		e.Body = b
		return e
	}
	stated, ok := accumulatedOf(e.Body)
	if !ok {
		return e
	}
	key, delta, _ := deltaOf(e)
	st := s.streams[key]
	if st == nil {
		st = &soFar{}
		s.streams[key] = st
	}
	follows := stated == "" ||
		len(stated) == st.length+len(delta) && strings.HasSuffix(stated, delta) && strings.HasSuffix(stated[:st.length], st.tail)
	if !follows {
		st.length, st.tail = len(stated), lastBytes(stated)
		return e
	}
	st.length += len(delta)
	st.tail = lastBytes(st.tail + delta)
	e.Body = withAccumulated(e.Body, "")
	return e
}

func lastBytes(s string) string { return s[max(0, len(s)-tailBytes):] }

// accumulator rebuilds what the slimmer took out. The texts it gives share memory.
type accumulator struct {
	streams map[streamKey]*strings.Builder
}

func newAccumulator() *accumulator { return &accumulator{map[streamKey]*strings.Builder{}} }

func (a *accumulator) rebuild(e execution.Event) execution.Event {
	for _, k := range endsOf(e) {
		delete(a.streams, k)
	}
	if b, ok := e.Body.(execution.ToolCallStart); ok && b.InputAccumulated != "" {
		a.stream(streamKey{inputStream, b.ToolCallID}).WriteString(b.InputAccumulated)
	}
	stated, ok := accumulatedOf(e.Body)
	if !ok {
		return e
	}
	key, delta, _ := deltaOf(e)
	if stated != "" {
		delete(a.streams, key)
		a.stream(key).WriteString(stated)
		return e
	}
	text := a.stream(key)
	text.WriteString(delta)
	e.Body = withAccumulated(e.Body, text.String())
	return e
}

func (a *accumulator) stream(k streamKey) *strings.Builder {
	b := a.streams[k]
	if b == nil {
		b = &strings.Builder{}
		a.streams[k] = b
	}
	return b
}
