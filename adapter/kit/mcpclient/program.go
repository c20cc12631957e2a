package mcpclient

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// program is a server that is a program: the lines of its standard output are its messages. A nil program is none.
type program struct {
	handle process.Handle
	lines  *io.PipeReader
	ended  sync.WaitGroup

	mu   sync.Mutex // guards exit
	exit *process.Exit
}

// start starts a server's program.
func start(o Options, m execution.MCPServer) (*program, error) {
	env := o.Env
	for name, value := range m.Env {
		env = append(env[:len(env):len(env)], name+"="+value)
	}
	path, err := lookpath.In(env, o.Dir, m.Command)
	if err != nil {
		return nil, err
	}
	// Its life is ended by stop: the context of the connection ends earlier.
	handle, err := o.Start(context.Background(), process.Spec{Path: path, Args: m.Args, Dir: o.Dir, Env: env, KeepStdin: true, MaxLine: maxLine, Grace: o.Grace})
	if err != nil {
		return nil, err
	}
	p := &program{handle: handle}
	reader, writer := io.Pipe()
	p.lines = reader
	p.ended.Go(func() {
		for {
			lines, err := handle.Next(context.Background()) // ends with the program
			for _, l := range lines {
				// Anything else is a word for people, which some servers print before they begin.
				if l.Stream == process.Stdout && !l.Truncated && len(l.Data) > 0 && l.Data[0] == '{' {
					_, _ = writer.Write(append(l.Data[:len(l.Data):len(l.Data)], '\n')) // a reader that is gone needs nothing
				}
			}
			if err != nil {
				break
			}
		}
		exit := handle.Wait()
		p.mu.Lock()
		p.exit = &exit
		p.mu.Unlock()
		_ = writer.Close()
	})
	return p, nil
}

// Read reads the program's messages.
func (p *program) Read(b []byte) (int, error) { return p.lines.Read(b) }

// Write writes a message.
func (p *program) Write(b []byte) (int, error) {
	if err := p.handle.Write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends the program: its input first, then itself.
func (p *program) Close() error {
	p.handle.CloseInput()
	p.handle.Stop(0)
	return p.lines.Close()
}

// stop ends the program and waits for its end.
func (p *program) stop() {
	if p == nil {
		return
	}
	_ = p.Close() // a pipe's end never fails
	p.ended.Wait()
}

// complaint returns what the program said on standard error, if it has ended.
func (p *program) complaint() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit == nil {
		return ""
	}
	why := strings.TrimSpace(p.exit.StderrTail)
	if err := p.exit.Err; err != nil && why == "" {
		why = err.Error()
	}
	if why == "" {
		why = fmt.Sprintf("exit code %d", p.exit.Code)
	}
	return ": the program ended: " + strings.ToValidUTF8(why, "\uFFFD")
}

var _ io.ReadWriteCloser = (*program)(nil)
