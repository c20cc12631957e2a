package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// HTTP is an implementation that is reached through a server.
type HTTP struct {
	base   string
	token  string
	client *http.Client
}

// OpenHTTP returns the target for a base URL. The token, if any, is sent only to that server: redirects are not
// followed.
func OpenHTTP(base, token string) (*HTTP, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is not an http or https URL", u.Redacted())
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s may contain only a server and a path", u.Redacted())
	}
	return &HTTP{base: strings.TrimSuffix(u.String(), "/"), token: token, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

// Concurrency is one: a server may share its state between fixtures.
func (h *HTTP) Concurrency() int { return 1 }

// Capabilities asks the server for its claims.
func (h *HTTP) Capabilities(ctx context.Context) (Capabilities, error) {
	data, err := h.do(ctx, http.MethodGet, CapabilitiesPath, nil)
	if err != nil {
		return Capabilities{}, err
	}
	c, err := ParseCapabilities(data, HTTPProtocol)
	if err != nil {
		return Capabilities{}, fmt.Errorf("%s%s: %w", h.base, CapabilitiesPath, err)
	}
	return c, nil
}

// Execute posts one fixture.
func (h *HTTP) Execute(ctx context.Context, f Fixture) (Answer, error) {
	data, err := h.do(ctx, http.MethodPost, ExecutePath, f.Raw)
	if err != nil {
		return Answer{}, err
	}
	return parseAnswer(data)
}

func (h *HTTP) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	res, err := h.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	err = errors.Join(err, res.Body.Close())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s %s: read the answer: %w", method, h.base+path, err)
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("%s %s: the answer has more than %d bytes", method, h.base+path, maxAnswer)
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s %s: %w (%s)", method, h.base+path, ErrToken, res.Status)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s %s: status %s, not 200: %s", method, h.base+path, res.Status, show(string(data)))
	}
	return data, nil
}

// ErrToken means that the server requires a token, or another one.
var ErrToken = errors.New("the server does not accept the token")
