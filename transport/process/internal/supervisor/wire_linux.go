package supervisor

import "io"

// The protocol of keeper and host. The host sends one order and then commands of two bytes; the keeper sends messages
// of 17 bytes.
const (
	OpSignal  = 'S' // to the group
	OpKill    = 'K' // the whole tree
	OpStarted = 'P' // process id, start time
	OpFailed  = 'E' // errno
	OpExited  = 'X' // wait status
	OpDone    = 'D' // the tree is gone; how many had to be killed
)

// Message is what the keeper reports: the meaning of the numbers stands beside the Op constants.
type Message struct {
	Op   byte
	A, B int64
}

const messageSize = 17

// OrderHead is the length of the part of an order that contains the length of the rest.
const OrderHead = 8

func appendMessage(b []byte, m Message) []byte {
	b = append(b, m.Op)
	b = appendNumber(b, uint64(m.A))
	return appendNumber(b, uint64(m.B))
}

// ReadMessage waits for the next message of a keeper.
func ReadMessage(r io.Reader) (Message, error) {
	var b [messageSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Message{}, err
	}
	return Message{Op: b[0], A: int64(number(b[1:])), B: int64(number(b[9:]))}, nil
}

// Order is what the keeper starts.
type Order struct {
	Path, Dir, Mark, Group string
	Pty                    bool
	Argv, Env              []string
	Scratch                []string // folders to remove with the tree when the host is gone
}

// Encode encodes the total length, the counts, and every string prefixed by its length.
func (o Order) Encode() []byte {
	size := 0
	for _, list := range [][]string{o.Argv, o.Env, o.Scratch} {
		for _, s := range list {
			size += 8 + len(s)
		}
	}
	b := make([]byte, OrderHead, 256+size+len(o.Path)+len(o.Dir)+len(o.Group))
	flags := uint64(0)
	if o.Pty {
		flags = 1
	}
	b = appendNumber(b, flags)
	for _, s := range []string{o.Path, o.Dir, o.Mark, o.Group} {
		b = appendString(b, s)
	}
	for _, list := range [][]string{o.Argv, o.Env, o.Scratch} {
		b = appendNumber(b, uint64(len(list)))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	appendNumber(b[:0], uint64(len(b)-OrderHead))
	return b
}

func decodeOrder(b []byte) (o Order, ok bool) {
	text := func() string {
		n := take(&b)
		if n > uint64(len(b)) {
			b = nil
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	o.Pty = take(&b) == 1
	o.Path, o.Dir, o.Mark, o.Group = text(), text(), text(), text()
	for _, list := range []*[]string{&o.Argv, &o.Env, &o.Scratch} {
		n := take(&b)
		if n > uint64(len(b)/8) {
			return o, false
		}
		*list = make([]string, n)
		for i := range *list {
			(*list)[i] = text()
		}
	}
	return o, b != nil && len(b) == 0
}

func appendString(b []byte, s string) []byte { return append(appendNumber(b, uint64(len(s))), s...) }

func appendNumber(b []byte, n uint64) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
}

func number(b []byte) (n uint64) {
	for i := range 8 {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}

// take cuts a number off the front; a short buffer becomes nil and stays nil.
func take(b *[]byte) uint64 {
	if len(*b) < 8 {
		*b = nil
		return 0
	}
	n := number(*b)
	*b = (*b)[8:]
	return n
}
