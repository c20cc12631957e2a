package anthropic

import (
	"net/http"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const (
	version = "2023-06-01"
	// mostTokens is the limit on an answer for requests that state none; the API requires one.
	mostTokens = 32_000
)

type object = map[string]any

// wire is the Messages API (https://docs.anthropic.com/en/api/messages).
type wire struct{}

var _ modelapi.Wire = wire{}

// Request implements modelapi.Wire.
func (wire) Request(c *modelapi.Call) (string, http.Header, any) {
	body := object{"model": c.Model, "max_tokens": mostTokens, "stream": true}
	if n := c.MaxTokens(); n > 0 {
		body["max_tokens"] = n
	}
	// A conversation and a run with tools repeat their beginning, which is cheaper from the cache. A single call would pay for
	// writing it.
	var cached object
	if c.Run.Interactive || len(c.Tools) > 0 {
		cached = object{"type": "ephemeral"}
	}
	if c.System != "" {
		block := object{"type": "text", "text": c.System}
		if cached != nil {
			block["cache_control"] = cached
		}
		body["system"] = []object{block}
	}
	messages := make([]object, 0, len(c.Messages))
	for i, m := range c.Messages {
		content := content(m)
		if cached != nil && i == len(c.Messages)-1 && len(content) > 0 {
			if last, ok := content[len(content)-1].(object); ok {
				last["cache_control"] = cached
			}
		}
		role := "user"
		if m.Model {
			role = "assistant"
		}
		messages = append(messages, object{"role": role, "content": content})
	}
	body["messages"] = messages
	if len(c.Tools) > 0 {
		tools := make([]object, len(c.Tools))
		for i, t := range c.Tools {
			tools[i] = object{"name": t.Name, "description": t.Description, "input_schema": modelapi.Schema(t)}
		}
		body["tools"] = tools
	}
	options(c.Run, body)
	return "/v1/messages", http.Header{"X-Api-Key": {c.Key}, "Anthropic-Version": {version}}, body
}

// options sets sampling, thinking and the form of the answer.
func options(run execution.RunOptions, body object) {
	if run.Temperature != nil {
		body["temperature"] = *run.Temperature
	}
	if run.TopP != nil {
		body["top_p"] = *run.TopP
	}
	if run.TopK > 0 {
		body["top_k"] = run.TopK
	}
	output := object{}
	switch {
	case run.ThinkingBudgetTokens > 0:
		body["thinking"] = object{"type": "enabled", "budget_tokens": run.ThinkingBudgetTokens}
		if n, _ := body["max_tokens"].(int); n <= run.ThinkingBudgetTokens { // the budget is a part of the limit
			body["max_tokens"] = n + run.ThinkingBudgetTokens
		}
	case run.ThinkingEffort != "":
		body["thinking"], output["effort"] = object{"type": "adaptive"}, run.ThinkingEffort
	}
	if len(run.OutputSchema) > 0 {
		output["format"] = object{"type": "json_schema", "schema": run.OutputSchema}
	}
	if len(output) > 0 {
		body["output_config"] = output
	}
}

// content returns the blocks of a message.
func content(m modelapi.Message) []any {
	blocks := []any{}
	for _, p := range m.Parts {
		switch p.Kind {
		case modelapi.Text:
			if p.Text != "" {
				blocks = append(blocks, object{"type": "text", "text": p.Text})
			}
		case modelapi.Thinking:
			if p.Signature != "" { // thinking without its signature is refused
				blocks = append(blocks, object{"type": "thinking", "thinking": p.Text, "signature": p.Signature})
			}
		case modelapi.Image:
			blocks = append(blocks, object{"type": "image", "source": object{"type": "base64", "media_type": p.MediaType, "data": p.Base64()}})
		case modelapi.Document:
			blocks = append(blocks, object{"type": "document", "title": p.Title, "source": object{"type": "base64", "media_type": p.MediaType, "data": p.Base64()}})
		case modelapi.ToolCall:
			blocks = append(blocks, object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": p.Object()})
		case modelapi.Result:
			blocks = append(blocks, object{"type": "tool_result", "tool_use_id": p.ID, "content": p.Text, "is_error": p.Failed})
		case modelapi.Opaque:
			blocks = append(blocks, p.Raw)
		}
	}
	return blocks
}

type usageForm struct {
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens jsonscan.Value
	OutputTokensDetails                                                       struct{ ThinkingTokens jsonscan.Value }
}

type eventForm struct {
	Type    jsonscan.Value
	Message struct {
		ID, Model jsonscan.Value
		Usage     usageForm
	}
	ContentBlock struct {
		Whole          jsonscan.Value `scan:"."`
		Type, ID, Name jsonscan.Value
	}
	Delta struct{ Type, Text, Thinking, Signature, PartialJSON, StopReason jsonscan.Value }
	Usage usageForm
	Error struct{ Type, Message jsonscan.Value }
}

var (
	eventShape jsonscan.Shape[eventForm]
	faultShape jsonscan.Shape[struct {
		Error struct{ Type, Message jsonscan.Value }
	}]
)

// stream reads one answer.
type stream struct {
	v    eventForm
	done bool
}

// Stream implements modelapi.Wire.
func (wire) Stream() modelapi.Stream { return &stream{} }

// Done implements modelapi.Stream.
func (s *stream) Done() bool { return s.done }

// Event implements modelapi.Stream. New types of events may appear, and are ignored.
func (s *stream) Event(_ string, data []byte, r *modelapi.Reply) *modelapi.Fault {
	v := &s.v
	if !eventShape.Into(data, v) {
		return modelapi.Malformed(data)
	}
	typ, _ := v.Type.Plain()
	switch string(typ) {
	case "message_start":
		r.ID, r.Model = v.Message.ID.Str(), v.Message.Model.Str()
		s.usage(&v.Message.Usage, r)
	case "content_block_start":
		switch kind, _ := v.ContentBlock.Type.Plain(); string(kind) {
		case "tool_use":
			r.Call(v.ContentBlock.ID.Str(), v.ContentBlock.Name.Str())
		case "redacted_thinking":
			r.Keep(v.ContentBlock.Whole.Raw())
		}
	case "content_block_delta":
		switch kind, _ := v.Delta.Type.Plain(); string(kind) {
		case "text_delta":
			r.Text(v.Delta.Text.Str())
		case "thinking_delta":
			r.Thinking(v.Delta.Thinking.Str())
		case "signature_delta":
			r.Sign(v.Delta.Signature.Str())
		case "input_json_delta":
			r.Input(v.Delta.PartialJSON.Str())
		}
	case "content_block_stop":
		r.Close()
	case "message_delta":
		r.Reason = v.Delta.StopReason.Str()
		r.Stop = stops[r.Reason]
		s.usage(&v.Usage, r)
	case "message_stop":
		s.done = true
	case "error":
		return &modelapi.Fault{Type: v.Error.Type.Str(), Message: v.Error.Message.Str(), Code: codes[v.Error.Type.Str()]}
	}
	return nil
}

// usage takes the counts that an event states; later ones replace earlier ones.
func (*stream) usage(u *usageForm, r *modelapi.Reply) {
	for _, c := range []struct {
		value jsonscan.Value
		into  *int64
	}{{u.InputTokens, &r.Usage.Input}, {u.OutputTokens, &r.Usage.Output}, {u.CacheReadInputTokens, &r.Usage.Cached},
		{u.CacheCreationInputTokens, &r.Usage.CacheWrite}, {u.OutputTokensDetails.ThinkingTokens, &r.Usage.Thinking}} {
		if n, ok := c.value.Int(); ok {
			*c.into = max(0, n)
		}
	}
}

var stops = map[string]modelapi.Stop{"end_turn": modelapi.StopDone, "stop_sequence": modelapi.StopDone, "tool_use": modelapi.StopTools,
	"max_tokens": modelapi.StopLength, "refusal": modelapi.StopRefused, "model_context_window_exceeded": modelapi.StopContext}

// codes are the API's words for errors (https://docs.anthropic.com/en/api/errors).
var codes = map[string]execution.ErrorCode{"invalid_request_error": execution.CodeInvalidRequest, "authentication_error": execution.CodeAuth,
	"permission_error": execution.CodeAuth, "not_found_error": execution.CodeModelNotFound, "request_too_large": execution.CodeContextExceeded,
	"rate_limit_error": execution.CodeRateLimited, "billing_error": execution.CodeAuth, "api_error": execution.CodeProvider,
	"overloaded_error": execution.CodeProvider, "timeout_error": execution.CodeProvider}

// Fault implements modelapi.Wire.
func (wire) Fault(_ int, body []byte) modelapi.Fault {
	v, _ := faultShape.Read(body)
	return modelapi.Fault{Type: v.Error.Type.Str(), Message: v.Error.Message.Str(), Code: codes[v.Error.Type.Str()]}
}
