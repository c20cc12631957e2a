// Package chat is the wire of chat completions, which many services and local servers of models speak besides, or instead of, a
// format of their own (https://platform.openai.com/docs/api-reference/chat). It also has what that wire shares with the newer one
// of the same vendor: the key's header, efforts, and errors.
package chat

import (
	"cmp"
	"net/http"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type object = map[string]any

// Wire is the wire. Its zero value is ready for use.
type Wire struct{}

var _ modelapi.Wire = Wire{}

// Bearer returns the header with the key, none without one.
func Bearer(key string) http.Header {
	if key == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// Effort returns the services' word for a thinking effort, empty for none.
func Effort(e execution.ThinkingEffort) string {
	if e == execution.EffortMax {
		return "xhigh"
	}
	return string(e)
}

// Request implements modelapi.Wire.
func (Wire) Request(c *modelapi.Call) (string, http.Header, any) {
	body := object{"model": c.Model, "messages": messages(c), "stream": true, "stream_options": object{"include_usage": true}}
	if n := c.MaxTokens(); n > 0 {
		body["max_tokens"] = n
	}
	if c.Run.Temperature != nil {
		body["temperature"] = *c.Run.Temperature
	}
	if c.Run.TopP != nil {
		body["top_p"] = *c.Run.TopP
	}
	if len(c.Tools) > 0 {
		tools := make([]object, len(c.Tools))
		for i, t := range c.Tools {
			tools[i] = object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": modelapi.Schema(t)}}
		}
		body["tools"] = tools
	}
	if effort := Effort(c.Run.ThinkingEffort); effort != "" {
		body["reasoning_effort"] = effort
	}
	if len(c.Run.OutputSchema) > 0 {
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "answer", "schema": c.Run.OutputSchema}}
	}
	return "/chat/completions", Bearer(c.Key), body
}

// messages returns the conversation. A message of tools is one message a result.
func messages(c *modelapi.Call) []object {
	var list []object
	if c.System != "" {
		list = append(list, object{"role": "system", "content": c.System})
	}
	for _, m := range c.Messages {
		var content, calls []object
		text := ""
		for _, p := range m.Parts {
			switch p.Kind {
			case modelapi.Text:
				text += p.Text
				content = append(content, object{"type": "text", "text": p.Text})
			case modelapi.Image:
				content = append(content, object{"type": "image_url", "image_url": object{"url": cliagent.MakeDataURL(p.MediaType, p.Data)}})
			case modelapi.Document:
				content = append(content, object{"type": "file", "file": object{"filename": p.Title, "file_data": cliagent.MakeDataURL(p.MediaType, p.Data)}})
			case modelapi.ToolCall:
				calls = append(calls, object{"id": p.ID, "type": "function", "function": object{"name": p.Name, "arguments": string(p.Input)}})
			case modelapi.Result:
				list = append(list, object{"role": "tool", "tool_call_id": p.ID, "content": p.Text})
			}
		}
		switch {
		case m.Model:
			said := object{"role": "assistant", "content": text}
			if len(calls) > 0 {
				said["tool_calls"] = calls
			}
			list = append(list, said)
		case len(content) == 1 && content[0]["type"] == "text":
			list = append(list, object{"role": "user", "content": text})
		case len(content) > 0:
			list = append(list, object{"role": "user", "content": content})
		}
	}
	return list
}

type chunkForm struct {
	ID, Model, Choices jsonscan.Value
	Usage              struct {
		PromptTokens, CompletionTokens jsonscan.Value
		PromptTokensDetails            struct{ CachedTokens jsonscan.Value }
		CompletionTokensDetails        struct{ ReasoningTokens jsonscan.Value }
	}
	Error struct{ Code, Type, Message jsonscan.Value }
}

var (
	chunkShape  jsonscan.Shape[chunkForm]
	choiceShape jsonscan.Shape[struct {
		FinishReason jsonscan.Value
		Delta        struct{ Content, Refusal, ReasoningContent, Reasoning, ToolCalls jsonscan.Value }
	}]
	callShape jsonscan.Shape[struct {
		Index, ID jsonscan.Value
		Function  struct{ Name, Arguments jsonscan.Value }
	}]
	faultShape jsonscan.Shape[struct {
		Error struct {
			Whole               jsonscan.Value `scan:"."`
			Code, Type, Message jsonscan.Value
		}
		Message, Detail jsonscan.Value
	}]
)

