package modelserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// eachWire runs f for every wire, streaming and not.
func eachWire(t *testing.T, f func(t *testing.T, w wireCase, stream bool)) {
	for _, w := range wires {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%t", w.name, stream), func(t *testing.T) {
				t.Parallel()
				f(t, w, stream)
			})
		}
	}
}

func TestAnswersOnEveryWire(t *testing.T) {
	t.Parallel()
	const script = `{"turns":[{"thinking":"let me <think> about it","text":"Hällo & wörld, said the model.",
	 "tools":[{"name":"Write","input":{"path":"a b","n":[1,2.5,{"x":null}]}},{"name":"echo","namespace":"mcp__s","input":{}},{"name":"patch","custom":true,"input":"*** <Begin>\n"}],
	 "usage":{"input":100,"output":50,"cacheRead":30,"cacheWrite":7,"thinking":20}}]}`
	eachWire(t, func(t *testing.T, w wireCase, stream bool) {
		_, url := start(t, script)
		a := w.ask(t, url, stream, "hi")
		if a.status != 200 || a.err != nil {
			t.Fatalf("status %d, %v: %s", a.status, a.err, a.body)
		}
		wantType := "application/json"
		if stream {
			wantType = "text/event-stream; charset=utf-8"
		}
		if got := a.header.Get("Content-Type"); got != wantType {
			t.Errorf("Content-Type = %q, want %q", got, wantType)
		}
		got := w.decode(t, stream, a.body)
		want := decoded{
			Text: "Hällo & wörld, said the model.", Thinking: "let me <think> about it", Model: "m-1", Ended: true,
			Tools: []call{
				{"Write", "", `{"path":"a b","n":[1,2.5,{"x":null}]}`}, {"mcp__s__echo", "", "{}"}, {"patch", "", `{"input":"*** <Begin>\n"}`},
			},
			Stop:  map[string]string{"anthropic": "tool_use", "responses": "completed", "chat": "tool_calls", "gemini": "STOP"}[w.name],
			Input: 137, Output: 50, CacheRead: 30, Thoughts: 20,
		}
		switch w.name {
		case "responses":
			want.Tools[1] = call{"echo", "mcp__s", "{}"}
			want.Tools[2].Input = "*** <Begin>\n"
		case "anthropic":
			want.Input = 100
			if !stream {
				want.Tools[0].Input = `{"n":[1,2.5,{"x":null}],"path":"a b"}`
			}
		case "gemini":
			want.Tools[0].Input = `{"n":[1,2.5,{"x":null}],"path":"a b"}`
		}
		if stream && len(got.Pieces) < 2 {
			t.Errorf("text streamed in %d piece(s), want several", len(got.Pieces))
		}
		got.Pieces, got.Events = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	})
}

func TestStreamEventOrder(t *testing.T) {
	t.Parallel()
	const script = `{"turns":[{"thinking":"hm","chunks":["a","b"],"tools":[{"name":"f","input":{"k":"v"}},{"name":"c","custom":true,"input":"xy"}]}]}`
	tests := map[string][]string{
		"anthropic": {
			"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
			"content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
			"message_delta", "message_stop",
		},
		"responses": {
			"response.created", "response.in_progress",
			"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
			"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
			"response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
			"response.output_text.done", "response.content_part.done", "response.output_item.done",
			"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.delta",
			"response.function_call_arguments.done", "response.output_item.done",
			"response.output_item.added", "response.custom_tool_call_input.delta", "response.custom_tool_call_input.delta",
			"response.custom_tool_call_input.done", "response.output_item.done",
			"response.completed",
		},
	}
	for _, w := range wires {
		if want, ok := tests[w.name]; ok {
			_, url := start(t, script)
			if diff := cmp.Diff(want, w.decode(t, true, w.ask(t, url, true, "hi").body).Events); diff != "" {
				t.Errorf("%s events (-want +got):\n%s", w.name, diff)
			}
		}
	}
}

func TestChatUsageOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"turns":[{"text":"x"}]}`)
	a := do(t, "POST", url+"/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if strings.Contains(a.body, "usage") {
		t.Errorf("usage was not asked for: %s", a.body)
	}
}

func TestResponsesEncryptedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"turns":[{"thinking":"x"}]}`)
	a := do(t, "POST", url+"/v1/responses", `{"model":"m","input":"hi"}`)
	if a.status != 200 || strings.Contains(a.body, "encrypted_content") {
		t.Errorf("encrypted content was not asked for: %d %s", a.status, a.body)
	}
}

