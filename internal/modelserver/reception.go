package modelserver

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// MaxRequestBytes bounds the body of a request, also after decompression; a longer one is answered with 413.
const MaxRequestBytes = 64 << 20

// reception is what every server of this package does with a request before it is answered.
type reception struct {
	log   requestLog
	limit int64 // of a request's body
}

func newReception(log io.Writer) reception {
	return reception{log: requestLog{writer: log, bodyLimit: maxLoggedBodyTotal}, limit: MaxRequestBytes}
}

// Requests returns the received requests in order of arrival, the newest MaxLoggedRequests of them. Unanswered ones
// are pending. The bodies must not be changed.
func (c *reception) Requests() []Request {
	entries, _, _ := c.log.snapshot()
	return entries
}

// LogError returns the first error of writing to the log.
func (c *reception) LogError() error { return c.log.writeError() }

// begin enters a request in the log.
func (c *reception) begin(w http.ResponseWriter, r *http.Request, body []byte) *exchange {
	return &exchange{log: &c.log, w: w, http: r, entry: c.log.begin(logEntry(r, body))}
}

// receive reads a request, decides what it is, and answers those that no model has to: probes, WebSockets, and what cannot be
// read. All others get to answer, with their body decompressed.
func (c *reception) receive(w http.ResponseWriter, r *http.Request, answer func(x *exchange, body []byte)) {
	if c.serveLog(w, r) {
		return
	}
	body, status, err := c.readBody(w, r)
	x := c.begin(w, r, body)
	defer c.log.finish(x.entry)
	x.end, x.request = route(r, r.URL.Path)
	x.note(func(e *Request) { e.Side, e.Wire = sideRefused, x.request.wire })
	switch {
	case err != nil:
		x.refuse(status, err.Error())
	case x.end == endProbe || x.end == endWebSocket:
		x.note(func(e *Request) { e.Side = string(x.end) })
		x.serveEndpoint()
	case x.decode(body, nil) == nil:
		answer(x, body)
	}
}

// serveLog answers GET /__log.
func (c *reception) serveLog(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/__log" {
		return false
	}
	if askedLocally(w, r) {
		entries, dropped, truncated := c.log.snapshot()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(marshal(object{"requests": entries, "dropped": dropped, "truncatedBodies": truncated}))
	}
	return true
}

// askedLocally refuses a web page whose host name resolves to this address, because it must not read the prompts.
func askedLocally(w http.ResponseWriter, r *http.Request) bool {
	if loopbackHost(r.Host) {
		return true
	}
	http.Error(w, "model server: ask by a loopback address, not as "+r.Host, http.StatusForbidden)
	return false
}

func loopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// readBody returns the decompressed body, or the status to refuse it with.
func (c *reception) readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	if r.Body == nil {
		return nil, 0, nil
	}
	limited := io.Reader(http.MaxBytesReader(w, r.Body, c.limit))
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip":
		limited, err = gzip.NewReader(limited)
	case "deflate":
		limited, err = zlib.NewReader(limited)
	default:
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf(
			"model server: request body is compressed with %q; turn compression off in the client, or use gzip", encoding)
	}
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(limited, c.limit+1))
	}
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong), int64(len(body)) > c.limit:
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("model server: request body is over %d bytes", c.limit)
	case err != nil:
		return body, http.StatusBadRequest, fmt.Errorf("model server: read request body: %v", err)
	}
	return body, 0, nil
}
