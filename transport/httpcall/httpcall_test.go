package httpcall

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server for a test, and a client.
func serve(t *testing.T, handle http.HandlerFunc) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(handle)
	c := New(nil)
	t.Cleanup(func() { c.Close(); s.Close() })
	return c, s.URL
}

func TestDo(t *testing.T) {
	t.Parallel()
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("X-Key")+" "+string(body))
	})
	for _, tt := range []struct {
		body []byte
		want string
	}{{nil, "GET k "}, {[]byte("hello"), "POST k hello"}} {
		a, err := c.Do(t.Context(), Call{URL: url, Header: http.Header{"X-Key": {"k"}}, Body: tt.body})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(a.Body)
		if err != nil || string(got) != tt.want || a.Status != http.StatusTeapot {
			t.Errorf("%d %q, %v, want %q", a.Status, got, err, tt.want)
		}
		if err := a.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRedirect: the key in a header never reaches another host, nor the same one at another address.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var reached bool
	_, other := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusTemporaryRedirect) })
	_, err := c.Do(t.Context(), Call{URL: url + "/?secret=1", Header: http.Header{"X-Key": {"k"}}, Body: []byte("{}")})
	if !errors.Is(err, ErrRedirect) || reached || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), strings.TrimPrefix(other, "http://")) {
		t.Errorf("%v, reached %v", err, reached)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 16
	for name, handle := range map[string]http.HandlerFunc{
		"a large body": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit+1)) },
		"a gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 100*limit))
			_ = z.Close()
		},
	} {
		c, url := serve(t, handle)
		a, err := c.Do(t.Context(), Call{URL: url, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		if !errors.Is(err, ErrTooLarge) || n > limit {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	c, url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit)) })
	a, err := c.Do(t.Context(), Call{URL: url, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	if n, err := io.Copy(io.Discard, a.Body); n != limit || err != nil {
		t.Errorf("a body of the limit: %d bytes, %v", n, err)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]bool{"before the answer": false, "within the answer": true} {
		c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if start {
				_, _ = io.WriteString(w, "a")
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
		a, err := c.Do(t.Context(), Call{URL: url, Silence: 50 * time.Millisecond})
		if err == nil {
			_, err = io.Copy(io.Discard, a.Body)
			_ = a.Body.Close()
		}
		var failed *Error
		if !errors.Is(err, ErrSilent) || !errors.As(err, &failed) || !failed.Timeout {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tls := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	tls.Config.ErrorLog = nil
	defer tls.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	c, hung := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	stopped, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no more")
	cancel(cause)
	late, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	for name, tt := range map[string]struct {
		ctx  context.Context
		url  string
		want string
		is   error
	}{
		"no URL":             {t.Context(), "http://a b/?secret", "not a valid URL", nil},
		"nobody listens":     {t.Context(), "http://" + closed.Addr().String() + "/?secret", "refused", nil},
		"unknown host":       {t.Context(), "http://host.invalid/?secret", "no such host", nil},
		"strange TLS":        {t.Context(), tls.URL + "/?secret", "certificate is not trusted", nil},
		"no TLS":             {t.Context(), strings.Replace(hung, "http", "https", 1) + "/?secret", "", nil},
		"stopped":            {stopped, hung + "/?secret", "no more", cause},
		"stopped as context": {stopped, hung + "/?secret", "", context.Canceled},
		"late":               {late, hung + "/?secret", "", context.DeadlineExceeded},
	} {
		_, err := c.Do(tt.ctx, Call{URL: tt.url})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
		ok          bool
	}{
		{"Retry-After", "3", 3 * time.Second, true},
		{"Retry-After", "0.5", 500 * time.Millisecond, true},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute, true},
		{"Retry-After", "Fri, 02 Jan 2026 03:03:05 GMT", 0, true},
		{"Retry-After-Ms", "250", 250 * time.Millisecond, true},
		{"Retry-After", "soon", 0, false},
		{"Retry-After", "-1", 0, false},
		{"Retry-After", "NaN", 0, false},
		{"Retry-After", "1e300", 0, false},
		{"Retry-After", "", 0, false},
	} {
		if got, ok := RetryAfter(http.Header{tt.name: {tt.value}}, now); got != tt.want || ok != tt.ok {
			t.Errorf("%s %q: %v, %v", tt.name, tt.value, got, ok)
		}
	}
}
