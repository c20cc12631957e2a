package cli

import (
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// EscapeJSON writes what a terminal may take for a command, or what hides or reorders text, as \u escapes in a JSON text: DEL and the
// C1 controls, and format characters such as those for bidirectional text. It means the same afterwards. Without any it is the
// argument itself.
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
