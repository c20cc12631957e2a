package modelserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// reply is one answer, independent of the wire.
type reply struct {
	turn  *turn
	model string
	ids   func(prefix string) string
	now   time.Time
}

// frame is one step of a streamed answer.
type frame struct {
	event string // SSE event name; none on wires without
	data  any    // marshalled, unless it is a string, which is sent as it is
	kind  pieceKind
}

type pieceKind byte

const (
	notPiece pieceKind = iota
	textPiece
	otherPiece // thinking or tool input
)

// encoder is one wire: the format of streamed replies, whole replies and errors.
type encoder interface {
	frames(*request, *reply) []frame
	whole(*request, *reply) any
	failure(status int, errorType, message, retryAfter string) any
}

// encoderOf returns the encoder of a wire, nil for none.
func encoderOf(w Wire) encoder {
	switch w {
	case WireAnthropic:
		return anthropicWire{}
	case WireResponses:
		return responsesWire{}
	case WireChat:
		return chatWire{}
	case WireGemini:
		return geminiWire{}
	}
	return nil
}

// object is a JSON object under construction; encoding/json writes its keys sorted.
type object = map[string]any

// marshal encodes v without escaping < > and &, as the services do.
func marshal(v any) []byte {
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Replies are built of strings, numbers and checked JSON only.
		panic(fmt.Sprintf("model server: encode a reply: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Ids are unique in the process by the counter, and across processes by the random part: a session resumed with a
// second server must not see the first server's ids again.
var (
	counter   atomic.Uint64
	processID = sync.OnceValue(func() string { return strings.ToLower(rand.Text()[:8]) })
)

func newID(prefix string) string {
	return fmt.Sprintf("%sscripted%s%06d", prefix, processID(), counter.Add(1))
}

// fullName returns a tool's name on wires without namespaces.
func (t tool) fullName() string {
	if t.namespace == "" {
		return t.name
	}
	return t.namespace + "__" + t.name
}

// arguments returns a tool's input as a JSON object, also for a custom call on a wire without them.
func (t tool) arguments() json.RawMessage {
	if t.custom {
		return marshal(object{"input": t.input})
	}
	return json.RawMessage(t.input)
}

// halves cuts s near its middle, between characters.
func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	return evenly(s, 2)
}

// stopWords are the stop reasons by wire: Anthropic, Chat, Gemini, Responses.
var stopWords = [][4]string{
	{"end_turn", "stop", "STOP", "completed"},
	{"max_tokens", "length", "MAX_TOKENS", "max_output_tokens"},
	{"tool_use", "tool_calls", "STOP", "completed"},
	{"refusal", "content_filter", "SAFETY", "content_filter"},
}

// endReason returns the stop reason in a wire's words; an unknown word is passed on.
func (t *turn) endReason(column int) string {
	reason := t.stopReason
	if reason == "" {
		reason = "end_turn"
		if len(t.tools) > 0 {
			reason = "tool_use"
		}
	}
	for _, row := range stopWords {
		for _, word := range row {
			if word == reason {
				return row[column]
			}
		}
	}
	return reason
}
