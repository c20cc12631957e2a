package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/transport/httpcall"
	"github.com/drawbar/drawbar/transport/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a program in this process: what it prints is given, and what it is told is kept.
type fake struct {
	process.Handle
	batches chan []process.Line // closed at its end

	mu      sync.Mutex
	written bytes.Buffer
	stopped bool
	deaf    bool
	once    sync.Once
}

func (f *fake) Next(context.Context) ([]process.Line, error) {
	if l, ok := <-f.batches; ok {
		return l, nil
	}
	return nil, io.EOF
}

func (f *fake) Write(b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deaf {
		return io.ErrClosedPipe
	}
	f.written.Write(b)
	return nil
}

func (f *fake) CloseInput() {}

func (f *fake) Stop(time.Duration) {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.once.Do(func() { close(f.batches) })
}

func (f *fake) Wait() process.Exit { return process.Exit{Code: 3} }

func out(lines ...string) (list []process.Line) {
	for _, l := range lines {
		list = append(list, process.Line{Stream: process.Stdout, Data: []byte(l)})
	}
	return list
}

// TestProgram: messages are messages, everything else is a word for people, and how the program ends is known.
func TestProgram(t *testing.T) {
	t.Parallel()
	f := &fake{batches: make(chan []process.Line, 1)}
	var other []string
	p := NewProgram(f, func(l process.Line) { other = append(other, l.Stream.String()+" "+string(l.Data)) }, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("old"), []byte("new"))
	})
	lines := out("listening", "", `{"level":"info"}`, `  {"jsonrpc":"2.0","id":1,"result":{"is":"old"}}`, "{not json")
	f.batches <- append(lines, process.Line{Stream: process.Stderr, Data: []byte("a warning")}, process.Line{Stream: process.Stdout, Data: []byte(`{"jsonrpc":"2.0"`), Truncated: true})
	m, err := p.Read(t.Context())
	r, ok := m.(*jsonrpc.Response)
	if err != nil || !ok || !strings.Contains(string(r.Result), `"new"`) {
		t.Fatalf("%#v %v", m, err)
	}
	if err := p.Write(t.Context(), r); err != nil || !strings.HasSuffix(f.written.String(), "}\n") {
		t.Errorf("%q %v", f.written.String(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, _, ended := p.Ended(); ended {
		t.Error("it has not ended")
	}
	f.Stop(0) // by itself, before the connection is closed
	if _, err := p.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	exit := p.End(time.Minute, 0)
	if _, early, ended := p.Ended(); !early || !ended || exit.Code != 3 {
		t.Errorf("%v %v %+v", early, ended, exit)
	}
	if got := strings.Join(other, "|"); got != `stdout listening|stdout {"level":"info"}|stdout {not json|stderr a warning|stdout {"jsonrpc":"2.0"` {
		t.Errorf("%s", got)
	}
	if err := p.Write(t.Context(), r); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("%v", err)
	}
}

// TestProgramThatStays is stopped after the wait, also while nobody reads its messages.
func TestProgramThatStays(t *testing.T) {
	t.Parallel()
	f := &fake{batches: make(chan []process.Line, 1)}
	p := NewProgram(f, nil, nil)
	f.batches <- out("words", `{"jsonrpc":"2.0","method":"notifications/x"}`)
	p.End(10*time.Millisecond, 0)
	if _, early, ended := p.Ended(); early || !ended || !f.stopped {
		t.Errorf("%v %v %v", early, ended, f.stopped)
	}
	if _, err := p.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// TestDeadProgram: a write that fails says that the program has ended, even if its output is read later.
func TestDeadProgram(t *testing.T) {
	t.Parallel()
	f := &fake{batches: make(chan []process.Line), deaf: true}
	p := NewProgram(f, nil, nil)
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "x"}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	p.End(0, 0)
	if _, early, _ := p.Ended(); !early {
		t.Error("it ended before the connection was closed")
	}
}

func TestHTTPClient(t *testing.T) {
	t.Parallel()
	var auth string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, "{\n\"is\":\"old\"}")
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: old\ndata: {\"is\":\"old\"}\n\n: old\n")
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "old")
		default:
			http.Redirect(w, r, "/json", http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	get := func(rewrite Rewrite, path string) string {
		res, err := HTTPClient(own, http.Header{"authorization": {"Bearer x"}}, rewrite).Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rewrite := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("old"), []byte("new")) }
	for path, want := range map[string]string{"/json": "{\n\"is\":\"new\"}", "/events": "event: old\ndata: {\"is\":\"new\"}\n\n: old\n", "/text": "old"} {
		if got := get(rewrite, path); got != want || auth != "Bearer x" {
			t.Errorf("%s: %q, want %q; %q", path, got, want, auth)
		}
	}
	if got := get(nil, "/json"); got != "{\n\"is\":\"old\"}" {
		t.Errorf("%q", got)
	}
	res, err := HTTPClient(own, nil, nil).Get(s.URL + "/away")
	if err == nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, httpcall.ErrRedirect) {
		t.Errorf("a redirect gives %v", err)
	}
}
