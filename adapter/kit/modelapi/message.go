package modelapi

import (
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
)

// Message is one message of a conversation: the user's, or the model's.
type Message struct {
	Model bool   `json:"model,omitempty"` // the model said it; else the user, or a tool
	Parts []Part `json:"parts"`
}

// PartKind is the kind of a part.
type PartKind int

// The kinds of parts. A Call is the model's, a Result the answer to it. Opaque is an item of the API that must be returned unchanged.
const (
	Text PartKind = iota
	Thinking
	Image
	Document
	ToolCall
	Result
	Opaque
)

// Part is a piece of a message.
type Part struct {
	Kind      PartKind        `json:"-"`
	Text      string          `json:"text,omitempty"` // of text, thinking and results
	ID        string          `json:"id,omitempty"`   // of a tool call and its result
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"-"`                   // of a tool call: what the model wrote, which may not be JSON
	Failed    bool            `json:"failed,omitempty"`    // of a result
	Signature string          `json:"signature,omitempty"` // of the API, returned with the part
	Raw       json.RawMessage `json:"raw,omitempty"`       // an opaque item
	Title     string          `json:"title,omitempty"`     // of a document
	MediaType string          `json:"mediaType,omitempty"` // of an image or a document
	Data      []byte          `json:"data,omitempty"`      // of an image or a document

	open   bool   // a result that is none yet: the call waits for a person
	images []Part // of a result: they follow the results of all calls
}

// Call is one call of the model.
type Call struct {
	Base     string // of the API's URLs, without a slash at its end
	Key      string // empty if the API needs none
	Model    string
	System   string
	Messages Conversation
	Tools    []execution.Tool
	Run      execution.RunOptions
}

// MaxTokens is the request's limit on the tokens of an answer, 0 for none.
func (c *Call) MaxTokens() int {
	if c.Run.MaxOutputTokens > 0 {
		return c.Run.MaxOutputTokens
	}
	return c.Run.MaxTokens
}

// Schema returns a tool's input schema; a tool without one takes any object.
func Schema(t execution.Tool) json.RawMessage {
	if len(t.InputSchema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.InputSchema
}

// Stop is why the model stopped.
type Stop int

// The reasons. StopNone is a stream that ended without one.
const (
	StopNone Stop = iota
	StopDone
	StopTools
	StopLength  // the limit on the tokens of an answer
	StopRefused // the model, or the service, refuses to answer
	StopContext // the context window is full
)

// Object returns a tool call's input as a JSON object, an empty one if the model did not write one: APIs accept no other.
func (p *Part) Object() json.RawMessage {
	if len(p.Input) > 0 && p.Input[0] == '{' && json.Valid(p.Input) {
		return p.Input
	}
	return json.RawMessage("{}")
}
