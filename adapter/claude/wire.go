package claude

import (
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
)

// The ids of our control requests.
const (
	handshakeID = "drawbar-initialize"
	interruptID = "drawbar-interrupt-"
)

// line is one line for Claude's standard input. Everything that goes in is made of strings, maps and valid JSON.
func line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("encode a line for claude: " + err.Error())
	}
	return append(b, '\n')
}

func controlLine(id string, request map[string]any) []byte {
	return line(map[string]any{"type": "control_request", "request_id": id, "request": request})
}

// respond answers a control request, with an error when there is one.
func respond(id string, response any, refusal string) []byte {
	r := map[string]any{"subtype": "success", "request_id": id, "response": response}
	if refusal != "" {
		r = map[string]any{"subtype": "error", "request_id": id, "error": refusal}
	}
	return line(map[string]any{"type": "control_response", "response": r})
}

type textBlockOut struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textContent(text string) []any { return []any{textBlockOut{"text", text}} }

// userLine is a message. Claude takes one for a later turn when the turn that runs is over; any other between two model
// calls of that turn. Its priority "now" is not used: it would break the turn off.
func userLine(uuid string, content []any, when execution.When) []byte {
	m := map[string]any{"type": "user", "uuid": uuid, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": content}}
	if when == execution.WhenNextTurn {
		m["priority"] = "later"
	}
	return line(m)
}
