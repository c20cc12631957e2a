package modelserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is a request of a real program, with long texts cut and ids replaced; codex_compaction is codex_turn with
// another request_kind.
type recorded struct {
	Path    string
	Headers map[string]string
	Body    json.RawMessage
}

func TestSideKind(t *testing.T) {
	t.Parallel()
	const (
		claude = "claude-cli/2.1.329 (external, sdk-cli)"
		gemini = "GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64)"
		qwen   = "QwenCode/0.24.4 (linux; x64)"
		gem    = "/v1beta/models/gemini-2.5-pro:"
	)
	files := map[string]string{
		"claude_turn": "", "claude_turn_without_tools": "", "claude_turn_haiku_without_tools": "", "claude_turn_json_schema": "",
		"claude_set_model_probe": "quota", "claude_title": "title", "claude_side_question": "question", "claude_compaction": "compaction",
		"codex_turn": "", "codex_turn_additional_tools": "", "codex_turn_output_schema": "", "codex_compaction": "compaction",
	}
	tests := []struct{ name, method, path, agent, body, want string }{
		{"count tokens", "POST", "/v1/messages/count_tokens", claude, `{"messages":[]}`, "count_tokens"},
		{"gemini count tokens", "POST", gem + "countTokens", gemini, `{"contents":[]}`, "count_tokens"},
		{"root", "HEAD", "/", "Bun/1.4.4", ``, "probe"},
		{"hello", "HEAD", "/api/hello", "Bun/1.4.4", ``, "probe"},
		{"models", "GET", "/v1/models", "", ``, "models"},
		{"unknown path", "POST", "/v1/embeddings", "", `{}`, "unknown"},
		{"wrong method", "GET", "/v1/messages", "", ``, "unknown"},
		{"quota", "POST", "/v1/messages", claude, `{"model":"claude-haiku-5-5","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`, "quota"},
		{"quota of anyone", "POST", "/v1/chat/completions", "", `{"max_completion_tokens":1,"messages":[]}`, "quota"},
		{"small task", "POST", "/v1/messages", claude, `{"model":"claude-haiku-5-5","tools":[],"max_tokens":512,"system":[{"text":"Extract any file paths"}],"messages":[{"role":"user","content":"x"}]}`, "task"},
		{"structured task", "POST", "/v1/messages", claude, `{"model":"o","output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[]}`, "task"},
		{"naming in a small request", "POST", "/v1/messages", claude, `{"model":"o","system":"Generate a concise, sentence-case title for this coding session.","messages":[]}`, "title"},
		{"old turn without tools", "POST", "/v1/messages", claude, `{"model":"claude-opus-4","system":"You are Claude Code","messages":[{"role":"user","content":"hi"}]}`, ""},
		{"API client", "POST", "/v1/messages", "anthropic-sdk", `{"model":"claude-haiku-5-5","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, ""},
		{"API client, structured", "POST", "/v1/messages", "", `{"output_config":{"format":{"schema":{"type":"object"}}},"messages":[{"role":"user","content":"Hi"}]}`, ""},
		{"API client asks for a title", "POST", "/v1/chat/completions", "", `{"messages":[{"role":"user","content":"generate a title for this conversation"}]}`, ""},
		{"API client, chat structured", "POST", "/v1/chat/completions", "", `{"response_format":{"json_schema":{"schema":{"type":"object"}}},"messages":[{"role":"user","content":"x"}]}`, ""},
		{"API client, responses", "POST", "/v1/responses", "", `{"input":"hi"}`, ""},
		{"API client, gemini", "POST", gem + "generateContent", "", `{"contents":[{"parts":[{"text":"hi"}]}]}`, ""},
		{"title agent", "POST", "/v1/chat/completions", "opencode/1.18.33", `{"messages":[{"role":"system","content":"You are a title generator. You output ONLY a thread title."},{"role":"user","content":"hi"}]}`, "title"},
		{"title helper", "POST", "/v1/chat/completions", "", `{"messages":[{"role":"system","content":"You are a helper that generates concise session titles for a session picker."},{"role":"user","content":"hi"}]}`, "title"},
		{"the address with a prefix", "POST", "/api/v1/chat/completions", "", `{"messages":[{"role":"system","content":"You are a title generator."}]}`, "title"},
		{"description agent", "POST", "/v1/chat/completions", "goose/1.50.0", `{"messages":[{"role":"system","content":"Based on the conversation so far, provide a concise description of this session in 4 words or less."}]}`, "title"},
		{"titled turn with tools", "POST", "/v1/chat/completions", "opencode/1.18.33", `{"tools":[{}],"messages":[{"role":"system","content":"You are a title generator."}]}`, ""},
		{"tools in the input", "POST", "/v1/responses", "", `{"instructions":"You are a title generator.","input":[{"type":"additional_tools","tools":[{}]}]}`, ""},
		{"no tools in the input", "POST", "/v1/responses", "", `{"instructions":"You are a title generator.","input":[]}`, "title"},
		{"codex task", "POST", "/v1/responses", "codex_exec/0.169.0", `{"tools":[{}],"client_metadata":{"x-codex-turn-metadata":"{\"request_kind\":\"memory\"}"},"input":[]}`, "memory"},
		{"codex local compaction", "POST", "/v1/responses", "codex_exec/0.169.0", `{"input":[{"role":"user","content":"You are performing a CONTEXT CHECKPOINT COMPACTION. Create"}]}`, "compaction"},
		{"codex under a client's name", "POST", "/v1/responses", "drawbar/0.166.0 (drawbar; 1.0)", `{"tools":[{}],"input":[{"role":"user","content":"Your task is to generate a very short title for a conversation"}]}`, "title"},
		{"codex title", "POST", "/v1/responses", "codex_exec/0.169.0", `{"tools":[{}],"input":[{"role":"developer","content":"Your task is to generate a very short title for a conversation based on the user's first message."}]}`, "title"},
		{"claude suggestion", "POST", "/v1/messages", claude, `{"tools":[{}],"max_tokens":32000,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.] FIRST"}]}`, "suggestion"},
		{"gemini turn", "POST", gem + "streamGenerateContent?alt=sse", gemini, `{"tools":[{"functionDeclarations":[{"name":"read_file"}]}],"contents":[]}`, ""},
		{"gemini next speaker", "POST", gem + "generateContent", gemini, `{"generationConfig":{"responseJsonSchema":{"type":"object"}},"contents":[]}`, "task"},
		{"gemini search", "POST", gem + "generateContent", gemini, `{"tools":[{"googleSearch":{}}],"contents":[]}`, "task"},
		{"gemini summary", "POST", "/v1beta/models/gemini-3.5-flash-lite:generateContent", "", `{"contents":[{"parts":[{"text":"Summarize"}]}]}`, "task"},
		{"qwen turn", "POST", "/v1/chat/completions", qwen, `{"tools":[{}],"messages":[]}`, ""},
		{"qwen memory", "POST", "/v1/chat/completions", qwen, `{"tools":[{}],"messages":[{"role":"system","content":"Managed memory directory: /m"}]}`, "memory"},
		{"memory text of another", "POST", "/v1/chat/completions", "", `{"tools":[{}],"messages":[{"role":"system","content":"Managed memory directory: /m"}]}`, ""},
		{"by the script", "POST", "/v1/chat/completions", "", `{"tools":[{}],"messages":[{"role":"user","content":"this is a BACKGROUND job"}]}`, "script"},
	}
	check := func(t *testing.T, r *http.Request, body string, want string) {
		t.Helper()
		end, rq := route(r, r.URL.Path)
		if end == endGenerate {
			if err := rq.decode([]byte(body), r.Header); err != nil {
				t.Fatal(err)
			}
		}
		if got := sideKind(end, rq, []string{"BACKGROUND job"}); got != want {
			t.Errorf("sideKind = %q, want %q", got, want)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, tt.path, nil)
			r.Header.Set("User-Agent", tt.agent)
			if tt.name == "codex under a client's name" {
				r.Header.Set("X-Codex-Turn-Metadata", "{}")
			}
			check(t, r, tt.body, tt.want)
		})
	}
	found, _ := filepath.Glob("testdata/side/*.json")
	if len(found) != len(files) {
		t.Errorf("%d recorded requests, %d in the table", len(found), len(files))
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, ok := files[name]
			if !ok {
				t.Fatal("not in the table")
			}
			rec := readRecorded(t, path)
			r := httptest.NewRequest("POST", rec.Path, nil)
			for k, v := range rec.Headers {
				r.Header.Set(k, v)
			}
			check(t, r, string(rec.Body), want)
		})
	}
}

