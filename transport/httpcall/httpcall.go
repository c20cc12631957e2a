// Package httpcall makes one HTTP request of an API and reads the answer as it arrives. A request carries a key, and an answer comes
// from somebody else: redirects are not followed, bodies and silence are bounded, and no error contains the URL's query or user.
// What requests and answers mean does not belong here.
package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Errors of a call. They are matched by errors.Is.
var (
	ErrTooLarge = errors.New("body too large")
	ErrSilent   = errors.New("server is silent")
	ErrRedirect = errors.New("redirects are not followed")
)

// Client makes calls. It is safe for concurrent use.
type Client struct{ http http.Client }

// New returns a client. A nil transport is one of its own, with the proxies of the environment and TLS 1.2 or later; Close
// closes its idle connections.
func New(transport http.RoundTripper) *Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented type
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		t.ForceAttemptHTTP2 = true
		transport = t
	}
	return &Client{http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call is a request. Body is sent with POST; nil is a GET.
type Call struct {
	URL    string
	Header http.Header
	Body   []byte
	// Limit bounds the answer's body, decompressed, in bytes. Silence is how long the server may send nothing, before the
	// answer and within it; zero is no limit.
	Limit   int64
	Silence time.Duration
}

// Answer is the answer to a call, whatever its status. The caller closes Body.
type Answer struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
}

// Do makes a call. The error is an *Error, and matches the context's. A redirect is an error, because it could send the key to
// another host.
func (c *Client) Do(ctx context.Context, call Call) (*Answer, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if call.Body != nil {
		method, body = http.MethodPost, strings.NewReader(string(call.Body))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, method, call.URL, body)
	if err != nil {
		cancel(nil)
		return nil, &Error{Host: "the address", Err: errors.New("it is not a valid URL")}
	}
	if call.Header != nil {
		req.Header = call.Header.Clone()
	}
	w := newWatch(call.Silence, func() { cancel(ErrSilent) })
	res, err := c.http.Do(req)
	if err == nil && res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "" {
		_ = res.Body.Close()
		to := "an unreadable address"
		if u, e := res.Location(); e == nil {
			to = u.Host
		}
		err = fmt.Errorf("status %d to %s: %w", res.StatusCode, to, ErrRedirect)
	}
	if err != nil {
		err = failure(ctx, req.URL.Host, err)
		w.stop()
		cancel(nil)
		return nil, err
	}
	b := &bounded{body: res.Body, left: call.Limit, limit: call.Limit, watch: w, ctx: ctx, host: req.URL.Host, release: func() { cancel(nil) }}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: b}, nil
}

// Error is a call that got no answer, or lost it.
type Error struct {
	Host    string
	Err     error
	Timeout bool // nothing came in time
}

func (e *Error) Error() string { return e.Host + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// failure describes why a call failed, without its URL.
func failure(ctx context.Context, host string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, ErrSilent) {
			return &Error{Host: host, Err: cause, Timeout: true}
		}
		return &Error{Host: host, Err: fmt.Errorf("%w: %w", ctx.Err(), cause), Timeout: errors.Is(cause, context.DeadlineExceeded)}
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	e := &Error{Host: host, Err: err}
	var (
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		n       net.Error
	)
	switch {
	case errors.As(err, &dns):
		e.Err = errors.New("no such host")
	case errors.As(err, &cert), errors.As(err, &unknown):
		e.Err = fmt.Errorf("its certificate is not trusted: %w", err)
	case errors.As(err, &n) && n.Timeout():
		e.Timeout = true
	}
	return e
}

// bounded is the body of an answer.
type bounded struct {
	body        io.ReadCloser
	left, limit int64
	watch       *watch
	ctx         context.Context //nolint:containedctx // explains why a read failed
	host        string
	release     func()
	once        sync.Once
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.limit > 0 && int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	b.watch.sign()
	if b.limit > 0 {
		if b.left -= int64(n); b.left < 0 {
			return 0, &Error{Host: b.host, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.limit)}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure(b.ctx, b.host, err)
	}
	return n, err
}

func (b *bounded) Close() (err error) {
	b.once.Do(func() {
		b.watch.stop()
		b.release() // before Close, which would read the rest of the body
		err = b.body.Close()
	})
	return err
}

// watch calls a function when nothing was read for some time.
type watch struct {
	timer *time.Timer
	after time.Duration
}

func newWatch(after time.Duration, fn func()) *watch {
	if after <= 0 {
		return &watch{}
	}
	return &watch{time.AfterFunc(after, fn), after}
}

func (w *watch) sign() {
	if w.timer != nil {
		w.timer.Reset(w.after)
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// RetryAfter returns how long an answer asks to wait: Retry-After in seconds or as a date, or in milliseconds as some services state
// it. ok is false if it states nothing readable.
func RetryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
