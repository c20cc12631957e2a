//go:build unix

package turnruntime

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// turnServer is a server with one tool. form says how it answers.
func turnServer(form string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "turns", Version: "1"}, nil)
	name := "agentxchain_turn"
	if form == "renamed" {
		name = "my_turn"
	}
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := func(s string) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
		}
		switch form {
		case "text":
			res := text(goodResult)
			res.Content = slices.Insert(res.Content, 0, mcp.Content(&mcp.TextContent{Text: "here is the result"}))
			return res, nil
		case "prose":
			return text("roses are red"), nil
		case "lenient":
			return text(`{"turn_id":"turn_1","status":"completed"}`), nil
		case "no identity":
			return text(`{"status":"completed","summary":"x"}`), nil
		case "error":
			res := text("the model is gone")
			res.IsError = true
			return res, nil
		case "dies":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(3)
		case "hangs":
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return text("late"), nil
		case "sampling":
			if _, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1}); err != nil { //nolint:staticcheck // servers of today ask
				return text("no model here: " + err.Error()), nil
			}
			return text("it answered"), nil
		case "progress":
			for i := range 35 {
				time.Sleep(100 * time.Millisecond)
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: "reading"})
			}
		case "record":
			_ = os.WriteFile(os.Getenv("MCP_HEARD"), r.Params.Arguments, 0o600)
		}
		var v any
		_ = json.Unmarshal([]byte(goodResult), &v)
		return &mcp.CallToolResult{StructuredContent: v}, nil
	})
	return s
}

// asServer is what the test binary does as an MCP server.
func asServer(name string) {
	form := strings.TrimPrefix(name, "mcp ")
	switch form {
	case "never starts":
		fmt.Fprintln(os.Stderr, "no license")
		os.Exit(7)
	case "not a server":
		fmt.Println("Usage: server [options]")
		os.Exit(0)
	case "wrapped", "wrapped deep", "stays":
		rawServer(form)
		return
	case "chatty":
		fmt.Println("listening on stdio")
		fmt.Println(`{"level":"info","msg":"started"}`)
		fmt.Fprintln(os.Stderr, "a warning")
	}
	_ = turnServer(form).Run(context.Background(), &mcp.StdioTransport{})
}

// rawServer answers as an SDK does that wraps results.
func rawServer(form string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if answer := rawAnswer(form, in.Bytes()); answer != "" {
			fmt.Println(answer)
		}
	}
	if form == "stays" {
		time.Sleep(time.Minute)
	}
}

func rawAnswer(form string, line []byte) string {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
		return ""
	}
	var result string
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"agentxchain_turn","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = `{"toolResult":` + strings.Replace(goodResult, "done", apiKey, 1) + `}` // what it got in a header
		if form == "wrapped deep" {
			result = `{"toolResult":{"structuredContent":` + goodResult + `}}`
		}
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func mcpScene(t testing.TB, form string) Dispatch {
	t.Helper()
	d := scene(t, "mcp "+form)
	d.Runtime.Type, d.Runtime.GraceMS = protocol.RuntimeMCP, new(200)
	return d
}

func mcpLogOf(t *testing.T, d Dispatch) string {
	return read(t, filepath.Join(d.evidenceDir(), mcpLog))
}

func TestMCPForms(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"structured", "text", "wrapped", "wrapped deep", "lenient", "chatty", "stays"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := mcpScene(t, form)
			o := serve(t, t.Context(), d)
			if !o.Staged || o.Class != "" || o.Meta.LatencyMS == nil {
				t.Fatalf("%+v\n%s", o, mcpLogOf(t, d))
			}
			if !strings.Contains(read(t, d.StagedPath), `"turn_1"`) {
				t.Errorf("%s", read(t, d.StagedPath))
			}
			if log := mcpLogOf(t, d); form == "chatty" && (!strings.Contains(log, "[stdout] listening on stdio") || !strings.Contains(log, "[stderr] a warning")) {
				t.Errorf("%s", log)
			}
		})
	}
}

// TestMCPArguments: the tool gets all thirteen.
func TestMCPArguments(t *testing.T) {
	t.Parallel()
	d := mcpScene(t, "record")
	heard := filepath.Join(t.TempDir(), "heard")
	d.Runtime.Env.Set("MCP_HEARD", heard)
	d.WorkDir = t.TempDir()
	if o := serve(t, t.Context(), d); !o.Staged {
		t.Fatalf("%+v\n%s", o, mcpLogOf(t, d))
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(read(t, heard)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"run_id": "run_1", "turn_id": "turn_1", "role": "dev", "phase": "implementation", "runtime_id": "local-dev", "project_root": d.WorkDir,
		"dispatch_dir": d.BundleDir, "assignment_path": d.BundleDir + "/ASSIGNMENT.json", "prompt_path": d.BundleDir + "/PROMPT.md", "context_path": d.BundleDir + "/CONTEXT.md",
		"staging_path": d.StagedPath, "prompt": "Do this.\n", "context": "Know that.\n"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	if len(got) != 13 {
		t.Errorf("%d arguments: %v", len(got), got)
	}
}

func TestMCPFailures(t *testing.T) {
	t.Parallel()
	for form, c := range map[string]struct{ class, detail string }{
		"renamed":      {ClassMCP, "no tool agentxchain_turn (it has my_turn)"},
		"prose":        {ClassMCP, "is not a turn result: "},
		"no identity":  {ClassMCP, "names no run_id or turn_id"},
		"error":        {ClassMCP, "reports an error: the model is gone"},
		"dies":         {ClassMCP, "exit code 3"},
		"never starts": {ClassMCP, "no license"},
		"not a server": {ClassMCP, "exit code 0"},
		"sampling":     {ClassMCP, "is not a turn result"},
		"hangs":        {ClassTimeout, "no answer within"},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			d := mcpScene(t, form)
			if form == "hangs" {
				d.Timeout = 400 * time.Millisecond
			}
			o := serve(t, t.Context(), d)
			if o.Staged || o.Class != c.class || !strings.Contains(o.Detail, c.detail) || o.Hint == "" || o.Transient {
				t.Errorf("%+v\n%s", o, mcpLogOf(t, d))
			}
			if log := mcpLogOf(t, d); form == "dies" && (!strings.Contains(log, "[stderr] out of memory") || !strings.Contains(o.Detail, "out of memory")) {
				t.Errorf("%s: %s", log, o.Detail)
			}
		})
	}
}