func readRecorded(t *testing.T, path string) recorded {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rec recorded
	unmarshal(t, string(data), &rec)
	return rec
}

func TestSideRequestsUseNoTurn(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"the only turn"}],"side":{"contains":["MARK"]}}`)
	side := []struct{ path, body, want string }{
		{"/v1/messages", `{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`, `"text":"ok"`},
		{"/v1/messages/count_tokens", `{"messages":[]}`, `"input_tokens":100`},
		{"/v1/chat/completions", `{"tools":[{}],"stream":true,"messages":[{"role":"user","content":"MARK"}]}`, `"content":"ok"`},
		{
			"/v1/messages", `{"system":"You are naming a coding session.","output_config":{"format":{"schema":{"type":"object","properties":{"title":{"type":"string"},"n":{"enum":[3]},"l":{"type":["array","null"]}}}}},"messages":[]}`,
			`{\"l\":[],\"n\":3,\"title\":\"ok\"}`,
		},
	}
	for _, tt := range side {
		if a := do(t, "POST", url+tt.path, tt.body); a.status != 200 || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.path, a.status, a.body, tt.want)
		}
	}
	if a := do(t, "HEAD", url+"/", ""); a.status != 200 {
		t.Errorf("HEAD /: %d", a.status)
	}
	w := wires[0]
	if got := w.decode(t, true, w.ask(t, url, true, "hi").body).Text; got != "the only turn" {
		t.Errorf("text = %q", got)
	}
	for i, e := range s.Requests() {
		if turn := i == len(side)+1; (e.Side == "") != turn || (e.Turn == 0) != turn {
			t.Errorf("request %d: side %q, turn %d", i, e.Side, e.Turn)
		}
	}
}

