package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestServeStdio(t *testing.T) {
	target := local(claims, map[string]Answer{"X-1": {Status: Fail, Message: "m", Actual: []byte(`{"a":1}`)}})
	for _, tc := range []struct {
		name, in, want string
		code           int
	}{
		{"a fixture", goodFixture, `{"status":"fail","message":"m","actual":{"a":1}}`, 1},
		{"one without an answer", strings.Replace(goodFixture, "X-1", "X-2", 1), `{"status":"error","message":"the implementation has no verdict on X-2","actual":null}`, 2},
		{"a panic", strings.Replace(goodFixture, "X-1", "panic", 1), `{"status":"error","message":"the implementation panicked: no","actual":null}`, 2},
		{"nothing", "", `{"status":"error","message":"the fixture cannot be read: a fixture must be an object, not nothing","actual":null}`, 2},
		{"too much", strings.Repeat(" ", maxFixture+1), `{"status":"error","message":"the fixture cannot be read: the fixture has 4194305 bytes, more than 4194304","actual":null}`, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			code, err := ServeStdio(t.Context(), target, strings.NewReader(tc.in), &out)
			if err != nil || code != tc.code || strings.TrimSpace(out.String()) != tc.want {
				t.Errorf("got %d, %v, %s", code, err, out.String())
			}
		})
	}
	if code, err := ServeStdio(t.Context(), target, iotestErr{}, io.Discard); code != 2 || err == nil {
		t.Errorf("an input that breaks: %d, %v", code, err)
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errors.New("broken") }

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestHTTP(t *testing.T) {
	target := local(claims, map[string]Answer{"good": {Status: Pass, Actual: []byte(`{"a":1}`)}, "liar": {Status: Pass, Actual: []byte(`{"a":2}`)}})
	base := serve(t, Handler(target, "secret"))
	fixtures := []Fixture{fixture(t, "good", 1, "s", `{"a":1}`), fixture(t, "liar", 1, "s", `{"a":1}`)}
	h, err := OpenHTTP(base+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c, out, err := Run(t.Context(), h, fixtures, Options{})
	if err != nil || c.Implementation != "impl" || c.Adapter.Protocol != HTTPProtocol || out[0].Status != Pass || out[1].Status != Fail {
		t.Errorf("got %+v, %+v, %v", c, out, err)
	}
	for _, token := range []string{"", "secre", "secret2"} {
		h, err := OpenHTTP(base, token)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Run(t.Context(), h, fixtures, Options{}); !errors.Is(err, ErrToken) || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("with the token %q: %v", token, err)
		}
		h.Close()
	}
}

func TestHTTPRefusesBrowsers(t *testing.T) {
	h := Handler(local(claims, nil), "")
	for _, tc := range []struct {
		name, method, path, host, origin, body string
		want                                   int
	}{
		{"a program", "POST", ExecutePath, "127.0.0.1:80", "", "x", 200},
		{"a program on the other loopback", "GET", CapabilitiesPath, "[::1]:80", "", "", 200},
		{"by name", "GET", CapabilitiesPath, "localhost", "", "", 200},
		{"a page", "POST", ExecutePath, "127.0.0.1:80", "http://example.com", "x", 403},
		{"a name that leads here", "POST", ExecutePath, "example.com", "", "x", 403},
		{"another method", "PUT", ExecutePath, "localhost", "", "x", 405},
		{"another path", "GET", "/", "localhost", "", "", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("got %d, want %d: %s", w.Code, tc.want, w.Body)
			}
			if tc.body != "" && tc.want == 200 && !strings.Contains(w.Body.String(), `"status":"error"`) {
				t.Errorf("a bad fixture is answered with status 200 and an error: %s", w.Body)
			}
		})
	}
}

func TestHTTPServersThatMisbehave(t *testing.T) {
	const capabilities = `{"implementation":"i","tiers":[1],"adapter":{"protocol":"http-fixture-v1"}}`
	elsewhere := 0
	other := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { elsewhere++ }))
	for _, tc := range []struct {
		name    string
		execute http.HandlerFunc
		want    string
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "burnt", 500) }, "500 Internal Server Error"},
		{"201", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_, _ = w.Write([]byte(`{"status":"pass","actual":{}}`))
		}, "201 Created"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hi")) }, "not a JSON object"},
		{"a redirection", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusTemporaryRedirect) }, "307"},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within"},
		{"too much", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, strings.NewReader(strings.Repeat("x", maxAnswer+10)), maxAnswer+10)
		}, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc(CapabilitiesPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(capabilities)) })
			mux.HandleFunc(ExecutePath, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the end of a request is seen once its body is read
				tc.execute(w, r)
			})
			h, err := OpenHTTP(serve(t, mux), "t")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			limit := time.Minute
			if tc.name == "silence" {
				limit = time.Second
			}
			_, out, err := Run(t.Context(), h, []Fixture{fixture(t, "a", 1, "s", `{}`)}, Options{Timeout: limit})
			if err != nil || out[0].Status != Error || !strings.Contains(out[0].Message, tc.want) {
				t.Errorf("got %+v, %v, want %s", out, err, tc.want)
			}
		})
	}
	if elsewhere > 0 {
		t.Error("a token was carried to another server")
	}
	bad := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Replace(capabilities, "http", "stdio", 1)))
	}))
	h, err := OpenHTTP(bad, "")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Capabilities(context.Background()); err == nil || !strings.Contains(err.Error(), "adapter.protocol") {
		t.Errorf("a server of the other protocol: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"ftp://x", "http://", "x", "http://u:pw@h", "http://h?q=1", "http://h#f", ":"} {
		if _, err := OpenHTTP(bad, ""); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for addr, want := range map[string]bool{"127.0.0.1:0": true, "localhost:80": true, "[::1]:1": true, ":80": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "127.0.0.1": false} {
		if Loopback(addr) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
}
