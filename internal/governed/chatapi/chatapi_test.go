package chatapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/httpcall"
)

const key = "kk-secret-0123456789"

// heard is what a server got.
type heard struct {
	url    string
	header http.Header
	body   map[string]any
	raw    string
}

func serve(t *testing.T, status int, header map[string]string, answer string) (string, *heard) {
	t.Helper()
	h := &heard{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		h.url, h.header, h.raw = r.URL.String(), r.Header, string(b)
		_ = json.Unmarshal(b, &h.body)
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/x", h
}

func call(t *testing.T, provider string, r Request) (Answer, *Fault) {
	t.Helper()
	api, ok := Of(provider)
	if !ok {
		t.Fatalf("no provider %s", provider)
	}
	c := httpcall.New(nil)
	defer c.Close()
	return api.Call(t.Context(), c, r)
}

func TestWires(t *testing.T) {
	t.Parallel()
	half := 0.5
	for _, c := range []struct {
		provider, answer string
		header, auth     string // the header of the key, and its value
		body             []string
		texts            []string
		halted           string
		in, out          int64
	}{
		{"anthropic", `{"content":[{"type":"text","text":"A"},{"type":"tool_use","input":{"x":1}},{"type":"text","text":" "}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":2,"cache_creation_input_tokens":1,"output_tokens":7}}`,
			"X-Api-Key", key, []string{`"system":"S"`, `"messages":[{"content":"P","role":"user"}]`, `"max_tokens":9`, `"temperature":0.5`}, []string{`{"x":1}`, "A"}, "", 8, 7},
		{"anthropic", `{"content":[],"stop_reason":"max_tokens"}`, "X-Api-Key", key, nil, nil, "max_tokens", 0, 0},
		{"openai", `{"choices":[{"message":{"content":"A"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			"Authorization", "Bearer " + key, []string{`"role":"developer"`, `"max_completion_tokens":9`, `"response_format":{"type":"json_object"}`, `"temperature":0.5`}, []string{"A"}, "", 3, 4},
		{"openai", `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`, "Authorization", "Bearer " + key, nil, nil, "refusal: no", 0, 0},
		{"openai", `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"arguments":"{}"}}]},"finish_reason":"length"}]}`, "Authorization", "Bearer " + key, nil, []string{"{}"}, "length", 0, 0},
		{"openai", `{"choices":[]}`, "Authorization", "Bearer " + key, nil, nil, "no choices", 0, 0},
		{"ollama", `{"choices":[{"message":{"content":"A"}}]}`, "Authorization", "Bearer " + key, []string{`"role":"system"`, `"max_tokens":9`}, []string{"A"}, "", 0, 0},
		{"custom", `{"choices":[{"message":{"content":"A"}}]}`, "Authorization", "Bearer " + key, []string{`"max_tokens":9`}, []string{"A"}, "", 0, 0},
		{"google", `{"candidates":[{"content":{"parts":[{"thought":true,"text":"T"},{"text":"A"},{"text":"B"},{"functionCall":{"args":{"x":2}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"thoughtsTokenCount":5}}`,
			"X-Goog-Api-Key", key, []string{`"systemInstruction":{"parts":[{"text":"S"}]}`, `"responseMimeType":"application/json"`, `"maxOutputTokens":9`, `"temperature":0.5`}, []string{`{"x":2}`, "AB"}, "", 3, 9},
		{"google", `{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}`, "X-Goog-Api-Key", key, nil, nil, "blockReason SAFETY no", 0, 0},
		{"google", `{"candidates":[{"content":{"parts":[{"text":"half"}]},"finishReason":"MAX_TOKENS"}]}`, "X-Goog-Api-Key", key, nil, []string{"half"}, "finishReason MAX_TOKENS", 0, 0},
	} {
		url, h := serve(t, 200, map[string]string{"X-Request-Id": "req1"}, c.answer)
		a, f := call(t, c.provider, Request{Endpoint: url, Key: key, Model: "m", System: "S", Prompt: "P", MaxTokens: 9, Temperature: &half, Timeout: 10 * time.Second})
		if f != nil {
			t.Errorf("%s: %+v", c.provider, f)
			continue
		}
		if !slices.Equal(a.Texts, c.texts) || a.Halted != c.halted || a.Input != c.in || a.Output != c.out || a.RequestID != "req1" || string(a.Raw) != c.answer {
			t.Errorf("%s: %+v", c.provider, a)
		}
		for _, want := range c.body {
			if !strings.Contains(h.raw, want) {
				t.Errorf("%s: the body has no %s: %s", c.provider, want, h.raw)
			}
		}
		if h.header.Get(c.header) != c.auth || h.url != "/v1/x" || strings.Contains(h.raw, key) {
			t.Errorf("%s: %s %v", c.provider, h.url, h.header)
		}
	}
}

// TestEndpoints: each provider has its own, and none is shown with what a secret could be in.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{"anthropic": "https://api.anthropic.com/v1/messages", "openai": "https://api.openai.com/v1/chat/completions",
		"google": "https://generativelanguage.googleapis.com/v1beta/models/m%2Fx:generateContent", "ollama": "http://localhost:11434/v1/chat/completions", "custom": ""} {
		api, _ := Of(provider)
		if got := api.Endpoint(Request{Model: "m/x"}); got != want {
			t.Errorf("%s: %s", provider, got)
		}
		if got := api.Endpoint(Request{Endpoint: "https://u:p@h.test/a?key=1#f"}); got != "https://h.test/a" {
			t.Errorf("%s: %s", provider, got)
		}
	}
	if _, ok := Of("bedrock"); ok {
		t.Error("an unknown provider is known")
	}
}

func TestNoKeyNoHeader(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"anthropic", "openai", "google", "ollama"} {
		url, h := serve(t, 200, nil, `{}`)
		_, _ = call(t, provider, Request{Endpoint: url})
		if h.header.Get("Authorization")+h.header.Get("X-Api-Key")+h.header.Get("X-Goog-Api-Key") != "" {
			t.Errorf("%s: %v", provider, h.header)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(90 * time.Second).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		provider string
		status   int
		header   map[string]string
		body     string
		class    execution.ErrorClass
		category execution.ErrorCategory
		again    bool
		after    time.Duration // at least, and at most a minute more
	}{
		{"anthropic", 401, nil, `{"error":{"type":"authentication_error","message":"bad"}}`, "auth_failure", "permanent", false, 0},
		{"openai", 403, nil, `x`, "auth_failure", "permanent", false, 0},
		{"google", 400, nil, `{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, "auth_failure", "permanent", false, 0},
		{"openai", 404, nil, `{}`, "model_not_found", "permanent", false, 0},
		{"openai", 400, nil, `{"error":{"message":"unknown field"}}`, "invalid_request", "permanent", false, 0},
		{"openai", 400, nil, `{"error":{"message":"max_tokens is too large"}}`, "invalid_request", "permanent", false, 0},
		{"anthropic", 400, nil, `{"error":{"message":"prompt is too long: 210000 tokens"}}`, "context_overflow", "permanent", false, 0},
		{"openai", 400, nil, `{"error":{"code":"context_length_exceeded","message":"too much"}}`, "context_overflow", "permanent", false, 0},
		{"openai", 413, nil, ``, "unknown_api_error", "transient", true, 0},
		{"openai", 429, map[string]string{"Retry-After": "7"}, `{}`, "rate_limited", "transient", true, 7 * time.Second},
		{"openai", 429, map[string]string{"X-Ratelimit-Reset-Requests": "6m0s", "X-Ratelimit-Remaining-Requests": "4", "X-Ratelimit-Reset-Tokens": "20s", "X-Ratelimit-Remaining-Tokens": "0"}, `{}`, "rate_limited", "transient", true, 20 * time.Second},
		{"anthropic", 429, map[string]string{"Anthropic-Ratelimit-Tokens-Reset": soon}, `{}`, "rate_limited", "transient", true, 80 * time.Second},
		{"google", 429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"check your billing","details":[{"retryDelay":"34s"}]}}`, "rate_limited", "transient", true, 34 * time.Second},
		{"openai", 429, nil, `{"error":{"code":"insufficient_quota","message":"check your plan and billing"}}`, "rate_limited", "permanent", false, 0},
		{"anthropic", 429, nil, `{"error":{"message":"You have reached your monthly spend limit"}}`, "rate_limited", "permanent", false, 0},
		{"anthropic", 529, nil, `{"error":{"type":"overloaded_error"}}`, "provider_overloaded", "transient", true, 0},
		{"google", 503, nil, `{"error":{"status":"UNAVAILABLE"}}`, "provider_overloaded", "transient", true, 0},
		{"openai", 500, nil, `<html>`, "unknown_api_error", "transient", true, 0},
		{"ollama", 418, nil, `{"error":"teapot"}`, "unknown_api_error", "transient", true, 0},
		{"openai", 504, nil, ``, "unknown_api_error", "transient", true, 0},
		{"openai", 503, nil, `{"error":{"message":"busy"}}`, "unknown_api_error", "transient", true, 0},
		{"openai", 200, nil, `<html>`, "response_parse_failure", "parse", true, 0},
		{"openai", 200, nil, `{"choices":5}`, "response_parse_failure", "parse", true, 0},
		{"openai", 302, map[string]string{"Location": "http://elsewhere.test/"}, ``, "network_failure", "transient", false, 0},
	} {
		url, _ := serve(t, c.status, c.header, c.body)
		_, f := call(t, c.provider, Request{Endpoint: url, Key: key})
		if f == nil || f.Class != c.class || f.Category != c.category || f.Retryable != c.again || f.Recovery == "" || f.Message == "" {
			t.Errorf("%s %d %s: %+v", c.provider, c.status, c.body, f)
			continue
		}
		if f.After() < c.after || f.After() > c.after+time.Minute || c.after == 0 && f.After() != 0 {
			t.Errorf("%s %d: asks to wait %s", c.provider, c.status, f.After())
		}
		if has := f.HTTPStatus != nil && *f.HTTPStatus == c.status; has == (c.status == 302) {
			t.Errorf("%s %d: status %v", c.provider, c.status, f.HTTPStatus)
		}
	}
}

// TestFaultHidesKey: what a service repeats of the key is not kept, and what it says is bounded.
func TestFaultHidesKey(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, 401, nil, `{"error":{"type":"t","code":"c","message":"the key `+key+` is wrong"}}`+strings.Repeat("y", 600))
	_, f := call(t, "openai", Request{Endpoint: url, Key: key})
	b, _ := json.Marshal(f)
	if strings.Contains(string(b), key) || len(f.RawDetail) > 510 || !strings.Contains(f.RawDetail, "[REDACTED]") {
		t.Errorf("%s", b)
	}
	url, _ = serve(t, 400, nil, `{"error":{"type":"t","code":"c","message":"m"}}`)
	if _, f = call(t, "openai", Request{Endpoint: url}); f.ProviderType != "t" || f.ProviderCode != "c" || f.Message != "OpenAI: HTTP 400: m" {
		t.Errorf("%+v", f)
	}
}

// TestSlowBody: the time limit covers the whole answer, not only its headers.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"choices":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	_, f := call(t, "openai", Request{Endpoint: s.URL, Timeout: 50 * time.Millisecond})
	if f == nil || f.Class != execution.ClassTimeout || !strings.Contains(f.Message, "within 50ms") {
		t.Errorf("%+v", f)
	}
	s.CloseClientConnections()
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	_, f := call(t, "openai", Request{Endpoint: s.URL + "/x?key=1"})
	if f == nil || f.Class != execution.ClassNetworkFailure || !f.Retryable || !strings.Contains(f.Message, "nothing answers at "+s.URL+"/x") || strings.Contains(f.Message, "key=1") {
		t.Errorf("%+v", f)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	fault := func(class execution.ErrorClass) *Fault { return NewFault(class, "") }
	limited := fault(execution.ClassRateLimited)
	if _, again := NewPolicy(nil).Next(limited, nil); again {
		t.Error("repeats without a policy")
	}
	if _, again := NewPolicy(&protocol.RetryPolicy{MaxAttempts: new(5)}).Next(limited, nil); again {
		t.Error("repeats although it is not enabled")
	}
	p := NewPolicy(&protocol.RetryPolicy{Enabled: true, Jitter: "none"})
	var failed []*Fault
	var got []time.Duration
	for {
		d, again := p.Next(limited, failed)
		if !again {
			break
		}
		got, failed = append(got, d), append(failed, limited)
	}
	if !slices.Equal(got, []time.Duration{time.Second, 2 * time.Second}) || p.Most() != 3 {
		t.Errorf("%v of %d", got, p.Most())
	}
	p = NewPolicy(&protocol.RetryPolicy{Enabled: true, Jitter: "none", MaxAttempts: new(9), BaseDelayMS: new(10.0), MaxDelayMS: new(25.0), BackoffMultiplier: new(3.0), RetryOn: []string{"timeout"}})
	if d, again := p.Next(fault(execution.ClassTimeout), failed); !again || d != 25*time.Millisecond {
		t.Errorf("%s %t", d, again)
	}
	if _, again := p.Next(limited, nil); again {
		t.Error("repeats a class that retry_on does not name")
	}
	if _, again := NewPolicy(&protocol.RetryPolicy{Enabled: true}).Next(fault(execution.ClassAuthFailure), nil); again {
		t.Error("repeats a class that is not retryable")
	}
	seen := map[time.Duration]bool{}
	for range 50 {
		d, _ := NewPolicy(&protocol.RetryPolicy{Enabled: true}).Next(limited, nil)
		if seen[d] = true; d < 0 || d > time.Second {
			t.Errorf("jitter gave %s", d)
		}
	}
	if len(seen) < 10 {
		t.Errorf("jitter gave %v", seen)
	}
}

// TestFirstEdition is the table of specification 000.
func TestFirstEdition(t *testing.T) {
	t.Parallel()
	status := func(class execution.ErrorClass, n int) *Fault {
		f := NewFault(class, "")
		f.HTTPStatus = &n
		return f
	}
	s := time.Second
	for name, c := range map[string]struct {
		fault *Fault
		most  *int
		want  []time.Duration
	}{
		"429":       {status(execution.ClassRateLimited, 429), nil, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s}},
		"500":       {status(execution.ClassUnknownAPIError, 500), nil, []time.Duration{2 * s, 4 * s, 8 * s}},
		"503":       {status(execution.ClassProviderOverloaded, 503), nil, []time.Duration{2 * s, 4 * s, 8 * s}},
		"400":       {status(execution.ClassInvalidRequest, 400), nil, nil},
		"401":       {status(execution.ClassAuthFailure, 401), nil, nil},
		"timeout":   {NewFault(execution.ClassTimeout, ""), nil, []time.Duration{5 * s}},
		"json":      {NewFault(execution.ClassResponseParseFailure, ""), nil, []time.Duration{0}},
		"no result": {NewFault(execution.ClassExtractionFailure, ""), nil, []time.Duration{0}},
		"most":      {status(execution.ClassRateLimited, 429), new(2), []time.Duration{s, 2 * s}},
		"none":      {status(execution.ClassRateLimited, 429), new(0), nil},
	} {
		e := NewFirstEdition(c.most)
		var got []time.Duration
		var failed []*Fault
		for {
			d, again := e.Next(c.fault, failed)
			if !again {
				break
			}
			got, failed = append(got, d), append(failed, c.fault)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// FuzzAnswer: no answer makes a reader panic.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"A"}}],"candidates":[{"content":{"parts":[{"text":"x"}]}}],"content":[{"type":"text","text":"t"}]}`))
	f.Add([]byte(`{"error":{"code":1,"details":[{"retryDelay":"1s"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, provider := range []string{"anthropic", "openai", "google"} {
			api, _ := Of(provider)
			if a, err := api.format.answer(body); err == nil {
				for _, text := range a.Texts {
					if strings.TrimSpace(text) == "" {
						t.Errorf("%s: a blank text of %q", provider, body)
					}
				}
			}
			f := api.refused(Request{Key: "k"}, 429, http.Header{}, body)
			if len(f.RawDetail) > mostDetail+16 {
				t.Errorf("%d bytes of detail", len(f.RawDetail))
			}
		}
	})
}
