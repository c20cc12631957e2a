package codex

import (
	"bufio"
	"bytes"
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

// topLevelText finds a text before the first table of a TOML file. It is for showing: what is written in any other way than
// as one quoted text on one line is not found.
func topLevelText(data []byte, key string) string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			return ""
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.Trim(strings.TrimSpace(k), `"'`) != key {
			continue
		}
		v = strings.TrimSpace(v)
		if len(v) < 2 || v[0] != '"' && v[0] != '\'' {
			return ""
		}
		end := strings.IndexByte(v[1:], v[0])
		if end < 0 || strings.Contains(v[1:1+end], `\`) {
			return ""
		}
		return v[1 : 1+end]
	}
	return ""
}
