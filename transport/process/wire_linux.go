package process

import (
	"io"
	"strings"
)

// The protocol of keeper and host. The host sends one order and then commands of two bytes; the keeper sends messages
// of 17 bytes.
const (
	opSignal  = 'S' // to the group
	opKill    = 'K' // the whole tree
	opStarted = 'P' // process id, start time
	opFailed  = 'E' // errno
	opExited  = 'X' // wait status
	opDone    = 'D' // the tree is gone; how many had to be killed
)

type message struct {
	op   byte
	a, b int64
}

const messageSize = 17

// orderHead is the length of the part of an order that contains the length of the rest.
const orderHead = 8

func appendMessage(b []byte, m message) []byte {
	b = append(b, m.op)
	b = appendNumber(b, uint64(m.a))
	return appendNumber(b, uint64(m.b))
}

func readMessage(r io.Reader) (message, error) {
	var b [messageSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return message{}, err
	}
	return message{op: b[0], a: int64(number(b[1:])), b: int64(number(b[9:]))}, nil
}

// order is what the keeper starts.
type order struct {
	path, dir, mark, group string
	pty                    bool
	argv, env              []string
	scratch                []string // folders to remove with the tree when the host is gone
}

// encodeOrder encodes the total length, the counts, and every string prefixed by its length.
func encodeOrder(o order) []byte {
	size := 0
	for _, list := range [][]string{o.argv, o.env, o.scratch} {
		for _, s := range list {
			size += 8 + len(s)
		}
	}
	b := make([]byte, orderHead, 256+size+len(o.path)+len(o.dir)+len(o.group))
	flags := uint64(0)
	if o.pty {
		flags = 1
	}
	b = appendNumber(b, flags)
	for _, s := range []string{o.path, o.dir, o.mark, o.group} {
		b = appendString(b, s)
	}
	for _, list := range [][]string{o.argv, o.env, o.scratch} {
		b = appendNumber(b, uint64(len(list)))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	appendNumber(b[:0], uint64(len(b)-orderHead))
	return b
}

func decodeOrder(b []byte) (o order, ok bool) {
	text := func() string {
		n := take(&b)
		if n > uint64(len(b)) {
			b = nil
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return strings.Clone(s)
	}
	o.pty = take(&b) == 1
	o.path, o.dir, o.mark, o.group = text(), text(), text(), text()
	for _, list := range []*[]string{&o.argv, &o.env, &o.scratch} {
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
