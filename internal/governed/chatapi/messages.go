package chatapi

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
)

type object = map[string]any

// messages is Anthropic's Messages API (https://docs.anthropic.com/en/api/messages).
type messages struct{}

func (messages) endpoint(string) string { return vendormodel.Address("anthropic") + "/v1/messages" }

func (messages) request(r Request) (http.Header, any) {
	body := object{"model": r.Model, "max_tokens": cmp.Or(r.MaxTokens, DefaultMaxTokens), "system": r.System,
		"messages": []object{{"role": "user", "content": r.Prompt}}}
	if r.Temperature != nil {
		body["temperature"] = *r.Temperature
	}
	h := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if r.Key != "" {
		h.Set("X-Api-Key", r.Key)
	}
	return h, body
}

func (messages) answer(body []byte) (a Answer, err error) {
	var v struct {
		Content []struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			Input json.RawMessage `json:"input"`
		} `json:"content"`
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input      int64 `json:"input_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			Output     int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := decode(body, &v); err != nil {
		return a, err
	}
	for _, c := range v.Content {
		if c.Type == "tool_use" {
			a.text(string(c.Input))
		}
	}
	for _, c := range v.Content {
		if c.Type == "text" {
			a.text(c.Text)
		}
	}
	if s := v.StopReason; s != "end_turn" && s != "stop_sequence" && s != "tool_use" {
		a.Halted = s
	}
	a.Input, a.Output = v.Usage.Input+v.Usage.CacheRead+v.Usage.CacheWrite, v.Usage.Output
	return a, nil
}
