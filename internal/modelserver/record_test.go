package modelserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

// recording is a recorder in front of a server, and its file.
type recording struct {
	t        testing.TB
	recorder *Recorder
	file     string
	log      *bytes.Buffer
	url      string
	close    func()
}

// record starts a recorder in front of upstream; change may change its options.
func record(t testing.TB, upstream string, change ...func(*RecordOptions)) *recording {
	t.Helper()
	c := &recording{t: t, file: filepath.Join(t.TempDir(), "c.jsonl"), log: &bytes.Buffer{}}
	w, err := cassette.Create(c.file, false)
	if err != nil {
		t.Fatal(err)
	}
	root, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	o := RecordOptions{To: w, Upstreams: map[Wire]*url.URL{"": root}, Log: c.log}
	for _, f := range change {
		f(&o)
	}
	c.recorder = NewRecorder(o)
	running, err := c.recorder.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.url = running.URL()
	closed := false
	c.close = func() {
		if closed {
			return
		}
		closed = true
		if err := errors.Join(running.Close(), w.Close()); err != nil {
			t.Error(err)
		}
		c.recorder.Close()
	}
	t.Cleanup(c.close)
	return c
}

// exchanges ends a recording and returns its exchanges.
func (c *recording) exchanges() []cassette.Exchange {
	c.t.Helper()
	c.close()
	f, err := os.Open(c.file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	list, err := cassette.Read(f)
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// replay ends a recording and answers from it.
func (c *recording) replay(o ReplayOptions) (*Replayer, string) {
	c.t.Helper()
	c.close()
	p, err := OpenReplay(c.file, o)
	if err != nil {
		c.t.Fatal(err)
	}
	running, err := p.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := running.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return p, running.URL()
}

const taught = `{"turns":[{"text":"one two three","thinking":"hm","tools":[{"name":"x","input":{"a":"b"}}],"chunks":3},{"text":"second"}]}`

// TestRecordAndReplay: over every wire the client gets the bytes of the upstream, and gets them again from the recording.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", w.name, stream), func(t *testing.T) {
				t.Parallel()
				model, upstream := start(t, taught)
				c := record(t, upstream)
				first := w.ask(t, c.url, stream, "hello")
				second := w.ask(t, c.url, stream, "and more")
				if d := w.decode(t, stream, first.body); d.Text != "one two three" || len(d.Tools) != 1 || first.status != 200 {
					t.Fatalf("through the recorder: %d %+v", first.status, d)
				}
				if n := len(model.Requests()); n != 2 {
					t.Errorf("%d requests reached the upstream", n)
				}
				p, url := c.replay(ReplayOptions{})
				for i := range 2 { // used up, an answer is given again
					again := w.ask(t, url, stream, "hello")
					if again.status != 200 || again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
						t.Errorf("replay %d:\ngot  %d %q\nwant %q", i, again.status, again.body, first.body)
					}
				}
				if unused, all := p.Unused(); unused != 1 || all != 2 {
					t.Errorf("%d of %d unused", unused, all)
				}
				if again := w.ask(t, url, stream, "and more"); again.body != second.body {
					t.Errorf("the second: %q, want %q", again.body, second.body)
				}
				if n := len(model.Requests()); n != 2 {
					t.Errorf("the replay asked the upstream: %d requests", n)
				}
				bad := w.ask(t, url, stream, "something else")
				if bad.status != 400 || !strings.Contains(bad.body, `recorded`) || !strings.Contains(bad.body, "something else") || !strings.Contains(bad.body, "line ") {
					t.Errorf("an unknown request: %d %s", bad.status, bad.body)
				}
				other := w.ask(t, url, !stream, "hello")
				if other.status != 400 || !strings.Contains(other.body, "streaming: recorded") {
					t.Errorf("the other form of answer: %d %s", other.status, other.body)
				}
			})
		}
	}
}

