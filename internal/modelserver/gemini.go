package modelserver

import (
	"encoding/base64"
	"encoding/json"

	"github.com/drawbar/drawbar/internal/base/lazy"
)

// geminiWire is Google Gemini generateContent and streamGenerateContent.
type geminiWire struct{}

var _ encoder = geminiWire{}

// decodeGemini reads the body; model and stream are in the path.
func (r *request) decodeGemini(body []byte) error {
	type content struct {
		Role  string          `json:"role"`
		Parts json.RawMessage `json:"parts"`
	}
	var b struct {
		Contents    []content `json:"contents"`
		System      content   `json:"systemInstruction"`
		SystemSnake content   `json:"system_instruction"`
		Tools       []struct {
			Functions      []json.RawMessage `json:"functionDeclarations"`
			FunctionsSnake []json.RawMessage `json:"function_declarations"`
		} `json:"tools"`
		Config struct {
			MaxTokens  *int64          `json:"maxOutputTokens"`
			Schema     json.RawMessage `json:"responseSchema"`
			JSONSchema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	for _, t := range b.Tools {
		r.tools += len(t.Functions) + len(t.FunctionsSnake)
	}
	if b.Config.MaxTokens != nil {
		r.maxTokens = *b.Config.MaxTokens
	}
	r.schema = b.Config.Schema
	if present(b.Config.JSONSchema) {
		r.schema = b.Config.JSONSchema
	}
	var t transcript
	t.message("system", b.System.Parts)
	t.message("system", b.SystemSnake.Parts)
	for _, c := range b.Contents {
		t.message(c.Role, c.Parts)
	}
	t.into(r)
	return nil
}

func (geminiWire) usage(u usage) object {
	return object{
		"promptTokenCount": u.prompt(), "candidatesTokenCount": u.output - u.thinking, "thoughtsTokenCount": u.thinking,
		"cachedContentTokenCount": u.cacheRead, "totalTokenCount": u.prompt() + u.output,
	}
}

func (geminiWire) call(p *reply, t tool) object {
	id := p.ids("call_")
	return object{
		"functionCall":     object{"id": id, "name": t.fullName(), "args": t.arguments()},
		"thoughtSignature": base64.StdEncoding.EncodeToString([]byte(id)),
	}
}

func (w geminiWire) response(p *reply) func(parts []object, finish string) object {
	id := p.ids("resp_")
	return func(parts []object, finish string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		o := object{"responseId": id, "modelVersion": p.model, "candidates": []object{candidate}}
		if finish != "" {
			candidate["finishReason"] = finish
			o["usageMetadata"] = w.usage(p.turn.usage)
		}
		return o
	}
}

func (w geminiWire) whole(_ *request, p *reply) any {
	parts := []object{}
	if p.turn.thinking != "" {
		parts = append(parts, object{"text": p.turn.thinking, "thought": true})
	}
	if p.turn.text != "" {
		parts = append(parts, object{"text": p.turn.text})
	}
	for _, t := range p.turn.tools {
		parts = append(parts, w.call(p, t))
	}
	return w.response(p)(parts, p.turn.endReason(2))
}

func (w geminiWire) frames(_ *request, p *reply) []frame {
	var out []frame
	response := w.response(p)
	for _, piece := range words(p.turn.thinking) {
		out = append(out, frame{"", response([]object{{"text": piece, "thought": true}}, ""), otherPiece})
	}
	for _, piece := range p.turn.pieces {
		out = append(out, frame{"", response([]object{{"text": piece}}, ""), textPiece})
	}
	for _, t := range p.turn.tools {
		out = append(out, frame{"", response([]object{w.call(p, t)}, ""), otherPiece})
	}
	return append(out, frame{"", response([]object{{"text": ""}}, p.turn.endReason(2)), notPiece})
}

var googleStatus = lazy.Regexp(`^[A-Z_]+$`)

func (geminiWire) failure(status int, errorType, message, retryAfter string) any {
	// Scripts are shared between wires: another wire's error type does not replace Google's.
	if !googleStatus().MatchString(errorType) {
		errorType = map[int]string{
			400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
			429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
		}[status]
	}
	if errorType == "" {
		errorType = "UNKNOWN"
	}
	e := object{"code": status, "message": message, "status": errorType}
	if retryAfter != "" {
		e["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retryAfter + "s"}}
	}
	return object{"error": e}
}
