//go:build unix

package turnruntime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

const apiKey = "kk-secret-0123456789"

// apiScene is a turn on a model API.
func apiScene(t *testing.T, provider, url string) Dispatch {
	t.Helper()
	d := scene(t, "")
	d.RoleID, d.Role.WriteAuthority, d.RuntimeID = "qa", protocol.ReviewOnly, "api"
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeAPIProxy, Provider: provider, Model: "gpt-4o-mini", AuthEnv: "THE_KEY", BaseURL: url}
	d.Environ, d.Getenv = []string{"THE_KEY=" + apiKey}, nil
	return d
}

// says is an answer of OpenAI's API.
func says(text string) string {
	b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text}, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 1000, "completion_tokens": 100}})
	return string(b)
}

// reply is one scripted answer.
type reply struct {
	status int
	header map[string]string
	body   string
	err    error
}

// script answers requests in order, the last answer again and again.
type script struct {
	mu      sync.Mutex
	replies []reply
	at      []time.Time
	bodies  []string
	header  http.Header
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := io.ReadAll(r.Body)
	next := s.replies[min(len(s.at), len(s.replies)-1)]
	s.at, s.bodies, s.header = append(s.at, time.Now()), append(s.bodies, string(b)), r.Header
	if next.err != nil {
		return nil, next.err
	}
	h := http.Header{}
	for k, v := range next.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: next.status, Header: h, Body: io.NopCloser(strings.NewReader(next.body)), Request: r}, nil
}

// delays are the waits between requests.
func (s *script) delays() (all []time.Duration) {
	for i := 1; i < len(s.at); i++ {
		all = append(all, s.at[i].Sub(s.at[i-1]))
	}
	return all
}

// serve runs a turn on a runtime of its type.
func serve(t *testing.T, ctx context.Context, d Dispatch) Outcome {
	t.Helper()
	return serveWith(t, ctx, d, Deps{})
}

