package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Fields checks the whole line and stores the members that keys names in dst, in one pass and without allocating;
// only an escaped name of more than 64 bytes costs a copy. dst[i] is the value of path i, the zero Value if the line
// has none. dst needs keys.Len() elements; Fields panics with fewer. The error is a *SyntaxError for invalid JSON,
// and ErrNotObject for any other value; dst then holds zero Values. The last of repeated keys counts, with everything
// below it.
func Fields(line []byte, dst []Value, keys *KeySet) error {
	keys.ready()
	dst = dst[:keys.n]
	clear(dst)
	i := 0
	if len(line) == 0 || line[0] != '{' {
		i = skipSpace(line, 0)
		if i == len(line) || line[i] != '{' {
			if _, err := Parse(line); err != nil {
				return err
			}
			return ErrNotObject
		}
	}
	end := keys.scan(line, i, 0, dst)
	if end >= 0 {
		if end < len(line) {
			end = skipSpace(line, end)
		}
		if end == len(line) {
			return nil
		}
		end = ^end
	}
	clear(dst)
	return syntaxError(line, end)
}

// Fields stores the members of an object in dst like the function of that name. It returns false, with zero Values in
// dst, if v is not an object.
func (v Value) Fields(dst []Value, keys *KeySet) bool {
	keys.ready()
	dst = dst[:keys.n]
	clear(dst)
	return v.Kind() == Object && keys.scan(v.raw, 0, 0, dst) >= 0
}

// scan scans the object that starts at i, with depth open containers around it, and stores wanted members.
func (ks *KeySet) scan(b []byte, i, depth int, dst []Value) int {
	if depth >= MaxDepth {
		return ^i
	}
	depth++
	i++
	if i < len(b) && b[i] != '"' {
		if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
			return i + 1
		}
	}
	for {
		if i >= len(b) || b[i] != '"' {
			if i = skipSpace(b, i); i >= len(b) || b[i] != '"' {
				return ^i
			}
		}
		i++
		var e *keyEntry
		start := i
		if len(b)-i >= 8 {
			head := binary.LittleEndian.Uint64(b[i:])
			x := head
			m := (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs
			var seen uint64
			for m == 0 {
				seen |= x
				i += 8
				if len(b)-i < 8 {
					goto slowKey
				}
				x = binary.LittleEndian.Uint64(b[i:])
				m = (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs
			}
			i += bits.TrailingZeros64(m) >> 3
			if b[i] != '"' || (seen|x&(m&-m-1))&highs != 0 {
				goto slowKey
			}
			var tail uint64
			if i-start < 8 {
				head &= m&-m>>7 - 1
			} else {
				tail = binary.LittleEndian.Uint64(b[i-8:])
			}
			e = ks.find(head, tail, b[start:i])
			i++
			goto colon
		}
	slowKey:
		{
			end, f := scanString(b, i)
			if end < 0 {
				return end
			}
			i = end
			key := b[start : end-1]
			if f&escaped != 0 || !isASCII(key) {
				var buf [64]byte
				key = appendDecoded(buf[:0], key)
			}
			head, tail := keyWords(key)
			e = ks.find(head, tail, key)
		}
	colon:
		if i >= len(b) || b[i] != ':' {
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return ^i
			}
		}
		i++
		if i < len(b) && isSpace[b[i]] {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return ^i
		}

		if e != nil {
			for _, s := range e.below {
				dst[s] = Value{}
			}
		}
		var f flags
		start = i
		switch b[i] {
		case '"':
			i++
			var seen uint64
			for len(b)-i >= 8 {
				x := binary.LittleEndian.Uint64(b[i:])
				m := (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs
				if m != 0 {
					seen |= x & (m&-m - 1)
					i += bits.TrailingZeros64(m) >> 3
					break
				}
				seen |= x
				i += 8
			}
			if i < len(b) && b[i] == '"' {
				i++
			} else if i, f = scanString(b, i); i < 0 {
				return i
			}
			if seen&highs != 0 {
				f |= nonASCII
			}
		case '{', '[':
			if e != nil && e.child != nil && b[i] == '{' {
				i = e.child.scan(b, i, depth, dst)
			} else {
				i = scanContainer(b, i, depth)
			}
			if i < 0 {
				return i
			}
		default:
			if i = scanScalar(b, i); i < 0 {
				return i
			}
		}
		if e != nil && e.slot >= 0 {
			dst[e.slot] = Value{raw: b[start:i:i], flags: f}
		}

		if i >= len(b) || b[i] != ',' {
			i = skipSpace(b, i)
			if i >= len(b) {
				return ^i
			}
			if b[i] == '}' {
				return i + 1
			}
			if b[i] != ',' {
				return ^i
			}
		}
		i++
	}
}
