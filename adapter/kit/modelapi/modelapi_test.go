package modelapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/chat"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-planted-key"

// backend is a model API at a URL. Its transport is the kit's own unless given.
func backend(url string, transport http.RoundTripper) agent.Backend {
	a := modelapi.New(modelapi.Spec{
		Access: service.Access{Name: "fake", Title: "the fake API", Base: "http://127.0.0.1:1", BaseVars: []string{"FAKE_URL"}, KeyVars: []string{"FAKE_KEY"},
			KeyPage: "https://example.com/keys"}, Wire: chat.Wire{}, Default: "fake-1", Capabilities: func(*execution.Capabilities) {},
	}, modelapi.Options{Transport: transport, Environ: func() []string { return []string{"FAKE_URL=" + url, "FAKE_KEY=" + key} }})
	return agent.Backend{Name: "fake", Adapter: a, DefaultModel: "fake-1"}
}

func request(text string) execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "a", TurnID: "t",
		Message: execution.Message{ID: "m", Text: execution.Prompt(text), ReceivedAt: time.Unix(1, 0)}}
}

// chunks formats answers of the service as events.
func chunks(list ...string) string {
	return "data: " + strings.Join(list, "\n\ndata: ") + "\n\n"
}

const (
	hello  = `{"id":"c1","model":"fake-1","choices":[{"delta":{"content":"hello"}}]}`
	finish = `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
	done   = "[DONE]"
)

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
}

// TestBadServers: every answer that is none becomes one failed result with a reason, and the key is in none of them.
func TestBadServers(t *testing.T) {
	t.Parallel()
	status := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
	}
	events := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { stream(w, text) }
	}
	for _, tt := range []struct {
		name    string
		handle  http.HandlerFunc
		code    execution.ErrorCode
		message string
	}{
		{"HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-16")
			_, _ = io.WriteString(w, "<html>")
		}, execution.CodeParse, `"text/html; charset=utf-16" instead of a stream of events`},
		{"no content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, chunks(hello, finish))
		}, execution.CodeParse, "instead of a stream of events"},
		{"a text within events", events("data: this is text\n\n"), execution.CodeParse, "an event of the stream cannot be read: this is text"},
		{"half an event", events(`data: {"choices":[{"del`), execution.CodeParse, "cannot be read"},
		{"broken off after text", events(chunks(hello)), execution.CodeProvider, "the fake API broke the answer off"},
		{"an error within events", events(chunks(hello, `{"error":{"message":"overloaded `+key+`","type":"server_error"}}`)), execution.CodeProvider, "overloaded [REDACTED] (server_error)"},
		{"401", status(401, `{"error":{"message":"wrong key `+key+`","code":"invalid_api_key"}}`), execution.CodeAuth, "wrong key [REDACTED] (invalid_api_key)"},
		{"403 without JSON", status(403, "go away"), execution.CodeAuth, "status Forbidden"},
		{"404", status(404, `{"error":"model not found"}`), execution.CodeModelNotFound, "model not found"},
		{"400", status(400, `{"error":{"message":"no"}}`), execution.CodeInvalidRequest, "no"},
		{"400 for a long prompt", status(400, `{"error":{"message":"the maximum context length is 8 tokens"}}`), execution.CodeContextExceeded, "maximum context length"},
		{"an error of 2 MB", status(400, `{"error":{"message":"`+strings.Repeat("x", 2<<20)+`"}}`), execution.CodeInvalidRequest, "status Bad Request"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
		},
			execution.CodeProvider, "redirects are not followed"},
		{"a wait of an hour", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, execution.CodeRateLimited, "status Too Many Requests"},
		{"nothing", events(""), execution.CodeProvider, "broke the answer off"},
		{"a refusal", events(chunks(hello, `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`)), execution.CodeInvalidRequest, "refused to answer (content_filter)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // calls are repeated in virtual time
				res, events := modelapitest.Run(t, backend("http://fake.test", served(tt.handle)), request("hi"), agent.Options{})
				if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tt.code || !strings.Contains(res.Error.Message, tt.message) {
					t.Errorf("%s %s %.300s", res.Status, res.Error.ErrorCode(), res.Error.Message)
				}
				if text, _ := json.Marshal(events); strings.Contains(string(text), key) {
					t.Errorf("the key is in an event: %.2000s", text)
				}
			})
		})
	}
}

