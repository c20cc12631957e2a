package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// The scan functions take the index of a token and return the index after it, or ^pos if the byte at pos (or the end
// of b, pos == len(b)) is invalid.

// Eight bytes of a string are tested at once. A byte ends the fast part of a string when it is a quote or a control
// character (both are below 0x21 once bit 1 is flipped: the quote becomes 0x20, a blank 0x22) or a backslash. Borrows
// run upwards only, so the lowest bit that is set is always a true hit.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080

	flipQuote  = 0x02 * ones
	belowLimit = 0x21 * ones
	backslash  = '\\' * ones
)

// flags describe how a string value is decoded.
type flags uint8

const (
	escaped  flags = 1 << iota // has a backslash
	nonASCII                   // contains bytes from 0x80 up
)

// isSpace has a true for the four bytes that may stand between tokens.
var isSpace = [256]bool{' ': true, '\t': true, '\n': true, '\r': true}

// escapes is true for the bytes that may follow a backslash, except u.
var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// hexDigit holds the value of a hexadecimal digit plus one, zero for every other byte.
var hexDigit = func() (t [256]uint8) {
	for i := range uint8(10) {
		t['0'+i] = i + 1
	}
	for i := range uint8(6) {
		t['a'+i], t['A'+i] = i+11, i+11
	}
	return t
}()

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace[b[i]] {
		i++
	}
	return i
}

// scanString continues inside a string, at any byte of its content, to the byte after the closing quote. The flags
// cover the bytes it has read.
func scanString(b []byte, i int) (int, flags) {
	var f flags
	for {
		var seen uint64
		for len(b)-i >= 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			m := (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs
			if m == 0 {
				seen |= x
				i += 8
				continue
			}
			seen |= x & (m&-m - 1)
			i += bits.TrailingZeros64(m) >> 3
			if b[i] != '\\' || i+1 >= len(b) || !escapes[b[i+1]] {
				break
			}
			f |= escaped // of one byte, the usual case
			i += 2
		}
		if seen&highs != 0 {
			f |= nonASCII
		}
		if i >= len(b) {
			return ^len(b), f
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, f
		case c == '\\':
			f |= escaped
			if i+1 >= len(b) {
				return ^len(b), f
			}
			c = b[i+1]
			if escapes[c] {
				i += 2
				continue
			}
			if c != 'u' {
				return ^(i + 1), f
			}
			for n := i + 2; n < i+6; n++ {
				if n >= len(b) || hexDigit[b[n]] == 0 {
					return ^n, f
				}
			}
			i += 6
		case c < ' ':
			return ^i, f
		default:
			// Only the last seven bytes of a line are tested one by one.
			if c >= 0x80 {
				f |= nonASCII
			}
			i++
		}
	}
}

// scanScalar scans a number or a literal.
func scanScalar(b []byte, i int) int {
	if i >= len(b) {
		return ^len(b)
	}
	switch b[i] {
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word)
	}
	for n := 0; n < len(word) && i < len(b) && b[i] == word[n]; n++ {
		i++
	}
	return ^i
}

func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if n := scanDigits(b, i); n != i {
		i = n
	} else {
		return ^i
	}
	if i < len(b) && b[i] == '.' {
		i++
		n := scanDigits(b, i)
		if n == i {
			return ^i
		}
		i = n
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := scanDigits(b, i)
		if n == i {
			return ^i
		}
		i = n
	}
	return i
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

// scanValue scans any value that starts at i, with depth open containers around it.
func scanValue(b []byte, i, depth int) (int, flags) {
	if i >= len(b) {
		return ^len(b), 0
	}
	switch b[i] {
	case '"':
		return scanString(b, i+1)
	case '{', '[':
		return scanContainer(b, i, depth), 0
	}
	return scanScalar(b, i), 0
}

// scanContainer scans the object or array that starts at i, with depth open containers around it. It keeps the kinds
// of up to 63 open containers in one word and calls itself for the next 63, so the stack stays below 160 frames.
func scanContainer(b []byte, i, depth int) int {
	var (
		c     byte
		x, m  uint64
		stack uint64 = 1 // a one above the kinds of the open containers: 1 for an object
	)

open: // b[i] is an opening bracket
	if depth >= MaxDepth {
		return ^i
	}
	if stack>>63 != 0 {
		if i = scanContainer(b, i, depth); i < 0 {
			return i
		}
		goto after
	}
	depth++
	c = b[i]
	i++
	if c == '[' {
		stack <<= 1
		if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
			goto closed
		}
		goto value
	}
	stack = stack<<1 | 1
	if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
		goto closed
	}

key:
	if i >= len(b) || b[i] != '"' {
		if i = skipSpace(b, i); i >= len(b) || b[i] != '"' {
			return ^i
		}
	}
	i++
	for {
		if len(b)-i < 8 {
			goto slowKey
		}
		x = binary.LittleEndian.Uint64(b[i:])
		if m = (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs; m != 0 {
			break
		}
		i += 8
	}
	i += bits.TrailingZeros64(m) >> 3
	if b[i] == '"' {
		i++
		goto colon
	}
slowKey:
	if i, _ = scanString(b, i); i < 0 {
		return i
	}
colon:
	if i >= len(b) || b[i] != ':' {
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return ^i
		}
	}
	i++

value:
	if i >= len(b) {
		return ^i
	}
	c = b[i]
	if isSpace[c] {
		i++
		goto value
	}
	if c == '{' || c == '[' {
		goto open
	}
	if c != '"' {
		if i = scanScalar(b, i); i < 0 {
			return i
		}
		goto after
	}
	i++
	for {
		if len(b)-i < 8 {
			goto slowString
		}
		x = binary.LittleEndian.Uint64(b[i:])
		if m = (((x ^ flipQuote) - belowLimit) | ((x ^ backslash) - ones)) &^ x & highs; m != 0 {
			break
		}
		i += 8
	}
	i += bits.TrailingZeros64(m) >> 3
	if b[i] == '"' {
		i++
		goto after
	}
slowString:
	if i, _ = scanString(b, i); i < 0 {
		return i
	}

after:
	if i >= len(b) {
		return ^i
	}
	c = b[i]
	if c == ',' {
		i++
		if stack&1 != 0 {
			goto key
		}
		goto value
	}
	if isSpace[c] {
		i++
		goto after
	}
	// '}' is 0x7d and ']' 0x5d: the kind bit picks the one that fits.
	if c != ']'|byte(stack&1)<<5 {
		return ^i
	}
closed: // b[i] is the closing bracket of the innermost container
	i++
	depth--
	if stack >>= 1; stack != 1 {
		goto after
	}
	return i
}
