package modelserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// MaxAnswerBytes bounds the body of an upstream's answer; the connection to the client breaks at a longer one, which is not
// recorded.
const MaxAnswerBytes = 64 << 20

const (
	upstreamSilence = 10 * time.Minute // an upstream that sends nothing for so long is given up
	afterClient     = 10 * time.Second // the default of Recorder.linger
)

// Upstreams returns the roots of the vendors' own APIs by wire.
func Upstreams() map[Wire]*url.URL {
	roots := map[Wire]*url.URL{}
	for wire, vendor := range map[Wire]string{WireAnthropic: "anthropic", WireResponses: "openai", WireChat: "openai", WireGemini: "google"} {
		if u, err := url.Parse(vendormodel.Address(vendor)); err == nil {
			roots[wire] = u
		}
	}
	return roots
}

// RecordOptions are the parts of a Recorder. To and Upstreams are required.
type RecordOptions struct {
	To *cassette.Writer
	// Upstreams are the roots of the APIs by wire. The empty wire is for requests of any other.
	Upstreams map[Wire]*url.URL
	// Secrets are values to remove from what is recorded, besides the keys in the requests and well-known forms of keys.
	Secrets []string
	// Transport makes the calls; nil is one of its own.
	Transport http.RoundTripper
	// Log receives one JSON line per finished request, as of a Server.
	Log io.Writer
	// Logger receives what was not recorded, and the HTTP server's messages; nil discards them.
	Logger *slog.Logger
}

// Recorder passes requests to the APIs of models, and answers and records what they answer. It is an http.Handler, safe for
// concurrent use. A key goes to the upstream of its request only, and nowhere else: redirects are not followed.
type Recorder struct {
	reception
	opts   RecordOptions
	client *httpcall.Client
	most   int64         // bytes of an answer
	linger time.Duration // how long an answer is still recorded whose client has left
}

var _ http.Handler = (*Recorder)(nil)

// NewRecorder returns a recorder.
func NewRecorder(o RecordOptions) *Recorder {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{reception: newReception(o.Log), opts: o, client: httpcall.New(o.Transport), most: MaxAnswerBytes, linger: afterClient}
}

// Listen serves as Server.Listen does. The cassette is the caller's to close afterwards.
func (c *Recorder) Listen(ctx context.Context, addr string) (*Running, error) {
	return listen(ctx, addr, c, c.opts.Logger)
}

// Close closes idle connections to upstreams.
func (c *Recorder) Close() { c.client.Close() }

// ServeHTTP answers one request.
func (c *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.receive(w, r, c.answer) }

// answer passes a request on. What the upstream did not answer, or not completely, is not recorded, unless it broke the connection
// within an answer.
func (c *Recorder) answer(x *exchange, body []byte) {
	root := c.upstream(x)
	if root == nil {
		x.refuse(http.StatusNotFound, fmt.Sprintf("model record: no upstream for %s %s; name one with --upstream", x.http.Method, x.http.URL.Path))
		return
	}
	ctx, cancel := c.outlive(x.http.Context())
	defer cancel()
	call := httpcall.Call{URL: target(root, x.http.URL), Header: passed(x.http.Header), Limit: c.most, Silence: upstreamSilence}
	switch x.http.Method {
	case http.MethodGet:
	case http.MethodPost:
		call.Body = append([]byte{}, body...) // not nil
	default:
		x.refuse(http.StatusMethodNotAllowed, fmt.Sprintf("model record: %s is not supported; use GET or POST", x.http.Method))
		return
	}
	res, err := c.client.Do(ctx, call)
	if err == nil && res.Header.Get("Content-Encoding") != "" {
		// Only gzip is asked for, and decoded on the way.
		err = fmt.Errorf("%s: the answer is encoded as %q, which was not asked for", root.Host, res.Header.Get("Content-Encoding"))
		_ = res.Body.Close()
	}
	if err != nil {
		c.skipped(x, err)
		x.refuse(http.StatusBadGateway, "model record: "+err.Error())
		return
	}
	defer func() { _ = res.Body.Close() }()
	got, err := c.relay(x, res)
	if err != nil && (errors.Is(err, httpcall.ErrTooLarge) || ctx.Err() != nil) {
		c.skipped(x, err)
		x.stop('c')
	}
	secrets := secret.New(append(slices.Clone(c.opts.Secrets), keysOf(x.http)...))
	rec := cassette.Exchange{
		Request: cassette.Request{Method: x.http.Method, Path: secrets.Text(withoutKeys(x.http.URL)), Side: x.side, Body: recordable(scrub(body, secrets))},
		Answer:  answerOf(x, res, got, err != nil),
	}
	if rec.Answer.JSON != nil {
		rec.Answer.JSON = secrets.JSON(rec.Answer.JSON, nil)
	}
	for range 2 { // a key at the start of a fragment is found once those before it are clean
		rec.Answer.Rewrite(secrets.Text)
	}
	if rec.Answer.Base64 != nil {
		rec.Answer.Base64 = secrets.Bytes(rec.Answer.Base64)
	}
	if err := c.opts.To.Add(rec); err != nil {
		c.skipped(x, err)
	}
	if err != nil {
		x.stop('c')
	}
}

