package modelserver

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options are the optional parts of a server; the zero value is ready to use.
type Options struct {
	// Log receives one JSON line per finished request, with the fields of Request. Writes are serialized and part of
	// the request: a blocking writer delays the end of its answer.
	Log io.Writer
	// Logger receives the HTTP server's messages; nil discards them.
	Logger *slog.Logger
}

// Server answers requests of agents and API clients from a script. It is an http.Handler, safe for concurrent use.
// Turns are counted per Server and script.
type Server struct {
	reception
	script *Script
	opts   Options
	main   *progress
	named  map[string]*progress
}

var _ http.Handler = (*Server)(nil)

// New returns a server for a script that Parse returned.
func New(script *Script, opts Options) *Server {
	s := &Server{script: script, opts: opts, reception: newReception(opts.Log), named: map[string]*progress{}}
	if script.main != nil {
		s.main = newProgress(script.main)
	}
	for id, c := range script.named {
		s.named[id] = newProgress(c)
	}
	return s
}

// progress is how much of a script has been used.
type progress struct {
	script *conversation

	mu    sync.Mutex
	used  []int
	asked int // requests that wanted a turn
}

func newProgress(c *conversation) *progress {
	return &progress{script: c, used: make([]int, len(c.turns))}
}

// next returns the turn for r and its index, or -1 and nil if the script has none left; asked is then the number of
// the request.
func (p *progress) next(r *request) (index int, t *turn, asked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	last := -1
	for i := range p.script.turns {
		t := &p.script.turns[i]
		if !t.match.fits(r) {
			continue
		}
		last = i
		if t.repeat == forever || p.used[i] < t.repeat {
			p.used[i]++
			return i, t, p.asked
		}
	}
	switch {
	case p.script.onExhausted == "last" && last >= 0:
		return last, &p.script.turns[last], p.asked
	case p.script.onExhausted == "text":
		return -1, &turn{
			text: p.script.endText, pieces: words(p.script.endText), usage: p.script.usage,
		}, p.asked
	}
	return -1, nil, p.asked
}

// ServeHTTP answers one request. A scripted hang lasts until the client leaves or the request's context ends; a
// scripted cut panics with http.ErrAbortHandler, which an HTTP server turns into a closed connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serveOwn(w, r) {
		return
	}
	body, bodyStatus, bodyErr := s.readBody(w, r)
	x := s.begin(w, r, body)
	defer s.log.finish(x.entry)
	id, path, idErr := scriptOf(r)
	x.end, x.request = route(r, path)
	x.note(func(e *Request) { e.Side, e.Script, e.Wire = sideRefused, id, x.request.wire })
	p, err := s.progressOf(id)
	switch {
	case bodyErr != nil:
		x.refuse(bodyStatus, bodyErr.Error())
	case x.end == endProbe || x.end == endWebSocket:
		// Sent before a program adds its own headers, so usually without a script id.
		x.note(func(e *Request) { e.Side = string(x.end) })
		x.serveEndpoint()
	case idErr != nil:
		x.refuse(http.StatusBadRequest, idErr.Error())
	case err != nil:
		x.refuse(http.StatusNotFound, err.Error())
	default:
		x.progress = p
		x.answer(body)
	}
}

// serveOwn answers the paths about the server itself.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request) bool {
	if s.serveLog(w, r) {
		return true
	}
	if r.URL.Path != "/__health" || !askedLocally(w, r) {
		return r.URL.Path == "/__health"
	}
	w.Header().Set("Content-Type", "application/json")
	scripts := object{}
	all := maps.Clone(s.named)
	if s.main != nil {
		all[""] = s.main
	}
	for id, p := range all {
		p.mu.Lock()
		used := append([]int{}, p.used...)
		scripts[id] = object{"turns": len(p.script.turns), "used": used, "requests": p.asked}
		p.mu.Unlock()
	}
	_, _ = w.Write(marshal(object{"status": "ok", "scripts": scripts}))
	return true
}

// scriptOf returns the id of the script that a request chooses, and the path without it.
func scriptOf(r *http.Request) (id, path string, err error) {
	id, path = r.Header.Get("X-Script-Id"), r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/s/"); ok {
		inPath, rest, _ := strings.Cut(rest, "/")
		path = "/" + rest
		if id != "" && id != inPath {
			err = fmt.Errorf("model server: x-script-id says %q and the path says %q; use one of them", id, inPath)
		}
		id = inPath
	}
	return id, path, err
}

func (s *Server) progressOf(id string) (*progress, error) {
	known := strings.Join(s.script.IDs(), ", ")
	switch p := s.named[id]; {
	case p != nil:
		return p, nil
	case id == "" && s.main != nil:
		return s.main, nil
	case id == "":
		return nil, fmt.Errorf("model server: the script has no turns of its own; choose one of %s with the header "+
			"x-script-id or a path that begins with /s/ID", known)
	case known == "":
		return nil, fmt.Errorf("model server: no script %q; there are no named scripts", id)
	default:
		return nil, fmt.Errorf("model server: no script %q; there are: %s", id, known)
	}
}

// route determines the kind of a request from its method and path.
func route(r *http.Request, path string) (endpoint, *request) {
	if after, ok := strings.CutPrefix(path, "/api/v1"); ok { // some clients add it to the address themselves
		path = "/v1" + after
	}
	version, rest := "", path
	for _, v := range []string{"/v1beta", "/v1alpha", "/v1"} {
		if after, ok := strings.CutPrefix(path, v); ok && (after == "" || after[0] == '/') {
			version, rest = v, after
			break
		}
	}
	post := r.Method == http.MethodPost
	model, action, hasAction := strings.Cut(strings.TrimPrefix(rest, "/models/"), ":")
	switch {
	case r.Method == http.MethodHead, path == "/" && r.Method == http.MethodGet, path == "/api/hello":
		return endProbe, &request{}
	case rest == "/messages" && post:
		return endGenerate, &request{wire: WireAnthropic}
	case rest == "/messages/count_tokens" && post:
		return endCount, &request{wire: WireAnthropic}
	case rest == "/responses" && post:
		return endGenerate, &request{wire: WireResponses}
	case rest == "/responses" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return endWebSocket, &request{wire: WireResponses}
	case rest == "/chat/completions" && post:
		return endGenerate, &request{wire: WireChat}
	case (rest == "/models" || strings.HasPrefix(rest, "/models/")) && r.Method == http.MethodGet:
		return endModels, &request{wire: modelsWire(version, r)}
	case strings.HasPrefix(rest, "/models/") && hasAction && post:
		g := &request{wire: WireGemini, model: model}
		switch action {
		case "generateContent":
			return endGenerate, g
		case "streamGenerateContent":
			g.stream, g.array = true, r.URL.Query().Get("alt") != "sse"
			return endGenerate, g
		case "countTokens":
			return endCount, g
		}
	}
	return endUnknown, &request{wire: modelsWire(version, r)}
}

// modelsWire guesses the wire of a request whose path is ambiguous.
func modelsWire(version string, r *http.Request) Wire {
	switch {
	case strings.HasPrefix(version, "/v1") && version != "/v1":
		return WireGemini
	case r.Header.Get("Anthropic-Version") != "":
		return WireAnthropic
	}
	return WireResponses
}

// sleep waits for d or until the client leaves; it reports whether the time passed.
func sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
