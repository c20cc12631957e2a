package external

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
)

// maxLine limits a line of Drawbar: a request with attachments is one line.
const maxLine = 64 << 20

// Serve is the program of an external adapter in Go: it speaks the protocol until in ends, and runs what Drawbar requests
// with d.New. version is that of the agent, empty if unknown, and conformance lists the scenarios that it plays
// (Introduction.Conformance). What the protocol does not have is removed from the capabilities. A program whose adapter
// starts processes calls drawbar.Supervise before it.
func Serve(d adapter.Descriptor, version string, conformance []string, in io.Reader, out io.Writer) error {
	s := &server{about: Introduction{ProtocolVersion: ProtocolVersion, Conformance: conformance, Agent: Agent{Name: d.Name, DisplayName: d.DisplayName,
		Version: version, Docs: d.Docs, DefaultModel: d.DefaultModel, Models: d.Models, Keys: d.Keys}}, adapter: d.New(), out: out, inbox: newInbox()}
	s.about.Capabilities = adapter.CapabilitiesOf(s.adapter)
	a := &s.about.Capabilities.Agent
	a.RuntimeHooks, a.Plugins, a.PluginFormats, a.TakesCommand = execution.RuntimeHooks{}, false, nil, false

	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		m, ok := read(lines.Bytes())
		if !ok || m.replies() {
			continue
		}
		m = message{ID: append(json.RawMessage(nil), m.ID...), Method: m.Method, Params: append(json.RawMessage(nil), m.Params...)}
		s.handle(ctx, m, &work)
	}
	return lines.Err()
}

// server is the other side of one run.
type server struct {
	about   Introduction
	adapter adapter.Adapter
	inbox   *inbox
	running bool

	mu  sync.Mutex // guards out
	out io.Writer
}

func (s *server) write(m jsonrpc.Message) {
	m.Version = jsonrpc.Version
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(m.Line()) // Drawbar is gone: its end of the input follows
}

func (s *server) reply(id json.RawMessage, result any, fault *jsonrpc.Error) {
	if len(id) > 0 {
		s.write(jsonrpc.Message{ID: id, Result: result, Error: fault})
	}
}

func (s *server) handle(ctx context.Context, m message, work *sync.WaitGroup) {
	reply := func(result any, err error) {
		if err != nil {
			s.reply(m.ID, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()})
			return
		}
		s.reply(m.ID, result, nil)
	}
	switch m.Method {
	case methodInitialize:
		reply(s.about, nil)
	case methodNegotiate:
		p, err := decode[requestParams](m.Params)
		reasons := []execution.Reason{}
		if n, ok := adapter.As[adapter.Negotiator](s.adapter); ok && err == nil {
			reasons = append(reasons, n.Negotiate(p.Request)...)
		}
		reply(reasonsReply{reasons}, err)
	case methodExecute:
		p, err := decode[requestParams](m.Params)
		if s.running {
			err = errors.New("a process executes one request")
		}
		if err != nil {
			reply(nil, err)
			return
		}
		s.running = true
		if !p.Request.Run.Interactive {
			s.inbox.put(execution.EndInput{})
		}
		work.Go(func() { s.execute(ctx, m.ID, p.Request) })
	case methodMessage:
		p, err := decode[messageParams](m.Params)
		if err == nil {
			s.inbox.put(execution.Say(p))
		}
		reply(struct{}{}, err)
	case methodAnswer:
		p, err := decode[answerParams](m.Params)
		if err == nil {
			s.inbox.put(execution.Answer(p))
		}
		reply(struct{}{}, err)
	case methodInterrupt:
		s.inbox.put(execution.Interrupt{})
	case methodEndInput:
		s.inbox.put(execution.EndInput{})
	default:
		s.reply(m.ID, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %.60q", m.Method)})
	}
}

// execute runs the request. Its tools are reached as the MCP server that Drawbar added to it.
func (s *server) execute(ctx context.Context, id json.RawMessage, req execution.Request) {
	req.Tools = nil
	var result *execution.Result
	var broken error
	for e, err := range s.adapter.Execute(ctx, req, s.inbox) {
		if err != nil {
			broken = err
			break
		}
		if f, ok := e.Body.(execution.Finished); ok {
			result = &f.Result
			continue
		}
		s.write(jsonrpc.Message{Method: methodEvent, Params: e})
	}
	switch {
	case broken != nil:
		s.reply(id, nil, &jsonrpc.Error{Code: codeFailed, Message: broken.Error()})
	case result == nil:
		s.reply(id, nil, &jsonrpc.Error{Code: codeFailed, Message: s.about.Agent.Name + " ended without a result"})
	default:
		s.reply(id, result, nil)
	}
}

func decode[T any](b json.RawMessage) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

// inbox is what Drawbar said and the adapter has not received. Its size is bounded by what a person types.
type inbox struct {
	mu    sync.Mutex
	queue []execution.Command
	more  chan struct{} // capacity 1
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}, 1)} }

func (i *inbox) put(c execution.Command) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue = append(i.queue, c)
	select {
	case i.more <- struct{}{}:
	default:
	}
}

// Receive implements adapter.Inbox.
func (i *inbox) Receive(ctx context.Context) (execution.Command, error) {
	for {
		i.mu.Lock()
		if len(i.queue) > 0 {
			c := i.queue[0]
			i.queue = i.queue[1:]
			i.mu.Unlock()
			return c, nil
		}
		i.mu.Unlock()
		select {
		case <-i.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
