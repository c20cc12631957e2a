// Package stranger bounds the connections of callers that have not shown yet that they may call.
package stranger

import (
	"container/list"
	"io"
	"net"
	"sync"
)

// Limit is how many strangers a server of one run hears at once. Those who may call say so with their first bytes, so it does
// not bound them.
const Limit = 128

// Room holds connections of strangers. When it is full the oldest is closed for the next one: whoever fills it and says nothing
// keeps nobody out. It is safe for concurrent use.
type Room struct {
	limit int

	mu   sync.Mutex
	list list.List
}

// New makes a room for so many.
func New(limit int) *Room { return &Room{limit: limit} }

// Enter takes a connection in. leave takes it out again, open or closed, and may be called more than once.
func (r *Room) Enter(c io.Closer) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list.Len() >= r.limit {
		oldest := r.list.Front()
		r.list.Remove(oldest)
		_ = oldest.Value.(io.Closer).Close() //nolint:forcetypeassert // only Enter puts something in
	}
	e := r.list.PushBack(c)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list.Remove(e) // nothing when it is out already
	}
}

// Listener hands out connections that are strangers until Known is called with one of them, or they are closed.
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

// Known says that the other end of a connection may call.
func Known(c net.Conn) {
	if c, ok := c.(conn); ok {
		c.leave()
	}
}
