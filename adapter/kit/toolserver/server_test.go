package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/execution"
)

// A connection that a server refuses lingers half a second before it closes (net/http's guard against a reset),
// which is longer than goleak waits.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

var tools = []execution.Tool{
	{Name: "echo", Description: "says it again", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	{Name: "bare"},
	{Name: "untyped", InputSchema: json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`)},
}

// open serves the tools and closes the server at the end of the test.
func open(t *testing.T, handle Handler) *Server {
	t.Helper()
	s, err := Open(tools, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// bearer puts headers into every request.
type bearer struct {
	base    http.RoundTripper
	headers map[string]string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range b.headers {
		r.Header.Set(k, v)
	}
	return b.base.RoundTrip(r)
}

// connect is an agent's client, given what an agent is given.
func connect(t *testing.T, server execution.MCPServer) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer{transport, server.Headers}}}, nil)
	if err == nil {
		t.Cleanup(func() { session.Close() })
	}
	return session, err
}

func mustConnect(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	session, err := connect(t, s.MCPServer("drawbar"))
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func call(t *testing.T, c *mcp.ClientSession, name string, args any) (text string, isError bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Errorf("call %s: %v", name, err)
		return "", true
	}
	for _, part := range res.Content {
		text += part.(*mcp.TextContent).Text
	}
	return text, res.IsError
}

func TestListedAsGiven(t *testing.T) {
	s := open(t, nil)
	if m := s.MCPServer("x"); m.Name != "x" || m.Transport != execution.MCPStreamableHTTP || m.URL != s.url ||
		m.Headers["Authorization"] != "Bearer "+s.token || !strings.HasPrefix(m.URL, "http://127.0.0.1:") || len(s.token) != 64 {
		t.Errorf("got %+v", m)
	}
	list, err := mustConnect(t, s).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"echo":    `{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}`,
		"bare":    `{"type":"object"}`,
		"untyped": `{"properties":{"n":{"type":"integer"}},"type":"object"}`,
	}
	for _, tool := range list.Tools {
		schema, _ := json.Marshal(tool.InputSchema)
		if want[tool.Name] != string(schema) {
			t.Errorf("%s has the schema %s, want %s", tool.Name, schema, want[tool.Name])
		}
		delete(want, tool.Name)
		if tool.Name == "echo" && tool.Description != "says it again" {
			t.Errorf("description %q", tool.Description)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestCall(t *testing.T) {
	ids := map[string]bool{}
	s := open(t, func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		if ids[c.ID] {
			t.Errorf("the id %s was used twice", c.ID)
		}
		ids[c.ID] = true
		var in struct{ Text string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Errorf("input %s: %v", c.Input, err)
		}
		switch in.Text {
		case "fail":
			return execution.ToolResult{Error: "it did not work"}, nil
		case "gone":
			return execution.ToolResult{}, errors.New("nobody there")
		case "panic":
			panic("handler")
		case "object":
			return execution.ToolResult{Output: json.RawMessage(`{"a":[1,2]}`)}, nil
		case "nothing":
			return execution.ToolResult{}, nil
		}
		out, _ := json.Marshal(c.Name + ": " + in.Text)
		return execution.ToolResult{Output: out}, nil
	})
	c := mustConnect(t, s)
	tests := []struct {
		name, tool, text, want string
		isError                bool
	}{
		{"a string", "echo", "hi \"you\"", `echo: hi "you"`, false},
		{"an object", "echo", "object", `{"a":[1,2]}`, false},
		{"nothing", "echo", "nothing", "", false},
		{"another tool", "untyped", "x", "untyped: x", false},
		{"a failure", "echo", "fail", "it did not work", true},
		{"no caller", "echo", "gone", "the tool echo could not be called: nobody there", true},
		{"a panic", "echo", "panic", "the tool echo could not be called: its handler panicked: handler", true},
		{"after the panic", "echo", "on", "echo: on", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, isError := call(t, c, tt.tool, map[string]any{"text": tt.text})
			if got != tt.want || isError != tt.isError {
				t.Errorf("got %q, %v, want %q, %v", got, isError, tt.want, tt.isError)
			}
		})
	}
	if got, isError := call(t, c, "bare", nil); got != "bare: " || isError {
		t.Errorf("without arguments: %q, %v", got, isError)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "unknown"}); err == nil {
		t.Error("an unknown tool was called")
	}
	if s.Active() != 0 {
		t.Errorf("%d calls are active", s.Active())
	}
}

func TestLargeInput(t *testing.T) {
	s := open(t, func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		return execution.ToolResult{Output: json.RawMessage(strconv.Itoa(len(c.Input)))}, nil
	})
	text := strings.Repeat("x", 8<<20)
	if got, _ := call(t, mustConnect(t, s), "echo", map[string]any{"text": text}); got != strconv.Itoa(len(text)+len(`{"text":""}`)) {
		t.Errorf("got %s bytes of input", got)
	}
}

func TestToken(t *testing.T) {
	s := open(t, func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
		t.Error("called without the token")
		return execution.ToolResult{}, nil
	})
	other, err := Open(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, value := range map[string]string{
		"no token": "", "no scheme": s.token, "another scheme": "Basic " + s.token, "the token of another run": "Bearer " + other.token,
		"a part": "Bearer " + s.token[:63], "more": "Bearer " + s.token + "0", "empty": "Bearer ",
	} {
		t.Run(name, func(t *testing.T) {
			m := s.MCPServer("x")
			m.Headers = map[string]string{}
			if value != "" {
				m.Headers["Authorization"] = value
			}
			if _, err := connect(t, m); err == nil {
				t.Error("connected")
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if value != "" {
				req.Header.Set("Authorization", value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d, want 401", res.StatusCode)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestLaterVersions: a client of a later version of the protocol is told to begin as this one does.
func TestLaterVersions(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`: `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,`,
		`{"jsonrpc":"2.0","method":"server/discover"}`: "the request is not a JSON-RPC request",
		`nonsense`: "the request is not a JSON-RPC request",
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
		for name, value := range map[string]string{"Authorization": "Bearer " + s.token, "Content-Type": "application/json", "Mcp-Method": "server/discover",
			"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28"} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %d %s, want %s", body, res.StatusCode, got, want)
		}
	}
}