// served is a service in memory.
type served http.HandlerFunc

func (h served) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	h(rec, r)
	res := rec.Result()
	res.Request = r
	return res, nil
}

// answers is a service in memory: it gives its answers in order and repeats the last one.
type answers struct {
	list  []func() *http.Response
	mu    sync.Mutex
	calls []string // bodies
	times []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(len(a.calls), len(a.list)-1)
	a.calls, a.times = append(a.calls, string(body)), append(a.times, time.Now())
	if res := a.list[n](); res != nil {
		return res, nil
	}
	return nil, errors.New("the network is gone")
}

func says(list ...string) func() *http.Response {
	return func() *http.Response {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {"req-1"}}, Body: io.NopCloser(strings.NewReader(chunks(list...)))}
	}
}

func fails(status int, header ...string) func() *http.Response {
	return func() *http.Response {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"no"}}`))}
	}
}

// TestRetries: which calls are repeated, how often, and after what time. Time is virtual.
func TestRetries(t *testing.T) {
	t.Parallel()
	good := says(hello, finish, done)
	for _, tt := range []struct {
		name  string
		list  []func() *http.Response
		calls int
		code  execution.ErrorCode // empty: completed
		wait  time.Duration       // of the first repetition; 0: up to a second
	}{
		{"once", []func() *http.Response{good}, 1, "", 0},
		{"without the word that ends a stream", []func() *http.Response{says(hello, finish)}, 1, "", 0},
		{"a server error", []func() *http.Response{fails(500), fails(503), good}, 3, "", 0},
		{"repeated server errors", []func() *http.Response{fails(500)}, 5, execution.CodeProvider, 0},
		{"the network", []func() *http.Response{func() *http.Response { return nil }, good}, 2, "", 0},
		{"a rate limit", []func() *http.Response{fails(429, "Retry-After", "7"), good}, 2, "", 7 * time.Second},
		{"a rate limit in milliseconds", []func() *http.Response{fails(429, "Retry-After-Ms", "1500"), good}, 2, "", 1500 * time.Millisecond},
		{"a rate limit of an hour", []func() *http.Response{fails(429, "Retry-After", "3600"), good}, 1, execution.CodeRateLimited, 0},
		{"a refused key", []func() *http.Response{fails(401), good}, 1, execution.CodeAuth, 0},
		{"a bad request", []func() *http.Response{fails(400), good}, 1, execution.CodeInvalidRequest, 0},
		{"no events", []func() *http.Response{fails(200), fails(200), good}, 2, execution.CodeParse, 0},
		{"cut before the answer", []func() *http.Response{says(`{"choices":[]}`), good}, 2, "", 0},
		{"cut within the answer", []func() *http.Response{says(hello), good}, 1, execution.CodeProvider, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &answers{list: tt.list}
				res, events := modelapitest.Run(t, backend("http://fake.test", service), request("hi"), agent.Options{})
				if len(service.calls) != tt.calls {
					t.Errorf("%d calls, want %d", len(service.calls), tt.calls)
				}
				if tt.code == "" && res.Status != execution.StatusCompleted || tt.code != "" && res.Error.ErrorCode() != tt.code {
					t.Errorf("the result is %s %+v", res.Status, res.Error)
				}
				if res.Retries != tt.calls-1 {
					t.Errorf("%d retries stated, want %d", res.Retries, tt.calls-1)
				}
				var told []time.Duration
				for _, e := range events {
					if r, ok := e.Body.(execution.Retry); ok {
						told = append(told, time.Duration(r.DelayMs)*time.Millisecond)
					}
				}
				for i := 1; i < len(service.times); i++ {
					waited := service.times[i].Sub(service.times[i-1])
					if most := time.Second << (i - 1); tt.wait == 0 && waited > most || tt.wait > 0 && waited != tt.wait {
						t.Errorf("wait %d was %s", i, waited)
					}
					if len(told) != len(service.times)-1 || waited.Truncate(time.Millisecond) != told[i-1] {
						t.Errorf("wait %d was %s, the events say %v", i, waited, told)
					}
				}
			})
		})
	}
}

// TestTools: the caller's tools run beside each other, and the model learns each result, whatever it called.
func TestTools(t *testing.T) {
	t.Parallel()
	call := func(i int, id, name, args string) string {
		return fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%q}}]}}]}`, i, id, name, args)
	}
	service := &answers{list: []func() *http.Response{
		says(call(0, "one", "slow", `{"n":1}`), call(1, "one", "slow", `{"n":2}`), call(2, "", "missing", `{}`), call(3, "four", "slow", `{"n":`),
			call(4, "five", "slow", ""), call(5, "six", "bad", "{}"), `{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, done),
		says(hello, finish, done),
	}}
	var running, most atomic.Int32
	req := request("hi")
	req.Tools = []execution.Tool{{Name: "slow"}, {Name: "bad"}}
	both := make(chan struct{})
	handler := func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
			if n == 3 {
				close(both)
			}
		}
		defer running.Add(-1)
		if c.Name == "bad" {
			return execution.ToolResult{Error: "it is broken"}, nil
		}
		<-both // all calls of slow are there
		return execution.ToolResult{Output: c.Input}, nil
	}
	res, events := modelapitest.Run(t, backend("http://fake.test", service), req, agent.Options{Tools: handler})
	if res.Status != execution.StatusCompleted || res.Usage == nil || res.Usage.Input != 20 || res.Usage.Output != 10 {
		t.Fatalf("%s %+v, usage %+v", res.Status, res.Error, res.Usage)
	}
	var second struct {
		Messages []struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			Content    string
			ToolCalls  []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(service.calls[1]), &second); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range second.Messages {
		for _, c := range m.ToolCalls {
			got = append(got, c.ID+" called with "+c.Function.Arguments)
		}
		if m.Role == "tool" {
			got = append(got, m.ToolCallID+": "+m.Content)
		}
	}
	want := []string{`one called with {"n":1}`, `one-2 called with {"n":2}`, `call called with {}`, `four called with {"n":`, `five called with {}`, `six called with {}`,
		`one: {"n":1}`, `one-2: {"n":2}`, `call: there is no tool missing`, `four: the input is not JSON`, `five: {}`, `six: it is broken`}
	if !slices.Equal(got, want) {
		t.Errorf("the model got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	ended := map[string]int{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.ToolResultEvent:
			ended[b.ToolCallID]++
		case execution.ToolError:
			ended[b.ToolCallID]++
		}
	}
	if len(ended) != 6 {
		t.Errorf("calls ended %v", ended)
	}
}

// TestApproval: a tool that needs approval is asked about, and only it.
func TestApproval(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		service := &answers{list: []func() *http.Response{
			says(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"rm","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done),
			says(hello, finish, done),
		}}
		req := request("hi")
		req.Tools = []execution.Tool{{Name: "rm", RequiresApproval: true}}
		req.Run.ApprovalMode = execution.ApprovalYolo
		if !approve {
			req.Run.ApprovalMode = execution.ApprovalDeny
		}
		used := false
		modelapitest.Run(t, backend("http://fake.test", service), req, agent.Options{Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			used = true
			return execution.ToolResult{Output: json.RawMessage(`"gone"`)}, nil
		}})
		if used != approve || len(service.calls) != 2 || strings.Contains(service.calls[1], "gone") != approve || strings.Contains(service.calls[1], "denied") == approve {
			t.Errorf("approve %v: used %v, the model got %v", approve, used, service.calls)
		}
	}
}

// TestHook: a hook of the caller is asked before a tool runs, and may replace its input.
func TestHook(t *testing.T) {
	t.Parallel()
	for decision, want := range map[execution.HookDecision]string{execution.HookAllow: `{"n":1}`, execution.HookDeny: "denied: not today", execution.HookModify: `{"n":2}`} {
		service := &answers{list: []func() *http.Response{
			says(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"echo","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}]}`, done),
			says(hello, finish, done),
		}}
		req := request("hi")
		req.Tools = []execution.Tool{{Name: "echo"}}
		asked := 0
		modelapitest.Run(t, backend("http://fake.test", service), req, agent.Options{
			Tools: func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
				return execution.ToolResult{Output: c.Input}, nil
			},
			Hooks: agent.Hooks{PreToolUse: func(context.Context, execution.HookCall) (execution.HookResult, error) {
				asked++
				return execution.HookResult{Decision: decision, Message: "not today", ModifiedInput: json.RawMessage(`{"n":2}`)}, nil
			}},
		})
		text, _ := json.Marshal(want)
		if asked != 1 || len(service.calls) != 2 || !strings.Contains(service.calls[1], `"content":`+string(text)) {
			t.Errorf("%s: asked %d times, the model got %s", decision, asked, service.calls)
		}
	}
}

