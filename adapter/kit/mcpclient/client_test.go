package mcpclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// stdio is the test binary as a server.
func stdio(t *testing.T, name, plays string) (execution.MCPServer, Options) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return execution.MCPServer{Name: name, Transport: execution.MCPStdio, Command: self, Env: map[string]string{fakeEnv: plays, "OWN": "own"}},
		Options{Dir: dir, Env: []string{"INHERITED=yes", "MARK=" + dir}, Grace: 200 * time.Millisecond}
}

func open(t *testing.T, o Options, list ...execution.MCPServer) *Client {
	t.Helper()
	c, err := Open(t.Context(), list, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// use calls a tool by the name that the model has.
func use(t *testing.T, ctx context.Context, c *Client, name, input string) modelapi.Answer { //nolint:revive // ctx is that of the call
	t.Helper()
	for _, tool := range c.Tools() {
		if tool.Name == name {
			job, err := tool.Check([]byte(input))
			if err != nil {
				return modelapi.Failed(err)
			}
			if job.Ask != "call a tool of MCP server "+tool.Server || !strings.HasPrefix(job.Detail, tool.Short+" {") {
				t.Errorf("it asks %q, %q", job.Ask, job.Detail)
			}
			return job.Do(ctx, nil)
		}
	}
	t.Fatalf("no tool %s", name)
	return modelapi.Answer{}
}

// TestAnswers: what the model reads of each kind of result.
func TestAnswers(t *testing.T) {
	t.Parallel()
	m, o := stdio(t, "s", "serves")
	c := open(t, o, m)
	for _, tt := range []struct{ tool, input, want, err string }{
		{"echo", `{"text":"hello"}`, "hello", ""},
		{"env", `{"text":"OWN"}`, "own", ""},
		{"env", `{"text":"INHERITED"}`, "yes", ""},
		{"env", `{"text":"HOME"}`, "[no output]", ""},
		{"mixed", `{}`, "a\n[an image, image/png, 3 bytes]\n[sound, audio/wav, 1 bytes]\n[a resource: file:///r]\nfile:///e\ninside\n[a resource: file:///b, 5 bytes]", ""},
		{"nothing", `{}`, "[no output]", ""},
		{"structured", `{}`, `{"a":1}`, ""},
		{"fails", `{}`, "", "it is broken"},
		{"samples", `{}`, "", "sampling"}, // a server never gets an answer of the user's model
		{"echo", `{"text":1}`, "", "text"},
		{"echo", `[]`, "", "the input must be a JSON object"},
		{"echo", `null`, "", "the input must be a JSON object"},
	} {
		a := use(t, t.Context(), c, Name("s", tt.tool), tt.input)
		if a.Text != tt.want || !strings.Contains(a.Error, tt.err) || (a.Error == "") != (tt.err == "") {
			t.Errorf("%s %s: %+v", tt.tool, tt.input, a)
		}
	}
	var seen []string
	for _, image := range use(t, t.Context(), c, Name("s", "images"), `{}`).Images {
		seen = append(seen, image.MediaType)
	}
	if want := append([]string{"image/gif"}, slices.Repeat([]string{"image/png"}, maxImages-1)...); !slices.Equal(seen, want) {
		t.Errorf("the model sees %q, want %q", seen, want)
	}
	if a := use(t, t.Context(), c, Name("s", "dots.and/slashes"), `{}`); a.Text != "dotted" {
		t.Errorf("%+v", a)
	}
	if a := use(t, t.Context(), c, Name("s", "long"), `{}`); len(a.Text) > maxText+50 || !strings.HasSuffix(a.Text, "more bytes]") {
		t.Errorf("%d bytes", len(a.Text))
	}
}

// TestTransports: the same server over each transport, with the headers that the run states.
func TestTransports(t *testing.T) {
	t.Parallel()
	guard := func(next http.Handler) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer token" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		}))
	}
	s := serve()
	get := func(*http.Request) *mcp.Server { return s }
	sse, streamable := guard(mcp.NewSSEHandler(get, nil)), guard(mcp.NewStreamableHTTPHandler(get, nil))
	defer sse.Close()
	defer streamable.Close()
	program, o := stdio(t, "p", "serves")
	auth := map[string]string{"Authorization": "Bearer token"}
	c, err := Open(t.Context(), []execution.MCPServer{program, {Name: "e", Transport: execution.MCPSSE, URL: sse.URL, Headers: auth},
		{Name: "h", Transport: execution.MCPStreamableHTTP, URL: streamable.URL, Headers: auth}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"p", "e", "h"} {
		for range 2 {
			if a := use(t, t.Context(), c, Name(name, "echo"), `{"text":"`+name+`"}`); a.Text != name {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
	for _, m := range []execution.MCPServer{{Name: "e", Transport: execution.MCPSSE, URL: sse.URL}, {Name: "h", Transport: execution.MCPStreamableHTTP, URL: streamable.URL}} {
		if _, err := Open(t.Context(), []execution.MCPServer{m}, Options{}); err == nil || !strings.Contains(err.Error(), "MCP server "+m.Name) {
			t.Errorf("%s without its header: %v", m.Name, err)
		}
	}
}

// TestRedirect: a header never goes to the target of a redirect.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	for _, transport := range []execution.MCPTransport{execution.MCPSSE, execution.MCPStreamableHTTP} {
		m := execution.MCPServer{Name: "r", Transport: transport, URL: first.URL, Headers: map[string]string{"Authorization": "Bearer token"}}
		if _, err := Open(t.Context(), []execution.MCPServer{m}, Options{}); err == nil || !strings.Contains(err.Error(), "redirects are not followed") {
			t.Errorf("%s: %v", transport, err)
		}
	}
	if reached.Load() > 0 {
		t.Error("the other server was reached")
	}
}

// TestBadServers: a server that cannot be used is named with the reason, and the others are closed again.
func TestBadServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ plays, want string }{
		{"dies", "MCP server bad: "}, {"hangs", "it did not answer in time"}, {"garbage", "MCP server bad: "}, {"many", "it has more than 500 tools"},
	} {
		t.Run(tt.plays, func(t *testing.T) {
			t.Parallel()
			good, o := stdio(t, "good", "serves")
			bad, _ := stdio(t, "bad", tt.plays)
			o.Connect = 5 * time.Second // the good one must make it, also on a busy machine
			_, err := Open(t.Context(), []execution.MCPServer{good, bad}, o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "server good") {
				t.Errorf("%v", err)
			}
			if tt.plays == "dies" && (err == nil || !strings.Contains(err.Error(), "no configuration file")) {
				t.Errorf("%v", err)
			}
		})
	}
	missing, o := stdio(t, "missing", "")
	missing.Command = "no-such-program"
	if _, err := Open(t.Context(), []execution.MCPServer{missing}, o); err == nil || !strings.Contains(err.Error(), "look up no-such-program") {
		t.Error(err)
	}
	refused := execution.MCPServer{Name: "refused", Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:1/"}
	if _, err := Open(t.Context(), []execution.MCPServer{refused}, Options{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hangs, o := stdio(t, "hangs", "hangs")
	if _, err := Open(ctx, []execution.MCPServer{hangs}, o); err == nil {
		t.Error("it connects although its run is over")
	}
}

// TestCalls: a call ends with its turn, and a server that dies fails the call with what it said.
func TestCalls(t *testing.T) {
	t.Parallel()
	m, o := stdio(t, "s", "serves")
	c := open(t, o, m)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a := use(t, ctx, c, Name("s", "waits"), `{}`); a.Error != "the turn is over" {
		t.Errorf("%+v", a)
	}
	if a := use(t, t.Context(), c, Name("s", "echo"), `{"text":"still there"}`); a.Text != "still there" {
		t.Errorf("%+v", a)
	}
	a := use(t, t.Context(), c, Name("s", "exits"), `{}`)
	if !strings.Contains(a.Error, "the call of MCP server s failed") {
		t.Errorf("%+v", a)
	}
	c.servers[0].program.End(20*time.Second, 0)
	if a := use(t, t.Context(), c, Name("s", "echo"), `{}`); !strings.Contains(a.Error, "the program ended: out of memory") {
		t.Errorf("%+v", a)
	}
}

// TestName: every name is one that model APIs accept, and two tools never share one.
func TestName(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, tool := range []string{"a", "a.b", "a/b", "a_b", "ä", strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("x", 47)} {
		n := Name("server", tool)
		if len(n) > 64 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || seen[n] != "" {
			t.Errorf("%q is called %q, as %q", tool, n, seen[n])
		}
		seen[n] = tool
	}
	if n := Name("files", "read"); n != "mcp__files__read" {
		t.Error(n)
	}
}
