package execution

import (
	"encoding/json"
	"slices"
)

// The members of an input that are written into a file, as agents name them: as all of it, and in the place of a part.
var (
	newWhole = []string{"content", "file_text", "contents"}
	newParts = []string{"new_string", "new", "newText", "new_str"}
)

// NewText returns what the input of an editing tool's call writes into its file: all of the file if whole. ok is false if it does not say,
// or says it in another form, such as a patch.
func NewText(input json.RawMessage) (text string, whole, ok bool) {
	text, name, ok := newText(input)
	return text, slices.Contains(newWhole, name), ok
}

func newText(input json.RawMessage) (text, name string, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return "", "", false
	}
	for _, name := range slices.Concat(newWhole, newParts) {
		if raw := members[name]; len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			return text, name, true
		}
	}
	return "", "", false
}

// Text returns what a person may change in a call before it is allowed: its command, or the text that it writes into a file. ok is false
// if there is nothing, or the agent runs calls only as they are.
func (q ApprovalRequired) Text() (text string, ok bool) {
	text, _, ok = q.text()
	return text, ok
}

func (q ApprovalRequired) text() (text, name string, ok bool) {
	switch {
	case !q.Editable:
	case q.Use.Kind == ToolShell && q.Use.Command != "":
		var members map[string]json.RawMessage
		if json.Unmarshal(q.Input, &members) != nil {
			break
		}
		for name, raw := range members {
			if json.Unmarshal(raw, &text) == nil && text == q.Use.Command {
				return text, name, true
			}
		}
	case q.Use.Kind == ToolEdit:
		return newText(q.Input)
	}
	return "", "", false
}

// WithText returns the input of the call with another text; see Text.
func (q ApprovalRequired) WithText(text string) (input json.RawMessage, ok bool) {
	_, name, ok := q.text()
	var members map[string]json.RawMessage
	if !ok || json.Unmarshal(q.Input, &members) != nil {
		return nil, false
	}
	var err error
	if members[name], err = json.Marshal(text); err == nil {
		input, err = json.Marshal(members)
	}
	return input, err == nil
}

// WithCommand is WithText of a call that runs a command; ok is false for any other.
func (q ApprovalRequired) WithCommand(command string) (input json.RawMessage, ok bool) {
	if q.Use.Kind != ToolShell {
		return nil, false
	}
	return q.WithText(command)
}