func TestGeminiStreamAsList(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"turns":[{"text":"one two","repeat":true}]}`)
	a := do(t, "POST", url+"/v1beta/models/m:streamGenerateContent", `{"contents":[]}`)
	var list []struct {
		Candidates []struct {
			Content struct{ Parts []struct{ Text string } }
		}
	}
	unmarshal(t, a.body, &list)
	text := ""
	for _, o := range list {
		text += o.Candidates[0].Content.Parts[0].Text
	}
	if text != "one two" || len(list) != 3 || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("text %q in %d objects, %q", text, len(list), a.header.Get("Content-Type"))
	}
}

func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		_, url := start(t, `{"turns":[{"tools":[{"name":"a"},{"name":"b"}],"repeat":2}]}`)
		for range 2 {
			var m struct {
				ID      string
				Content []struct{ ID string }
			}
			unmarshal(t, wires[0].ask(t, url, false, "hi").body, &m)
			for _, id := range []string{m.ID, m.Content[0].ID, m.Content[1].ID} {
				if seen[id] || id == "" {
					t.Errorf("id %q is used again", id)
				}
				seen[id] = true
			}
		}
	}
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	tests := []struct{ wire, turn, want string }{
		{"anthropic", `{"status":429}`, `"type":"rate_limit_error"`},
		{"anthropic", `{"status":401}`, `"type":"authentication_error"`},
		{"anthropic", `{"status":529}`, `"type":"overloaded_error"`},
		{"anthropic", `{"status":500}`, `"type":"api_error"`},
		{"anthropic", `{"status":418}`, `"type":"invalid_request_error"`},
		{"anthropic", `{"status":400,"error":{"type":"odd_error","message":"m"}}`, `"error":{"message":"m","type":"odd_error"}`},
		{"responses", `{"status":401}`, `"code":"invalid_api_key"`},
		{"chat", `{"status":429}`, `"code":"rate_limit_exceeded"`},
		{"chat", `{"status":503}`, `"type":"server_error"`},
		{"chat", `{"status":400,"error":{"type":"odd"}}`, `"type":"odd"`},
		{"gemini", `{"status":429,"retryAfter":3}`, `"status":"RESOURCE_EXHAUSTED"`},
		{"gemini", `{"status":429,"retryAfter":3}`, `"retryDelay":"3s"`},
		{"gemini", `{"status":400,"error":{"type":"rate_limit_error"}}`, `"status":"INVALID_ARGUMENT"`},
		{"gemini", `{"status":400,"error":{"type":"ABORTED"}}`, `"status":"ABORTED"`},
		{"gemini", `{"status":418}`, `"status":"UNKNOWN"`},
	}
	for _, tt := range tests {
		w := wires[slices.IndexFunc(wires, func(w wireCase) bool { return w.name == tt.wire })]
		for _, stream := range []bool{true, false} {
			_, url := start(t, `{"turns":[`+tt.turn+`]}`)
			a := w.ask(t, url, stream, "hi")
			if !strings.Contains(a.body, tt.want) || a.status < 400 || a.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: %d %s, want %s", tt.wire, tt.turn, a.status, a.body, tt.want)
			}
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"turns":[],"defaults":{"model":"big-1"},"onExhausted":"error"}`)
	tests := []struct{ path, header, want string }{
		{"/v1/models", "", `"id":"big-1"`},
		{"/v1/models", "", `"object":"list"`},
		{"/v1/models", "2023-06-01", `"has_more":false`},
		{"/v1/models/other", "", `"id":"other"`},
		{"/v1beta/models", "", `"name":"models/big-1"`},
		{"/v1beta/models/gem", "", `"name":"models/gem"`},
	}
	for _, tt := range tests {
		a := do(t, http.MethodGet, url+tt.path, "", "Anthropic-Version", tt.header)
		if a.status != 200 || !strings.Contains(a.body, tt.want) {
			t.Errorf("GET %s: %d %s, want %s", tt.path, a.status, a.body, tt.want)
		}
	}
}