func TestSideCompactionIsASummary(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"turns":[]}`)
	rec := readRecorded(t, "testdata/side/claude_compaction.json")
	a := do(t, "POST", url+rec.Path, string(rec.Body), "User-Agent", rec.Headers["user-agent"])
	if got := decodeAnthropicAnswer(t, true, a.body).Text; got != "<summary>ok</summary>" {
		t.Errorf("text = %q", got)
	}
}

// TestEverySideKey has one check per key of side that fails when the key is ignored.
func TestEverySideKey(t *testing.T) {
	t.Parallel()
	const probe = `{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"Hi MARK"}]}`
	checks := map[string]struct {
		side string
		ok   func(a answer, e Request) bool
	}{
		"contains":   {`{"contains":["MARK"]}`, func(_ answer, e Request) bool { return e.Side == "script" }},
		"text":       {`{"text":"side text"}`, func(a answer, _ Request) bool { return strings.Contains(a.body, "side text") }},
		"usage":      {`{"usage":{"input":3}}`, func(a answer, _ Request) bool { return strings.Contains(a.body, `"input_tokens":3`) }},
		"status":     {`{"status":404}`, func(a answer, _ Request) bool { return a.status == 404 }},
		"error":      {`{"status":404,"error":{"message":"no such model"}}`, func(a answer, _ Request) bool { return strings.Contains(a.body, "no such model") }},
		"retryAfter": {`{"status":429,"retryAfter":4}`, func(a answer, _ Request) bool { return a.header.Get("Retry-After") == "4" }},
		"headers":    {`{"headers":{"x-a":"b"}}`, func(a answer, _ Request) bool { return a.header.Get("X-A") == "b" }},
		"delayMs":    {`{"delayMs":40}`, func(_ answer, e Request) bool { return e.DurationMS >= 40 }},
	}
	for _, key := range sideKeys {
		s, url := start(t, `{"turns":[],"side":`+checks[key].side+`}`)
		a := do(t, "POST", url+"/v1/messages", probe)
		waitFor(t, func() bool { return s.Requests()[0].Outcome == OutcomeAnswered })
		if key == "delayMs" {
			waitFor(t, func() bool { return s.Requests()[0].DurationMS > 0 })
		}
		if !checks[key].ok(a, s.Requests()[0]) {
			t.Errorf("%s: %d %s %v", key, a.status, a.body, a.header)
		}
	}
}
