package google

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type object = map[string]any

// wire is the Gemini API (https://ai.google.dev/api/generate-content). The key is in a header, never in the URL.
type wire struct{}

var _ modelapi.Wire = wire{}

// Request implements modelapi.Wire.
func (wire) Request(c *modelapi.Call) (string, http.Header, any) {
	body := object{"contents": contents(c.Messages)}
	if c.System != "" {
		body["systemInstruction"] = object{"parts": []object{{"text": c.System}}}
	}
	if len(c.Tools) > 0 {
		functions := make([]object, len(c.Tools))
		for i, t := range c.Tools {
			functions[i] = object{"name": t.Name, "description": t.Description, "parametersJsonSchema": modelapi.Schema(t)}
		}
		body["tools"] = []object{{"functionDeclarations": functions}}
	}
	if config := config(c); len(config) > 0 {
		body["generationConfig"] = config
	}
	model := strings.TrimPrefix(c.Model, "models/")
	return "/v1beta/models/" + url.PathEscape(model) + ":streamGenerateContent?alt=sse", http.Header{"X-Goog-Api-Key": {c.Key}}, body
}

// config returns the options of sampling, thinking and the form of the answer.
func config(c *modelapi.Call) object {
	o := object{}
	if n := c.MaxTokens(); n > 0 {
		o["maxOutputTokens"] = n
	}
	if c.Run.Temperature != nil {
		o["temperature"] = *c.Run.Temperature
	}
	if c.Run.TopP != nil {
		o["topP"] = *c.Run.TopP
	}
	if c.Run.TopK > 0 {
		o["topK"] = c.Run.TopK
	}
	switch {
	case c.Run.ThinkingBudgetTokens > 0:
		o["thinkingConfig"] = object{"includeThoughts": true, "thinkingBudget": c.Run.ThinkingBudgetTokens}
	case c.Run.ThinkingEffort != "":
		o["thinkingConfig"] = object{"includeThoughts": true, "thinkingLevel": string(c.Run.ThinkingEffort)}
	}
	if len(c.Run.OutputSchema) > 0 {
		o["responseMimeType"], o["responseJsonSchema"] = "application/json", c.Run.OutputSchema
	}
	return o
}

// contents returns the conversation.
func contents(messages []modelapi.Message) []object {
	var list []object
	for _, m := range messages {
		parts := []object{}
		for _, p := range m.Parts {
			var o object
			switch p.Kind {
			case modelapi.Text:
				o = object{"text": p.Text}
			case modelapi.Image, modelapi.Document:
				o = object{"inlineData": object{"mimeType": p.MediaType, "data": p.Base64()}}
			case modelapi.ToolCall:
				o = object{"functionCall": object{"id": p.ID, "name": p.Name, "args": p.Object()}}
			case modelapi.Result:
				key := "output"
				if p.Failed {
					key = "error"
				}
				o = object{"functionResponse": object{"id": p.ID, "name": p.Name, "response": object{key: p.Text}}}
			default: // thoughts are not returned, their signatures are with the parts that follow
				continue
			}
			if p.Signature != "" {
				o["thoughtSignature"] = p.Signature
			}
			parts = append(parts, o)
		}
		role := "user"
		if m.Model {
			role = "model"
		}
		if len(parts) > 0 {
			list = append(list, object{"role": role, "parts": parts})
		}
	}
	return list
}

type eventForm struct {
	_                        jsonscan.Camel
	ResponseID               jsonscan.Value `scan:"responseId"`
	ModelVersion, Candidates jsonscan.Value
	PromptFeedback           struct{ BlockReason jsonscan.Value }
	UsageMetadata            usageForm
	Error                    struct{ Status, Message jsonscan.Value }
}

type usageForm struct {
	PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount jsonscan.Value
}

var (
	eventShape     jsonscan.Shape[eventForm]
	candidateShape jsonscan.Shape[struct {
		_            jsonscan.Camel
		FinishReason jsonscan.Value
		Content      struct{ Parts jsonscan.Value }
	}]
	partShape jsonscan.Shape[struct {
		_                               jsonscan.Camel
		Text, Thought, ThoughtSignature jsonscan.Value
		FunctionCall                    struct{ ID, Name, Args jsonscan.Value }
	}]
	faultShape jsonscan.Shape[struct {
		Error struct{ Status, Message, Details jsonscan.Value }
	}]
	detailShape jsonscan.Shape[struct {
		_                  jsonscan.Camel
		Reason, RetryDelay jsonscan.Value
	}]
)

