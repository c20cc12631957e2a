package modelapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Conversation is what was said, oldest first. Its JSON is stable: a conversation that was saved can be continued.
type Conversation []Message

// Say adds parts. Parts of the same side as the last message become a part of it, because APIs want the sides to alternate.
func (c *Conversation) Say(model bool, parts ...Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(*c); n > 0 && (*c)[n-1].Model == model {
		(*c)[n-1].Parts = append((*c)[n-1].Parts, parts...)
		return
	}
	*c = append(*c, Message{Model: model, Parts: parts})
}

// Open returns the tool calls without a result, which only the last calls of the model can be.
func (c Conversation) Open() (calls []Part) {
	answered := map[string]bool{}
	for _, m := range slices.Backward(c) {
		for _, p := range m.Parts {
			switch p.Kind {
			case Result:
				answered[p.ID] = true
			case ToolCall:
				if !answered[p.ID] {
					calls = append(calls, p)
				}
			}
		}
		if m.Model {
			break
		}
	}
	return calls
}

// Check reports what keeps a conversation from being continued: no message, a result without its call, or a call that later
// messages pass over.
func (c Conversation) Check() error {
	if len(c) == 0 {
		return errors.New("it has no message")
	}
	called := map[string]bool{} // true while it has no result
	for i, m := range c {
		for _, p := range m.Parts {
			open, known := called[p.ID]
			switch {
			case p.Kind == ToolCall && (p.ID == "" || p.Name == "" || known || !m.Model):
				return fmt.Errorf("message %d has an invalid tool call", i)
			case p.Kind == ToolCall:
				called[p.ID] = true
			case p.Kind == Result && (!open || m.Model):
				return fmt.Errorf("message %d has a result of the tool call %q, which is not open", i, p.ID)
			case p.Kind == Result:
				called[p.ID] = false
			}
		}
	}
	for id, open := range called {
		if open && !slices.ContainsFunc(c.Open(), func(p Part) bool { return p.ID == id }) {
			return fmt.Errorf("the tool call %q has no result", id)
		}
	}
	return nil
}

// kindNames are the kinds of parts in JSON.
var kindNames = []string{"text", "thinking", "image", "document", "tool_call", "result", "opaque"}

// partForm is a part in JSON. A tool call's input is text, because the model may not have written JSON.
type partForm struct {
	Kind string `json:"kind"`
	plainPart
	Input string `json:"input,omitempty"`
}

type plainPart Part

// MarshalJSON writes the part.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.Kind < 0 || int(p.Kind) >= len(kindNames) {
		return nil, fmt.Errorf("a part has the unknown kind %d", p.Kind)
	}
	return json.Marshal(partForm{kindNames[p.Kind], plainPart(p), string(p.Input)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Part) UnmarshalJSON(b []byte) error {
	var f partForm
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	kind := slices.Index(kindNames, f.Kind)
	if kind < 0 {
		return fmt.Errorf("a part has the unknown kind %.40q", f.Kind)
	}
	*p = Part(f.plainPart)
	p.Kind = PartKind(kind)
	if f.Input != "" {
		p.Input = json.RawMessage(f.Input)
	}
	return nil
}