// agentOver is an adapter that adds an agent to a model API.
type agentOver struct {
	*modelapi.Adapter
	agent modelapi.Agent
}

func (a agentOver) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return a.Run(ctx, a.agent, req, in)
}

// TestAgent: an agent's tools run in order or beside each other, a panic is a failed call, and what it opened is closed in any case.
func TestAgent(t *testing.T) {
	t.Parallel()
	two := says(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"work","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"work","arguments":"{}"}},`+
		`{"index":2,"id":"c","function":{"name":"panics","arguments":"{}"}},{"index":3,"id":"d","function":{"name":"server_tool","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`, done)
	for _, inOrder := range []bool{true, false} {
		service := &answers{list: []func() *http.Response{two, says(hello, finish, done)}}
		b := backend("http://fake.test", service)
		base, _ := b.Adapter.(*modelapi.Adapter)
		var running, most atomic.Int32
		opened, closed := 0, 0
		define := func(name string, do func(context.Context, *modelapi.Live) modelapi.Answer) modelapi.Tool {
			return modelapi.Define(name, "", func(struct {
				X int `json:"x,omitempty"`
			}) (modelapi.Job, error) {
				return modelapi.Job{Do: do}, nil
			})
		}
		synctest.Test(t, func(t *testing.T) {
			served := define("server_tool", func(context.Context, *modelapi.Live) modelapi.Answer { return modelapi.Answer{Text: "served"} })
			served.Server, served.Short = "server", "tool"
			b.Adapter = agentOver{base, modelapi.Agent{Name: "fake", Prefix: "p/", InOrder: inOrder, Opening: []execution.Body{execution.SkillLoaded{SkillName: "s"}},
				Open: func(_ context.Context, a *modelapi.Agent) *execution.Error {
					opened++
					a.Tools = []modelapi.Tool{served, define("panics", func(context.Context, *modelapi.Live) modelapi.Answer { panic("at the tool") }),
						define("work", func(context.Context, *modelapi.Live) modelapi.Answer {
							most.Store(max(most.Load(), running.Add(1)))
							time.Sleep(time.Second)
							running.Add(-1)
							return modelapi.Answer{Text: "worked"}
						})}
					return nil
				}, Close: func() { closed++ }}}
			res, events := modelapitest.Run(t, b, request("hi"), agent.Options{})
			if res.Status != execution.StatusCompleted || res.Model != "p/fake-1" || opened != 1 || closed != 1 {
				t.Errorf("%s %+v, model %s, opened %d, closed %d", res.Status, res.Error, res.Model, opened, closed)
			}
			if want := map[bool]int32{true: 1, false: 2}[inOrder]; most.Load() != want {
				t.Errorf("in order %v: %d at once", inOrder, most.Load())
			}
			text, _ := json.Marshal(events)
			for _, want := range []string{`"type":"skill_loaded"`, `"error":"the tool failed: at the tool"`, `"type":"mcp_tool_call_start"`, `"server":"server","toolName":"tool","input":{"x":1}`, `"type":"mcp_tool_result"`} {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %s in the events", want)
				}
			}
		})
		b.Adapter = agentOver{base, modelapi.Agent{Name: "fake", Open: func(context.Context, *modelapi.Agent) *execution.Error {
			return execution.Errorf(execution.CodeConfig, "not today")
		}, Close: func() { closed++ }}}
		if res, _ := modelapitest.Run(t, b, request("hi"), agent.Options{}); res.Error.ErrorCode() != execution.CodeConfig || closed != 2 || len(service.calls) != 2 {
			t.Errorf("%+v, closed %d, %d calls", res.Error, closed, len(service.calls))
		}
	}
}

