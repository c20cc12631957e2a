package cli

import (
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// EscapeJSON escapes characters of a JSON text that a terminal may interpret, or that hide or reorder text, as \u sequences: DEL,
// the C1 controls, and format characters such as those for bidirectional text. The value stays the same. Without such characters it
// returns its argument.
func EscapeJSON(b []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		for i+8 <= len(b) && plain(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		if i == len(b) {
			break
		}
		if b[i] < 0x7F {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			out = append(out, b[from:i]...)
			if r > 0xFFFF {
				out = fmt.Appendf(out, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + n
		}
		i += n
	}
	if out == nil {
		return b
	}
	return append(out, b[from:]...)
}

// plain reports whether each of eight bytes is below DEL.
func plain(eight uint64) bool {
	return (eight|(eight+0x0101010101010101))&0x8080808080808080 == 0
}
