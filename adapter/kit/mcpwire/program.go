package mcpwire

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/transport/process"
)

// Program is the connection to a server that is a program: the lines of its standard output are its messages. Many servers
// print other lines there, too. The caller has started the program with its input open, and calls End. The methods may be
// called concurrently.
type Program struct {
	h       process.Handle
	other   func(process.Line)
	rewrite Rewrite

	messages chan jsonrpc.Message // closed at the end of the output
	closed   chan struct{}
	once     sync.Once
	done     chan struct{} // the output is read, and exit and early are valid
	exit     process.Exit
	early    bool
	broken   atomic.Bool // a write failed: the program ended before the connection was closed, whatever is read first
}

var (
	_ mcp.Transport  = (*Program)(nil)
	_ mcp.Connection = (*Program)(nil)
)

// NewProgram reads the output of a program until it ends. other gets the lines that are no messages, one call at a time, and
// must not keep them; nil drops them.
func NewProgram(h process.Handle, other func(process.Line), rewrite Rewrite) *Program {
	p := &Program{h: h, other: other, rewrite: rewrite, messages: make(chan jsonrpc.Message), closed: make(chan struct{}), done: make(chan struct{})}
	go p.read()
	return p
}

// Connect implements mcp.Transport.
func (p *Program) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements mcp.Connection.
func (p *Program) SessionID() string { return "" }

func (p *Program) read() {
	defer close(p.done)
	defer close(p.messages)
	_ = process.ReadAll(p.h, p.line) // how it ended says more
	select {
	case <-p.closed:
	default:
		p.early = true
	}
	p.exit = p.h.Wait()
}

func (p *Program) line(l process.Line) {
	if data := bytes.TrimSpace(l.Data); l.Stream == process.Stdout && !l.Truncated && len(data) > 0 && data[0] == '{' {
		data = bytes.Clone(data)
		if p.rewrite != nil {
			data = p.rewrite(data)
		}
		if m, err := jsonrpc.DecodeMessage(data); err == nil {
			select {
			case p.messages <- m:
			case <-p.closed:
			}
			return
		}
	}
	if p.other != nil && len(bytes.TrimSpace(l.Data)) > 0 {
		p.other(l)
	}
}

// Read implements mcp.Connection.
func (p *Program) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-p.messages:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (p *Program) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case <-p.closed:
		return mcp.ErrConnectionClosed
	default:
	}
	err = p.h.Write(append(data, '\n'))
	if err != nil {
		p.broken.Store(true)
	}
	return err
}

// Close implements mcp.Connection. It ends the input of the program: a server ends with it.
func (p *Program) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.h.CloseInput()
	})
	return nil
}

// End closes the connection and waits for the program, which is stopped with the grace if it does not end by itself.
func (p *Program) End(wait, grace time.Duration) process.Exit {
	_ = p.Close() // it returns nil
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.h.Stop(grace)
	}
	<-p.done
	return p.exit
}

// Ended returns how the program ended, if it has. early says that it did so before the connection was closed.
func (p *Program) Ended() (exit process.Exit, early, ended bool) {
	select {
	case <-p.done:
		return p.exit, p.early || p.broken.Load(), true
	default:
		return process.Exit{}, false, false
	}
}
