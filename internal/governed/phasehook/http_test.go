//go:build unix

package phasehook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

func httpHook(url, mode string, headers ...string) protocol.Hook {
	h := protocol.Hook{Name: "service", Type: "http", URL: url, Method: "POST", TimeoutMS: 5000, Mode: mode}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Headers.Set(headers[i], headers[i+1])
	}
	return h
}

func TestHTTP(t *testing.T) {
	var away atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { away.Add(1) }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		var e envelope
		if b, _ := io.ReadAll(r.Body); r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(b, &e) != nil || e.HookName != "service" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, `{"verdict":"warn","message":"token is `+r.Header.Get("X-Token")+` and `+r.Header.Get("X-Own")+`"}`)
	})
	mux.HandleFunc("/block", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"verdict":"block","message":"no"}`)
	})
	mux.HandleFunc("/500", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"verdict":"allow"}`)
	})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.HandleFunc("/flood", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"verdict":"allow","message":"`+strings.Repeat("x", mostOutput)+`"}`)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusPermanentRedirect) })
	mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	mux.HandleFunc("/slow-body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"verdict":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/tamper", func(w http.ResponseWriter, r *http.Request) {
		var e envelope
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &e)
		_ = os.WriteFile(filepath.Join(e.ProjectRoot, filepath.FromSlash(protocol.StateFile)), []byte("{}"), 0o644)
		_, _ = io.WriteString(w, `{"verdict":"allow"}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	for name, tt := range map[string]struct {
		path   string
		mode   string
		action Action
		status int
	}{
		"ok":                 {"/ok", "blocking", Warned, 200},
		"block":              {"/block", "blocking", Blocked, 200},
		"advisory block":     {"/block", "advisory", Downgraded, 200},
		"a status":           {"/500", "blocking", BlockedFailure, 500},
		"no JSON":            {"/text", "blocking", BlockedInvalidOutput, 200},
		"too much":           {"/flood", "advisory", WarnedInvalidOutput, 200},
		"redirect away":      {"/away", "blocking", BlockedFailure, 307},
		"redirect here":      {"/here", "blocking", Warned, 200},
		"redirect to a GET":  {"/get", "advisory", WarnedFailure, 302},
		"time over":          {"/slow", "blocking", BlockedTimeout, 0},
		"time over, in body": {"/slow-body", "advisory", WarnedTimeout, 200},
		"tamper":             {"/tamper", "advisory", AbortedTamper, 200},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := &Runner{Root: root, Environ: []string{"MY_VAR=s3cr3t-value"}}
			h := httpHook(server.URL+tt.path, tt.mode, "X-Token", "Bearer ${MY_VAR}", "X-Own", "${OWN}")
			h.Env.Set("OWN", "own-value-1")
			switch tt.path {
			case "/slow":
				h.TimeoutMS = 300
			case "/slow-body":
				h.TimeoutMS = 2000 // the status must arrive first
			}
			begun := time.Now()
			out := run(t, r, protocol.HookBeforeGate, Call{RunID: "run_1"}, h)
			e := out.Entries[0]
			if e.Action != tt.action || e.HTTPStatus != tt.status || e.Transport != "http" || e.ExitCode != nil {
				t.Errorf("%+v", e)
			}
			if e.TimedOut != strings.HasPrefix(tt.path, "/slow") || time.Since(begun) > 20*time.Second {
				t.Errorf("timed out %v after %v", e.TimedOut, time.Since(begun))
			}
			if tt.action == Warned && *e.Message != "token is [REDACTED] and [REDACTED]" {
				t.Errorf("message %q", *e.Message)
			}
			if audit := strings.Join(lines(t, root, protocol.HookAuditFile), "\n"); strings.Contains(audit, "s3cr3t") || strings.Contains(audit, "own-value") {
				t.Error("a header's value is in the audit: " + audit)
			}
		})
	}
	if away.Load() != 0 {
		t.Error("a redirect was followed to another host")
	}
}

func TestHTTPThatCannotBeAsked(t *testing.T) {
	root := project(t)
	r := &Runner{Root: root}
	for name, tt := range map[string]struct {
		h    protocol.Hook
		says string
	}{
		"missing variable": {httpHook("http://127.0.0.1:1/", "blocking", "X-Token", "${NO_SUCH_VARIABLE_HERE}"), "${NO_SUCH_VARIABLE_HERE}"},
		"unreachable":      {httpHook("http://user:hidden-password@127.0.0.1:1/?key=hidden", "blocking"), "connect"},
		"no address":       {httpHook("http://[::1", "blocking"), "its url is not valid"},
		"not POST":         {protocol.Hook{Name: "x", Type: "http", URL: "http://127.0.0.1:1/", Method: "PUT", Mode: "blocking", TimeoutMS: 500}, "POST"},
	} {
		out := run(t, r, protocol.HookBeforeGate, Call{}, tt.h)
		e := out.Entries[0]
		if e.Action != BlockedFailure || e.TimedOut || !strings.Contains(*e.Message, tt.says) || strings.Contains(*e.Message, "hidden") {
			t.Errorf("%s: %+v %s", name, e, *e.Message)
		}
	}
}
