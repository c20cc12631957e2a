package modelserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// exchange is one request being handled.
type exchange struct {
	log      *requestLog
	w        http.ResponseWriter
	http     *http.Request
	entry    *Request
	end      endpoint
	request  *request
	side     string // kind of side request, empty for a turn
	progress *progress
}

func (x *exchange) note(change func(*Request)) { x.log.update(x.entry, change) }

func (x *exchange) encoder() encoder {
	if e := encoderOf(x.request.wire); e != nil {
		return e
	}
	return responsesWire{}
}

// decode reads the body and decides whether the request is a turn; contains makes others side requests. A body that cannot be read
// is answered.
func (x *exchange) decode(body []byte, contains []string) error {
	r := x.request
	if x.end == endGenerate || x.end == endCount {
		if err := r.decode(body, x.http.Header); err != nil {
			x.refuse(http.StatusBadRequest, "model server: "+err.Error())
			return err
		}
	}
	x.side = sideKind(x.end, r, contains)
	x.note(func(e *Request) { e.Side, e.Model, e.Stream = x.side, r.model, r.stream })
	return nil
}

// answer decodes the request, decides whether it is a turn, and answers it.
func (x *exchange) answer(body []byte) {
	r, script := x.request, x.progress.script
	if x.decode(body, script.side.contains) != nil {
		return
	}
	if x.end != endGenerate {
		x.serveEndpoint()
		return
	}
	if kind := x.side; kind != "" {
		t := script.side.answer
		if !script.side.hasText && t.status == 0 {
			t.text = sideText(kind, r)
			t.pieces = words(t.text)
		}
		x.play(&t)
		return
	}
	index, t, asked := x.progress.next(r)
	x.note(func(e *Request) { e.Turn, e.Exhausted = index, index < 0 })
	if t == nil {
		x.refuse(http.StatusBadRequest, fmt.Sprintf("model server: the script%s has no turn left for request %d (it has %d); "+
			`add turns, or "onExhausted"`, named(x.entry.Script), asked, len(script.turns)))
		return
	}
	x.play(t)
}

func named(id string) string {
	if id == "" {
		return ""
	}
	return " " + id
}

// serveEndpoint answers requests other than completions.
func (x *exchange) serveEndpoint() {
	switch x.end {
	case endProbe:
		x.send(http.StatusOK, object{"status": "ok"})
	case endWebSocket:
		// Clients that prefer a WebSocket fall back to POST on this status.
		x.w.Header().Set("Upgrade", "HTTP/1.1")
		x.refuse(http.StatusUpgradeRequired, "model server: no WebSocket here; use POST")
	case endCount:
		key := "input_tokens"
		if x.request.wire == WireGemini {
			key = "totalTokens"
		}
		x.send(http.StatusOK, object{key: x.progress.script.usage.prompt()})
	case endModels:
		x.serveModels()
	default:
		x.refuse(http.StatusNotFound, fmt.Sprintf("model server: nothing at %s %s; there are POST /v1/messages, "+
			"/v1/messages/count_tokens, /v1/responses, /v1/chat/completions, /v1beta/models/MODEL:generateContent and "+
			":streamGenerateContent, GET /v1/models and /v1beta/models", x.http.Method, x.http.URL.Path))
	}
}

