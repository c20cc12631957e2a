package usagescan

import (
	"encoding/binary"
	"math/bits"

	"github.com/drawbar/drawbar/history"
)

// Hash makes keys from the parts that identify a call. It is the same in every process, because keys are stored; it
// is not collision-resistant against people who craft their own session files.
type Hash struct{ a, b uint64 }

const (
	prime1 = 0x9e3779b97f4a7c15
	prime2 = 0xc2b2ae3d27d4eb4f
	prime3 = 0x165667b19e3779f9
)

// Bytes adds a part; parts are delimited.
func (h *Hash) Bytes(p []byte) *Hash {
	n := uint64(len(p))
	for len(p) >= 8 {
		h.word(binary.LittleEndian.Uint64(p))
		p = p[8:]
	}
	var last uint64
	for i, c := range p {
		last |= uint64(c) << (8 * i)
	}
	h.word(last)
	h.word(n)
	return h
}

// Text adds a part.
func (h *Hash) Text(s string) *Hash {
	n := uint64(len(s))
	for len(s) >= 8 {
		h.word(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	var last uint64
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	h.word(last)
	h.word(n)
	return h
}

// Int adds a part.
func (h *Hash) Int(n int64) *Hash { h.word(uint64(n)); return h }

// word mixes eight bytes into both halves with one wide multiplication each.
func (h *Hash) word(w uint64) {
	hi, lo := bits.Mul64(h.a^w^prime1, prime2)
	h.a = hi ^ lo
	hi, lo = bits.Mul64(h.b^bits.RotateLeft64(w, 32)^prime3, prime1)
	h.b = hi ^ lo ^ h.a
}

// Key returns the key of the parts.
func (h *Hash) Key() history.UsageKey {
	g := *h
	g.word(prime3)
	g.word(prime2)
	var k history.UsageKey
	binary.LittleEndian.PutUint64(k[:8], g.a|1) // never the zero key
	binary.LittleEndian.PutUint64(k[8:], g.b)
	return k
}

// Sum returns the key as one word, never 0.
func (h *Hash) Sum() uint64 {
	k := h.Key()
	return binary.LittleEndian.Uint64(k[8:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(k[:8]), 29) | 1
}

// Parts returns the state that Resume continues from.
func (h *Hash) Parts() [2]uint64 { return [2]uint64{h.a, h.b} }

// Resume continues with parts that were added before.
func Resume(parts [2]uint64) *Hash { return &Hash{parts[0], parts[1]} }
