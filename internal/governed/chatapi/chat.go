package chatapi

import (
	"cmp"
	"net/http"
)

// chat is OpenAI's Chat Completions API (https://platform.openai.com/docs/api-reference/chat), and those compatible with
// it. current selects the names that OpenAI uses now; the others know the older ones.
type chat struct {
	base    string
	current bool
}

func (c chat) endpoint(string) string { return c.base }

func (c chat) request(r Request) (http.Header, any) {
	system, limit := "system", "max_tokens"
	if c.current {
		system, limit = "developer", "max_completion_tokens"
	}
	body := object{"model": r.Model, limit: cmp.Or(r.MaxTokens, DefaultMaxTokens), "response_format": object{"type": "json_object"},
		"messages": []object{{"role": system, "content": r.System}, {"role": "user", "content": r.Prompt}}}
	if r.Temperature != nil {
		body["temperature"] = *r.Temperature
	}
	h := http.Header{}
	if r.Key != "" {
		h.Set("Authorization", "Bearer "+r.Key)
	}
	return h, body
}

func (chat) answer(body []byte) (a Answer, err error) {
	var v struct {
		Choices []struct {
			Message struct {
				Content   string `json:"content"`
				Refusal   string `json:"refusal"`
				ToolCalls []struct {
					Function struct {
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Input  int64 `json:"prompt_tokens"`
			Output int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := decode(body, &v); err != nil {
		return a, err
	}
	a.Input, a.Output = v.Usage.Input, v.Usage.Output
	if len(v.Choices) == 0 {
		a.Halted = "no choices"
		return a, nil
	}
	first := v.Choices[0]
	for _, call := range first.Message.ToolCalls {
		a.text(call.Function.Arguments)
	}
	a.text(first.Message.Content)
	switch s := first.FinishReason; {
	case first.Message.Refusal != "":
		a.Halted = "refusal: " + first.Message.Refusal
	case s != "stop" && s != "tool_calls" && s != "":
		a.Halted = s
	}
	return a, nil
}