func (c *Recorder) skipped(x *exchange, err error) {
	c.opts.Logger.Warn("not recorded: "+err.Error(), "request", x.http.Method+" "+x.http.URL.Path)
}

// upstream returns the root of the API that a request is for, nil if that is unknown: a key must not go to another vendor.
func (c *Recorder) upstream(x *exchange) *url.URL {
	wire := x.request.wire
	if x.end == endUnknown { // the path says nothing
		switch wire = ""; {
		case x.http.Header.Get("Anthropic-Version") != "":
			wire = WireAnthropic
		case x.http.Header.Get("X-Goog-Api-Key") != "":
			wire = WireGemini
		}
	}
	return cmp.Or(c.opts.Upstreams[wire], c.opts.Upstreams[""])
}

// outlive returns a context that ends some time after the client left, so that an answer that was begun is recorded whole, and at
// once when the server ends.
func (c *Recorder) outlive(client context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	ended, _ := client.Value(endedKey{}).(<-chan struct{}) // nil without a server of this package
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-ended:
			cancel()
			return
		case <-client.Done():
		}
		timer := time.NewTimer(c.linger)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-ended:
		case <-timer.C:
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-done }
}

// target returns the address of a request at an upstream. Roots are given with and without the version that paths begin with.
func target(root, asked *url.URL) string {
	u := *root
	base := strings.TrimSuffix(root.EscapedPath(), "/")
	path := asked.EscapedPath()
	if i := strings.LastIndexByte(base, '/'); i >= 0 && strings.HasPrefix(path, base[i:]+"/") && strings.HasPrefix(base[i:], "/v1") {
		base = base[:i]
	}
	u.RawPath = base + path
	u.Path, _ = url.PathUnescape(u.RawPath) // both parts were parsed
	u.RawQuery = asked.RawQuery
	return u.String()
}

// ownHeaders are of one connection, or made anew.
var ownHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Content-Encoding", "Accept-Encoding", "Host",
}

// passed returns the headers that go on, in either direction.
func passed(h http.Header) http.Header {
	out := h.Clone()
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range ownHeaders {
		out.Del(name)
	}
	return out
}

// relay writes the answer to the client as it arrives, and returns its body. A client that leaves does not end it.
func (c *Recorder) relay(x *exchange, res *httpcall.Answer) ([]byte, error) {
	for name, values := range passed(res.Header) {
		x.w.Header()[name] = values
	}
	x.w.WriteHeader(res.Status)
	x.note(func(e *Request) { e.Status, e.Outcome = res.Status, OutcomeAnswered })
	var body bytes.Buffer
	piece, here := make([]byte, 32<<10), true
	for {
		n, err := res.Body.Read(piece)
		body.Write(piece[:n])
		if n > 0 && here && !x.put(piece[:n]) {
			here = false
			x.note(func(e *Request) { e.Outcome = OutcomeClientGone })
		}
		switch {
		case errors.Is(err, io.EOF):
			return body.Bytes(), nil
		case err != nil:
			return body.Bytes(), err
		}
	}
}

// keptHeaders are those of an answer that clients act on.
var keptHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// answerOf returns an answer in the form that is the easiest to read and to compare.
func answerOf(x *exchange, res *httpcall.Answer, body []byte, cut bool) cassette.Answer {
	a := cassette.Answer{Status: res.Status, Header: map[string]string{}, Cut: cut}
	for _, name := range keptHeaders {
		if v := res.Header.Get(name); v != "" && utf8.ValidString(v) {
			a.Header[strings.ToLower(name)] = v
		}
	}
	events := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	switch {
	case len(body) == 0:
	case !utf8.Valid(body):
		a.Base64 = body
	case events || x.request.stream && res.Status < 300:
		a.Stream = split(string(body), events)
	case exactjson.Keys(body) == nil && string(bytes.TrimSpace(body)) != "null":
		a.JSON = body
	default:
		a.Text = string(body)
	}
	return a
}

// recordable returns a body as JSON: itself, or its text as a string.
func recordable(body []byte) json.RawMessage {
	switch {
	case len(body) == 0:
		return nil
	case utf8.Valid(body) && exactjson.Keys(body) == nil && string(body) != "null":
		return body
	}
	return quote(bytes.ToValidUTF8(body, []byte("\uFFFD")))
}

// split cuts a text into its lines, or after each empty line, as the events of a stream are.
func split(text string, events bool) (pieces []string) {
	start, at := 0, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		at += len(line)
		if !events || strings.TrimRight(line, "\r\n") == "" {
			if at > start {
				pieces = append(pieces, text[start:at])
			}
			start = at
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}
