package modelserver

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"main"}],"scripts":{"a":{"turns":[{"text":"a1"},{"text":"a2"}]},"b":{"turns":[{"text":"b1"}],"onExhausted":"last"}}}`)
	w := wires[2]
	steps := []struct{ prefix, header, want string }{
		{"", "a", "a1"}, {"/s/b", "", "b1"}, {"", "", "main"}, {"/s/a", "", "a2"}, {"/s/a", "a", "no turn left"}, {"", "b", "b1"},
		{"", "c", `no script \"c\"; there are: a, b`}, {"/s/c", "", "no script"}, {"/s/a", "b", "use one of them"},
	}
	for _, tt := range steps {
		a := w.ask(t, url+tt.prefix, false, "hi", "x-script-id", tt.header)
		if !strings.Contains(a.body, tt.want) {
			t.Errorf("%+v: %d %s", tt, a.status, a.body)
		}
	}
	requests := s.Requests()
	if e := requests[1]; e.Script != "b" || e.Path != "/s/b/v1/chat/completions" || e.Turn != 0 {
		t.Errorf("logged %+v", e)
	}
	if e := requests[6]; e.Side != "refused" || e.Status != 404 {
		t.Errorf("logged %+v", e)
	}
	health := do(t, "GET", url+"/__health", "")
	if want := `{"scripts":{"":{"requests":1,"turns":1,"used":[1]},"a":{"requests":3,"turns":2,"used":[1,1]},"b":{"requests":2,"turns":1,"used":[1]}},"status":"ok"}`; health.body != want {
		t.Errorf("health = %s, want %s", health.body, want)
	}
}

func TestRoutingWithoutMainScript(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"scripts":{"a":{"turns":[{"text":"a1"}]}}}`)
	if a := wires[0].ask(t, url, true, "hi"); a.status != 404 || !strings.Contains(a.body, "choose one of a with the header x-script-id") {
		t.Errorf("without id: %d %s", a.status, a.body)
	}
	for _, probe := range [][2]string{{"HEAD", "/"}, {"GET", "/api/hello"}} {
		if a := do(t, probe[0], url+probe[1], ""); a.status != 200 {
			t.Errorf("%s %s without id: %d", probe[0], probe[1], a.status)
		}
	}
	if got := mustParse(t, `{"turns":[]}`).IDs(); len(got) != 0 {
		t.Errorf("IDs = %q", got)
	}
}

func TestWebSocketIsRefused(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"x"}]}`)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/responses", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 426 {
		t.Errorf("status = %d, want 426", res.StatusCode)
	}
	if e := s.Requests()[0]; e.Side != "websocket" || e.Turn != -1 {
		t.Errorf("logged %+v", e)
	}
}

func TestMatchSeesToolResults(t *testing.T) {
	t.Parallel()
	const script = `{"turns":[{"text":"no","repeat":9,"match":{"contains":"OLD"}},{"text":"saw it","match":{"contains":"FOUND"}},{"text":"did not"}]}`
	tests := []struct {
		w    wireCase
		body string
	}{
		{wires[0], `{"tools":[{}],"messages":[{"role":"user","content":"OLD"},{"role":"assistant","content":[{"type":"tool_use","id":"t"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"FOUND"}]}]},{"role":"user","content":"reminder"},{"role":"system","content":"OLD"}]}`},
		{wires[1], `{"tools":[{}],"input":[{"role":"user","content":"OLD"},{"type":"function_call","name":"f"},` +
			`{"type":"function_call_output","output":"FOUND"},{"type":"function_call_output","output":[{"type":"input_text","text":"more"}]}]}`},
		{wires[2], `{"tools":[{}],"messages":[{"role":"user","content":"OLD"},{"role":"assistant","tool_calls":[]},{"role":"tool","content":"FOUND"}]}`},
		{wires[3], `{"tools":[{"functionDeclarations":[{}]}],"contents":[{"role":"user","parts":[{"text":"OLD"}]},{"role":"model","parts":[]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":{"deep":["FOUND"]}}}}]}]}`},
	}
	for _, tt := range tests {
		_, url := start(t, script)
		a := do(t, "POST", url+tt.w.wholePath, tt.body)
		if got := tt.w.decode(t, false, a.body).Text; got != "saw it" {
			t.Errorf("%s: %q", tt.w.name, got)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	s := New(mustParse(t, `{"turns":[{"text":"x"}]}`), Options{})
	if s.limit != MaxRequestBytes {
		t.Errorf("limit = %d, want MaxRequestBytes", s.limit)
	}
	s.limit = limit
	r, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	url := r.URL()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(make([]byte, limit+1))
	_ = z.Close()
	tests := []struct {
		name, path, body, encoding string
		status                     int
		want                       string
	}{
		{"no JSON", "/v1/messages", "{", "", 400, "request body: unexpected end of JSON input"},
		{"empty", "/v1/responses", "", "", 400, "request body"},
		{"wrong type", "/v1/chat/completions", `{"model":5}`, "", 400, "model"},
		{"bad items", "/v1/responses", `{"input":[5]}`, "", 400, "request body"},
		{"gemini list", "/v1beta/models/x:generateContent", `[]`, "", 400, `"status":"INVALID_ARGUMENT"`},
		{"unknown action", "/v1beta/models/x:embedContent", `{}`, "", 404, "nothing at POST /v1beta/models/x:embedContent"},
		{"unknown path", "/v2/messages", `{}`, "", 404, "nothing at POST"},
		{"zstd", "/v1/responses", `x`, "zstd", 415, `compressed with \"zstd\"`},
		{"bad gzip", "/v1/responses", `x`, "gzip", 400, "read request body"},
		{"bomb", "/v1/responses", zipped.String(), "gzip", 413, "over 1048576 bytes"},
		{"too long", "/v1/responses", strings.Repeat("x", limit+1), "", 413, "over 1048576 bytes"},
	}
	for _, tt := range tests {
		a := do(t, "POST", url+tt.path, tt.body, "Content-Encoding", tt.encoding)
		if a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, a.status, a.body, tt.status, tt.want)
		}
	}
	if got := wires[0].decode(t, true, wires[0].ask(t, url, true, "hi").body).Text; got != "x" {
		t.Errorf("a bad request used the turn up: %q", got)
	}
	for i, e := range s.Requests()[:len(tests)] {
		if e.Side == "" || e.Turn != -1 {
			t.Errorf("%s: logged as side %q, turn %d", tests[i].name, e.Side, e.Turn)
		}
	}
}

