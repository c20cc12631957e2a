package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// These functions take the content of a valid string, without its quotes.

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plainRun returns the length of the run of bytes at the start of b that decode to themselves.
func plainRun(b []byte) int {
	i := 0
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if m := ((x ^ backslash) - ones | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] != '\\' && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// appendDecoded appends the decoded content to dst.
func appendDecoded(dst, content []byte) []byte {
	for len(content) > 0 {
		if n := plainRun(content); n > 0 {
			dst = append(dst, content[:n]...)
			if content = content[n:]; len(content) == 0 {
				break
			}
		}
		r, size := decodeOne(content)
		dst = utf8.AppendRune(dst, r)
		content = content[size:]
	}
	return dst
}

func decodedString(content []byte, f flags) string {
	if f&escaped == 0 && utf8.Valid(content) {
		return string(content)
	}
	var small [512]byte
	if len(content) <= len(small)/3 {
		return string(appendDecoded(small[:0], content))
	}
	// Escapes shrink; only invalid UTF-8 grows, which append handles.
	return string(appendDecoded(make([]byte, 0, len(content)), content))
}

// equalDecoded reports whether content decodes to s.
func equalDecoded(content []byte, s string) bool {
	for len(content) > 0 {
		if n := plainRun(content); n > 0 {
			if n > len(s) || string(content[:n]) != s[:n] {
				return false
			}
			content, s = content[n:], s[n:]
			continue
		}
		r, size := decodeOne(content)
		var enc [utf8.UTFMax]byte
		n := utf8.EncodeRune(enc[:], r)
		if n > len(s) || string(enc[:n]) != s[:n] {
			return false
		}
		content, s = content[size:], s[n:]
	}
	return s == ""
}

// decodeOne decodes the escape or the character at the start of content and returns the bytes it takes. An escaped
// surrogate pair is one character; a surrogate without its other half, and a byte of invalid UTF-8, become U+FFFD.
func decodeOne(content []byte) (r rune, size int) {
	if content[0] != '\\' {
		return utf8.DecodeRune(content)
	}
	switch c := content[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = decodeHex(content[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(content) >= 12 && content[6] == '\\' && content[7] == 'u' {
			if pair := utf16.DecodeRune(r, decodeHex(content[8:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	default:
		return rune(c), 2
	}
}

func decodeHex(b []byte) rune {
	return rune(hexDigit[b[0]]-1)<<12 | rune(hexDigit[b[1]]-1)<<8 | rune(hexDigit[b[2]]-1)<<4 | rune(hexDigit[b[3]]-1)
}