func TestRecordedForms(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"zipped":true}`))
	_ = z.Close()
	for _, tt := range []struct {
		name, path string
		handle     http.HandlerFunc
		want       cassette.Answer
		body       string // as the client gets it
	}{
		{"JSON in gzip", "/v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Set-Cookie", "session=private")
			_, _ = w.Write(zipped.Bytes())
		}, cassette.Answer{Status: 200, Header: map[string]string{"content-type": "application/json"}, JSON: json.RawMessage(`{"zipped":true}`)}, `{"zipped":true}`},
		{"text", "/v1/embeddings", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "not\nnow")
		}, cassette.Answer{Status: 503, Header: map[string]string{"content-type": "text/plain", "retry-after": "7"}, Text: "not\nnow"}, "not\nnow"},
		{"bytes", "/v1/embeddings", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write([]byte{0xff, 0xfe})
		}, cassette.Answer{Status: 200, Header: map[string]string{"content-type": "application/octet-stream"}, Base64: []byte{0xff, 0xfe}}, "\xff\xfe"},
		{"nothing", "/v1/embeddings", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, cassette.Answer{Status: 204}, ""},
		{"events", "/v1/messages", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: a\ndata: {}\n\n: x\r\n\r\ndata: 1")
		}, cassette.Answer{
			Status: 200, Header: map[string]string{"content-type": "text/event-stream"},
			Stream: []string{"event: a\ndata: {}\n\n", ": x\r\n\r\n", "data: 1"},
		}, "event: a\ndata: {}\n\n: x\r\n\r\ndata: 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := httptest.NewServer(tt.handle)
			defer up.Close()
			c := record(t, up.URL)
			got := do(t, "POST", c.url+tt.path, `{"input":"a","stream":true}`)
			if got.body != tt.body || got.status != tt.want.Status || got.header.Get("Content-Encoding") != "" {
				t.Errorf("through the recorder: %d %q", got.status, got.body)
			}
			list := c.exchanges()
			if len(list) != 1 {
				t.Fatalf("%d exchanges", len(list))
			}
			a, b := marshal([]any{list[0].Answer}), marshal([]any{tt.want})
			if !bytes.Equal(a, b) {
				t.Errorf("recorded %s, want %s", a, b)
			}
			_, url := c.replay(ReplayOptions{})
			again := do(t, "POST", url+tt.path, `{"stream":true,"input":"a"}`)
			if again.body != tt.body || again.status != tt.want.Status || again.header.Get("Retry-After") != tt.want.Header["retry-after"] {
				t.Errorf("replayed: %d %q", again.status, again.body)
			}
		})
	}
}

// TestNoSecretIsRecorded: keys of requests, of the environment, and of well-known forms are in no line of the file and of the log,
// also where an answer repeats them in pieces; what identifies the user neither.
func TestNoSecretIsRecorded(t *testing.T) {
	t.Parallel()
	const key, env, known, user = "planted-key-0123456789", "planted-env-0123456789", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "planted-user-0123456789"
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key")+r.URL.Query().Get("key")+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") != key {
			t.Errorf("the key did not arrive at %s: %v", r.URL, r.Header)
		}
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"echo":"`+key+`","env":["`+env+`"]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, all := range []string{key + " ", env + " ", known + " "} {
			for _, part := range []string{all[:7], all[7:12], all[12:]} {
				_, _ = io.WriteString(w, `data: {"index":0,"delta":{"text":"`+part+`"}}`+"\n\n")
			}
		}
	}))
	defer up.Close()
	c := record(t, up.URL, func(o *RecordOptions) { o.Secrets = []string{env} })
	body := `{"model":"m","stream":true,"metadata":{"user_id":"` + user + `"},"user":"` + user + `","client_metadata":{"a":"` + user + `"},"prompt_cache_key":"` + user +
		`","messages":[{"role":"user","content":"my keys are ` + key + `, ` + env + ` and ` + known + `"}]}`
	asks := func(url string, tell bool) []answer {
		k := key
		if !tell {
			k = ""
		}
		return []answer{
			do(t, "POST", url+"/v1/messages", body, "X-Api-Key", k),
			do(t, "POST", url+"/v1/chat/completions", body, "Authorization", "Bearer "+k),
			do(t, "GET", url+"/v1/models?a=b&key="+k, ""),
		}
	}
	for _, a := range asks(c.url, true) {
		if a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if whole := strings.ReplaceAll(a.body, "\"}}\n\ndata: {\"index\":0,\"delta\":{\"text\":\"", ""); !strings.Contains(whole, key) {
			t.Errorf("the client got %q", whole)
		}
	}
	if n := len(c.exchanges()); n != 3 {
		t.Fatalf("%d exchanges", n)
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.ReplaceAll(string(text), `\"}}\n\n","data: {\"index\":0,\"delta\":{\"text\":\"`, "")
	for name, where := range map[string]string{"the file": whole, "the log": c.log.String()} {
		for _, planted := range []string{key, env, known, user} {
			if strings.Contains(where, planted) && (name == "the file" || planted == key) {
				t.Errorf("%s has %s:\n%s", name, planted, where)
			}
		}
	}
	if !strings.Contains(string(text), `"path":"/v1/models?a=b"`) {
		t.Errorf("the path:\n%s", text)
	}
	_, url := c.replay(ReplayOptions{})
	for i, a := range asks(url, true) {
		if a.status != 200 {
			t.Errorf("replay %d: %d %s", i, a.status, a.body)
		}
	}
	if a := do(t, "POST", url+"/v1/messages", strings.Replace(body, "are", "is", 1), "X-Api-Key", key); a.status != 400 || !strings.Contains(a.body, "received") || strings.Contains(a.body, key) {
		t.Errorf("an unknown request: %d %s", a.status, a.body)
	}
}

// TestTheKeyGoesNowhereElse: not to where an upstream redirects to, and not to another vendor.
func TestTheKeyGoesNowhereElse(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer other.Close()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}))
	defer up.Close()
	c := record(t, up.URL)
	a := wires[0].ask(t, c.url, false, "hi", "X-Api-Key", "planted-key-0123456789")
	if a.status != 502 || !strings.Contains(a.body, "redirects are not followed") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if list := c.exchanges(); len(list) != 0 {
		t.Errorf("recorded %+v", list)
	}
	root, _ := url.Parse(other.URL)
	c = record(t, "http://unused.invalid", func(o *RecordOptions) { o.Upstreams = map[Wire]*url.URL{WireResponses: root} })
	for _, tt := range []struct{ method, path, header string }{
		{"POST", "/v1/messages", "X-A"}, {"POST", "/v1/messages/count_tokens", "X-A"}, {"POST", "/v1/chat/completions", "X-A"},
		{"POST", "/v1beta/models/m:generateContent", "X-A"}, {"GET", "/v1/models", "Anthropic-Version"}, {"POST", "/api/event_logging", "X-A"},
		{"POST", "/v1/files", "Anthropic-Version"}, {"POST", "/v1beta/files", "X-Goog-Api-Key"},
	} {
		if a := do(t, tt.method, c.url+tt.path, "{}", tt.header, "1"); a.status != 404 || !strings.Contains(a.body, "no upstream for "+tt.method) {
			t.Errorf("%s: %d %s", tt.path, a.status, a.body)
		}
	}
	if a := do(t, "POST", c.url+"/v1/responses", "{}"); a.status != 200 {
		t.Errorf("its own wire: %d %s", a.status, a.body)
	}
	if got := <-reached; got != "/v1/responses" || len(reached) > 0 {
		t.Errorf("the other server was asked for %s", got)
	}
}

