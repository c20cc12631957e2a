package modelserver

import (
	"encoding/base64"
	"encoding/json"
)

// anthropicWire is Anthropic Messages.
type anthropicWire struct{}

var _ encoder = anthropicWire{}

func (r *request) decodeAnthropic(body []byte) error {
	var b struct {
		Model     string          `json:"model"`
		Stream    bool            `json:"stream"`
		MaxTokens *int64          `json:"max_tokens"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Thinking json.RawMessage   `json:"thinking"`
		Context  json.RawMessage   `json:"context_management"`
		Output   struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"output_format"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	r.model, r.stream, r.tools = b.Model, b.Stream, len(b.Tools)
	if b.MaxTokens != nil {
		r.maxTokens = *b.MaxTokens
	}
	r.schema = b.Output.Format.Schema
	if !present(r.schema) {
		r.schema = b.Format.Schema
	}
	r.reasons = present(b.Thinking) || present(b.Context)
	var t transcript
	t.message("system", b.System)
	for _, m := range b.Messages {
		t.message(m.Role, m.Content)
	}
	t.into(r)
	return nil
}

func (anthropicWire) content(p *reply) []object {
	content := []object{}
	if p.turn.thinking != "" {
		id := p.ids("sig_")
		content = append(content, object{
			"type": "thinking", "thinking": p.turn.thinking, "signature": base64.StdEncoding.EncodeToString([]byte(id)),
		})
	}
	if p.turn.text != "" {
		content = append(content, object{"type": "text", "text": p.turn.text})
	}
	for _, t := range p.turn.tools {
		content = append(content, object{
			"type": "tool_use", "id": p.ids("toolu_"), "name": t.fullName(), "input": t.arguments(),
		})
	}
	return content
}

func (anthropicWire) usage(u usage, output int64) object {
	return object{
		"input_tokens": u.input, "output_tokens": output,
		"cache_read_input_tokens": u.cacheRead, "cache_creation_input_tokens": u.cacheWrite,
	}
}

func (anthropicWire) finalUsage(u usage) object {
	o := anthropicWire{}.usage(u, u.output)
	o["output_tokens_details"] = object{"thinking_tokens": u.thinking}
	return o
}

func (w anthropicWire) message(p *reply) object {
	return object{
		"id": p.ids("msg_"), "type": "message", "role": "assistant", "model": p.model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": w.usage(p.turn.usage, min(1, p.turn.usage.output)),
	}
}

func (w anthropicWire) whole(_ *request, p *reply) any {
	m := w.message(p)
	m["content"], m["stop_reason"], m["usage"] = w.content(p), p.turn.endReason(0), w.finalUsage(p.turn.usage)
	return m
}

func (w anthropicWire) frames(_ *request, p *reply) []frame {
	var out []frame
	send := func(kind pieceKind, name string, o object) {
		o["type"] = name
		out = append(out, frame{name, o, kind})
	}
	send(notPiece, "message_start", object{"message": w.message(p)})
	for i, block := range w.content(p) {
		delta := func(kind pieceKind, name, key, value string) {
			send(kind, "content_block_delta", object{"index": i, "delta": object{"type": name, key: value}})
		}
		start := object{"type": block["type"]}
		switch block["type"] {
		case "thinking":
			start["thinking"], start["signature"] = "", ""
		case "text":
			start["text"] = ""
		case "tool_use":
			start["id"], start["name"], start["input"] = block["id"], block["name"], object{}
		}
		send(notPiece, "content_block_start", object{"index": i, "content_block": start})
		if i == 0 {
			send(notPiece, "ping", object{})
		}
		switch block["type"] {
		case "thinking":
			for _, piece := range words(p.turn.thinking) {
				delta(otherPiece, "thinking_delta", "thinking", piece)
			}
			delta(notPiece, "signature_delta", "signature", block["signature"].(string))
		case "text":
			for _, piece := range p.turn.pieces {
				delta(textPiece, "text_delta", "text", piece)
			}
		case "tool_use":
			// The service begins with an empty piece; a client must not take it for the whole.
			delta(notPiece, "input_json_delta", "partial_json", "")
			for _, piece := range halves(string(block["input"].(json.RawMessage))) {
				delta(otherPiece, "input_json_delta", "partial_json", piece)
			}
		}
		send(notPiece, "content_block_stop", object{"index": i})
	}
	send(notPiece, "message_delta", object{
		"delta": object{"stop_reason": p.turn.endReason(0), "stop_sequence": nil}, "usage": w.finalUsage(p.turn.usage),
	})
	send(notPiece, "message_stop", object{})
	return out
}

func (anthropicWire) failure(status int, errorType, message, _ string) any {
	if errorType == "" {
		errorType = map[int]string{
			400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
			413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
		}[status]
	}
	if errorType == "" {
		errorType = "api_error"
		if status < 500 {
			errorType = "invalid_request_error"
		}
	}
	return object{
		"type": "error", "error": object{"type": errorType, "message": message}, "request_id": newID("req_"),
	}
}