// serveModels lists the one model, in the format of the wire.
func (x *exchange) serveModels() {
	name := x.progress.script.model
	if name == "" {
		name = "scripted-model"
	}
	_, asked, one := strings.Cut(x.http.URL.Path, "/models/")
	if one {
		name = asked // every model name is accepted
	}
	var model, list object
	switch x.request.wire {
	case WireGemini:
		model = object{
			"name": "models/" + name, "displayName": name, "version": "1", "inputTokenLimit": 1_000_000, "outputTokenLimit": 64_000,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"},
		}
		list = object{"models": []object{model}}
	case WireAnthropic:
		model = object{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
		list = object{"data": []object{model}, "has_more": false, "first_id": name, "last_id": name}
	default:
		model = object{"object": "model", "id": name, "created": 1767225600, "owned_by": "script"}
		list = object{"object": "list", "data": []object{model}}
	}
	if one {
		list = model
	}
	x.send(http.StatusOK, list)
}

// refuse answers with an error that is not part of the script.
func (x *exchange) refuse(status int, message string) {
	x.send(status, x.encoder().failure(status, "", message, ""))
}

// send writes a whole JSON answer.
func (x *exchange) send(status int, v any) { x.write(status, "application/json", marshal(v)) }

func (x *exchange) write(status int, contentType string, body []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	x.note(func(e *Request) { e.Status = status })
	outcome := OutcomeAnswered
	if _, err := x.w.Write(body); err != nil && x.http.Method != http.MethodHead {
		outcome = OutcomeClientGone
	}
	x.note(func(e *Request) { e.Outcome = outcome })
}

// play answers as a turn describes.
func (x *exchange) play(t *turn) {
	if !sleep(x.http, t.delay) {
		x.note(func(e *Request) { e.Outcome = OutcomeClientGone })
		return
	}
	if t.hang {
		x.hang()
		return
	}
	h := x.w.Header()
	// Programs print the id of a failed request, each service under its own name.
	switch x.request.wire {
	case WireAnthropic:
		h.Set("Request-Id", newID("req_"))
	case WireResponses, WireChat:
		h.Set("X-Request-Id", newID("req_"))
	}
	for _, kv := range t.headers {
		h.Set(kv[0], kv[1])
	}
	contentType := "application/json"
	if x.request.stream && !x.request.array {
		contentType = "text/event-stream; charset=utf-8"
		h.Set("Cache-Control", "no-cache")
	}
	model := x.progress.script.model
	if model == "" {
		model = x.request.model
	}
	p := &reply{turn: t, model: model, ids: newID, now: time.Now()}
	switch {
	case t.status != 0:
		if t.retryAfter != "" {
			h.Set("Retry-After", t.retryAfter)
		}
		message := t.errorMessage
		if message == "" {
			message = fmt.Sprintf("scripted error %d", t.status)
		}
		x.send(t.status, x.encoder().failure(t.status, t.errorType, message, t.retryAfter))
	case t.garbage != nil:
		x.write(http.StatusOK, contentType, []byte(*t.garbage))
	case x.request.stream:
		x.stream(t, contentType, x.encoder().frames(x.request, p))
	case t.stop.kind != 0:
		// A whole answer has no pieces: half of it is sent.
		body := marshal(x.encoder().whole(x.request, p))
		h.Set("Content-Type", contentType)
		h.Set("Content-Length", fmt.Sprint(len(body)))
		x.w.WriteHeader(http.StatusOK)
		x.note(func(e *Request) { e.Status = http.StatusOK })
		x.put(body[:len(body)/2])
		x.stop(t.stop.kind)
	default:
		x.send(http.StatusOK, x.encoder().whole(x.request, p))
	}
}

// stream writes frames one by one, up to where the turn stops.
func (x *exchange) stream(t *turn, contentType string, frames []frame) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(http.StatusOK)
	x.note(func(e *Request) { e.Status = http.StatusOK })
	stopAt := t.stop.index(frames)
	for i, f := range frames {
		if i == stopAt {
			x.stop(t.stop.kind)
			return
		}
		if f.kind != notPiece && !sleep(x.http, t.pieceDelay) || !x.put(x.frame(f, i, len(frames))) {
			x.note(func(e *Request) { e.Outcome = OutcomeClientGone })
			return
		}
	}
	x.note(func(e *Request) { e.Outcome = OutcomeAnswered })
}

// index returns the frame before which the answer stops, or -1. Without text that is the first frame.
func (p stopPoint) index(frames []frame) int {
	if p.kind == 0 {
		return -1
	}
	seen := 0
	for i, f := range frames {
		if f.kind != textPiece {
			continue
		}
		if p.after == 0 {
			return i
		}
		if seen++; seen == p.after {
			return i + 1
		}
	}
	return 0
}

// frame encodes frame i of count for the wire.
func (x *exchange) frame(f frame, i, count int) []byte {
	data := marshal(f.data)
	if x.request.array {
		open, end := ",\r\n", ""
		if i == 0 {
			open = "["
		}
		if i == count-1 {
			end = "]"
		}
		return append(append([]byte(open), data...), end...)
	}
	var b []byte
	if f.event != "" {
		b = append(append(append(b, "event: "...), f.event...), '\n')
	}
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}

// put writes and flushes; it reports whether the client is still connected.
func (x *exchange) put(b []byte) bool {
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	// A writer that cannot flush sends everything at the end.
	_ = http.NewResponseController(x.w).Flush()
	return true
}

// stop ends a started answer as the script describes.
func (x *exchange) stop(kind byte) {
	if kind == 'h' {
		x.hang()
		return
	}
	x.note(func(e *Request) { e.Outcome = OutcomeCut })
	panic(http.ErrAbortHandler)
}

// hang holds the request until the client leaves or the server closes.
func (x *exchange) hang() {
	x.note(func(e *Request) { e.Outcome = OutcomeHung })
	<-x.http.Context().Done()
}
