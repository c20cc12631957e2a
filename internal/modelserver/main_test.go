package modelserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustParse(t testing.TB, script string) *Script {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return s
}

// start serves a script until the test ends.
func start(t testing.TB, script string) (*Server, string) {
	t.Helper()
	s := New(mustParse(t, script), Options{})
	r, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s, r.URL()
}

// client keeps no connection, so that no goroutine of it outlives a request.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}

type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func do(t testing.TB, method, url, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b), err}
}

// wireCase is how one wire is asked; prompt becomes the last user message.
type wireCase struct {
	name, streamPath, wholePath string
	body                        func(stream bool, prompt string) string
	decode                      func(t testing.TB, stream bool, body string) decoded
}

// decoded is an answer as a client of the wire understands it.
type decoded struct {
	Text, Thinking, Stop, Model string
	Pieces                      []string
	Tools                       []call
	Input, Output               int64 // as the wire counts
	CacheRead, Thoughts         int64
	Events                      []string
	Ended                       bool
}

type call struct{ Name, Namespace, Input string }

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

func boolean(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

var wires = []wireCase{
	{
		"anthropic", "/v1/messages?beta=true", "/v1/messages",
		func(stream bool, prompt string) string {
			return `{"model":"m-1","max_tokens":1000,"stream":` + boolean(stream) + `,"system":"be kind","tools":[{"name":"x"}],` +
				`"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"text","text":` + quoted(prompt) + `}]}]}`
		}, decodeAnthropicAnswer,
	},
	{
		"responses", "/v1/responses", "/v1/responses",
		func(stream bool, prompt string) string {
			return `{"model":"m-1","stream":` + boolean(stream) + `,"instructions":"be kind","include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"x"}],` +
				`"input":[{"role":"user","content":"old"},{"type":"message","role":"assistant","content":"a"},{"type":"message","role":"user","content":[{"type":"input_text","text":` + quoted(prompt) + `}]}]}`
		}, decodeResponsesAnswer,
	},
	{
		"chat", "/v1/chat/completions", "/v1/chat/completions",
		func(stream bool, prompt string) string {
			return `{"model":"m-1","stream":` + boolean(stream) + `,"stream_options":{"include_usage":true},"tools":[{"type":"function"}],` +
				`"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"old"},{"role":"assistant","content":"a"},{"role":"user","content":` + quoted(prompt) + `}]}`
		}, decodeChatAnswer,
	},
	{
		"gemini", "/v1beta/models/m-1:streamGenerateContent?alt=sse", "/v1beta/models/m-1:generateContent",
		func(_ bool, prompt string) string {
			return `{"systemInstruction":{"parts":[{"text":"be kind"}]},"tools":[{"functionDeclarations":[{"name":"x"}]}],` +
				`"contents":[{"role":"user","parts":[{"text":"old"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":` + quoted(prompt) + `}]}]}`
		}, decodeGeminiAnswer,
	},
}

// ask sends a prompt over a wire.
func (w wireCase) ask(t testing.TB, url string, stream bool, prompt string, headers ...string) answer {
	t.Helper()
	path := w.wholePath
	if stream {
		path = w.streamPath
	}
	return do(t, http.MethodPost, url+path, w.body(stream, prompt), headers...)
}

// sse splits an event stream into events and data, as the standard says.
func sse(t testing.TB, body string) (names []string, data []string) {
	t.Helper()
	var name, value string
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			if value != "" {
				names, data = append(names, name), append(data, value)
			}
			name, value = "", ""
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			value += line[len("data: "):]
		default:
			t.Fatalf("not a line of an event stream: %q", line)
		}
	}
	return names, data
}

func unmarshal(t testing.TB, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}
