package stranger

import (
	"net"
	"testing"
)

type closer struct{ closed bool }

func (c *closer) Close() error { c.closed = true; return nil }

func TestRoom(t *testing.T) {
	t.Parallel()
	r := New(2)
	a, b, c, d := &closer{}, &closer{}, &closer{}, &closer{}
	r.Enter(a)
	leave := r.Enter(b)
	r.Enter(c)
	if !a.closed || b.closed || c.closed {
		t.Error("the oldest must go")
	}
	leave()
	leave()
	if r.Enter(d); b.closed || c.closed || d.closed || r.list.Len() != 2 {
		t.Error("one that left makes room")
	}
}

func TestListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listener{inner, New(1)}
	defer l.Close()
	dial := func() (theirs, ours net.Conn) {
		theirs, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if ours, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		return theirs, ours
	}
	one, first := dial()
	Known(first)
	two, second := dial()
	three, third := dial()
	if _, err := first.Write([]byte("x")); err != nil {
		t.Error("one who is known was closed")
	}
	if _, err := second.Write([]byte("x")); err == nil {
		t.Error("the older stranger was not closed")
	}
	for _, c := range []net.Conn{one, two, three, first, second, third} {
		_ = c.Close()
	}
	if l.Room.list.Len() != 0 {
		t.Error("a closed connection is still in")
	}
}
