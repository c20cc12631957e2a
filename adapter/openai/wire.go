package openai

import (
	"net/http"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/chat"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type object = map[string]any

// wire is the Responses API (https://platform.openai.com/docs/api-reference/responses). Nothing is stored at the service, so that
// every call has the whole conversation.
type wire struct{}

var _ modelapi.Wire = wire{}

// Request implements modelapi.Wire.
func (wire) Request(c *modelapi.Call) (string, http.Header, any) {
	body := object{"model": c.Model, "input": input(c.Messages), "stream": true, "store": false}
	if c.System != "" {
		body["instructions"] = c.System
	}
	if n := c.MaxTokens(); n > 0 {
		body["max_output_tokens"] = n
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
			tools[i] = object{"type": "function", "name": t.Name, "description": t.Description, "parameters": modelapi.Schema(t), "strict": false}
		}
		body["tools"] = tools
	}
	if effort := chat.Effort(c.Run.ThinkingEffort); effort != "" {
		body["reasoning"] = object{"effort": effort, "summary": "auto"}
		// A model that does not reason refuses this, so it is asked for only with an effort.
		body["include"] = []string{"reasoning.encrypted_content"}
	}
	if len(c.Run.OutputSchema) > 0 {
		body["text"] = object{"format": object{"type": "json_schema", "name": "answer", "schema": c.Run.OutputSchema, "strict": false}}
	}
	return "/responses", chat.Bearer(c.Key), body
}

// input returns the conversation as items.
func input(messages []modelapi.Message) []any {
	items := []any{}
	for _, m := range messages {
		role, text := "user", "input_text"
		if m.Model {
			role, text = "assistant", "output_text"
		}
		var content []object
		flush := func() {
			if len(content) > 0 {
				items = append(items, object{"type": "message", "role": role, "content": content})
				content = nil
			}
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case modelapi.Text:
				if p.Text != "" {
					content = append(content, object{"type": text, "text": p.Text})
				}
			case modelapi.Image:
				content = append(content, object{"type": "input_image", "image_url": cliagent.MakeDataURL(p.MediaType, p.Data)})
			case modelapi.Document:
				content = append(content, object{"type": "input_file", "filename": p.Title, "file_data": cliagent.MakeDataURL(p.MediaType, p.Data)})
			case modelapi.ToolCall:
				flush()
				items = append(items, object{"type": "function_call", "call_id": p.ID, "name": p.Name, "arguments": string(p.Input)})
			case modelapi.Result:
				items = append(items, object{"type": "function_call_output", "call_id": p.ID, "output": p.Text})
			case modelapi.Opaque:
				flush()
				items = append(items, p.Raw)
			}
		}
		flush()
	}
	return items
}

type eventForm struct {
	Type, Delta, Code, Message jsonscan.Value
	Item                       struct {
		Whole                                jsonscan.Value `scan:"."`
		Type, CallID, Name, EncryptedContent jsonscan.Value
	}
	Response struct {
		ID, Model         jsonscan.Value
		Error             struct{ Code, Message jsonscan.Value }
		IncompleteDetails struct{ Reason jsonscan.Value }
		Usage             struct {
			InputTokens, OutputTokens jsonscan.Value
			InputTokensDetails        struct{ CachedTokens, CacheWriteTokens jsonscan.Value }
			OutputTokensDetails       struct{ ReasoningTokens jsonscan.Value }
		}
	}
	Error struct{ Code, Type, Message jsonscan.Value }
}

var eventShape jsonscan.Shape[eventForm]

// stream reads one answer.
type stream struct {
	v     eventForm
	calls bool // the answer has tool calls
	done  bool
}

// Stream implements modelapi.Wire.
func (wire) Stream() modelapi.Stream { return &stream{} }

// Done implements modelapi.Stream.
func (s *stream) Done() bool { return s.done }

// Event implements modelapi.Stream. Events that repeat what others said are ignored, and so are new types.
func (s *stream) Event(_ string, data []byte, r *modelapi.Reply) *modelapi.Fault {
	v := &s.v
	if !eventShape.Into(data, v) {
		return modelapi.Malformed(data)
	}
	typ, _ := v.Type.Plain()
	switch string(typ) {
	case "response.created":
		r.ID, r.Model = v.Response.ID.Str(), v.Response.Model.Str()
	case "response.output_item.added":
		if v.Item.Type.IsStr("function_call") {
			s.calls = true
			r.Call(v.Item.CallID.Str(), v.Item.Name.Str())
		}
	case "response.output_text.delta":
		r.Text(v.Delta.Str())
	case "response.refusal.delta":
		r.Stop, r.Reason = modelapi.StopRefused, "refusal"
		r.Text(v.Delta.Str())
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.Thinking(v.Delta.Str())
	case "response.reasoning_summary_part.added":
		r.Close()
	case "response.function_call_arguments.delta":
		r.Input(v.Delta.Str())
	case "response.output_item.done":
		if v.Item.Type.IsStr("reasoning") && v.Item.EncryptedContent.Exists() {
			r.Keep(v.Item.Whole.Raw())
		}
		r.Close()
	case "response.completed", "response.incomplete":
		s.end(r)
	case "response.failed":
		return chat.Fault(0, v.Response.Error.Code.Str(), "", v.Response.Error.Message.Str())
	case "error":
		if v.Error.Message.Exists() {
			return chat.Fault(0, v.Error.Code.Str(), v.Error.Type.Str(), v.Error.Message.Str())
		}
		return chat.Fault(0, v.Code.Str(), "", v.Message.Str())
	}
	return nil
}

// end takes the counts and the reason of the end.
func (s *stream) end(r *modelapi.Reply) {
	s.done = true
	res := &s.v.Response
	u := &res.Usage
	cached, written := cliagent.Count(u.InputTokensDetails.CachedTokens), cliagent.Count(u.InputTokensDetails.CacheWriteTokens)
	r.Usage = execution.Usage{Input: max(0, cliagent.Count(u.InputTokens)-cached-written), Output: cliagent.Count(u.OutputTokens),
		Thinking: cliagent.Count(u.OutputTokensDetails.ReasoningTokens), Cached: cached, CacheWrite: written}
	switch reason := res.IncompleteDetails.Reason.Str(); {
	case r.Stop == modelapi.StopRefused:
	case reason == "max_output_tokens":
		r.Stop, r.Reason = modelapi.StopLength, reason
	case reason != "":
		r.Stop, r.Reason = modelapi.StopRefused, reason
	case s.calls:
		r.Stop, r.Reason = modelapi.StopTools, "completed"
	default:
		r.Stop, r.Reason = modelapi.StopDone, "completed"
	}
}

// Fault implements modelapi.Wire.
func (wire) Fault(status int, body []byte) modelapi.Fault { return chat.ReadFault(status, body) }
