package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/transport/jsonrpc"
)

// maxLine is the maximum size of a message.
const maxLine = 64 << 20

// grace is how long requests may take after the input has ended.
const grace = 5 * time.Second

// Error codes besides those of package jsonrpc. codeFailed is an error of Drawbar, whose data is an Error.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeFailed  = -32000
)

// server serves one client.
type server struct {
	app   *cli.App
	trust bool

	work  sync.WaitGroup // requests and streams
	wmu   sync.Mutex     // guards out
	out   io.Writer
	stop  context.CancelCauseFunc
	gone  chan struct{} // closed when the client says nothing any more
	mu    sync.Mutex    // guards the rest
	runs  map[execution.RunID]*agent.Run
	ended []execution.RunID // the oldest first
	homes map[string]*home  // by directory
	calls jsonrpc.Calls[chan reply]
}

// home is a directory's client.
type home struct {
	app    *cli.App
	client *drawbar.Client
}

// reply answers a call to the client.
type reply struct {
	Result json.RawMessage
	Error  *jsonrpc.Error
}

var errGone = errors.New("the client is gone")

func newServer(app *cli.App, trust bool) *server {
	return &server{app: app, trust: trust, gone: make(chan struct{}), runs: map[execution.RunID]*agent.Run{}, homes: map[string]*home{}}
}

// message is a line of the client: a request, a notification, or the answer to a call.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	reply
}

// serve reads until the input ends or ctx does. It then aborts the runs and waits for everything; requests have a little time to end.
func (s *server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out = out
	ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { // reading cannot be cancelled: it ends with the input or the process
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
		close(lines)
	}()
	var err error
	for open := true; open; {
		select {
		case line, ok := <-lines:
			if open = ok; ok {
				s.line(ctx, line)
			} else if err = <-failed; errors.Is(err, bufio.ErrTooLong) {
				err = cli.Usage("a message has more than %d bytes", maxLine)
			}
		case <-ctx.Done():
			open = false
		}
	}
	close(s.gone)
	s.mu.Lock()
	for _, r := range s.runs {
		r.Abort(errGone)
	}
	s.mu.Unlock()
	hurry := time.AfterFunc(grace, func() { s.stop(errGone) })
	defer hurry.Stop()
	s.work.Wait()
	return err
}

// close closes what runs used.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.homes {
		if err := h.client.Close(); err != nil {
			s.app.Warnf("%v", err)
		}
	}
}

// send writes a message. If nobody reads any more, the client is gone.
func (s *server) send(m jsonrpc.Message) {
	m.Version = jsonrpc.Version
	line := m.Line()
	s.wmu.Lock()
	defer s.wmu.Unlock()
	if _, err := s.out.Write(line); err != nil {
		s.stop(errGone)
	}
}

func (s *server) notify(method string, params any) {
	s.send(jsonrpc.Message{Method: method, Params: params})
}

func (s *server) line(ctx context.Context, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		s.send(jsonrpc.Message{ID: json.RawMessage("null"), Error: &jsonrpc.Error{Code: codeParse, Message: "the line is not a message: " + err.Error()}})
		return
	}
	switch {
	case m.Method == "" && len(m.ID) > 0:
		s.answered(m)
		return
	case m.Method == "" || m.Version != jsonrpc.Version:
		s.send(jsonrpc.Message{ID: idOf(m), Error: &jsonrpc.Error{Code: codeInvalid, Message: `a request has "jsonrpc":"2.0" and a method`}})
		return
	}
	s.work.Go(func() {
		result, after, failure := s.do(ctx, m)
		if len(m.ID) > 0 { // a notification is not answered
			answer := jsonrpc.Message{ID: m.ID, Result: result, Error: failure}
			if failure == nil && result == nil {
				answer.Result = struct{}{}
			}
			s.send(answer)
		}
		if after != nil {
			after()
		}
	})
}

func idOf(m message) any {
	if len(m.ID) == 0 {
		return json.RawMessage("null")
	}
	return m.ID
}

// do carries out a request. after runs when it is answered.
func (s *server) do(ctx context.Context, m message) (result any, after func(), failure *jsonrpc.Error) {
	method := find(m.Method)
	if method == nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %.100q", m.Method)}
	}
	result, after, err := method.call(ctx, s, m.Params)
	if err == nil {
		return result, after, nil
	}
	var bad *paramsError
	if errors.As(err, &bad) {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: m.Method + ": " + err.Error()}
	}
	e := errorOf(err)
	return nil, nil, &jsonrpc.Error{Code: codeFailed, Message: e.Message, Data: Error{e.Code, e.Hint}}
}

// Error is the data of a failed request.
type Error struct {
	Code execution.ErrorCode `json:"code"` // of the table of error codes
	Hint string              `json:"hint,omitempty"`
}

func errorOf(err error) *execution.Error {
	var e *execution.Error
	if errors.As(err, &e) || errors.As(cli.RecordError(err), &e) { // what is left is of the record
		return e
	}
	return execution.Errorf(execution.CodeInternal, "%w", err)
}

// ask calls a method of the client and waits for its answer, until ctx ends.
func (s *server) ask(ctx context.Context, method string, params, result any) error {
	answer := make(chan reply, 1)
	s.mu.Lock()
	id := s.calls.Add(answer)
	s.mu.Unlock()
	s.send(jsonrpc.Message{ID: id, Method: method, Params: params})
	select {
	case r := <-answer:
		if r.Error != nil {
			return errors.New(r.Error.Message)
		}
		return json.Unmarshal(r.Result, result)
	case <-s.gone:
		return errGone
	case <-ctx.Done():
		s.mu.Lock()
		s.calls.Take(id)
		s.mu.Unlock()
		return context.Cause(ctx)
	}
}

// answered is for the answer to a call; one that nobody waits for any more is dropped.
func (s *server) answered(m message) {
	var id int64
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	s.mu.Lock()
	answer, ok := s.calls.Take(id)
	s.mu.Unlock()
	if ok {
		answer <- m.reply
	}
}

// home returns the client for a directory, made at its first use.
func (s *server) home(dir string) (*home, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.homes[dir]; h != nil {
		return h, nil
	}
	app := s.app.At(dir)
	if s.trust {
		if cfg, err := app.Config(dir); err == nil { // else the client says what is wrong with it
			for _, c := range cfg.CustomAgents() {
				if err := app.TrustAgent(context.Background(), c.Name, true); err != nil {
					return nil, err
				}
			}
		}
	}
	o, err := drawbar.Configured(dir)
	if err != nil {
		return nil, err
	}
	o.Logger, o.Control = s.app.Logger(), true
	client, err := drawbar.New(o)
	if err != nil {
		return nil, err
	}
	h := &home{app, client}
	s.homes[dir] = h
	return h, nil
}

// endedKept is how many ended runs are at hand; the record has the others.
const endedKept = 64

// over takes note that a run has ended.
func (s *server) over(id execution.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = append(s.ended, id); len(s.ended) > endedKept {
		delete(s.runs, s.ended[0])
		s.ended = slices.Delete(s.ended, 0, 1)
	}
}

// take returns a run of this client.
func (s *server) take(id execution.RunID) (*agent.Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.runs[id]
	return r, ok
}
