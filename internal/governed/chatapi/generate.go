package chatapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
)

// generate is Google's generateContent (https://ai.google.dev/api/generate-content). The key is sent in a header: a URL
// ends up in logs.
type generate struct{}

func (generate) endpoint(model string) string {
	return vendormodel.Address("google") + "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":generateContent"
}

func (generate) request(r Request) (http.Header, any) {
	config := object{"maxOutputTokens": cmp.Or(r.MaxTokens, DefaultMaxTokens), "responseMimeType": "application/json"}
	if r.Temperature != nil {
		config["temperature"] = *r.Temperature
	}
	h := http.Header{}
	if r.Key != "" {
		h.Set("X-Goog-Api-Key", r.Key)
	}
	text := func(s string) object { return object{"parts": []object{{"text": s}}} }
	content := text(r.Prompt)
	content["role"] = "user"
	return h, object{"systemInstruction": text(r.System), "contents": []object{content}, "generationConfig": config}
}

func (generate) answer(body []byte) (a Answer, err error) {
	var v struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text         string `json:"text"`
					Thought      bool   `json:"thought"`
					FunctionCall struct {
						Args json.RawMessage `json:"args"`
					} `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason  string `json:"finishReason"`
			FinishMessage string `json:"finishMessage"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason        string `json:"blockReason"`
			BlockReasonMessage string `json:"blockReasonMessage"`
		} `json:"promptFeedback"`
		Usage struct {
			Prompt     int64 `json:"promptTokenCount"`
			Candidates int64 `json:"candidatesTokenCount"`
			Thoughts   int64 `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	if err := decode(body, &v); err != nil {
		return a, err
	}
	a.Input, a.Output = v.Usage.Prompt, v.Usage.Candidates+v.Usage.Thoughts
	with := func(what, word, more string) string { return strings.TrimSpace(what + " " + word + " " + more) }
	switch {
	case v.PromptFeedback.BlockReason != "":
		a.Halted = with("blockReason", v.PromptFeedback.BlockReason, v.PromptFeedback.BlockReasonMessage)
	case len(v.Candidates) == 0:
		a.Halted = "no candidates"
	}
	if len(v.Candidates) == 0 {
		return a, nil
	}
	first := v.Candidates[0]
	var text strings.Builder
	for _, p := range first.Content.Parts {
		switch {
		case len(p.FunctionCall.Args) > 0:
			a.text(string(p.FunctionCall.Args))
		case !p.Thought:
			text.WriteString(p.Text)
		}
	}
	a.text(text.String())
	if r := first.FinishReason; r != "" && r != "STOP" {
		a.Halted = with("finishReason", r, first.FinishMessage)
	}
	return a, nil
}
