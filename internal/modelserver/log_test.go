package modelserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLogRedactsSecrets(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	s := New(mustParse(t, `{"turns":[{"text":"x","repeat":true}]}`), Options{Log: &lines})
	r, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const secret = "sk-very-secret-1234"
	for _, h := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Proxy-Authorization", "Cookie", "Api-Key", "X-Auth-Token", "X-Client-Secret"} {
		value := secret
		if h == "Authorization" {
			value = "Bearer " + secret
		}
		a := do(t, "POST", r.URL()+"/v1/messages?beta=true&key="+secret+"&api_key="+secret,
			`{"model":"m","messages":[{"role":"user","content":"env says KEY=`+secret+`"}]}`, h, value, "X-Plain", "shown")
		if a.status != 200 {
			t.Errorf("status %d", a.status)
		}
		e := s.Requests()[len(s.Requests())-1]
		want := fmt.Sprintf("redacted:%d chars", len(value))
		if got := e.Headers[strings.ToLower(h)]; got != want {
			t.Errorf("%s logged as %q, want %q", h, got, want)
		}
		if e.Headers["x-plain"] != "shown" || !strings.HasPrefix(e.Path, "/v1/messages?beta=true&key=redacted:19+chars&") {
			t.Errorf("logged %q %v", e.Path, e.Headers)
		}
	}
	served := do(t, "GET", r.URL()+"/__log", "").body
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log lines": lines.String(), "/__log": served} {
		if strings.Contains(text, secret) {
			t.Errorf("secret in %s", where)
		}
		if !strings.Contains(text, "env says KEY=redacted:19 chars") {
			t.Errorf("body missing in %s: %.300s", where, text)
		}
	}
	if got := strings.Count(lines.String(), "\n"); got != 8 {
		t.Errorf("%d lines, want 8", got)
	}
	for line := range strings.Lines(lines.String()) {
		var e Request
		unmarshal(t, line, &e)
		if e.Outcome != OutcomeAnswered || e.Status != 200 || e.Wire != WireAnthropic || e.Model != "m" || e.Seq == 0 || e.Time.IsZero() {
			t.Errorf("line %s", line)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[],"onExhausted":"text:x"}`), Options{})
	post := func(body string) {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/messages", strings.NewReader(body)))
	}
	const extra = 7
	for i := range MaxLoggedRequests + extra {
		post(fmt.Sprintf(`{"n":%d}`, i))
	}
	requests, dropped, _ := s.log.snapshot()
	if len(requests) != MaxLoggedRequests || dropped != extra || requests[0].Seq != extra+1 || string(requests[0].Body) != `{"n":7}` {
		t.Errorf("%d kept, %d dropped, first %d %s", len(requests), dropped, requests[0].Seq, requests[0].Body)
	}
	if s.log.bodyLimit != maxLoggedBodyTotal {
		t.Errorf("limit = %d, want %d", s.log.bodyLimit, maxLoggedBodyTotal)
	}
	s.log.bodyLimit = 4 << 20
	for range 6 {
		post(`{"pad":"` + strings.Repeat("x", MaxLoggedBody-20) + `"}`)
	}
	total := 0
	for _, e := range s.Requests() {
		total += len(e.Body)
	}
	if total > 4<<20 || len(s.Requests()) != 4 {
		t.Errorf("%d bytes in %d requests", total, len(s.Requests()))
	}
}

func TestLogTruncatesBodies(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[{"text":"x"}]}`), Options{})
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("ü", MaxLoggedBody) + `"}]}`
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/messages", strings.NewReader(body)))
	e := s.Requests()[0]
	var kept string
	unmarshal(t, string(e.Body), &kept)
	if !e.BodyTruncated || e.BodyBytes != len(body) || len(kept) > MaxLoggedBody || len(kept) < MaxLoggedBody-4 ||
		!strings.HasPrefix(body, kept) || !utf8.ValidString(kept) || e.Status != 200 {
		t.Errorf("truncated %t, %d bytes of %d kept, %d", e.BodyTruncated, len(kept), e.BodyBytes, e.Status)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/__log", nil)
	r.Host = "localhost:1"
	s.ServeHTTP(w, r)
	var log struct {
		Requests        []Request
		Dropped         int
		TruncatedBodies int
	}
	unmarshal(t, w.Body.String(), &log)
	if len(log.Requests) != 1 || log.TruncatedBodies != 1 || log.Dropped != 0 {
		t.Errorf("log = %d requests, %d dropped, %d truncated", len(log.Requests), log.Dropped, log.TruncatedBodies)
	}
}

func TestLogKeepsBodiesThatAreNoJSON(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[]}`), Options{})
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/messages", strings.NewReader("<a>\xff\"")))
	e := s.Requests()[0]
	if !json.Valid(e.Body) || string(e.Body) != `"<a>\ufffd\""` {
		t.Errorf("body = %s", e.Body)
	}
}

func TestLogIsForLoopbackNames(t *testing.T) {
	t.Parallel()
	s := New(mustParse(t, `{"turns":[]}`), Options{})
	for host, want := range map[string]int{
		"127.0.0.1:80": 200, "localhost": 200, "[::1]:9": 200, "[::1]": 200, "evil.example:80": 403, "10.0.0.1": 403, "": 403,
	} {
		for _, path := range []string{"/__log", "/__health"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			s.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s as %q: %d, want %d", path, host, w.Code, want)
			}
		}
	}
	if got := len(s.Requests()); got != 0 {
		t.Errorf("%d requests about the server itself are logged", got)
	}
}

func TestRequestsAreCopies(t *testing.T) {
	t.Parallel()
	s, url := start(t, `{"turns":[{"text":"x"}]}`)
	wires[0].ask(t, url, true, "hi")
	got := s.Requests()
	got[0].Headers["user-agent"] = "changed"
	if s.Requests()[0].Headers["user-agent"] == "changed" {
		t.Error("a caller's change reached the log")
	}
}
