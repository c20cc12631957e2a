package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"
)

// KeySet is a list of member names that Fields looks for. It is immutable and safe for concurrent use; declare one
// per message shape at package level. It is compiled on first use, so that programs do not pay for unused sets.
type KeySet struct {
	once  sync.Once
	paths []string
	n     int
	seed  uint64
	shift uint
	table []keyEntry // power of two; the first entry of a hash is at its index, others are linked by next
}

type keyEntry struct {
	head, tail uint64 // first and last eight bytes, as keyWords makes them
	size       int    // -1 marks a free entry
	slot       int32  // index into dst; -1 when only members below this key are wanted
	next       int32  // index of the next entry with the same hash; 0 ends the chain
	name       string
	child      *KeySet // members wanted below this key
	below      []int32 // every slot of child, cleared when the key is met again
}

// NewKeySet returns a set of paths. Slot i of Fields' dst belongs to paths[i]. A path is a member name, or several
// joined by dots, which reach into nested objects within the same pass: "event.delta.text". A backslash before a dot
// or a backslash makes it part of the name. A duplicate path only fills the first of its slots.
func NewKeySet(paths ...string) *KeySet { return &KeySet{paths: paths, n: len(paths)} }

// ready compiles the set on first use.
func (ks *KeySet) ready() { ks.once.Do(ks.build) }

func (ks *KeySet) build() {
	root := &node{}
	for i, p := range ks.paths {
		at := root
		for _, name := range splitPath(p) {
			at = at.sub(name)
		}
		if at.slot < 0 {
			at.slot = int32(i)
		}
	}
	c := root.compile(ks.n)
	ks.seed, ks.shift, ks.table = c.seed, c.shift, c.table
}

// Len returns the number of paths, the minimum length of Fields' dst.
func (ks *KeySet) Len() int { return ks.n }

type node struct {
	name string
	slot int32
	subs []*node
}

func (n *node) sub(name string) *node {
	for _, s := range n.subs {
		if s.name == name {
			return s
		}
	}
	s := &node{name: name, slot: -1}
	n.subs = append(n.subs, s)
	return s
}

func (n *node) slots(list []int32) []int32 {
	for _, s := range n.subs {
		if s.slot >= 0 {
			list = append(list, s.slot)
		}
		list = s.slots(list)
	}
	return list
}

func splitPath(p string) []string {
	var names []string
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p) && (p[i+1] == '.' || p[i+1] == '\\'):
			i++
			b.WriteByte(p[i])
		case c == '.':
			names = append(names, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(names, b.String())
}

// compile searches for a multiplier that gives each key an entry of its own; with few keys in a table of four times
// their number it finds one within a few dozen tries. Otherwise chains keep the lookup correct.
func (n *node) compile(paths int) *KeySet {
	ks := &KeySet{n: paths}
	size := 2
	for size < 4*len(n.subs) {
		size *= 2
	}
	ks.shift = uint(64 - bits.TrailingZeros(uint(size)))
	best := -1
	seed := uint64(0x9e3779b97f4a7c15)
	for range 256 {
		used := make(map[uint64]bool, len(n.subs))
		for _, s := range n.subs {
			head, tail := keyWords(s.name)
			used[keyHash(head, tail, len(s.name), seed)>>ks.shift] = true
		}
		if len(used) > best {
			best, ks.seed = len(used), seed
		}
		if best == len(n.subs) {
			break
		}
		seed = seed*6364136223846793005 + 1442695040888963407 | 1
	}
	ks.table = make([]keyEntry, size, size+len(n.subs))
	for i := range ks.table {
		ks.table[i].size = -1
	}
	for _, s := range n.subs {
		e := keyEntry{size: len(s.name), slot: s.slot, name: s.name}
		e.head, e.tail = keyWords(s.name)
		if len(s.subs) > 0 {
			e.child, e.below = s.compile(paths), s.slots(nil)
		}
		at := &ks.table[keyHash(e.head, e.tail, e.size, ks.seed)>>ks.shift]
		if at.size < 0 {
			*at = e
			continue
		}
		e.next = at.next
		at.next = int32(len(ks.table))
		ks.table = append(ks.table, e)
	}
	return ks
}

// keyWords returns the first eight bytes of a key, zero-filled, and the last eight, zero for shorter keys. Together with
// the length they are the whole key up to sixteen bytes.
func keyWords[T string | []byte](k T) (head, tail uint64) {
	if len(k) < 8 {
		for i := range len(k) {
			head |= uint64(k[i]) << (8 * i)
		}
		return head, 0
	}
	var w [16]byte
	copy(w[:8], k)
	copy(w[8:], k[len(k)-8:])
	return binary.LittleEndian.Uint64(w[:8]), binary.LittleEndian.Uint64(w[8:])
}

func keyHash(head, tail uint64, size int, seed uint64) uint64 {
	return (head ^ bits.RotateLeft64(tail, 7) ^ uint64(size)) * seed
}

// find returns the entry of key, whose words are head and tail, or nil.
func (ks *KeySet) find(head, tail uint64, key []byte) *keyEntry {
	at := keyHash(head, tail, len(key), ks.seed) >> ks.shift
	for {
		e := &ks.table[at]
		if e.head == head && e.tail == tail && e.size == len(key) && (len(key) <= 16 || e.name == string(key)) {
			return e
		}
		if e.next == 0 {
			return nil
		}
		at = uint64(e.next)
	}
}
