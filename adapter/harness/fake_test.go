package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/chat"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

const plantedKey = "sk-planted-key"

// reply is an answer of the model: text, calls, or a status.
type reply struct {
	text   string
	calls  []string // name and input, separated by a space
	finish string
	status int
	why    string // of a status
	tokens int    // of the prompt; 0 is 100
	after  time.Duration
	hang   bool
}

func says(text string) reply          { return reply{text: text} }
func calls(list ...string) reply      { return reply{calls: list} }
func (r reply) ending(s string) reply { r.finish = s; return r }

// model is a model in memory: it gives its replies in order, and repeats the last one.
type model struct {
	replies []reply
	window  int64
	mu      sync.Mutex
	bodies  []string
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	n := len(m.bodies)
	m.bodies = append(m.bodies, string(body))
	m.mu.Unlock()
	p := m.replies[min(n, len(m.replies)-1)]
	if p.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if p.after > 0 {
		select {
		case <-time.After(p.after):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	if p.status != 0 {
		return &http.Response{StatusCode: p.status, Header: header, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"error":{"message":%q}}`, cmp.Or(p.why, "the model says no"))))}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(p.stream(n)))}, nil
}

func (r reply) stream(n int) string {
	delta := map[string]any{}
	if r.text != "" {
		delta["content"] = r.text
	}
	var list []any
	for i, c := range r.calls {
		name, input, _ := strings.Cut(c, " ")
		list = append(list, map[string]any{"index": i, "id": fmt.Sprintf("call-%d-%d", n, i), "function": map[string]any{"name": name, "arguments": input}})
	}
	finish := r.finish
	if list != nil {
		delta["tool_calls"] = list
		if finish == "" {
			finish = "tool_calls"
		}
	}
	if finish == "" {
		finish = "stop"
	}
	b, _ := json.Marshal(map[string]any{"id": "m", "model": "model-1", "choices": []any{map[string]any{"delta": delta, "finish_reason": finish}},
		"usage": map[string]int{"prompt_tokens": cmp.Or(r.tokens, 100), "completion_tokens": 10}})
	return "data: " + string(b) + "\n\ndata: [DONE]\n\n"
}

// said returns what the model got in a call: the text of each message.
func (m *model) said(t *testing.T, call int) (list []string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if call >= len(m.bodies) {
		t.Fatalf("the model was called %d times", len(m.bodies))
	}
	var body struct {
		Messages []struct {
			Role      string
			Content   any
			ToolCalls []struct{ Function struct{ Name string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(m.bodies[call]), &body); err != nil {
		t.Fatal(err)
	}
	for _, msg := range body.Messages {
		line := fmt.Sprintf("%s: %v", msg.Role, msg.Content)
		for _, c := range msg.ToolCalls {
			line += " calls " + c.Function.Name
		}
		list = append(list, line)
	}
	return list
}

func (m *model) called() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.bodies)
}

// backend is the harness over the model.
func (m *model) backend(limits Limits) agent.Backend {
	api := modelapi.New(modelapi.Spec{Access: service.Access{Name: "fake", Title: "the fake API", Base: "http://fake.test", KeyVars: []string{"FAKE_KEY"},
		KeyPage: "https://example.com"}, Wire: chat.Wire{}, Default: "model-1", Capabilities: func(*execution.Capabilities) {}},
		modelapi.Options{Transport: m, Environ: func() []string { return []string{"FAKE_KEY=" + plantedKey} }})
	a := New(Options{Limits: limits, Window: m.window, Services: func() []*modelapi.Adapter { return []*modelapi.Adapter{api} },
		Environ: func() []string { return []string{"FAKE_KEY=" + plantedKey, "PATH=" + os.Getenv("PATH"), "SHOWN=yes"} }})
	return agent.Backend{Name: name, Adapter: a, Models: []execution.Model{{ID: "fake/model-1", Price: &execution.Price{Input: 10, Output: 10}}}}
}

// request asks the harness something in a folder with a file.
func request(t testing.TB, text string) execution.Request {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("content of a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "a", TurnID: "t",
		Message: execution.Message{ID: "m", Text: execution.Prompt(text), ReceivedAt: time.Unix(1, 0)}, Run: execution.RunOptions{Model: "fake", Cwd: dir}}
}

// bodies returns the bodies of one type.
func bodies[T execution.Body](events []execution.Event) (list []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// silent is an inbox without commands.
type silent struct{ ended bool }

func (s *silent) Receive(ctx context.Context) (execution.Command, error) {
	if !s.ended {
		s.ended = true
		return execution.EndInput{}, nil
	}
	<-ctx.Done()
	return nil, io.EOF
}
