// Package wsline carries lines over a WebSocket (RFC 6455): each text message is a line, and an empty one is the end of the input, after
// which the other side may still send.
package wsline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	// MaxLine limits a line.
	MaxLine = 64 << 20
	// A peer that does not answer a ping within patience is gone.
	pause, patience = 20 * time.Second, 20 * time.Second
)

// Dial connects to a server. The token, if there is one, is sent as a bearer token.
func Dial(ctx context.Context, url, token string) (*websocket.Conn, error) {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	c, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header, CompressionMode: websocket.CompressionDisabled}) //nolint:bodyclose // Dial has read it
	var failed *neturl.Error
	switch {
	case err == nil:
		return c, nil
	case res != nil && res.StatusCode == http.StatusUnauthorized:
		return nil, ErrToken
	case res != nil:
		return nil, fmt.Errorf("the server replied %s, and opened no WebSocket", res.Status)
	case errors.As(err, &failed):
		return nil, fmt.Errorf("%w: %w", ErrConnect, failed.Err)
	}
	return nil, err
}

// The errors of Dial that a person can do something about.
var (
	ErrToken   = errors.New("the server refuses the token")
	ErrConnect = errors.New("cannot connect")
)

// Bearer returns the token of a request.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// Copy sends the lines of in and writes what arrives to out, until the peer closes the connection or ctx ends; the error is nil then. A
// read of in that blocks is left behind.
func Copy(ctx context.Context, c *websocket.Conn, in io.Reader, out io.Writer) error {
	failed := make(chan error, 1)
	go func() {
		if err := send(lineWriter{ctx, c}, in); err != nil {
			failed <- err
			_ = c.CloseNow() // it was open
		}
	}()
	err := receive(ctx, c, out, func() {})
	select {
	case err = <-failed:
	default:
	}
	return err
}

// Serve calls f with what arrives and a writer of lines, each of which is one call of Write, and closes the connection after it. The
// reader ends where the peer ends its input, and when it is gone.
func Serve(ctx context.Context, c *websocket.Conn, f func(in io.Reader, out io.Writer) error) error {
	in, arrived := io.Pipe()
	go func() {
		_ = arrived.CloseWithError(receive(ctx, c, arrived, func() { _ = arrived.Close() }))
	}()
	err := f(in, lineWriter{ctx, c})
	_ = in.Close()
	_ = c.Close(websocket.StatusNormalClosure, "")
	return err
}

type lineWriter struct {
	ctx context.Context
	c   *websocket.Conn
}

func (w lineWriter) Write(line []byte) (int, error) {
	if err := w.c.Write(w.ctx, websocket.MessageText, bytes.TrimRight(line, "\r\n")); err != nil {
		return 0, err
	}
	return len(line), nil
}

// send sends the lines of in, and its end. What cannot be sent has its reason in what receive returns.
func send(w lineWriter, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if _, err := w.Write(lines.Bytes()); err != nil {
			return nil
		}
	}
	_, _ = w.Write(nil)
	return lines.Err()
}

// receive writes what arrives to out, calls ended at the end of the peer's input, and asks again and again whether the peer is still
// there. It returns nil when the connection is closed or ctx ends.
func receive(ctx context.Context, c *websocket.Conn, out io.Writer, ended func()) error {
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(MaxLine)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go watch(ctx, c, stop)
	for {
		_, text, err := c.Read(ctx)
		switch status := websocket.CloseStatus(err); {
		case err == nil && len(text) == 0:
			ended()
		case err == nil:
			if _, err := out.Write(append(bytes.TrimRight(text, "\r\n"), '\n')); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				return err
			}
		case errors.Is(context.Cause(ctx), errLost):
			return errLost
		case status == websocket.StatusNormalClosure || status == websocket.StatusGoingAway || ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case status == websocket.StatusMessageTooBig:
			return fmt.Errorf("a line is longer than %d bytes", MaxLine)
		default:
			return fmt.Errorf("the connection broke: %w", err)
		}
	}
}

var errLost = errors.New("the connection is lost: the other side does not answer")

// watch pings the peer, and ends the connection when it does not answer.
func watch(ctx context.Context, c *websocket.Conn, lost context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		asked, done := context.WithTimeout(ctx, patience)
		err := c.Ping(asked)
		done()
		if err != nil {
			lost(errLost)
		}
	}
}
