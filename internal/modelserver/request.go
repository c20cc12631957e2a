package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Wire names a format of requests and answers.
type Wire string

// The supported wires. It is empty for requests of no wire, such as a probe of the root.
const (
	WireAnthropic Wire = "anthropic"
	WireResponses Wire = "responses"
	WireChat      Wire = "chat"
	WireGemini    Wire = "gemini"
)

// request is the relevant content of a request, independent of its wire.
type request struct {
	wire   Wire
	caller string // claude, codex, gemini, qwen or empty
	stream bool
	model  string
	system string
	// last is the text of the user and of tools since the model's last answer. It is more than the last message,
	// because agents add reminders after a tool result.
	last string
	// rounds are such texts of the whole conversation; the last one is last.
	rounds    []string
	tools     int
	maxTokens int64           // -1 when absent
	schema    json.RawMessage // of the wanted structured answer
	reasons   bool            // requests or configures thinking
	kind      string          // the program's own name for the request
	withUsage bool            // Chat: requests usage in the stream
	encrypted bool            // Responses: requests encrypted reasoning
	array     bool            // Gemini: stream as one JSON list instead of SSE
}

// decode reads the body of a wire's request.
func (r *request) decode(body []byte, header http.Header) error {
	r.maxTokens = -1
	r.caller = callerOf(header)
	var err error
	switch r.wire {
	case WireAnthropic:
		err = r.decodeAnthropic(body)
	case WireResponses:
		err = r.decodeResponses(body, header)
	case WireChat:
		err = r.decodeChat(body)
	case WireGemini:
		err = r.decodeGemini(body)
	}
	if err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	return nil
}

// callerOf returns which program sent a request.
func callerOf(header http.Header) string {
	agent := strings.ToLower(header.Get("User-Agent"))
	switch {
	case strings.HasPrefix(agent, "claude-cli/"):
		return "claude"
	case strings.HasPrefix(agent, "codex"), strings.HasPrefix(strings.ToLower(header.Get("Originator")), "codex"),
		header.Get("X-Codex-Turn-Metadata") != "": // Codex names the client that drives it as its own name
		return "codex"
	case strings.HasPrefix(agent, "geminicli"):
		return "gemini"
	case strings.HasPrefix(agent, "qwencode"):
		return "qwen"
	}
	return ""
}

// transcript collects the texts that scripts and recorded requests match on while messages are read in order.
type transcript struct {
	system, last strings.Builder
	rounds       []string
}

func (t *transcript) message(role string, content json.RawMessage) {
	switch role {
	case "system", "developer":
		appendText(&t.system, content)
	case "assistant", "model":
		if t.last.Len() > 0 {
			t.rounds = append(t.rounds, t.last.String())
		}
		t.last.Reset()
	default:
		appendText(&t.last, content)
	}
}

func (t *transcript) into(r *request) {
	r.system, r.last = t.system.String(), t.last.String()
	r.rounds = append(t.rounds, r.last)
}

// appendText adds all text of a message's content: a string, or parts with text under the keys of any wire.
func appendText(b *strings.Builder, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil {
			for _, item := range items {
				appendText(b, item)
			}
		}
	case '{':
		var part struct {
			Text     json.RawMessage `json:"text"`
			Content  json.RawMessage `json:"content"`
			Function struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		}
		if json.Unmarshal(raw, &part) != nil {
			return
		}
		appendText(b, part.Text)
		appendText(b, part.Content)
		if len(part.Function.Response) > 0 {
			// A Gemini tool returns an arbitrary object: every string in it counts.
			appendStrings(b, newNode(part.Function.Response, ""), 0)
		}
	}
}

// deepest bounds the nesting that is followed in other programs' JSON.
const deepest = 50

func appendStrings(b *strings.Builder, n *node, depth int) {
	if n.kind == '"' {
		b.WriteString(n.text)
		b.WriteByte('\n')
	}
	if depth == deepest {
		return
	}
	for _, m := range n.members() {
		appendStrings(b, m.value, depth+1)
	}
	for _, item := range n.items() {
		appendStrings(b, item, depth+1)
	}
}

// present reports whether raw holds a value other than null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
