// Package mcpwire connects to MCP servers: programs over their standard streams, and services over HTTP. What is asked of a
// server, and what its answers mean, does not belong here.
package mcpwire

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"

	"github.com/drawbar/drawbar/transport/httpcall"
)

// Rewrite changes a message of a server before it is decoded; nil changes nothing.
type Rewrite func(message []byte) []byte

// HTTPClient returns a client for an SDK's HTTP transports: it adds headers to every request, and fails at a redirect, which
// would take them along.
func HTTPClient(base http.RoundTripper, header http.Header, rewrite Rewrite) *http.Client {
	return &http.Client{Transport: &transport{base, header, rewrite},
		CheckRedirect: func(*http.Request, []*http.Request) error { return httpcall.ErrRedirect }}
}

type transport struct {
	base    http.RoundTripper
	header  http.Header
	rewrite Rewrite
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range t.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	res, err := t.base.RoundTrip(r)
	if err == nil && t.rewrite != nil {
		res.Body = t.body(res)
	}
	return res, err
}

// mostBody bounds a JSON answer, and a line of a stream, in bytes.
const mostBody = 32 << 20

// body rewrites the body of a response: one message, or a stream of events with one in each data line.
func (t *transport) body(res *http.Response) io.ReadCloser {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return &rewritten{body: res.Body, lines: func(r *bufio.Reader) ([]byte, error) {
			data, err := io.ReadAll(io.LimitReader(r, mostBody))
			if err == nil {
				err = io.EOF
			}
			return t.rewrite(data), err
		}}
	case "text/event-stream":
		return &rewritten{body: res.Body, lines: func(r *bufio.Reader) ([]byte, error) {
			line, err := r.ReadBytes('\n')
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				line = append(append([]byte("data: "), t.rewrite(bytes.TrimSpace(rest))...), '\n')
			}
			return line, err
		}}
	}
	return res.Body
}

// rewritten is a body that is read in pieces and changed piece by piece.
type rewritten struct {
	body  io.ReadCloser
	lines func(*bufio.Reader) ([]byte, error)
	r     *bufio.Reader
	rest  []byte
	err   error
}

func (u *rewritten) Read(p []byte) (int, error) {
	if u.r == nil {
		u.r = bufio.NewReader(u.body)
	}
	for len(u.rest) == 0 && u.err == nil {
		u.rest, u.err = u.lines(u.r)
	}
	if len(u.rest) == 0 {
		return 0, u.err
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

func (u *rewritten) Close() error { return u.body.Close() }
