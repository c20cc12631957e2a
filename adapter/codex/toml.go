package codex

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tomlString writes s as a TOML basic string. An argument -c key=value is read as TOML, and as plain text only where that
// fails, so a text that happens to be TOML must be quoted. Bytes that are no UTF-8 become U+FFFD: TOML has no place for them.
func tomlString(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\f':
			b.WriteString(`\f`)
		case '\r':
			b.WriteString(`\r`)
		default:
			if r < 0x20 || r == 0x7f {
				fmt.Fprintf(&b, `\u%04X`, r)
				continue
			}
			if r == utf8.RuneError {
				r = '\uFFFD'
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// setting is the pair of arguments that overrides one key of Codex's configuration with a text.
func setting(key, value string) []string { return []string{"-c", key + "=" + tomlString(value)} }