func TestRecordFailures(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case bytes.Contains(body, []byte("LARGE")):
			_, _ = w.Write(make([]byte, 2000))
		case bytes.Contains(body, []byte("BROTLI")):
			w.Header().Set("Content-Encoding", "br")
		case bytes.Contains(body, []byte("BREAK")):
			_, _ = io.WriteString(w, "data: {\"a\":1}\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	up.Config.ErrorLog = nil
	defer up.Close()
	c := record(t, up.URL)
	c.recorder.most = 1000
	w := wires[0]
	res, err := client.Post(c.url+"/v1/messages", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"LARGE"}]}`))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("an answer above the limit ends as if it were whole")
	}
	if a := w.ask(t, c.url, false, "BROTLI"); a.status != 502 || !strings.Contains(a.body, `encoded as \"br\"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := do(t, "DELETE", c.url+"/v1/files/1", ""); a.status != 405 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.ask(t, c.url, true, "BREAK"); a.err == nil || a.body != "data: {\"a\":1}\n\n" {
		t.Errorf("%q, %v", a.body, a.err)
	}
	list := c.exchanges()
	if len(list) != 1 || !list[0].Answer.Cut || list[0].Answer.Text+strings.Join(list[0].Answer.Stream, "") != "data: {\"a\":1}\n\n" {
		t.Fatalf("recorded %+v", list)
	}
	_, url := c.replay(ReplayOptions{})
	if a := w.ask(t, url, true, "BREAK"); a.err == nil || a.body != "data: {\"a\":1}\n\n" {
		t.Errorf("replayed %q, %v", a.body, a.err)
	}
	c = record(t, "http://127.0.0.1:1")
	if a := w.ask(t, c.url, false, "hi"); a.status != 502 || !strings.Contains(a.body, "connection refused") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestClientLeaves: an answer that was begun is recorded whole.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-left
		_, _ = io.WriteString(w, "data: 2\n\n")
	}))
	defer up.Close()
	c := record(t, up.URL)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/messages", strings.NewReader(`{"stream":true}`))
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = res.Body.Read(make([]byte, 9))
	cancel()
	_ = res.Body.Close()
	close(left)
	waitFor(t, func() bool {
		return c.recorder.Requests()[0].DurationMS > 0 || c.recorder.Requests()[0].Outcome != OutcomePending
	})
	waitFor(t, func() bool { text, _ := os.ReadFile(c.file); return strings.Contains(string(text), "data: 2") })
	if list := c.exchanges(); len(list) != 1 || list[0].Answer.Cut || !slices.Equal(list[0].Answer.Stream, []string{"data: 1\n\n", "data: 2\n\n"}) {
		t.Errorf("recorded %+v", list)
	}
}

