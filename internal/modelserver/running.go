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

// Running is a listening server. It ends with its context or with Close.
type Running struct {
	server   served
	http     *http.Server
	listener net.Listener
	cancel   context.CancelFunc
	unwatch  func() bool

	ended chan struct{} // closed when Serve has returned
	err   error         // of Serve; read after ended
	conns sync.WaitGroup
	once  sync.Once
}

// Listen starts serving on addr, a loopback host and port such as 127.0.0.1:0 or [::1]:8080. Other hosts are refused,
// because the server requires no key. The caller must call Close, or end ctx, which has the same effect.
func (s *Server) Listen(ctx context.Context, addr string) (*Running, error) {
	return listen(ctx, addr, s, s.opts.Logger)
}

// endedKey is the key in a request's context of the channel that is closed when the server ends, not only the request.
type endedKey struct{}

// served is a server of this package.
type served interface {
	http.Handler
	LogError() error
}

func listen(ctx context.Context, addr string, s served, logger *slog.Logger) (*Running, error) {
	if err := checkLoopback(addr); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		// localhost may be any address in a hosts file.
		return nil, errors.Join(fmt.Errorf("listen on %s: it is %s, not a loopback address; use 127.0.0.1:0", addr, listener.Addr()),
			listener.Close())
	}
	base, cancel := context.WithCancel(ctx)
	base = context.WithValue(base, endedKey{}, base.Done())
	r := &Running{server: s, listener: listener, cancel: cancel, ended: make(chan struct{})}
	complaints := log.New(io.Discard, "", 0)
	if logger != nil {
		complaints = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
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
		defer close(r.ended)
		if err := r.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.err = fmt.Errorf("model server: serve: %w", err)
		}
	}()
	r.unwatch = context.AfterFunc(ctx, r.shut)
	return r, nil
}

// URL returns the root of the server, such as http://127.0.0.1:41234, without a trailing slash.
func (r *Running) URL() string { return "http://" + r.listener.Addr().String() }

// Close releases requests that hang or wait, closes all connections, and returns when no goroutine of the server is
// left. It returns the first error of serving and of writing the log. It may be called repeatedly.
func (r *Running) Close() error {
	r.unwatch()
	r.shut()
	return errors.Join(r.err, r.server.LogError())
}

// shut ends the server; later calls wait for the first.
func (r *Running) shut() {
	r.once.Do(func() {
		r.cancel()
		_ = r.http.Close() // only ErrClosed is possible, because the listener is private
		<-r.ended
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