// stream reads one answer.
type stream struct {
	v     eventForm
	calls bool
	done  bool
}

// Stream implements modelapi.Wire.
func (wire) Stream() modelapi.Stream { return &stream{} }

// Done implements modelapi.Stream.
func (s *stream) Done() bool { return s.done }

// Event implements modelapi.Stream.
func (s *stream) Event(_ string, data []byte, r *modelapi.Reply) *modelapi.Fault {
	v := &s.v
	if !eventShape.Into(data, v) {
		return modelapi.Malformed(data)
	}
	if v.Error.Message.Exists() {
		return &modelapi.Fault{Type: v.Error.Status.Str(), Message: v.Error.Message.Str(), Code: codes[v.Error.Status.Str()]}
	}
	r.ID, r.Model = v.ResponseID.Str(), v.ModelVersion.Str()
	if u := &v.UsageMetadata; u.PromptTokenCount.Exists() {
		cached, thoughts := cliagent.Count(u.CachedContentTokenCount), cliagent.Count(u.ThoughtsTokenCount)
		r.Usage = execution.Usage{Input: max(0, cliagent.Count(u.PromptTokenCount)-cached), Cached: cached, Thinking: thoughts,
			Output: cliagent.Count(u.CandidatesTokenCount) + thoughts}
	}
	if reason := v.PromptFeedback.BlockReason.Str(); reason != "" {
		s.done = true
		r.Stop, r.Reason = modelapi.StopRefused, "the prompt was blocked: "+reason
	}
	for _, candidate := range v.Candidates.Array {
		c, _ := candidateShape.Of(candidate)
		for _, part := range c.Content.Parts.Array {
			s.part(part, r)
		}
		if reason := c.FinishReason.Str(); reason != "" {
			s.done = true
			r.Close()
			r.Reason = reason
			switch {
			case reason == "MAX_TOKENS":
				r.Stop = modelapi.StopLength
			case reason != "STOP": // SAFETY, RECITATION, MALFORMED_FUNCTION_CALL and others
				r.Stop = modelapi.StopRefused
			case s.calls:
				r.Stop = modelapi.StopTools
			default:
				r.Stop = modelapi.StopDone
			}
		}
	}
	return nil
}

// part is a piece of text or thought, or a whole tool call.
func (s *stream) part(part jsonscan.Value, r *modelapi.Reply) {
	p, _ := partShape.Of(part)
	switch {
	case p.FunctionCall.Name.Exists():
		s.calls = true
		r.Call(p.FunctionCall.ID.Str(), p.FunctionCall.Name.Str())
		r.Input(string(p.FunctionCall.Args.Raw()))
		r.Close()
	case p.Thought.IsTrue():
		r.Thinking(p.Text.Str())
	default:
		r.Text(p.Text.Str())
	}
	r.Sign(p.ThoughtSignature.Str())
}

// codes are the API's words for errors (https://ai.google.dev/gemini-api/docs/troubleshooting).
var codes = map[string]execution.ErrorCode{"UNAUTHENTICATED": execution.CodeAuth, "PERMISSION_DENIED": execution.CodeAuth,
	"NOT_FOUND": execution.CodeModelNotFound, "RESOURCE_EXHAUSTED": execution.CodeRateLimited, "INTERNAL": execution.CodeProvider,
	"UNAVAILABLE": execution.CodeProvider, "DEADLINE_EXCEEDED": execution.CodeProvider, "INVALID_ARGUMENT": execution.CodeInvalidRequest,
	"FAILED_PRECONDITION": execution.CodeInvalidRequest}

// Fault implements modelapi.Wire. An invalid key is an INVALID_ARGUMENT whose details say so.
func (wire) Fault(_ int, body []byte) modelapi.Fault {
	v, _ := faultShape.Read(body)
	f := modelapi.Fault{Type: v.Error.Status.Str(), Message: v.Error.Message.Str(), Code: codes[v.Error.Status.Str()]}
	for _, detail := range v.Error.Details.Array {
		d, _ := detailShape.Of(detail)
		if d.Reason.IsStr("API_KEY_INVALID") {
			f.Code = execution.CodeAuth
		}
		if s, err := strconv.ParseFloat(strings.TrimSuffix(d.RetryDelay.Str(), "s"), 64); err == nil && s > 0 && s < 1e6 {
			f.After = time.Duration(s * float64(time.Second))
		}
	}
	return f
}
