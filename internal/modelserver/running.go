package modelserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Running is a server that listens. It ends when its context does or Close is called.
type Running struct {
	server   *Server
	http     *http.Server
	listener net.Listener
	cancel   context.CancelFunc
	unwatch  func() bool

	served chan struct{} // closed when Serve has returned
	err    error         // of Serve; read after served
	conns  sync.WaitGroup
	once   sync.Once
}

// Listen starts to serve on addr, a loopback host and port such as 127.0.0.1:0 or [::1]:8080. Other hosts are refused:
// the server asks nobody for a key. The caller must call Close, or end ctx, which does the same.
func (s *Server) Listen(ctx context.Context, addr string) (*Running, error) {
	if err := checkLoopback(addr); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		// localhost may be anything in a hosts file.
		return nil, errors.Join(fmt.Errorf("listen on %s: it is %s, not a loopback address; use 127.0.0.1:0", addr, listener.Addr()),
			listener.Close())
	}
	base, cancel := context.WithCancel(ctx)
	r := &Running{server: s, listener: listener, cancel: cancel, served: make(chan struct{})}
	complaints := log.New(io.Discard, "", 0)
	if s.opts.Logger != nil {
		complaints = slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn)
	}
	r.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: complaints,
		BaseContext: func(net.Listener) context.Context { return base },
		// Close of http.Server does not wait for the connections' goroutines; counting them does.
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				r.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				r.conns.Done()
			}
		},
	}
	go func() {
		defer close(r.served)
		if err := r.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.err = fmt.Errorf("model server: serve: %w", err)
		}
	}()
	r.unwatch = context.AfterFunc(ctx, r.shut)
	return r, nil
}

// URL returns the root of the server, as in http://127.0.0.1:41234, without a slash at the end.
func (r *Running) URL() string { return "http://" + r.listener.Addr().String() }

// Close releases requests that hang or wait, closes all connections, and returns when no goroutine of the server is
// left. It returns the first error of serving and of writing the log. It may be called more than once.
func (r *Running) Close() error {
	r.unwatch()
	r.shut()
	return errors.Join(r.err, r.server.LogError())
}

// shut ends the server; whoever calls it second waits for the first.
func (r *Running) shut() {
	r.once.Do(func() {
		r.cancel()
		_ = r.http.Close() // the listener is ours alone, so that only ErrClosed could come
		<-r.served
		r.conns.Wait()
	})
}

func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%v; use host:port, as in 127.0.0.1:0", err)
	}
	if host == "localhost" {
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		if host == "" {
			host = "an empty host"
		}
		return fmt.Errorf("%s is not a loopback address, and the model server answers anyone who reaches it; use 127.0.0.1:0 or [::1]:0",
			host)
	}
	return nil
}
