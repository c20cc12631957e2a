package modelserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// responsesWire is OpenAI Responses.
type responsesWire struct{}

var _ encoder = responsesWire{}

func (r *request) decodeResponses(body []byte, header http.Header) error {
	var b struct {
		Model        string            `json:"model"`
		Stream       bool              `json:"stream"`
		MaxTokens    *int64            `json:"max_output_tokens"`
		Instructions json.RawMessage   `json:"instructions"`
		Input        json.RawMessage   `json:"input"`
		Tools        []json.RawMessage `json:"tools"`
		Include      []string          `json:"include"`
		Text         struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
		Metadata map[string]json.RawMessage `json:"client_metadata"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	r.model, r.stream, r.tools, r.schema = b.Model, b.Stream, len(b.Tools), b.Text.Format.Schema
	if b.MaxTokens != nil {
		r.maxTokens = *b.MaxTokens
	}
	for _, wanted := range b.Include {
		r.encrypted = r.encrypted || wanted == "reasoning.encrypted_content"
	}
	var t transcript
	t.message("system", b.Instructions)
	if len(b.Input) > 0 && b.Input[0] == '[' {
		if err := r.decodeItems(b.Input, &t); err != nil {
			return err
		}
	} else {
		t.message("user", b.Input)
	}
	t.into(r)
	r.kind = requestKind(b.Metadata, header)
	return nil
}

func (r *request) decodeItems(input json.RawMessage, t *transcript) error {
	var items []struct {
		Type    string            `json:"type"`
		Role    string            `json:"role"`
		Content json.RawMessage   `json:"content"`
		Output  json.RawMessage   `json:"output"`
		Tools   []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(input, &items); err != nil {
		return err
	}
	for _, item := range items {
		switch {
		case item.Type == "additional_tools":
			// Codex lists the tools of catalogue models here and sends no tools key.
			r.tools += len(item.Tools)
		case item.Type == "" || item.Type == "message":
			t.message(item.Role, item.Content)
		case strings.HasSuffix(item.Type, "_output"):
			t.message("tool", item.Output)
		default: // reasoning and calls are the model's
			t.message("assistant", nil)
		}
	}
	return nil
}

// requestKind returns Codex's own kind of a request: "turn", or the name of an internal task.
func requestKind(metadata map[string]json.RawMessage, header http.Header) string {
	const key = "x-codex-turn-metadata"
	text := header.Get(key)
	var inBody string
	if json.Unmarshal(metadata[key], &inBody) == nil {
		text = cmp.Or(inBody, text)
	}
	var turn struct {
		Kind string `json:"request_kind"`
	}
	if json.Unmarshal([]byte(text), &turn) != nil {
		return ""
	}
	return turn.Kind
}

func (responsesWire) usage(u usage) object {
	return object{
		"input_tokens":          u.prompt(),
		"input_tokens_details":  object{"cached_tokens": u.cacheRead, "cache_write_tokens": u.cacheWrite},
		"output_tokens":         u.output,
		"output_tokens_details": object{"reasoning_tokens": u.thinking},
		"total_tokens":          u.prompt() + u.output,
	}
}

// items returns the finished output items of a reply.
func (responsesWire) items(r *request, p *reply) []object {
	items := []object{}
	if p.turn.thinking != "" {
		id := p.ids("rs_")
		item := object{"type": "reasoning", "id": id, "summary": []object{{"type": "summary_text", "text": p.turn.thinking}}}
		if r.encrypted {
			item["encrypted_content"] = base64.StdEncoding.EncodeToString([]byte(id))
		}
		items = append(items, item)
	}
	if p.turn.text != "" {
		items = append(items, object{
			"type": "message", "id": p.ids("msg_"), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": p.turn.text, "annotations": []object{}, "logprobs": []object{}}},
		})
	}
	for _, t := range p.turn.tools {
		item := object{"type": "function_call", "call_id": p.ids("call_"), "name": t.name, "status": "completed"}
		if t.custom {
			item["type"], item["id"], item["input"] = "custom_tool_call", p.ids("ctc_"), t.input
		} else {
			item["id"], item["arguments"] = p.ids("fc_"), t.input
		}
		if t.namespace != "" {
			item["namespace"] = t.namespace
		}
		items = append(items, item)
	}
	return items
}

func (w responsesWire) response(p *reply, id, status string, items []object) object {
	o := object{
		"id": id, "object": "response", "created_at": p.now.Unix(), "status": status, "model": p.model, "output": items,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
		"temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": []object{}, "usage": nil,
	}
	switch status {
	case "incomplete":
		o["incomplete_details"] = object{"reason": p.turn.endReason(3)}
		o["usage"] = w.usage(p.turn.usage)
	case "completed":
		o["usage"] = w.usage(p.turn.usage)
	}
	return o
}

// status returns how the response ends: any reason except the natural one makes it incomplete.
func (responsesWire) status(p *reply) string {
	if p.turn.endReason(3) != "completed" {
		return "incomplete"
	}
	return "completed"
}

func (w responsesWire) whole(r *request, p *reply) any {
	return w.response(p, p.ids("resp_"), w.status(p), w.items(r, p))
}

func (w responsesWire) frames(r *request, p *reply) []frame {
	var out []frame
	send := func(kind pieceKind, name string, o object) {
		o["type"], o["sequence_number"] = name, len(out)
		out = append(out, frame{name, o, kind})
	}
	id, items := p.ids("resp_"), w.items(r, p)
	send(notPiece, "response.created", object{"response": w.response(p, id, "in_progress", []object{})})
	send(notPiece, "response.in_progress", object{"response": w.response(p, id, "in_progress", []object{})})
	for i, item := range items {
		begun := maps.Clone(item)
		at := func(more object) object {
			more["item_id"], more["output_index"] = item["id"], i
			return more
		}
		begin := func() {
			if begun["status"] != nil {
				begun["status"] = "in_progress"
			}
			send(notPiece, "response.output_item.added", object{"output_index": i, "item": begun})
		}
		switch item["type"] {
		case "reasoning":
			begun["summary"] = []object{}
			begin()
			part := func(text string) object { return object{"type": "summary_text", "text": text} }
			send(notPiece, "response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": part("")}))
			for _, piece := range words(p.turn.thinking) {
				send(otherPiece, "response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": piece}))
			}
			send(notPiece, "response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": p.turn.thinking}))
			send(notPiece, "response.reasoning_summary_part.done", at(object{"summary_index": 0, "part": part(p.turn.thinking)}))
		case "message":
			begun["content"] = []object{}
			begin()
			part := func(text string) object {
				return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
			}
			send(notPiece, "response.content_part.added", at(object{"content_index": 0, "part": part("")}))
			for _, piece := range p.turn.pieces {
				send(textPiece, "response.output_text.delta", at(object{"content_index": 0, "delta": piece, "logprobs": []object{}}))
			}
			send(notPiece, "response.output_text.done", at(object{"content_index": 0, "text": p.turn.text, "logprobs": []object{}}))
			send(notPiece, "response.content_part.done", at(object{"content_index": 0, "part": part(p.turn.text)}))
		default:
			key, name := "arguments", "response.function_call_arguments"
			if item["type"] == "custom_tool_call" {
				key, name = "input", "response.custom_tool_call_input"
			}
			begun[key] = ""
			begin()
			whole, _ := item[key].(string)
			for _, piece := range halves(whole) {
				send(otherPiece, name+".delta", at(object{"delta": piece}))
			}
			send(notPiece, name+".done", at(object{key: whole}))
		}
		send(notPiece, "response.output_item.done", object{"output_index": i, "item": item})
	}
	status := w.status(p)
	send(notPiece, "response."+status, object{"response": w.response(p, id, status, items)})
	return out
}

func (responsesWire) failure(status int, errorType, message, _ string) any {
	return openAIFailure(status, errorType, message)
}

// openAIFailure is the error body of both OpenAI wires.
func openAIFailure(status int, errorType, message string) any {
	var code any
	switch status {
	case 401:
		code = "invalid_api_key"
	case 429:
		code = "rate_limit_exceeded"
	}
	switch {
	case errorType != "":
	case status == 429:
		errorType = "rate_limit_error"
	case status >= 500:
		errorType = "server_error"
	default:
		errorType = "invalid_request_error"
	}
	return object{"error": object{"message": message, "type": errorType, "param": nil, "code": code}}
}
