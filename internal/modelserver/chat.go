package modelserver

import "encoding/json"

// chatWire is OpenAI Chat Completions, with thinking as reasoning_content, the spelling of the services that have it.
type chatWire struct{}

var _ encoder = chatWire{}

func (r *request) decodeChat(body []byte) error {
	var b struct {
		Model      string `json:"model"`
		Stream     bool   `json:"stream"`
		MaxTokens  *int64 `json:"max_tokens"`
		Completion *int64 `json:"max_completion_tokens"`
		Messages   []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools     []json.RawMessage `json:"tools"`
		Functions []json.RawMessage `json:"functions"`
		Format    struct {
			Schema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	r.model, r.stream, r.tools = b.Model, b.Stream, len(b.Tools)+len(b.Functions)
	r.schema, r.withUsage = b.Format.Schema.Schema, b.Options.Usage
	for _, limit := range []*int64{b.MaxTokens, b.Completion} {
		if limit != nil {
			r.maxTokens = *limit
		}
	}
	var t transcript
	for _, m := range b.Messages {
		t.message(m.Role, m.Content)
	}
	t.into(r)
	return nil
}

func (chatWire) usage(u usage) object {
	return object{
		"prompt_tokens": u.prompt(), "completion_tokens": u.output, "total_tokens": u.prompt() + u.output,
		"prompt_tokens_details":     object{"cached_tokens": u.cacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.thinking},
	}
}

func (chatWire) head(p *reply, kind string) func(choices []object) object {
	id := p.ids("chatcmpl-")
	return func(choices []object) object {
		return object{"id": id, "object": kind, "created": p.now.Unix(), "model": p.model, "choices": choices}
	}
}

func (w chatWire) whole(_ *request, p *reply) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if p.turn.text != "" || len(p.turn.tools) == 0 {
		message["content"] = p.turn.text
	}
	if p.turn.thinking != "" {
		message["reasoning_content"] = p.turn.thinking
	}
	var calls []object
	for _, t := range p.turn.tools {
		calls = append(calls, object{
			"id": p.ids("call_"), "type": "function", "function": object{"name": t.fullName(), "arguments": string(t.arguments())},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	o := w.head(p, "chat.completion")([]object{{
		"index": 0, "message": message, "logprobs": nil, "finish_reason": p.turn.endReason(1),
	}})
	o["usage"] = w.usage(p.turn.usage)
	return o
}

func (w chatWire) frames(r *request, p *reply) []frame {
	var out []frame
	head := w.head(p, "chat.completion.chunk")
	send := func(kind pieceKind, delta object, finish any) {
		o := head([]object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}})
		if r.withUsage {
			o["usage"] = nil
		}
		out = append(out, frame{"", o, kind})
	}
	send(notPiece, object{"role": "assistant", "content": ""}, nil)
	for _, piece := range words(p.turn.thinking) {
		send(otherPiece, object{"reasoning_content": piece}, nil)
	}
	for _, piece := range p.turn.pieces {
		send(textPiece, object{"content": piece}, nil)
	}
	for i, t := range p.turn.tools {
		send(notPiece, object{"tool_calls": []object{{
			"index": i, "id": p.ids("call_"), "type": "function", "function": object{"name": t.fullName(), "arguments": ""},
		}}}, nil)
		for _, piece := range halves(string(t.arguments())) {
			send(otherPiece, object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	send(notPiece, object{}, p.turn.endReason(1))
	if r.withUsage {
		o := head([]object{})
		o["usage"] = w.usage(p.turn.usage)
		out = append(out, frame{"", o, notPiece})
	}
	return append(out, frame{"", "[DONE]", notPiece})
}

func (chatWire) failure(status int, errorType, message, _ string) any {
	return openAIFailure(status, errorType, message)
}
