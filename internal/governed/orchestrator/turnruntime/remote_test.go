//go:build unix

package turnruntime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

func remoteScene(t *testing.T, url string) Dispatch {
	t.Helper()
	d := scene(t, "")
	d.Role.WriteAuthority, d.Timeout = protocol.ReviewOnly, 0
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeRemoteAgent, URL: url}
	d.Runtime.Headers.Set("authorization", "Bearer "+apiKey)
	d.Runtime.Headers.Set("X-Team", "blue")
	return d
}

func TestRemoteAgent(t *testing.T) {
	t.Parallel()
	var got map[string]string
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_ = json.NewDecoder(r.Body).Decode(&got)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, strings.Replace(goodResult, "done", "the key is "+apiKey, 1))
	}))
	defer s.Close()
	d := remoteScene(t, s.URL+"/turn?team=1")
	o := serve(t, t.Context(), d)
	if !o.Staged || o.Class != "" || !strings.Contains(read(t, d.StagedPath), `"turn_1"`) {
		t.Fatalf("%+v", o)
	}
	want := map[string]string{"run_id": "run_1", "turn_id": "turn_1", "role": "dev", "phase": "implementation", "runtime_id": "local-dev", "dispatch_dir": d.BundleDir,
		"prompt": "Do this.\n", "context": "Know that.\n"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) || header.Get("Authorization") != "Bearer "+apiKey || header.Get("X-Team") != "blue" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %v", got, header)
	}
	log := read(t, filepath.Join(d.evidenceDir(), remoteLog))
	if !strings.Contains(log, "header authorization: [REDACTED]") || !strings.Contains(log, "header X-Team: blue") {
		t.Errorf("%s", log)
	}
	keyless(t, d.Root)
}

func TestRemoteAgentFailures(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"the key `+apiKey+` is wrong"}`+strings.Repeat("y", 1000))
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, goodResult)
		case "/prose":
			_, _ = io.WriteString(w, "here it is: "+goodResult)
		case "/list":
			_, _ = io.WriteString(w, "["+goodResult+"]")
		case "/fields":
			_, _ = io.WriteString(w, `{"status":"completed","summary":"x"}`)
		case "/redirect":
			http.Redirect(w, r, "/fields", http.StatusTemporaryRedirect)
		case "/big":
			_, _ = io.WriteString(w, `"`+strings.Repeat("y", mostStaged+10)+`"`)
		case "/slow":
			_, _ = io.WriteString(w, `{"run_id":`)
			w.(http.Flusher).Flush()
			fallthrough
		case "/hangs":
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
	}))
	for path, c := range map[string]struct{ class, detail string }{
		"/500":      {ClassRemote, "answered HTTP 500: "},
		"/html":     {ClassRemote, `content of type "text/html" instead of application/json`},
		"/prose":    {ClassRemote, "not JSON"},
		"/list":     {ClassRemote, "is not a turn result"},
		"/fields":   {ClassRemote, "names no run_id or turn_id"},
		"/redirect": {ClassRemote, "redirects are not followed"},
		"/big":      {ClassRemote, "body too large"},
		"/slow":     {ClassTimeout, "no answer within"},
		"/hangs":    {ClassTimeout, "no answer within"},
	} {
		d := remoteScene(t, s.URL+path)
		if c.class == ClassTimeout {
			d.Runtime.TimeoutMS = new(200)
		}
		o := serve(t, t.Context(), d)
		if o.Staged || o.Class != c.class || !strings.Contains(o.Detail, c.detail) || o.Hint == "" || o.Transient || strings.Contains(o.Detail, apiKey) {
			t.Errorf("%s: %+v", path, o)
		}
		var f remoteFault
		if err := json.Unmarshal([]byte(read(t, filepath.Join(d.evidenceDir(), auditFault))), &f); err != nil || f.Class != c.class || f.TimedOut != (c.class == ClassTimeout) || f.Message == "" {
			t.Errorf("%s: %+v %v", path, f, err)
		}
		if path == "/500" && (f.HTTPStatus == nil || *f.HTTPStatus != 500 || len(f.Response) > mostRemote+3) {
			t.Errorf("%+v", f)
		}
		keyless(t, d.Root)
	}
	// What an earlier attempt left stays.
	d := remoteScene(t, s.URL+"/500")
	serve(t, t.Context(), d)
	serve(t, t.Context(), d)
	if !strings.Contains(read(t, filepath.Join(d.evidenceDir(), "api-error-1.json")), "500") {
		t.Error("the first failure is lost")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if o := serve(t, ctx, remoteScene(t, s.URL+"/hangs")); !o.Cancelled || o.Class != "" {
		t.Errorf("%+v", o)
	}
	s.CloseClientConnections()
	s.Close()
	if o := serve(t, t.Context(), remoteScene(t, s.URL+"?token=uu-secret-9876543210")); o.Class != ClassRemote || strings.Contains(o.Detail, "uu-secret") {
		t.Errorf("nobody there: %+v", o)
	}
}

// TestRemoteAgentLimits: two minutes unless stated, and never longer than the turn.
func TestRemoteAgentLimits(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	defer s.Close()
	until := func(change func(*Dispatch)) time.Duration {
		d := remoteScene(t, s.URL)
		change(&d)
		w := &watcher{}
		if _, err := (&remoteAgent{Deps{Now: time.Now}}).Run(t.Context(), d, w); err != nil {
			t.Fatal(err)
		}
		return w.progress[0].Deadline.Sub(w.progress[0].Since)
	}
	if got := until(func(*Dispatch) {}); got != 2*time.Minute {
		t.Errorf("%s by default", got)
	}
	if got := until(func(d *Dispatch) { d.Runtime.TimeoutMS = new(5000) }); got != 5*time.Second {
		t.Errorf("%s with timeout_ms", got)
	}
	if got := until(func(d *Dispatch) { d.Deadline = time.Now().Add(time.Second) }); got > time.Second {
		t.Errorf("%s with a deadline", got)
	}
}

func TestRemoteAgentCheck(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Dispatch){
		"url":       func(d *Dispatch) { d.Runtime.URL = "/turn" },
		"header":    func(d *Dispatch) { d.Runtime.Headers.Set("x", "a\nb") },
		"authority": func(d *Dispatch) { d.Role.WriteAuthority = protocol.Authoritative },
	} {
		d := remoteScene(t, "http://127.0.0.1:1/turn")
		change(&d)
		var e *execution.Error
		if err := (&remoteAgent{}).Check(d); !errors.As(err, &e) || e.Code != execution.CodeConfig || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