// TestInterrupt: an interrupt ends the turn that waits for the service, and the conversation goes on with what was said before.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if n.Add(1) == 1 {
			stream(w, chunks(hello))
			_ = http.NewResponseController(w).Flush()
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		if !strings.Contains(string(body), "first") || !strings.Contains(string(body), "second") || strings.Contains(string(body), "hello") {
			t.Errorf("the second call has %s", body)
		}
		stream(w, chunks(hello, finish, done))
	}))
	defer s.Close()
	req := request("first")
	req.Run.Interactive = true
	run, err := agent.New(backend(s.URL, nil)).Start(t.Context(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := run.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Send("second", execution.WhenNextTurn); err != nil {
		t.Fatal(err)
	}
	run.CloseInput()
	var ends []execution.TurnEndReason
	for e, err := range run.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := e.Body.(execution.TurnEnd); ok {
			ends = append(ends, end.Reason)
		}
	}
	if res, err := run.Result(t.Context()); err != nil || res.Status != execution.StatusCompleted || res.Output.Text != "hello" ||
		!slices.Equal(ends, []execution.TurnEndReason{execution.TurnInterrupted, execution.TurnCompleted}) {
		t.Errorf("%+v, %v, turns %v", res, err, ends)
	}
}

// TestManyStreams: 64 runs at once lose no event.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const pieces = 200
	text := strings.Repeat("data: "+`{"choices":[{"delta":{"content":"word "}}]}`+"\n\n", pieces) + chunks(finish, done)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { stream(w, text) }))
	defer s.Close()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			res, events := modelapitest.Run(t, backend(s.URL, nil), request("hi"), agent.Options{})
			deltas := 0
			for _, e := range events {
				if _, ok := e.Body.(execution.TextDelta); ok {
					deltas++
				}
			}
			if deltas != pieces || res.Text != strings.Repeat("word ", pieces) {
				t.Errorf("%d of %d pieces: %s", deltas, pieces, res.Status)
			}
		})
	}
	all.Wait()
}

