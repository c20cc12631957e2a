package wsline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve returns the URL of a server of f.
func serve(t *testing.T, token string, f func(in io.Reader, out io.Writer) error) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Bearer(r) != token {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_ = Serve(r.Context(), c, f)
		}
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

// TestCopy: the peer still answers after the end of the input.
func TestCopy(t *testing.T) {
	url := serve(t, "secret", func(in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		n := 0
		for ; lines.Scan(); n++ {
			fmt.Fprintf(out, "got %s\n", lines.Text())
		}
		fmt.Fprintf(out, "%d lines\n", n)
		return nil
	})
	c, err := Dial(t.Context(), url, "secret")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Copy(t.Context(), c, strings.NewReader("one\n\ntwo\r\n"), &out); err != nil || out.String() != "got one\ngot two\n2 lines\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestEnds: a peer that goes without a word is an error, the end of the context is none.
func TestEnds(t *testing.T) {
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_ = c.CloseNow()
		}
	}))
	defer gone.Close()
	in, hold := io.Pipe()
	defer hold.Close()
	c, err := Dial(t.Context(), "ws"+strings.TrimPrefix(gone.URL, "http"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), c, in, io.Discard); err == nil || !strings.Contains(err.Error(), "the connection broke") {
		t.Errorf("gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, "", func(in io.Reader, _ io.Writer) error {
		cancel()
		_, err := io.Copy(io.Discard, in) // until the other side is gone
		return err
	})
	if c, err = Dial(t.Context(), url, ""); err != nil {
		t.Fatal(err)
	}
	if err := Copy(ctx, c, in, io.Discard); err != nil {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDial(t *testing.T) {
	url := serve(t, "secret", func(io.Reader, io.Writer) error { return nil })
	if _, err := Dial(t.Context(), url, "other"); !errors.Is(err, ErrToken) {
		t.Errorf("another token: %v", err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	if _, err := Dial(t.Context(), "ws"+strings.TrimPrefix(plain.URL, "http"), ""); err == nil || err.Error() != "the server replied 404 Not Found, and opened no WebSocket" {
		t.Errorf("no WebSocket: %v", err)
	}
	plain.Close()
	if _, err := Dial(t.Context(), "ws"+strings.TrimPrefix(plain.URL, "http"), ""); !errors.Is(err, ErrConnect) {
		t.Errorf("nobody there: %v", err)
	}
}
