package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Wire is the format of an API. It is stateless and safe for concurrent use.
type Wire interface {
	// Request returns the address below Call.Base, the headers and the JSON body of a streaming call.
	Request(c *Call) (path string, header http.Header, body any)
	// Stream returns a reader of one answer.
	Stream() Stream
	// Fault reads the body of an answer with an error status, which may not be JSON.
	Fault(status int, body []byte) Fault
}

// Stream reads one answer, event by event.
type Stream interface {
	// Event reads one event. An error is one that the service states within the stream, or an event that is not in the
	// API's format.
	Event(name string, data []byte, r *Reply) *Fault
	// Done reports whether the answer is complete: after it, the stream may end.
	Done() bool
}

// Fault is an error that the service states.
type Fault struct {
	Status  int                 // HTTP status; 0 if the error came within a stream
	Type    string              // the service's word
	Message string              // for people
	Code    execution.ErrorCode // if the service's word says more than the status; empty: the status decides
	After   time.Duration       // what the service asks to wait, if it states that in the body
}

// Reply is the answer to a call as it arrives. A Stream calls its methods in the order of the answer; they emit events and collect the
// message that the model said.
type Reply struct {
	run   *run
	parts []Part
	quiet bool            // nothing of it is shown
	grows bool            // the last part does
	buf   strings.Builder // its text; its memory is shared by all Accumulated strings of the part

	// ID is the service's id of the answer, Model the model that answered, Stop why it stopped, Reason the service's word
	// for that. Usage is that of this call.
	ID, Model, Reason string
	Stop              Stop
	Usage             execution.Usage
}

// Text adds a piece of text.
func (r *Reply) Text(piece string) {
	if piece == "" {
		return
	}
	if r.grow(Text) {
		r.emit(execution.MessageStart{MessageID: r.ID})
	}
	all := r.add(piece)
	r.emit(execution.TextDelta{Delta: all[len(all)-len(piece):], Accumulated: all})
}

// Thinking adds a piece of thinking.
func (r *Reply) Thinking(piece string) {
	if piece == "" {
		return
	}
	if r.grow(Thinking) {
		r.emit(execution.ThinkingStart{Effort: r.run.req.Run.ThinkingEffort})
	}
	all := r.add(piece)
	r.emit(execution.ThinkingDelta{Delta: all[len(all)-len(piece):], Accumulated: all})
}

// Sign adds to the signature of the last part.
func (r *Reply) Sign(signature string) {
	if n := len(r.parts); n > 0 && signature != "" {
		r.parts[n-1].Signature += signature
	}
}

// Keep adds an item that must be returned unchanged. raw is copied.
func (r *Reply) Keep(raw []byte) {
	r.Close()
	r.parts = append(r.parts, Part{Kind: Opaque, Raw: bytes.Clone(raw)})
}

// Call begins a tool call. An empty id, or one that was used before, is replaced.
func (r *Reply) Call(id, name string) {
	r.Close()
	r.parts = append(r.parts, Part{Kind: ToolCall, ID: r.run.callID(id), Name: name})
	r.grows = true
	if !r.quiet {
		r.run.begin(r.last().ID, name)
	}
}

// Input adds a piece of the open tool call's input.
func (r *Reply) Input(piece string) {
	if piece == "" || !r.grows || r.last().Kind != ToolCall {
		return
	}
	all := r.add(piece)
	if call := r.run.calls.Open(r.last().ID); call != nil {
		call.Piece(piece, all, r.run.sink)
		r.run.flush()
	}
}

// Close ends the part that grows.
func (r *Reply) Close() {
	if !r.grows {
		return
	}
	r.grows = false
	p, text := r.last(), r.buf.String()
	r.buf.Reset()
	switch p.Kind {
	case Text:
		p.Text = text
		r.emit(execution.MessageStop{Text: text})
	case Thinking:
		p.Text = text
		r.emit(execution.ThinkingStop{Thinking: text})
	case ToolCall:
		p.Input = json.RawMessage(cmp.Or(strings.TrimSpace(text), "{}"))
		if !r.quiet {
			r.run.called(*p)
		}
	}
}

func (r *Reply) emit(b execution.Body) {
	if !r.quiet {
		r.run.emit(b)
	}
}

// grow makes the last part one of this kind that grows, and reports whether it is new.
func (r *Reply) grow(kind PartKind) bool {
	if r.grows && r.last().Kind == kind {
		return false
	}
	r.Close()
	r.parts = append(r.parts, Part{Kind: kind})
	r.grows = true
	return true
}

func (r *Reply) last() *Part { return &r.parts[len(r.parts)-1] }

func (r *Reply) add(piece string) string {
	r.buf.WriteString(strings.ToValidUTF8(piece, "\uFFFD"))
	return r.buf.String()
}

// text returns the last text of the answer.
func (r *Reply) text() string {
	for _, p := range slices.Backward(r.parts) {
		if p.Kind == Text {
			return p.Text
		}
	}
	return ""
}

// toolCalls returns the tool calls of the answer.
func (r *Reply) toolCalls() (calls []Part) {
	for _, p := range r.parts {
		if p.Kind == ToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// asJSON returns b, or b as a JSON string if it is not JSON.
func asJSON(b []byte) json.RawMessage {
	if json.Valid(b) {
		return b
	}
	text, _ := json.Marshal(strings.ToValidUTF8(string(b), "\uFFFD")) // a string is always JSON
	return text
}
