package modelserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/base/secret"
)

// keysOf returns the keys in a request's headers and query.
func keysOf(r *http.Request) []string {
	_, keys := redactHeaders(r.Header)
	for name, values := range r.URL.Query() {
		if secret.Name(name) {
			keys = append(keys, values...)
		}
	}
	return keys
}

// withoutKeys returns the path and query of a URL without keys in it.
func withoutKeys(u *url.URL) string {
	parts := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		return name == "" || secret.Name(name)
	})
	if len(parts) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + strings.Join(parts, "&")
}

// scrub returns a request's body without secrets, and without the members that identify who asks.
func scrub(body []byte, s *secret.Redactor) []byte {
	if body = anonymous(body); json.Valid(body) {
		return s.JSON(body, nil)
	}
	return s.Bytes(body)
}

// anonymous returns a JSON object without the members that identify who asks; anything else as it is.
func anonymous(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' || !json.Valid(body) {
		return body
	}
	out := []byte{'{'}
	for _, m := range newNode(body, "").members() {
		if slices.Contains(identity, m.key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote([]byte(m.key))...), ':'), m.value.raw...)
	}
	return append(out, '}')
}
