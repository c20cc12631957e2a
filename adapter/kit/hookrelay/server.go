package hookrelay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/base/stranger"
)

const (
	// maxPayload bounds the input of a hook: agents include whole files. Its JSON takes up to twice as much.
	maxPayload = 256 << 20
	// maxHello bounds the first frame of a command, and helloLimit the time for it: until its token is verified, the
	// peer may be any local process.
	maxHello   = 1 << 10
	helloLimit = 5 * time.Second
)

// Answer is the output and exit code of the hook's command.
type Answer struct {
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	ExitCode int    `json:"exitCode"`
}

// Handler answers one call of a hook. It is called concurrently; ctx ends when the server closes or the command
// exits.
type Handler func(ctx context.Context, event string, payload []byte) Answer

// Server answers the hook calls of one run. It is safe for concurrent use.
type Server struct {
	handle   Handler
	listener net.Listener
	token    string
	digest   [sha256.Size]byte
	patience time.Duration
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	room     *stranger.Room
}

// place is the content of a run's private file.
type place struct {
	Address    string `json:"address"`
	Token      string `json:"token"`
	PatienceMs int64  `json:"patienceMs"`
}

// hello is the first frame of a command, question the second.
type hello struct {
	Token string `json:"token"`
}

type question struct {
	Event   string `json:"event"`
	Payload []byte `json:"payload"`
}

// Open listens on loopback. patience is how long a command waits for its answer before it denies; it must exceed the
// handler's time limit.
func Open(handle Handler, patience time.Duration) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for hook calls: %w", err)
	}
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	s := &Server{handle: handle, listener: l, token: hex.EncodeToString(secret[:]), patience: patience, room: stranger.New(stranger.Limit)}
	s.digest = sha256.Sum256([]byte(s.token))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(s.serve)
	return s, nil
}

// File returns the content of the private file that Command names.
func (s *Server) File() []byte {
	b, _ := json.Marshal(place{s.listener.Addr().String(), s.token, s.patience.Milliseconds()}) // always encodes
	return b
}

// Close stops the server and waits for its handlers. Waiting commands deny.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	s.work.Wait()
	return err
}

func (s *Server) serve() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // probably out of file descriptors
			continue
		}
		s.work.Go(func() { s.call(c) })
	}
}

// call answers one command.
func (s *Server) call(c net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() { cancel(); stop(); _ = c.Close() }()
	leave := s.room.Enter(c)
	defer leave()
	_ = c.SetReadDeadline(time.Now().Add(min(s.patience, helloLimit)))
	var h hello
	if readFrame(c, &h, maxHello) != nil || !s.authentic(h.Token) {
		return // a peer without the token gets no reply
	}
	leave()
	_ = c.SetReadDeadline(time.Now().Add(s.patience))
	var q question
	if readFrame(c, &q, 2*maxPayload) != nil {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	// The command sends nothing more: the connection ends when it exits.
	s.work.Go(func() {
		var one [1]byte
		_, _ = c.Read(one[:])
		cancel()
	})
	a := s.safely(ctx, q)
	if ctx.Err() == nil {
		_ = c.SetWriteDeadline(time.Now().Add(s.patience))
		_ = writeFrame(c, a)
	}
}

func (s *Server) authentic(token string) bool {
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], s.digest[:]) == 1
}

func (s *Server) safely(ctx context.Context, q question) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = denial(fmt.Sprintf("the hook panicked: %v", p))
		}
	}()
	return s.handle(ctx, q.Event, q.Payload)
}

// denial is the answer if the run gives none.
func denial(why string) Answer {
	return Answer{Stderr: "drawbar: denied: " + why, ExitCode: exitDeny}
}
