package turnruntime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdio is the connection to a server that is our process. Lines of its output that are not messages go to the log: many
// servers print there.
type stdio struct {
	h    process.Handle
	call *mcpCall

	messages chan jsonrpc.Message // closed at the end of the output
	closed   chan struct{}
	once     sync.Once
	done     chan struct{} // the output is read
	early    bool          // the output ended before the connection was closed; valid after done
}

var (
	_ mcp.Transport  = (*stdio)(nil)
	_ mcp.Connection = (*stdio)(nil)
)

func newStdio(h process.Handle, c *mcpCall) *stdio {
	s := &stdio{h: h, call: c, messages: make(chan jsonrpc.Message), closed: make(chan struct{}), done: make(chan struct{})}
	go s.read()
	return s
}

// Connect implements mcp.Transport.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID implements mcp.Connection.
func (s *stdio) SessionID() string { return "" }

// read reads the server's output to its end.
func (s *stdio) read() {
	defer close(s.done)
	defer close(s.messages)
	readOutput(s.h, s.call.log, s.line)
	select {
	case <-s.closed:
	default:
		s.early = true
	}
}

// readOutput passes every line of a process to line, to the end of its output.
func readOutput(h process.Handle, log *transcript, line func(process.Line)) {
	for {
		lines, err := h.Next(context.Background())
		for _, l := range lines {
			line(l)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			log.note("cannot read the output: %v", err)
			h.Stop(-1)
		}
		return
	}
}

func (s *stdio) line(l process.Line) {
	if l.Stream == process.Stderr {
		s.call.log.line("[stderr] ", l.Data)
		return
	}
	data := bytes.TrimSpace(l.Data)
	if len(data) == 0 {
		return
	}
	m, err := jsonrpc.DecodeMessage(unwrapMessage(bytes.Clone(data)))
	if data[0] != '{' || err != nil {
		s.call.log.line("[stdout] ", l.Data)
		return
	}
	select {
	case s.messages <- m:
	case <-s.closed:
	}
}

// Read implements mcp.Connection.
func (s *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-s.messages:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (s *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case <-s.closed:
		return mcp.ErrConnectionClosed
	default:
	}
	return s.h.Write(append(data, '\n'))
}

// Close implements mcp.Connection. A server ends when its input does.
func (s *stdio) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.h.CloseInput()
	})
	return nil
}

// end waits for the server to end, and ends it if it does not.
func (s *stdio) end(grace time.Duration) process.Exit {
	_ = s.Close() // it returns nil
	return awaitEnd(s.h, s.done, grace)
}

// awaitEnd waits for a process that should end because its input did, and ends it if it does not. done says that its
// output is read.
func awaitEnd(h process.Handle, done <-chan struct{}, grace time.Duration) process.Exit {
	timer := time.NewTimer(min(closeWait, max(grace, 0)))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		h.Stop(grace)
	}
	<-done
	return h.Wait()
}

// unwrapMessage rewrites a response whose result some SDKs wrap in toolResult to the form without it. Anything else is
// returned as it is.
func unwrapMessage(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"toolResult"`)) {
		return data
	}
	var m, result, inner protocol.Extra
	if json.Unmarshal(data, &m) != nil || json.Unmarshal(m.At("result"), &result) != nil || protocol.Is(result.At("content")) || protocol.Is(result.At("structuredContent")) ||
		json.Unmarshal(result.At("toolResult"), &inner) != nil {
		return data
	}
	if !protocol.Is(inner.At("content")) && !protocol.Is(inner.At("structuredContent")) && !inner.Has("isError") {
		whole := inner
		inner = protocol.Extra{}
		b, err := protocol.Marshal(whole)
		if err != nil {
			return data
		}
		inner.Set("structuredContent", b)
	}
	if !protocol.Is(inner.At("content")) {
		inner.Set("content", json.RawMessage("[]"))
	}
	b, err := protocol.Marshal(inner)
	if err != nil {
		return data
	}
	m.Set("result", b)
	if b, err = protocol.Marshal(m); err != nil {
		return data
	}
	return b
}

// mostBody bounds a JSON answer, and a line of a stream, in bytes.
const mostBody = 32 << 20

// unwrapBody is unwrapMessage for the body of a response: one message, or a stream of events with one in each data line.
func unwrapBody(res *http.Response) io.ReadCloser {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return &unwrapped{body: res.Body, lines: func(r *bufio.Reader) ([]byte, error) {
			data, err := io.ReadAll(io.LimitReader(r, mostBody))
			if err == nil {
				err = io.EOF
			}
			return unwrapMessage(data), err
		}}
	case "text/event-stream":
		return &unwrapped{body: res.Body, lines: func(r *bufio.Reader) ([]byte, error) {
			line, err := r.ReadBytes('\n')
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok && bytes.Contains(rest, []byte(`"toolResult"`)) {
				line = append(append([]byte("data: "), unwrapMessage(bytes.TrimSpace(rest))...), '\n')
			}
			return line, err
		}}
	}
	return res.Body
}

// unwrapped is a body that is read in pieces and changed piece by piece.
type unwrapped struct {
	body  io.ReadCloser
	lines func(*bufio.Reader) ([]byte, error)
	r     *bufio.Reader
	rest  []byte
	err   error
}

func (u *unwrapped) Read(p []byte) (int, error) {
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

func (u *unwrapped) Close() error { return u.body.Close() }
