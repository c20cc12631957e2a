package phasehook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/procenv"
)

// post calls a hook's service.
func (r *Runner) post(ctx context.Context, h protocol.Hook, input []byte, ran *execution) {
	ctx, cancel := context.WithTimeout(ctx, timeout(h))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(input))
	if err != nil {
		ran.failure = "its url is not valid"
		return
	}
	if m := h.Method; m != "" && !strings.EqualFold(m, http.MethodPost) {
		ran.failure = fmt.Sprintf("the method %s is not POST", m)
		return
	}
	ran.redact.Add(secret.URL(h.URL)...)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	headers, err := r.headers(h, ran.redact)
	if err != nil {
		ran.failure = err.Error()
		return
	}
	maps.Copy(req.Header, headers)
	client := http.Client{Transport: r.HTTP, CheckRedirect: stayHome}
	if r.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the format of net/http
		t.DisableKeepAlives = true
		client.Transport = t
		defer t.CloseIdleConnections()
	}
	resp, err := client.Do(req)
	if err != nil {
		ran.fail(ctx, err)
		return
	}
	defer resp.Body.Close()
	ran.status = resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostOutput+1))
	switch {
	case err != nil:
		ran.fail(ctx, err)
		return
	case len(body) > mostOutput:
		body, ran.tooMuch = body[:mostOutput], true
	}
	ran.stdout = body
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		ran.failure = fmt.Sprintf("HTTP status %d: a redirect to another host, which is not followed", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		ran.failure = fmt.Sprintf("HTTP status %d", resp.StatusCode)
	}
}

// headers returns a hook's headers with their variables replaced; the values become secrets.
func (r *Runner) headers(h protocol.Hook, redact *secret.Redactor) (http.Header, error) {
	return procenv.Headers("hooks."+h.Name, r.Environ, h.Env.All(), h.Headers.All(), func(name, written, value string) {
		if redact != nil && (value != written || secret.Name(name)) {
			redact.Add(value)
		}
	})
}

// stayHome follows a redirect only on the same host and only if it repeats the same request: the headers are for this
// host.
func stayHome(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 3 || req.Method != http.MethodPost || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// fail records a failed request without its address, which may contain a secret.
func (ran *execution) fail(ctx context.Context, err error) {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		ran.timedOut = true
		return
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	ran.failure = err.Error()
}
