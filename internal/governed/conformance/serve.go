package conformance

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// ServeStdio is the implementation's side of stdio-fixture-v1: it reads one fixture to the end of the input, writes one
// answer, and returns the corresponding exit code.
func ServeStdio(ctx context.Context, t Target, in io.Reader, out io.Writer) (int, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxFixture+1))
	if err != nil {
		return Error.ExitCode(), fmt.Errorf("read the fixture from standard input: %w", err)
	}
	a := answer(ctx, t, data)
	line, err := json.Marshal(a)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	if err != nil {
		return Error.ExitCode(), fmt.Errorf("write the answer: %w", err)
	}
	return a.Status.ExitCode(), nil
}

// answer runs a fixture; any error is an answer, too.
func answer(ctx context.Context, t Target, data []byte) Answer {
	f, err := ParseFixture(data)
	if err != nil {
		return Errorf("the fixture cannot be read: %v", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	a, err := t.Execute(ctx, f)
	if err != nil {
		return Errorf("%v", err)
	}
	if !a.Status.valid() {
		return Errorf("the implementation has no verdict on %s", f.ID)
	}
	if len(a.Actual) == 0 {
		a.Actual = json.RawMessage("null")
	}
	return a
}

// Handler is the implementation's side of http-fixture-v1. Fixtures may name commands that are then run, so it refuses
// requests from browsers, and requests for a host name that is not this machine's. With a token, every request has to
// contain it.
func Handler(t Target, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+CapabilitiesPath, func(w http.ResponseWriter, r *http.Request) {
		c, err := t.Capabilities(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		c.Adapter = AdapterSpec{Protocol: HTTPProtocol}
		writeJSON(w, c)
	})
	mux.HandleFunc("POST "+ExecutePath, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFixture))
		if err != nil {
			writeJSON(w, Errorf("the fixture cannot be read: %v", err))
			return
		}
		writeJSON(w, answer(r.Context(), t, data))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Origin") != "" || !loopbackHost(r.Host):
			http.Error(w, "only programs on this machine may send requests", http.StatusForbidden)
		case token != "" && !bears(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	line, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(line, '\n')) // a client that is gone leaves no recipient for the error
}

func bears(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1
}

// loopbackHost reports whether a host, with or without a port, is a name or address of this machine.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Loopback reports whether a listening address is reachable only from this machine.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && loopbackHost(host)
}
