package jsonscan

// Interner returns the same string for repeated strings, such as tool names and ids, so that only the first
// occurrence allocates. It remembers a fixed number of strings of at most 64 bytes each, and of two strings in one
// place the one used last. The zero Interner always copies; it is not safe for concurrent use.
type Interner struct {
	places [][2]string
}

const longestInterned = 64

// NewInterner returns an Interner that remembers at least size strings, and at most twice as many.
func NewInterner(size int) *Interner {
	n := 1
	for 2*n < size {
		n *= 2
	}
	return &Interner{places: make([][2]string, n)}
}

// Bytes returns b as a string.
func (in *Interner) Bytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > longestInterned || len(in.places) == 0 {
		return string(b)
	}
	head, tail := keyWords(b)
	place := &in.places[int(keyHash(head, tail, len(b), 0x9e3779b97f4a7c15)>>33)&(len(in.places)-1)]
	if place[0] == string(b) {
		return place[0]
	}
	if place[1] == string(b) {
		place[0], place[1] = place[1], place[0]
		return place[0]
	}
	place[0], place[1] = string(b), place[0]
	return place[0]
}

// Str returns the decoded content of a string value like Value.Str.
func (in *Interner) Str(v Value) string {
	if content, ok := v.Plain(); ok {
		return in.Bytes(content)
	}
	if v.Kind() != String || len(v.raw) > longestInterned {
		return v.Str()
	}
	var small [3 * longestInterned]byte
	return in.Bytes(v.StrBytes(small[:0]))
}