// stream reads one answer.
type stream struct {
	v    chunkForm
	call int64 // index of the open tool call, -1 for none
	done bool
}

// Stream implements modelapi.Wire.
func (Wire) Stream() modelapi.Stream { return &stream{call: -1} }

// Done implements modelapi.Stream.
func (s *stream) Done() bool { return s.done }

// Event implements modelapi.Stream.
func (s *stream) Event(_ string, data []byte, r *modelapi.Reply) *modelapi.Fault {
	v := &s.v
	if !chunkShape.Into(data, v) {
		return modelapi.Malformed(data)
	}
	if v.Error.Message.Exists() {
		return Fault(0, v.Error.Code.Str(), v.Error.Type.Str(), v.Error.Message.Str())
	}
	r.ID, r.Model = cmp.Or(r.ID, v.ID.Str()), cmp.Or(r.Model, v.Model.Str())
	if n, ok := v.Usage.PromptTokens.Int(); ok {
		cached := cliagent.Count(v.Usage.PromptTokensDetails.CachedTokens)
		r.Usage = execution.Usage{Input: max(0, n-cached), Output: cliagent.Count(v.Usage.CompletionTokens), Cached: cached,
			Thinking: cliagent.Count(v.Usage.CompletionTokensDetails.ReasoningTokens)}
	}
	for _, choice := range v.Choices.Array {
		c, _ := choiceShape.Of(choice)
		r.Thinking(cmp.Or(c.Delta.ReasoningContent.Str(), c.Delta.Reasoning.Str()))
		r.Text(c.Delta.Content.Str())
		if refusal := c.Delta.Refusal.Str(); refusal != "" {
			r.Stop, r.Reason = modelapi.StopRefused, "refusal"
			r.Text(refusal)
		}
		for i, call := range c.Delta.ToolCalls.Array {
			s.piece(int64(i), call, r)
		}
		if reason := c.FinishReason.Str(); reason != "" {
			s.finish(reason, r)
		}
	}
	return nil
}

// piece is a piece of a tool call. Some servers send no index.
func (s *stream) piece(i int64, call jsonscan.Value, r *modelapi.Reply) {
	c, _ := callShape.Of(call)
	index := i
	if n, ok := c.Index.Int(); ok {
		index = n
	}
	if name := c.Function.Name.Str(); name != "" && (index != s.call || c.ID.Str() != "") {
		s.call = index
		r.Call(c.ID.Str(), name)
	}
	r.Input(c.Function.Arguments.Str())
}

func (s *stream) finish(reason string, r *modelapi.Reply) {
	s.done = true
	r.Close()
	if r.Stop == modelapi.StopRefused {
		return
	}
	r.Reason = reason
	switch reason {
	case "length":
		r.Stop = modelapi.StopLength
	case "content_filter":
		r.Stop = modelapi.StopRefused
	case "tool_calls", "function_call":
		r.Stop = modelapi.StopTools
	default:
		r.Stop = modelapi.StopDone
	}
}

// codes are the services' words for errors that a status does not tell apart.
var codes = map[string]execution.ErrorCode{"context_length_exceeded": execution.CodeContextExceeded, "invalid_api_key": execution.CodeAuth,
	"model_not_found": execution.CodeModelNotFound, "rate_limit_exceeded": execution.CodeRateLimited, "rate_limit_error": execution.CodeRateLimited,
	"server_error": execution.CodeProvider, "invalid_request_error": ""}

// Fault returns the fault of an error with these words. A quota that is used up does not come back by waiting, but no code says so.
func Fault(status int, code, typ, message string) *modelapi.Fault {
	return &modelapi.Fault{Status: status, Type: cmp.Or(code, typ), Message: message, Code: cmp.Or(codes[code], codes[typ])}
}

// ReadFault reads the body of an error: an error object, or what other servers write there instead.
func ReadFault(status int, body []byte) modelapi.Fault {
	v, _ := faultShape.Read(body)
	message := cmp.Or(v.Error.Message.Str(), v.Error.Whole.Str(), v.Message.Str(), v.Detail.Str())
	return *Fault(status, v.Error.Code.Str(), v.Error.Type.Str(), message)
}

// Fault implements modelapi.Wire.
func (Wire) Fault(status int, body []byte) modelapi.Fault { return ReadFault(status, body) }
