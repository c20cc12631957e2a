// Package control lets another process of the same user control a run: one JSON object per line over a unix
// socket that only that user can open. It transports the verbs of the run handle; events are read from the run
// store.
package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/stranger"
)

// Call is one request. Verb is one of the verbs of a run, or "status", "close-input" and "answer".
type Call struct {
	Verb     string               `json:"verb"`
	Text     string               `json:"text,omitempty"`
	When     execution.When       `json:"when,omitempty"`
	Question execution.QuestionID `json:"interactionId,omitempty"`
	Decision *execution.Decision  `json:"decision,omitempty"`
}

// Reply answers a Call.
type Reply struct {
	OK      bool               `json:"ok"`
	Error   *execution.Error   `json:"error,omitempty"`
	Input   execution.InputID  `json:"inputId,omitempty"`
	State   execution.RunState `json:"state,omitempty"`
	Pending []PendingQuestion  `json:"pending,omitempty"`
}

// PendingQuestion is an unanswered question.
type PendingQuestion struct {
	ID       execution.QuestionID `json:"interactionId"`
	Approval bool                 `json:"approval"`
	Text     string               `json:"text"`
	Detail   string               `json:"detail,omitempty"`
	Always   string               `json:"always,omitempty"` // rule that an answer may allow from now on
	Since    time.Time            `json:"since"`
	// Command and Input are those of a call whose command an answer may change, empty for any other. Of a call whose text an answer may
	// change, Input is there in the status of a call that names the question: it can be long.
	Command string          `json:"command,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
}

// Call returns the call that is asked about, as far as an answer can change it; see its methods Text, WithText and WithCommand.
func (q PendingQuestion) Call() execution.ApprovalRequired {
	a := execution.ApprovalRequired{Editable: len(q.Input) > 0, Input: q.Input, Use: execution.ToolUse{Kind: execution.ToolEdit}}
	if q.Command != "" {
		a.Use = execution.ToolUse{Kind: execution.ToolShell, Command: q.Command}
	}
	return a
}

// String returns the question in words.
func (q PendingQuestion) String() string {
	if q.Detail == "" {
		return q.Text
	}
	return q.Text + ": " + q.Detail
}

const (
	// maxLine limits the size of a call: a prompt of 5 MB with its JSON escapes fits. Calls beyond smallLine
	// are read one at a time.
	maxLine   = 32 << 20
	smallLine = 64 << 10
	// maxCallers limits the connections; an additional one replaces the oldest. callLimit limits the time for
	// one call, closeLimit how long Close waits for a caller to read the answer to a call that was applied.
	maxCallers = 64
	callLimit  = 10 * time.Second
	closeLimit = 200 * time.Millisecond
)

// Server answers calls for one run.
type Server struct {
	listener net.Listener
	run      *agent.Run
	apply    func(*agent.Run, Call) Reply
	path     string
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	closed   bool
	room     *stranger.Room
	large    chan struct{} // one token: a large call is being read
}

// Serve listens at path, which must not be in use, until Close. Only this user can access the socket and its
// directory, which is created if missing; a directory that others can write to is refused.
func Serve(path string, run *agent.Run) (*Server, error) { return serve(path, run, Apply) }

func serve(path string, run *agent.Run, apply func(*agent.Run, Call) Reply) (*Server, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if !info.IsDir() || !private(info) {
		return nil, fmt.Errorf("control socket: %s is not a directory of this user alone", dir)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	s := &Server{listener: l, run: run, apply: apply, path: path, conns: map[net.Conn]struct{}{}, room: stranger.New(maxCallers),
		large: make(chan struct{}, 1)}
	s.wg.Go(s.accept)
	removeDead(dir, time.Now().Add(-deadAge))
	return s, nil
}

const (
	deadAge = time.Minute // a younger socket may be about to be listened at
	deadMax = 100         // looked at by one server
)

// removeDead removes the sockets of killed servers from a directory that several share.
func removeDead(dir string, before time.Time) {
	d, err := os.Open(dir)
	if err != nil {
		return // the next server tries again
	}
	defer d.Close()
	entries, _ := d.ReadDir(deadMax)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Type() != fs.ModeSocket || info.ModTime().After(before) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path) // another server may have removed it
		}
	}
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = struct{}{}
		s.wg.Go(func() { s.serve(c) })
		s.mu.Unlock()
	}
}

func (s *Server) serve(c net.Conn) {
	leave := s.room.Enter(c)
	defer func() {
		leave()
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	out := json.NewEncoder(c)
	for s.allow(c) {
		line, err := s.line(in)
		if err != nil {
			return
		}
		var call Call
		reply := Reply{}
		if err := json.Unmarshal(line, &call); err != nil {
			reply.Error = execution.Errorf(execution.CodeValidation, "control call: %v", err)
		} else {
			reply = s.apply(s.run, call)
		}
		s.allow(c)
		if out.Encode(reply) != nil {
			return
		}
	}
}

// allow gives a connection the time of one call, and reports whether the server still reads calls: one that closes only sends
// answers.
func (s *Server) allow(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	_ = c.SetDeadline(time.Now().Add(callLimit))
	return true
}

// line reads one call.
func (s *Server) line(in *bufio.Reader) (line []byte, err error) {
	large := false
	defer func() {
		if large {
			<-s.large
		}
	}()
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(line), nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxLine:
			return nil, bufio.ErrTooLong
		case len(line) > smallLine && !large:
			s.large <- struct{}{}
			large = true
		}
	}
}

// Apply executes a call on a run of this process.
func Apply(r *agent.Run, c Call) Reply {
	var err error
	var reply Reply
	switch c.Verb {
	case "status":
	case "close-input":
		r.CloseInput()
	case "answer":
		if c.Decision == nil {
			err = execution.Errorf(execution.CodeValidation, "control call: answer needs a decision")
		} else {
			err = r.Answer(c.Question, *c.Decision)
		}
	case string(execution.VerbSend):
		reply.Input, err = r.Send(c.Text, c.When)
	case string(execution.VerbQueue):
		reply.Input, err = r.Queue(c.Text, c.When)
	case string(execution.VerbSteer):
		reply.Input, err = r.Steer(c.Text, c.When)
	case string(execution.VerbContinue):
		reply.Input, err = r.Continue(c.Text)
	case string(execution.VerbApprove):
		err = r.Approve(c.Text)
	case string(execution.VerbDeny):
		err = r.Deny(c.Text)
	case string(execution.VerbInterrupt):
		err = r.Interrupt()
	case string(execution.VerbAbort):
		var cause error
		if c.Text != "" {
			cause = errors.New(c.Text)
		}
		r.Abort(cause)
	case string(execution.VerbPause):
		err = r.Pause()
	case string(execution.VerbResume):
		err = r.Resume()
	default:
		err = execution.Errorf(execution.CodeValidation, "control call: unknown verb %q", c.Verb)
	}
	reply.OK, reply.State = err == nil, r.State()
	if err != nil {
		var e *execution.Error
		if !errors.As(err, &e) {
			e = execution.Errorf(execution.CodeInternal, "%v", err)
		}
		reply.Error = e
	}
	for _, q := range r.Pending() {
		p := PendingQuestion{ID: q.ID, Since: time.UnixMilli(q.CreatedAt).UTC()}
		if a, ok := q.Approval(); ok {
			p.Approval, p.Text, p.Detail, p.Always = true, a.Action, a.Detail, r.Suggest(a)
			if _, ok := a.WithCommand(""); ok {
				p.Command, p.Input = a.Use.Command, a.Input
			} else if _, ok := a.Text(); ok && c.Question == q.ID {
				p.Input = a.Input
			}
		} else if i, ok := q.Body.(execution.InputRequired); ok {
			p.Text, p.Detail = i.Question, i.Context
		}
		reply.Pending = append(reply.Pending, p)
	}
	return reply
}

// Close reads no more calls, removes the socket and waits for all connections to end. A call that was applied is answered: it
// may be the one that ended the run.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.listener.Close()
	for c := range s.conns {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		_ = c.SetWriteDeadline(time.Now().Add(closeLimit))
	}
	s.mu.Unlock()
	s.wg.Wait()
	if rmErr := os.Remove(s.path); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}

// Do makes one call to the run whose socket is at path.
func Do(ctx context.Context, path string, call Call) (Reply, error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrNotExist) { // a turn that asks a model's API itself, or a program that serves none
		return Reply{}, execution.Errorf(execution.CodeStdinNotAvailable, "the run takes no messages from other commands").WithHint("end it with drawbar stop")
	}
	if err != nil {
		return Reply{}, fmt.Errorf("reach the run: %w", err)
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return Reply{}, err
		}
	}
	if err := json.NewEncoder(c).Encode(call); err != nil {
		return Reply{}, fmt.Errorf("reach the run: %w", err)
	}
	var reply Reply
	if err := json.NewDecoder(c).Decode(&reply); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the run ended")
		}
		return Reply{}, fmt.Errorf("reach the run: %w", err)
	}
	if reply.Error != nil {
		return reply, reply.Error
	}
	return reply, nil
}
