package qwen

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

func TestUsageLines(t *testing.T) {
	const begin = `"sessionId":"S","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/w"`
	message := func(id string, in, out, cached, thoughts, total int) string {
		return fmt.Sprintf(`{"uuid":"%s",%s,"type":"assistant","model":"m","message":{"role":"model","parts":[]},"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d,"cachedContentTokenCount":%d}}`+"\n", id, begin, in, out, thoughts, total, cached)
	}
	answer := func(id, sub string, in, out, cached, thoughts, total int) string {
		return fmt.Sprintf(`{%s,"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","response_id":"%s","model":"m","input_token_count":%d,"output_token_count":%d,"cached_content_token_count":%d,"thoughts_token_count":%d,"total_token_count":%d%s}}}`+"\n", begin, id, in, out, cached, thoughts, total, sub)
	}
	const sub = `,"subagent_name":"helper"`
	const want = "S m in=60 read=40 out=20 think=5"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"message alone", message("a", 100, 20, 40, 5, 120), []string{want}},
		{"answer and its message", answer("r", "", 100, 20, 40, 5, 120) + message("a", 100, 20, 40, 5, 120), []string{want}},
		{"message before its answer", message("a", 100, 20, 40, 5, 120) + answer("r", "", 100, 20, 40, 5, 120), []string{want}},
		{"equal answers", answer("r", "", 100, 20, 40, 5, 120) + message("a", 100, 20, 40, 5, 120) + answer("r2", "", 100, 20, 40, 5, 120) + message("b", 100, 20, 40, 5, 120), []string{want, want}},
		{"sub-agent between", answer("r", "", 100, 20, 40, 5, 120) + answer("s", sub, 100, 20, 40, 5, 120) + message("a", 100, 20, 40, 5, 120), []string{want, want + " sub"}},
		{"sub-agent alone", answer("s", sub, 100, 20, 40, 5, 120) + message("a", 100, 20, 40, 5, 120), []string{want + " sub", want}},
		{"thoughts apart", message("a", 100, 20, 40, 5, 125), []string{"S m in=60 read=40 out=25 think=5"}},
		{"an error", `{` + begin + `,"type":"system","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_error","input_token_count":5}}}` + "\n", nil},
		{"a user", `{` + begin + `,"type":"user","usageMetadata":{"promptTokenCount":5}}` + "\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, r := range usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: "p/chats/x.jsonl"}), []byte(tc.text), 0) {
				s := fmt.Sprintf("%s %s in=%d read=%d out=%d think=%d", r.Session, r.Model, r.Input, r.CacheRead, r.Output, r.Thinking)
				if r.SubAgent {
					s += " sub"
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageStores(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "/h/.qwen/projects"},
		{map[string]string{"QWEN_HOME": "/q"}, "/q/projects"},
		{map[string]string{"QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}, "/r/projects"},
	} {
		s := Adapter{}.UsageStores(adapter.Host{Home: "/h", Getenv: func(n string) string { return tc.env[n] }})[0]
		if s.Root != tc.want || !s.Match("p/chats/x.jsonl") || s.Match("p/meta.json") || s.Enter("p/memory") {
			t.Errorf("%+v", s)
		}
	}
}