func TestParallelCalls(t *testing.T) {
	const clients, calls = 4, 50
	var mu sync.Mutex
	ids := map[string]bool{}
	s := open(t, func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		mu.Lock()
		ids[c.ID] = true
		mu.Unlock()
		return execution.ToolResult{Output: c.Input}, nil
	})
	var wg sync.WaitGroup
	for i := range clients {
		c := mustConnect(t, s)
		for j := range calls {
			wg.Go(func() {
				want := fmt.Sprintf(`{"text":"%d/%d"}`, i, j)
				if got, isError := call(t, c, "echo", json.RawMessage(want)); got != want || isError {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
	wg.Wait()
	if len(ids) != clients*calls {
		t.Errorf("%d different ids, want %d", len(ids), clients*calls)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	started := make(chan struct{})
	ended := make(chan error, 1)
	s, err := Open(tools, func(ctx context.Context, _ execution.ToolCall) (execution.ToolResult, error) {
		close(started)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		ended <- context.Cause(ctx)
		return execution.ToolResult{}, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mustConnect(t, s)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err == nil {
			t.Error("the call succeeded after the end")
		}
	})
	<-started
	if s.Active() != 1 {
		t.Errorf("%d calls are active, want 1", s.Active())
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case cause := <-ended:
		if cause == nil {
			t.Error("the call has no cause for its end")
		}
	default:
		t.Error("Close did not wait for the handler")
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := connect(t, s.MCPServer("x")); err == nil {
		t.Error("connected to a closed server")
	}
}

func TestCancelledCall(t *testing.T) {
	cancelled := make(chan struct{})
	started := make(chan struct{})
	s := open(t, func(ctx context.Context, _ execution.ToolCall) (execution.ToolResult, error) {
		close(started)
		<-ctx.Done()
		close(cancelled)
		return execution.ToolResult{}, ctx.Err()
	})
	c := mustConnect(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "echo"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("the handler did not learn that the agent gave the call up")
	}
}

func TestOpenRefuses(t *testing.T) {
	for schema, want := range map[string]string{`{"type":"string"}`: `has the type "string", want "object"`, `[]`: "not a JSON object",
		`null`: "not a JSON object", `{`: "not a JSON object", `{"type":["object"]}`: `has the type ["object"]`} {
		s, err := Open([]execution.Tool{{Name: "ok"}, {Name: "x", InputSchema: json.RawMessage(schema)}}, nil)
		if execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), `tools[1] "x"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
		if s != nil {
			t.Errorf("%s: a server", schema)
		}
	}
}

// TestStrangersTakeNoMemory: who does not know the token takes no memory, whatever it sends, and the agent gets through.
func TestStrangersTakeNoMemory(t *testing.T) {
	s, err := Open(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	head := "POST /mcp HTTP/1.1\r\nHost: x\r\n"
	for i := range 400 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		switch i % 3 {
		case 0: // says nothing
		case 1:
			_, _ = io.WriteString(c, head+"X: "+strings.Repeat("x", 256<<10))
		default:
			_, _ = io.WriteString(c, head+"Content-Length: 60000000\r\n\r\n"+strings.Repeat("x", 256<<10))
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/none", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("the agent got %s", resp.Status)
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapAlloc+now.StackInuse) - int64(before.HeapAlloc+before.StackInuse); grown > 8<<20 {
		t.Errorf("strangers took %d bytes", grown)
	}
}
