package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/secret"
)

// Limits of the log in memory. The oldest requests are dropped and counted.
const (
	MaxLoggedRequests  = 1000
	MaxLoggedBody      = 1 << 20
	maxLoggedBodyTotal = 64 << 20
)

// Outcomes of a request.
const (
	OutcomePending    = "pending"     // not answered yet
	OutcomeAnswered   = "answered"    // the whole answer was written
	OutcomeHung       = "hung"        // held as the script describes until the client left or the server closed
	OutcomeCut        = "cut"         // connection closed as the script describes
	OutcomeClientGone = "client gone" // the client left, or the server closed, before the whole answer was written
)

// Request is the log's entry of a request.
type Request struct {
	Seq    int       `json:"seq"` // from 1 in order of arrival
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	// Path is the path and query as received, with keys in the query redacted.
	Path string `json:"path"`
	Wire Wire   `json:"wire,omitempty"`
	// Script is the id of the named script, empty for the main one.
	Script string `json:"script,omitempty"`
	// Side is the kind of side request, empty for a turn.
	Side string `json:"side,omitempty"`
	// Turn is the index of the used turn, -1 for none.
	Turn      int  `json:"turn"`
	Exhausted bool `json:"exhausted,omitempty"` // a turn was requested and none was left
	// Status is the answer's HTTP status, 0 before the answer.
	Status  int    `json:"status"`
	Outcome string `json:"outcome"`
	Model   string `json:"model,omitempty"`
	Stream  bool   `json:"stream,omitempty"`
	// Headers holds the request's headers by lower-case name, secrets as "redacted:N chars".
	Headers map[string]string `json:"headers"`
	// Body is the JSON body, or a JSON string with its start if it is not JSON or exceeds MaxLoggedBody.
	Body          json.RawMessage `json:"body,omitempty"`
	BodyBytes     int             `json:"bodyBytes"`
	BodyTruncated bool            `json:"bodyTruncated,omitempty"`
	DurationMS    int64           `json:"durationMs"`
}

// requestLog keeps the newest requests and writes finished ones to a writer. It is safe for concurrent use.
type requestLog struct {
	mu        sync.Mutex
	entries   []*Request
	bodyBytes int
	bodyLimit int
	seq       int
	dropped   int
	truncated int

	writing sync.Mutex // keeps lines whole; separate, so that a slow writer does not delay arriving requests
	writer  io.Writer
	err     error
}

// begin adds a request and returns its entry, which only update may change.
func (l *requestLog) begin(e Request) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq, e.Turn, e.Outcome = l.seq, -1, OutcomePending
	if e.BodyTruncated {
		l.truncated++
	}
	l.entries = append(l.entries, &e)
	l.bodyBytes += len(e.Body)
	for len(l.entries) > MaxLoggedRequests || l.bodyBytes > l.bodyLimit && len(l.entries) > 1 {
		l.bodyBytes -= len(l.entries[0].Body)
		l.entries[0] = nil
		l.entries = l.entries[1:]
		l.dropped++
	}
	return &e
}

func (l *requestLog) update(e *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(e)
}

// finish completes an entry and writes its line.
func (l *requestLog) finish(e *Request) {
	l.mu.Lock()
	e.DurationMS = time.Since(e.Time).Milliseconds()
	line := *e
	l.mu.Unlock()
	if l.writer == nil {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.writer.Write(append(marshal(line), '\n')); err != nil && l.err == nil {
		l.err = fmt.Errorf("write request log: %w", err)
	}
}

func (l *requestLog) writeError() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.err
}

// snapshot copies the entries; bodies are shared and never change.
func (l *requestLog) snapshot() (entries []Request, dropped, truncated int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries = make([]Request, len(l.entries))
	for i, e := range l.entries {
		entries[i] = *e
		entries[i].Headers = maps.Clone(e.Headers)
		entries[i].Body = slices.Clip(e.Body)
	}
	return entries, l.dropped, l.truncated
}

// logEntry describes a received request without its secrets.
func logEntry(r *http.Request, body []byte) Request {
	headers, secrets := redactHeaders(r.Header)
	e := Request{
		Time: time.Now(), Method: r.Method, Path: redactQuery(r.URL), Headers: headers, BodyBytes: len(body),
	}
	// A tool that prints the agent's environment repeats the key in the body.
	for _, value := range secrets {
		body = bytes.ReplaceAll(body, []byte(value), []byte(redacted(value)))
	}
	switch {
	case len(body) == 0:
	case len(body) > MaxLoggedBody:
		e.BodyTruncated = true
		end := MaxLoggedBody
		for end > 0 && !utf8.RuneStart(body[end]) {
			end--
		}
		e.Body = quote(body[:end])
	case json.Valid(body):
		e.Body = bytes.Clone(body)
	default:
		e.Body = quote(body)
	}
	return e
}

// quote returns text as a JSON string.
func quote(text []byte) json.RawMessage {
	// In a list, because marshal writes a bare string unchanged.
	b := marshal([]string{string(text)})
	return b[1 : len(b)-1]
}

func redacted(value string) string {
	return fmt.Sprintf("redacted:%d chars", utf8.RuneCountInString(value))
}

// shortestSecret is the minimum length of a secret that is searched in bodies; shorter ones are ordinary words.
const shortestSecret = 8

// redactHeaders returns the headers by lower-case name and the secrets that were removed.
func redactHeaders(h http.Header) (headers map[string]string, secrets []string) {
	headers = make(map[string]string, len(h))
	for name, values := range h {
		name, value := strings.ToLower(name), strings.Join(values, ", ")
		if secret.Name(name) {
			for _, v := range values {
				if _, token, ok := strings.Cut(v, " "); ok {
					v = token
				}
				if len(v) >= shortestSecret {
					secrets = append(secrets, v)
				}
			}
			value = redacted(value)
		}
		headers[name] = value
	}
	return headers, secrets
}

// redactQuery returns the path and query of u without the values of keys, where Google's API takes them.
func redactQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return u.EscapedPath()
	}
	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if secret.Name(name) {
			parts[i] = name + "=" + strings.ReplaceAll(redacted(value), " ", "+")
		}
	}
	return u.EscapedPath() + "?" + strings.Join(parts, "&")
}
