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

// line encodes one line for Claude's standard input. Its content is strings, maps and valid JSON.
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

// respond replies to a control request, with an error if there is one.
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

// userLine returns a message. Claude starts a new turn for one with priority "later", and inserts any other between
// two model calls of the running turn. Priority "now" is not used: it would abort the turn.
func userLine(uuid string, content []any, when execution.When) []byte {
	m := map[string]any{"type": "user", "uuid": uuid, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": content}}
	if when == execution.WhenNextTurn {
		m["priority"] = "later"
	}
	return line(m)
}