// TestUnfinished: an answer that does not end is not recorded: the server ends at once, and gives up some time after the client left.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	for _, leave := range []bool{true, false} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		defer up.Close()
		var said bytes.Buffer
		c := record(t, up.URL, func(o *RecordOptions) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
		c.recorder.linger = time.Hour
		if leave {
			c.recorder.linger = time.Millisecond
		}
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/messages", strings.NewReader(`{"stream":true}`))
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = res.Body.Read(make([]byte, 9))
		if leave {
			cancel()
			waitFor(t, func() bool { return c.recorder.Requests()[0].Outcome == OutcomeCut })
		}
		if list := c.exchanges(); len(list) != 0 || !strings.Contains(said.String(), "not recorded") {
			t.Errorf("the client leaves: %v; recorded %+v, said %q", leave, list, said.String())
		}
		cancel()
		_ = res.Body.Close()
	}
}

func TestUpstreams(t *testing.T) {
	t.Parallel()
	for wire, want := range map[Wire]string{WireAnthropic: "api.anthropic.com", WireResponses: "api.openai.com", WireChat: "api.openai.com", WireGemini: "generativelanguage.googleapis.com"} {
		if u := Upstreams()[wire]; u == nil || u.Host != want || u.Scheme != "https" {
			t.Errorf("%s: %v", wire, u)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"https://a.test", "/v1/messages?beta=true", "https://a.test/v1/messages?beta=true"},
		{"https://a.test/", "/v1/messages", "https://a.test/v1/messages"},
		{"https://a.test/v1", "/v1/responses", "https://a.test/v1/responses"},
		{"https://a.test/v1", "/responses", "https://a.test/v1/responses"},
		{"https://a.test/api/v1/", "/v1/chat/completions", "https://a.test/api/v1/chat/completions"},
		{"https://a.test/api", "/v1/models/a%2Fb", "https://a.test/api/v1/models/a%2Fb"},
		{"https://a.test/v1beta", "/v1beta/models/m:generateContent?alt=sse", "https://a.test/v1beta/models/m:generateContent?alt=sse"},
		{"https://a.test", "//evil.test/v1/messages", "https://a.test//evil.test/v1/messages"},
	} {
		root, _ := url.Parse(tt[0])
		asked, err := url.ParseRequestURI(tt[1])
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(tt[1], "//") {
			asked = &url.URL{Path: tt[1]}
		}
		if got := target(root, asked); got != tt[2] {
			t.Errorf("%s and %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}
