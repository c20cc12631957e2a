package agent

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var lastULID struct {
	sync.Mutex
	ms      uint64
	entropy [10]byte
}

// NewRunID returns a ULID of the current time. Ids from one process ascend, even within a millisecond.
func NewRunID() execution.RunID {
	l := &lastULID
	l.Lock()
	defer l.Unlock()
	if ms := uint64(time.Now().UnixMilli()); ms > l.ms {
		l.ms = ms
		rand.Read(l.entropy[:])
		l.entropy[0] &= 0x7f // leaves room to increment
	} else {
		for i := 9; i >= 0; i-- {
			l.entropy[i]++
			if l.entropy[i] != 0 {
				break
			}
		}
	}
	var b [16]byte
	for i := range 6 {
		b[i] = byte(l.ms >> (40 - 8*i))
	}
	copy(b[6:], l.entropy[:])
	// 128 bits in 26 characters of 5 bits; the first one carries 3.
	var out [26]byte
	var acc, bits uint32
	pos := 25
	for i := 15; i >= 0; i-- {
		acc |= uint32(b[i]) << bits
		bits += 8
		for bits >= 5 && pos >= 0 {
			out[pos] = crockford[acc&31]
			acc >>= 5
			bits -= 5
			pos--
		}
	}
	if pos == 0 {
		out[0] = crockford[acc&31]
	}
	return execution.RunID(out[:])
}