// inbox ends its input at once.
type inbox struct{ ended bool }

func (i *inbox) Receive(ctx context.Context) (execution.Command, error) {
	if !i.ended {
		i.ended = true
		return execution.EndInput{}, nil
	}
	<-ctx.Done()
	return nil, io.EOF
}

// BenchmarkCall is a call through the adapter; BenchmarkServer is the same call without it.
func BenchmarkCall(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks(hello, finish, done)) }))
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	be := backend(s.URL, transport)
	b.ReportAllocs()
	for b.Loop() {
		for e, err := range be.Adapter.Execute(b.Context(), request("hi"), &inbox{}) {
			if f, ok := e.Body.(execution.Finished); err != nil || ok && f.Result.Status != execution.StatusCompleted {
				b.Fatal(err, f.Result.Error)
			}
		}
	}
}

// BenchmarkFirstToken is the time from when the server has written the first word to when the caller has it.
func BenchmarkFirstToken(b *testing.B) {
	var written atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		written.Store(time.Now().UnixNano())
		stream(w, chunks(hello))
		w.(http.Flusher).Flush() //nolint:forcetypeassert // a server's writer is one
		time.Sleep(time.Millisecond)
		_, _ = io.WriteString(w, chunks(finish, done))
	}))
	defer s.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	be := backend(s.URL, transport)
	var waited []time.Duration
	for b.Loop() {
		for e, err := range be.Adapter.Execute(b.Context(), request("hi"), &inbox{}) {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := e.Body.(execution.TextDelta); ok {
				waited = append(waited, time.Duration(time.Now().UnixNano()-written.Load()))
			}
		}
	}
	slices.Sort(waited)
	b.ReportMetric(float64(waited[len(waited)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(waited[len(waited)*99/100].Microseconds()), "µs-p99")
}

func BenchmarkServer(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks(hello, finish, done)) }))
	defer s.Close()
	defer s.Close()
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		res, err := c.Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

var _ adapter.Inbox = (*inbox)(nil)
