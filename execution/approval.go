package execution

import "encoding/json"

// WithCommand returns the input of a call that runs a command, with another command; ok is false if the call is none, or cannot run with
// another input.
func (q ApprovalRequired) WithCommand(command string) (input json.RawMessage, ok bool) {
	if !q.Editable || q.Use.Kind != ToolShell || q.Use.Command == "" {
		return nil, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(q.Input, &members) != nil {
		return nil, false
	}
	for name, raw := range members {
		var text string
		if json.Unmarshal(raw, &text) != nil || text != q.Use.Command {
			continue
		}
		var err error
		if members[name], err = json.Marshal(command); err != nil {
			return nil, false
		}
		input, err = json.Marshal(members)
		return input, err == nil
	}
	return nil, false
}