// TestMCPProgress renews the time limit.
func TestMCPProgress(t *testing.T) {
	t.Parallel()
	d := mcpScene(t, "progress")
	d.Timeout = 3 * time.Second // the tool takes longer
	if o := serve(t, t.Context(), d); !o.Staged || !strings.Contains(mcpLogOf(t, d), "reading") {
		t.Errorf("%+v\n%s", o, mcpLogOf(t, d))
	}
}

func TestMCPCancelled(t *testing.T) {
	t.Parallel()
	d := mcpScene(t, "hangs")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if o := serve(t, ctx, d); !o.Cancelled || o.Class != "" {
		t.Errorf("%+v", o)
	}
}

func TestMCPNotStarted(t *testing.T) {
	t.Parallel()
	d := mcpScene(t, "structured")
	bad := filepath.Join(d.Root, "bad")
	if err := os.WriteFile(bad, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.Command.List = []string{"./bad"}
	if o := serve(t, t.Context(), d); o.Class != ClassSpawn || o.Hint == "" {
		t.Errorf("%+v", o)
	}
}

func httpScene(t *testing.T, url string) Dispatch {
	t.Helper()
	d := scene(t, "")
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeMCP, Transport: "streamable_http", URL: url}
	d.Runtime.Headers.Set("Authorization", "Bearer "+apiKey)
	d.Runtime.Headers.Set("X-Project", "demo")
	return d
}

func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []http.Header
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return turnServer("progress") }, nil)
	raw := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		answer := rawAnswer(strings.Trim(r.URL.Path, "/"), b)
		switch {
		case answer == "":
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/wrapped":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: "+answer+"\n\n")
		}
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header)
		mu.Unlock()
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == "/sdk" {
			sdk.ServeHTTP(w, r)
			return
		}
		raw(w, r)
	}))
	defer s.Close()
	for _, path := range []string{"/sdk", "/wrapped", "/wrapped%20deep"} {
		d := httpScene(t, s.URL+path)
		d.Timeout = 3 * time.Second // the SDK's tool takes longer, with progress
		if o := serve(t, t.Context(), d); !o.Staged {
			t.Errorf("%s: %+v\n%s", path, o, mcpLogOf(t, d))
		}
		keyless(t, d.Root)
	}
	for _, h := range seen {
		if h.Get("Authorization") != "Bearer "+apiKey || h.Get("X-Project") != "demo" {
			t.Errorf("%v", h)
		}
	}
}

func TestMCPOverHTTPFailures(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>"+apiKey)
		case "/hangs":
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		default:
			http.Error(w, "wrong key "+apiKey, http.StatusUnauthorized)
		}
	}))
	for _, path := range []string{"/redirect", "/html", "/hangs", "/denied"} {
		d := httpScene(t, s.URL+path)
		want := ClassMCP
		if path == "/hangs" {
			want, d.Timeout = ClassTimeout, 300*time.Millisecond
		}
		o := serve(t, t.Context(), d)
		if o.Staged || o.Class != want || strings.Contains(o.Detail+o.Hint, apiKey) {
			t.Errorf("%s: %+v", path, o)
		}
		keyless(t, d.Root)
	}
	s.CloseClientConnections()
	s.Close()
	if stolen.Load() > 0 {
		t.Error("the redirect was followed")
	}
	d := httpScene(t, s.URL)
	if o := serve(t, t.Context(), d); o.Class != ClassMCP || o.Detail == "" {
		t.Errorf("nobody there: %+v", o)
	}
}

func TestMCPCheck(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Dispatch){
		"transport":    func(d *Dispatch) { d.Runtime.Transport = "sse" },
		"url":          func(d *Dispatch) { d.Runtime.URL = "ftp://x" },
		"no url":       func(d *Dispatch) { d.Runtime.URL = "" },
		"header name":  func(d *Dispatch) { d.Runtime.Headers.Set("a b", "c") },
		"header value": func(d *Dispatch) { d.Runtime.Headers.Set("a", "b\r\nc: d") },
		"command":      func(d *Dispatch) { d.Runtime.Transport, d.Runtime.Command = "", protocol.Words{} },
		"no program":   func(d *Dispatch) { d.Runtime.Transport, d.Runtime.Command.List = "stdio", []string{"no-such-server"} },
	} {
		d := httpScene(t, "http://127.0.0.1:1/mcp")
		change(&d)
		var e *execution.Error
		if err := (&mcpRuntime{}).Check(d); !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzUnwrapMessage: rewriting keeps JSON, and leaves everything else alone.
func FuzzUnwrapMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"toolResult":{"turn_id":"t"}}}`))
	f.Add([]byte(`{"result":{"toolResult":{"content":null,"isError":true}}}`))
	f.Add([]byte(`{"result":{"toolResult":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out := unwrapMessage(data)
		if json.Valid(data) && !json.Valid(out) {
			t.Errorf("%q became %q", data, out)
		}
	})
}
