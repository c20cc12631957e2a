// Package modelapitest tests the wires of model APIs: what is sent for a request that uses everything, and that no answer of a
// service breaks the run.
package modelapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Request returns a request with tools that uses every option of a model API.
func Request(text string) execution.Request {
	half := 0.5
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "a", TurnID: "t",
		Message: execution.Message{ID: "m", Text: execution.Prompt(text), ReceivedAt: time.Unix(1, 0), Attachments: []execution.Attachment{
			{Base64: "iVBORw0KGgo=", MimeType: "image/png", Name: "dot.png"}, {Base64: "JVBERi0xLjQ=", MimeType: "application/pdf", Name: "page.pdf"},
			{Base64: "aGVsbG8=", MimeType: "text/plain", Name: "hello.txt"}}},
		Instructions: execution.Instructions{SystemPrompt: "be brief"},
		Tools: []execution.Tool{{Name: "echo", Description: "says it again", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
			{Name: "bare"}},
		Run: execution.RunOptions{Model: "model-1", ThinkingEffort: execution.EffortLow, Temperature: &half, TopP: &half, MaxTokens: 1000,
			OutputSchema: json.RawMessage(`{"type":"object"}`)},
	}
}

// service answers with texts, one after the other, and keeps what it was sent.
type service struct {
	answers []string
	sent    []sent
}

// sent is one call as the service got it.
type sent struct {
	URL    string
	Header map[string]string
	Body   json.RawMessage
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	header := map[string]string{}
	for name := range r.Header {
		header[name] = r.Header.Get(name)
	}
	answer := s.answers[min(len(s.sent), len(s.answers)-1)]
	s.sent = append(s.sent, sent{r.URL.String(), header, body})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

func (s *service) backend(spec modelapi.Spec) agent.Backend {
	environ := func() []string { return []string{spec.KeyVars[0] + "=key"} }
	return agent.Backend{Name: spec.Name, Adapter: modelapi.New(spec, modelapi.Options{Transport: s, Environ: environ})}
}

// Run runs a request to its end, and checks that its events keep the order.
func Run(t testing.TB, b agent.Backend, req execution.Request, opts agent.Options) (execution.Result, []execution.Event) {
	t.Helper()
	r, err := agent.New(b).Start(t.Context(), req, opts)
	if err != nil {
		t.Fatal(err)
	}
	var events []execution.Event
	for e, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	res, err := r.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := adaptertest.CheckOrder(events, res); err != nil {
		t.Error(err)
	}
	return res, events
}

// run is Run with tools that say their input again.
func run(t *testing.T, b agent.Backend, req execution.Request) execution.Result {
	t.Helper()
	res, _ := Run(t, b, req, agent.Options{Tools: func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		if c.Name == "bare" {
			return execution.ToolResult{Error: "it is broken"}, nil
		}
		return execution.ToolResult{Output: c.Input}, nil
	}})
	return res
}

// Golden runs a request against a service that answers with the streams in testdata/*.sse, in the order of their names, and compares
// what the service was sent with testdata/sent.json.
func Golden(t *testing.T, spec modelapi.Spec, change func(*execution.Request)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	slices.Sort(files)
	s := &service{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s.answers = append(s.answers, string(b))
	}
	req := Request("what is it?")
	change(&req)
	res := run(t, s.backend(spec), req)
	if res.Status != execution.StatusCompleted || string(res.Output.Structured) != `{"done":true}` || len(s.sent) != len(files) {
		t.Errorf("%s %+v after %d calls", res.Status, res.Error, len(s.sent))
	}
	u := execution.Usage{Input: 100, Output: 20, Thinking: 5, Cached: 30}.WithTotal()
	if got := *res.Usage; got.Input != u.Input || got.Output != u.Output || got.Cached != u.Cached || got.Thinking != u.Thinking {
		t.Errorf("the usage is %+v, want %+v", got, u)
	}
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	for _, call := range s.sent {
		if err := e.Encode(call); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/sent.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%v; the service was sent\n%s", err, got.String())
	}
}

// Fuzz feeds answers to the wire: no panic, events in order, one result, and no more calls than the kit makes.
func Fuzz(f *testing.F, spec modelapi.Spec) {
	f.Helper()
	files, _ := filepath.Glob("testdata/*.sse")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, answer string) {
		synctest.Test(t, func(t *testing.T) {
			s := &service{answers: []string{answer, ""}}
			req := Request("what is it?")
			req.Message.Attachments, req.Run = nil, execution.RunOptions{Model: "model-1"}
			run(t, s.backend(spec), req)
			if len(s.sent) > 10 {
				t.Errorf("%d calls", len(s.sent))
			}
		})
	})
}
