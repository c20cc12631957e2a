// Package stranger bounds the connections of unauthenticated peers.
package stranger

import (
	"container/list"
	"io"
	"net"
	"sync"
)

// Limit is the number of unauthenticated connections to the server of one run. Authenticated ones are not limited.
const Limit = 128

// Room holds unauthenticated connections. A new one replaces the oldest when it is full, so silent peers cannot block
// others. It is safe for concurrent use.
type Room struct {
	limit int

	mu   sync.Mutex
	list list.List
}

// New returns a room of the given size.
func New(limit int) *Room { return &Room{limit: limit} }

// Enter adds a connection. leave removes it, open or closed, and may be called more than once.
func (r *Room) Enter(c io.Closer) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list.Len() >= r.limit {
		oldest := r.list.Front()
		r.list.Remove(oldest)
		_ = oldest.Value.(io.Closer).Close() //nolint:forcetypeassert // only Enter adds entries
	}
	e := r.list.PushBack(c)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list.Remove(e) // does nothing if it was removed already
	}
}

// Listener accepts connections that count as unauthenticated until Known is called with one of them, or they are
// closed.
type Listener struct {
	net.Listener
	Room *Room
}

type conn struct {
	net.Conn
	leave func()
}

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c, l.Room.Enter(c)}, nil
}

func (c conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// Known marks a connection as authenticated.
func Known(c net.Conn) {
	if c, ok := c.(conn); ok {
		c.leave()
	}
}