func TestCompressedRequests(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"x","repeat":true}]}`)
	var g, d bytes.Buffer
	for _, c := range []struct {
		name string
		w    io.WriteCloser
		b    *bytes.Buffer
	}{{"gzip", gzip.NewWriter(&g), &g}, {"deflate", zlib.NewWriter(&d), &d}} {
		_, _ = io.WriteString(c.w, `{"model":"squeezed","input":"hi"}`)
		_ = c.w.Close()
		if a := do(t, "POST", url+"/v1/responses", c.b.String(), "Content-Encoding", c.name); a.status != 200 {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	for _, e := range s.Requests() {
		if e.Model != "squeezed" || string(e.Body) != `{"model":"squeezed","input":"hi"}` {
			t.Errorf("logged %q %s", e.Model, e.Body)
		}
	}
}

func TestListenRefusesOtherHosts(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[]}`), Options{})
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1", "10.0.0.1:0", ""} {
		r, err := s.Listen(t.Context(), addr)
		if err == nil {
			_ = r.Close()
			t.Errorf("Listen(%q) succeeded", addr)
		} else if !strings.Contains(err.Error(), "127.0.0.1:0") {
			t.Errorf("Listen(%q): %v, want what to use instead", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "127.1.2.3:0"} {
		r, err := s.Listen(t.Context(), addr)
		if err != nil {
			t.Errorf("Listen(%q): %v", addr, err)
			continue
		}
		if a := do(t, "HEAD", r.URL(), ""); a.status != 200 {
			t.Errorf("%s: %d", r.URL(), a.status)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := s.Listen(t.Context(), taken.Addr().String()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("Listen on a taken port: %v", err)
	}
}

// TestCloseReleasesEverything is not parallel: it counts the goroutines of the process.
func TestCloseReleasesEverything(t *testing.T) {
	const script = `{"turns":[{"hang":true,"repeat":4},{"text":"a b","hang":1,"repeat":4},{"text":"a","delayMs":60000,"repeat":4},
	 {"text":"a b c","chunkDelayMs":60000,"repeat":4}]}`
	for _, how := range []string{"Close", "context", "both"} {
		t.Run(how, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			s := New(mustParse(t, script), Options{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r, err := s.Listen(ctx, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var clients sync.WaitGroup
			for i := range 16 {
				clients.Go(func() {
					w := wires[i%4]
					req, _ := http.NewRequestWithContext(t.Context(), "POST", r.URL()+w.streamPath, strings.NewReader(w.body(true, "hi")))
					if res, err := client.Do(req); err == nil {
						_, _ = io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
				})
			}
			waitFor(t, func() bool {
				waiting := 0
				for _, e := range s.Requests() {
					if e.Turn >= 0 {
						waiting++
					}
				}
				return waiting == 16
			})
			begin := time.Now()
			if how != "Close" {
				cancel()
			}
			if how != "context" {
				if err := r.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if err := r.Close(); err != nil {
					t.Errorf("second Close: %v", err)
				}
			}
			clients.Wait()
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			goleak.VerifyNone(t, before)
			for _, e := range s.Requests() {
				if e.Outcome != OutcomeHung && e.Outcome != OutcomeClientGone {
					t.Errorf("outcome = %q", e.Outcome)
				}
			}
			if _, err := net.DialTimeout("tcp", strings.TrimPrefix(r.URL(), "http://"), time.Second); err == nil {
				t.Error("still listening")
			}
		})
	}
}

// TestCloseWaitsForHandlers proves that Close returns after the last handler, not just after the listener.
func TestCloseWaitsForHandlers(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var log slowWriter
	log.write = func() { close(entered); <-release }
	s := New(mustParse(t, `{"turns":[{"text":"x"}]}`), Options{Log: &log})
	r, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	asking.Go(func() { wires[2].ask(t, r.URL(), true, "hi") })
	defer asking.Wait()
	<-entered
	// Not Close itself: that also asks for the error of the writer, which waits for it by a lock.
	shut := make(chan struct{})
	go func() { r.shut(); close(shut) }()
	select {
	case <-shut:
		t.Error("the server was shut while a handler ran")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	<-shut
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "write request log: disk full") {
		t.Errorf("Close = %v, want the error of the log writer", err)
	}
}

type slowWriter struct{ write func() }

func (w *slowWriter) Write([]byte) (int, error) {
	w.write()
	return 0, errors.New("disk full")
}

func TestConcurrentRequestsUseEachTurnOnce(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"x","repeat":40},{"text":"y","repeat":40}]}`)
	var wg sync.WaitGroup
	for i := range 80 {
		wg.Go(func() { wires[i%4].ask(t, url, i%3 == 0, "hi") })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, e := range s.Requests() {
		counts[e.Turn]++
	}
	if counts[0] != 40 || counts[1] != 40 {
		t.Errorf("turns used: %v", counts)
	}
}

func TestHandlerWithoutListener(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[{"text":"hello"}]}`), Options{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`)))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "hello") {
		t.Errorf("answer = %d %s", w.Code, w.Body)
	}
}
