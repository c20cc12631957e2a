package external

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/transport/jsonrpc"
)

// maxLine limits a line of Drawbar: a request with attachments is one line.
const maxLine = 64 << 20

// Serve is the program of an external adapter in Go: it speaks the protocol until in ends, and runs what Drawbar requests
// with d.New. version is that of the agent, empty if unknown, and conformance lists the scenarios that it plays
// (Introduction.Conformance). What the protocol does not have is removed from the capabilities. A program whose adapter
// starts processes calls drawbar.Supervise before it.
func Serve(d adapter.Descriptor, version string, conformance []string, in io.Reader, out io.Writer) error {
	return Server{Descriptor: d, Version: version, Conformance: conformance}.Serve(context.Background(), in, out)
}

// Server is the program's side of the protocol for one agent. Only Descriptor is required.
type Server struct {
	Descriptor  adapter.Descriptor
	Version     string   // of the agent, empty if unknown
	Conformance []string // Introduction.Conformance
	// Detect returns what this machine has of the agent.
	Detect func(ctx context.Context) Found
	// Negotiate compares a request with the agent. Without it, only what the adapter itself refuses is refused.
	Negotiate func(req execution.Request) (execution.Negotiation, error)
}

// Serve speaks the protocol until in or ctx ends. If the run has not ended then, it stops the agent and waits for it. A read
// of in that blocks when ctx ends is left behind.
func (o Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	d := o.Descriptor
	s := &server{Server: o, about: Introduction{ProtocolVersion: ProtocolVersion, Conformance: o.Conformance, Agent: Agent{Name: d.Name,
		DisplayName: d.DisplayName, Version: o.Version, Docs: d.Docs, DefaultModel: d.DefaultModel, Models: d.Models, Keys: d.Keys}},
		adapter: d.New(), out: out, inbox: newInbox()}
	s.about.Capabilities = spoken(adapter.CapabilitiesOf(s.adapter))

	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	received, end := make(chan message), make(chan error, 1)
	go receive(ctx, in, received, end)
	for {
		select {
		case m := <-received:
			s.handle(ctx, m, &work)
		case err := <-end:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// receive reads what Drawbar sends. Nobody can end a read of a pipe, so nobody waits for it when ctx ends.
func receive(ctx context.Context, in io.Reader, received chan<- message, end chan<- error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		m, ok := read(lines.Bytes())
		if !ok || m.replies() {
			continue
		}
		m = message{ID: append(json.RawMessage(nil), m.ID...), Method: m.Method, Params: append(json.RawMessage(nil), m.Params...)}
		select {
		case received <- m:
		case <-ctx.Done():
			return
		}
	}
	end <- lines.Err()
}

// spoken returns capabilities without what the protocol does not have.
func spoken(caps execution.Capabilities) execution.Capabilities {
	a := &caps.Agent
	a.RuntimeHooks, a.Plugins, a.PluginFormats, a.TakesCommand = execution.RuntimeHooks{}, false, nil, false
	return caps
}

// server is the other side of one run.
type server struct {
	Server
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
			s.reply(m.ID, nil, faultOf(jsonrpc.CodeInvalidParams, err))
			return
		}
		s.reply(m.ID, result, nil)
	}
	switch m.Method {
	case methodInitialize:
		p, _ := decode[initializeParams](m.Params) // another version is refused by who reads the reply
		about := s.about
		if p.Detect && s.Detect != nil {
			found := s.Detect(ctx)
			about.Found, about.Agent.Version = &found, cmp.Or(found.Version, about.Agent.Version)
		}
		reply(about, nil)
	case methodNegotiate:
		reply(s.negotiate(m.Params))
	case methodExecute:
		req, err := request(m.Params)
		if s.running {
			err = errors.New("a process executes one request")
		}
		if err != nil {
			reply(nil, err)
			return
		}
		s.running = true
		if !req.Run.Interactive {
			s.inbox.put(execution.EndInput{})
		}
		work.Go(func() { s.execute(ctx, m.ID, req) })
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

// negotiate returns the reply to negotiate: what the adapter says, and what else stands against the request.
func (s *server) negotiate(params json.RawMessage) (r reasonsReply, err error) {
	req, err := request(params)
	if err != nil {
		return r, err
	}
	r.Reasons = []execution.Reason{}
	if n, ok := adapter.As[adapter.Negotiator](s.adapter); ok {
		r.Reasons = append(r.Reasons, n.Negotiate(req)...)
	}
	if s.Negotiate == nil {
		return r, nil
	}
	n, err := s.Negotiate(req)
	for _, reason := range n.Reasons {
		if reason.Severity == execution.SeverityBlocking && !slices.Contains(r.Reasons, reason) {
			r.Reasons = append(r.Reasons, reason)
		}
	}
	caps := spoken(n.EffectiveCapabilities)
	r.Capabilities = &caps
	return r, err
}

// request decodes a request. Its directory is one of this machine; a relative one begins where this process started.
func request(params json.RawMessage) (execution.Request, error) {
	p, err := decode[requestParams](params)
	if err != nil {
		return p.Request, err
	}
	dir := p.Request.Run.Cwd
	if !filepath.IsAbs(dir) {
		start, err := os.Getwd()
		if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
			start, err = os.UserHomeDir()
			dir = rest
		}
		if err != nil {
			return p.Request, err
		}
		dir = filepath.Join(start, dir)
		p.Request.Run.Cwd = dir
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return p.Request, execution.Errorf(execution.CodeValidation, "%s is not a directory of its machine", dir)
	}
	return p.Request, nil
}

// execute runs the request. Its tools are reached as the MCP server that Drawbar added to it.
func (s *server) execute(ctx context.Context, id json.RawMessage, req execution.Request) {
	req.Tools = nil
	var result *execution.Result
	var broken error
	var slim deltas.Slimmer // the text so far with each piece would be quadratic
	for e, err := range s.adapter.Execute(ctx, req, s.inbox) {
		if err != nil {
			broken = err
			break
		}
		if f, ok := e.Body.(execution.Finished); ok {
			result = &f.Result
			continue
		}
		s.write(jsonrpc.Message{Method: methodEvent, Params: slim.Slim(e)})
	}
	switch {
	case broken != nil:
		s.reply(id, nil, faultOf(codeFailed, broken))
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