func serveWith(t *testing.T, ctx context.Context, d Dispatch, deps Deps) Outcome {
	t.Helper()
	rt, err := For(d.Runtime, deps)
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Check(d); err != nil {
		t.Fatal(err)
	}
	o, err := rt.Run(ctx, d, &watcher{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func proxy(t *testing.T, d Dispatch, s *script) Outcome {
	t.Helper()
	return serveWith(t, t.Context(), d, Deps{HTTP: s})
}

// keyless fails if a file of the project contains the key.
func keyless(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if text := read(t, path); strings.Contains(text, apiKey) {
			t.Errorf("%s contains the key:\n%s", path, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stagedFile(d Dispatch, name string) string {
	return filepath.Join(filepath.Dir(d.StagedPath), name)
}

func TestAPIProxy(t *testing.T) {
	for name, body := range map[string]string{"plain": says(goodResult), "fenced": says("Here:\n```json\n" + goodResult + "\n```\n"), "prose": says("I think " + goodResult + " is it")} {
		t.Run(name, func(t *testing.T) {
			s := &script{replies: []reply{{status: 200, body: body}}}
			d := apiScene(t, "openai", "http://api.test/v1/chat/completions?tenant=1")
			o := proxy(t, d, s)
			if !o.Staged || o.Class != "" || read(t, d.StagedPath) == "" {
				t.Fatalf("%+v", o)
			}
			m := o.Meta
			if m.Model != "gpt-4o-mini" || m.Provider != "openai" || *m.InputTokens != 1000 || *m.OutputTokens != 100 || *m.TotalTokens != 1100 || *m.CostUSD != 0.00021 ||
				*m.Retries != 0 || m.LatencyMS == nil || o.Cost.USD != 0.00021 || o.Cost.InputTokens != 1000 {
				t.Errorf("%+v %+v", m, o.Cost)
			}
			if s.header.Get("Authorization") != "Bearer "+apiKey {
				t.Errorf("%v", s.header)
			}
			if !strings.Contains(s.bodies[0], `Do this.\n\n---\n\nKnow that.\n`) {
				t.Errorf("the prompt is %s", s.bodies[0])
			}
			request := read(t, filepath.Join(d.evidenceDir(), "API_REQUEST.json"))
			if !strings.Contains(request, `"endpoint": "http://api.test/v1/chat/completions"`) || !strings.Contains(request, `"auth_env": "THE_KEY"`) {
				t.Errorf("%s", request)
			}
			if read(t, stagedFile(d, auditResponse)) != body {
				t.Error("the response is not kept")
			}
			if _, err := os.Stat(stagedFile(d, auditTrace)); err == nil {
				t.Error("a trace of one request")
			}
			keyless(t, d.Root)
		})
	}
}

// TestAPIProxySettings: each is in what is sent.
func TestAPIProxySettings(t *testing.T) {
	s := &script{replies: []reply{{status: 200, body: says(goodResult)}}}
	d := apiScene(t, "openai", "http://api.test/x")
	d.Runtime.MaxOutputTokens, d.Runtime.Temperature = new(77), new(0.2)
	d.Rates.Set("gpt-4o-mini", protocol.CostRate{InputPer1M: 1000, OutputPer1M: 10000})
	o := proxy(t, d, s)
	if !strings.Contains(s.bodies[0], `"max_completion_tokens":77`) || !strings.Contains(s.bodies[0], `"temperature":0.2`) || !strings.Contains(s.bodies[0], `"model":"gpt-4o-mini"`) {
		t.Errorf("%s", s.bodies[0])
	}
	if o.Cost.USD != 2 {
		t.Errorf("cost_rates give %v", o.Cost.USD)
	}
	d.Runtime.Model, d.Rates = "no-such-model", protocol.Ordered[protocol.CostRate]{}
	if o = proxy(t, d, s); *o.Meta.CostUSD != 0 || *o.Meta.InputTokens != 1000 {
		t.Errorf("an unknown price is %+v", o.Meta)
	}
	d = apiScene(t, "ollama", "")
	d.Runtime.AuthEnv = ""
	if o = proxy(t, d, s); !o.Staged || s.header.Get("Authorization") != "" || *o.Meta.CostUSD != 0 {
		t.Errorf("%+v %v", o, s.header)
	}
}

func TestAPIProxyCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Dispatch)
		want   string
		code   execution.ErrorCode
	}{
		"no key":       {func(d *Dispatch) { d.Environ = nil }, "the variable THE_KEY is not set", execution.CodeAuth},
		"blank key":    {func(d *Dispatch) { d.Environ = []string{"THE_KEY= "} }, "the variable THE_KEY is not set", execution.CodeAuth},
		"broken key":   {func(d *Dispatch) { d.Environ = []string{"THE_KEY=a\nb"} }, "no header can have", execution.CodeAuth},
		"no variable":  {func(d *Dispatch) { d.Runtime.AuthEnv = "" }, "auth_env is missing", execution.CodeAuth},
		"provider":     {func(d *Dispatch) { d.Runtime.Provider = "bedrock" }, `provider is "bedrock"`, execution.CodeConfig},
		"custom alone": {func(d *Dispatch) { d.Runtime.Provider, d.Runtime.BaseURL = "custom", "" }, `provider is "custom"`, execution.CodeConfig},
		"model":        {func(d *Dispatch) { d.Runtime.Model = "" }, "model is missing", execution.CodeConfig},
		"authority":    {func(d *Dispatch) { d.Role.WriteAuthority = protocol.Authoritative }, "writes no files", execution.CodeConfig},
	} {
		d := apiScene(t, "openai", "http://api.test/x")
		c.change(&d)
		err := (&apiProxy{}).Check(d)
		var e *execution.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, c.want) || e.Code != c.code || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPIProxyRetries(t *testing.T) {
	limited := reply{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"error":{"type":"rl","message":"slow down"}}`}
	down := reply{status: 500, body: "down"}
	good := reply{status: 200, body: says(goodResult)}
	prose := reply{status: 200, body: says("no result here")}
	s := time.Second
	on := &protocol.RetryPolicy{Enabled: true, Jitter: "none", MaxAttempts: new(4)}
	for name, c := range map[string]struct {
		replies []reply
		policy  *protocol.RetryPolicy
		first   bool // edition
		most    *int
		delays  []time.Duration
		class   string
		hint    string
	}{
		"none":            {[]reply{down, good}, nil, false, nil, nil, "unknown_api_error", "raw_detail"},
		"backoff":         {[]reply{down, down, down, good}, on, false, nil, []time.Duration{s, 2 * s, 4 * s}, "", ""},
		"exhausted":       {[]reply{down}, on, false, nil, []time.Duration{s, 2 * s, 4 * s}, "unknown_api_error", "raw_detail"},
		"server's wish":   {[]reply{limited, good}, on, false, nil, []time.Duration{7 * s}, "", ""},
		"too long a wish": {[]reply{{status: 429, header: map[string]string{"Retry-After": "3600"}}, good}, on, false, nil, nil, "rate_limited", "the limit ends at"},
		"eleven minutes":  {[]reply{{status: 429, header: map[string]string{"Retry-After": "660"}}, good}, on, false, nil, nil, "rate_limited", "the limit ends at"},
		"extraction":      {[]reply{prose, good}, on, false, nil, []time.Duration{s}, "", ""},
		"permanent":       {[]reply{{status: 401}, good}, on, false, nil, nil, "auth_failure", "auth_env"},
		"network":         {[]reply{{err: errors.New("cable")}, good}, on, false, nil, []time.Duration{s}, "", ""},
		"first edition":   {[]reply{down, {status: 429}, down, good}, nil, true, nil, []time.Duration{2 * s, s, 4 * s}, "", ""},
		"its max_retries": {[]reply{down}, nil, true, new(1), []time.Duration{2 * s}, "unknown_api_error", "raw_detail"},
	} {
		t.Run(name, func(t *testing.T) {
			d := apiScene(t, "openai", "http://api.test/x")
			d.Runtime.RetryPolicy, d.Runtime.MaxRetries, d.Timeout = c.policy, c.most, 2*time.Hour
			if c.first {
				d.Role.Adapter = protocol.RuntimeAPIProxy
			}
			sc := &script{replies: c.replies}
			var o Outcome
			synctest.Test(t, func(t *testing.T) { o = proxy(t, d, sc) })
			if o.Class != c.class || o.Staged != (c.class == "") || !strings.Contains(o.Hint, c.hint) || o.Transient || o.Cancelled {
				t.Errorf("%+v", o)
			}
			if !slices.Equal(sc.delays(), c.delays) {
				t.Errorf("waits %v, want %v", sc.delays(), c.delays)
			}
			if *o.Meta.Retries != len(c.delays) {
				t.Errorf("%d retries", *o.Meta.Retries)
			}
			if len(c.delays) == 0 && c.class == "" {
				return
			}
			var trace apiTrace
			if err := json.Unmarshal([]byte(read(t, stagedFile(d, auditTrace))), &trace); err != nil {
				t.Fatal(err)
			}
			final := map[bool]string{true: "success", false: "failure"}[o.Staged]
			if trace.AttemptsMade != len(c.delays)+1 || trace.FinalOutcome != final || trace.RunID != "run_1" || trace.TurnID != "turn_1" || len(trace.Attempts) != trace.AttemptsMade {
				t.Errorf("%+v", trace)
			}
			for i, w := range c.delays {
				if trace.Attempts[i+1].ScheduledDelayMS != w.Milliseconds() || trace.Attempts[i+1].ActualDelayMS != w.Milliseconds() {
					t.Errorf("attempt %d: %+v", i+2, trace.Attempts[i+1])
				}
			}
			_, err := os.Stat(stagedFile(d, auditFault))
			if (err == nil) == o.Staged {
				t.Errorf("%s: %v", auditFault, err)
			}
		})
	}
}

// TestAPIProxyUsageOfAllRequests: failed requests cost as well.
func TestAPIProxyUsageOfAllRequests(t *testing.T) {
	d := apiScene(t, "openai", "http://api.test/x")
	d.Runtime.RetryPolicy = &protocol.RetryPolicy{Enabled: true, BaseDelayMS: new(0.0)}
	if o := proxy(t, d, &script{replies: []reply{{status: 200, body: says("no")}, {status: 200, body: says(goodResult)}}}); o.Cost.InputTokens != 2000 || o.Cost.OutputTokens != 200 || *o.Meta.Retries != 1 {
		t.Errorf("%+v", o.Cost)
	}
}

// TestAPIProxyHalted: the provider's own word for why there is no answer reaches the person.
func TestAPIProxyHalted(t *testing.T) {
	d := apiScene(t, "google", "http://api.test/x")
	o := proxy(t, d, &script{replies: []reply{{status: 200, body: `{"promptFeedback":{"blockReason":"SAFETY"}}`}}})
	if o.Class != "turn_result_extraction_failure" || !strings.Contains(o.Detail, "blockReason SAFETY") {
		t.Errorf("%+v", o)
	}
	o = proxy(t, d, &script{replies: []reply{{status: 200, body: `{"candidates":[{"content":{"parts":[{"text":"{\"half"}]},"finishReason":"MAX_TOKENS"}]}`}}})
	if !strings.Contains(o.Detail, "finishReason MAX_TOKENS") {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(read(t, filepath.Join(d.evidenceDir(), "api-error-1.json")), "SAFETY") || !strings.Contains(read(t, stagedFile(d, auditFault)), "MAX_TOKENS") {
		t.Error("the files of the first attempt are lost")
	}
}

// TestAPIProxyHidesKey: a service that repeats the key does not bring it into a file or a message.
func TestAPIProxyHidesKey(t *testing.T) {
	for _, status := range []int{200, 401, 500} {
		d := apiScene(t, "openai", "http://api.test/x?api_key=uu-secret-9876543210")
		o := proxy(t, d, &script{replies: []reply{{status: status, body: `{"error":{"message":"` + apiKey + ` is wrong"},"choices":[{"message":{"content":"` + apiKey + `"}}]}`}}})
		if strings.Contains(o.Detail+o.Hint, apiKey) {
			t.Errorf("%+v", o)
		}
		keyless(t, d.Root)
	}
	d := apiScene(t, "openai", "http://api.test/x")
	if o := proxy(t, d, &script{replies: []reply{{status: 200, body: says(strings.Replace(goodResult, "done", "the key is "+apiKey, 1))}}}); !o.Staged {
		t.Errorf("%+v", o)
	}
	keyless(t, d.Root)
}

func TestAPIProxyTimeLimits(t *testing.T) {
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hang.Close()
	d := apiScene(t, "openai", hang.URL)
	d.Runtime.TimeoutSeconds = new(0.05)
	if o := serve(t, t.Context(), d); o.Class != ClassTimeout || !strings.Contains(o.Hint, "timeout_seconds") {
		t.Errorf("%+v", o)
	}
	d = apiScene(t, "openai", hang.URL)
	d.Timeout = 50 * time.Millisecond
	if o := serve(t, t.Context(), d); o.Class != ClassTimeout || !strings.Contains(o.Hint, "--timeout") {
		t.Errorf("%+v", o)
	}
	d = apiScene(t, "openai", hang.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if o := serve(t, ctx, d); !o.Cancelled || o.Class != "" || !strings.Contains(read(t, stagedFile(d, auditTrace)), "aborted") {
		t.Errorf("%+v", o)
	}
}

func TestAPIProxyPreflight(t *testing.T) {
	d := apiScene(t, "anthropic", "http://api.test/x")
	d.Prompt = strings.Repeat("p", 300)
	d.Context = "# Execution Context\n\n## Current State\n\n- **Run:** `run_1`\n\n## Decision History\n\n" + strings.Repeat("d", 3000) + "\n\n## Blockers\n\nthe blocker\n"
	d.Runtime.Preflight = &protocol.Preflight{Enabled: true, SafetyMarginTokens: new(10)}
	d.Runtime.MaxOutputTokens, d.Runtime.ContextWindowTokens = new(100), new(800)
	answer, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": goodResult}}, "stop_reason": "end_turn"})
	s := &script{replies: []reply{{status: 200, body: string(answer)}}}
	if o := proxy(t, d, s); !o.Staged {
		t.Fatalf("%+v", o)
	}
	if strings.Contains(s.bodies[0], "ddd") || !strings.Contains(s.bodies[0], "the blocker") || !strings.Contains(s.bodies[0], "Left out because the context window is too small: decision_history") {
		t.Errorf("%s", s.bodies[0])
	}
	var b tokenBudget
	if err := json.Unmarshal([]byte(read(t, filepath.Join(d.evidenceDir(), "TOKEN_BUDGET.json"))), &b); err != nil {
		t.Fatal(err)
	}
	if b.Window != 800 || b.Reserved != 100 || b.Margin != 10 || b.Available != 690 || !b.Truncated || !b.Sent || b.Original <= b.Final || b.Input > b.Available || b.Prompt != 100 {
		t.Errorf("%+v", b)
	}
	if !strings.Contains(read(t, filepath.Join(d.evidenceDir(), "CONTEXT.effective.md")), "the blocker") {
		t.Error("the effective context is not kept")
	}
	d.Runtime.ContextWindowTokens = nil // the default has room
	if proxy(t, d, s); !strings.Contains(s.bodies[1], "ddd") {
		t.Error("the context was cut without need")
	}
	d.Runtime.ContextWindowTokens = new(200)
	o := proxy(t, d, s)
	if o.Class != "context_overflow" || len(s.bodies) != 2 || !strings.Contains(o.Hint, "context_window_tokens") {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(read(t, filepath.Join(d.evidenceDir(), "TOKEN_BUDGET.json")), `"sent_to_provider": false`) {
		t.Error("the budget says that it was sent")
	}
}
