package codex

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// tomlString formats s as a TOML basic string. An argument -c key=value is parsed as TOML, and as plain text only if
// that fails, so a text that happens to be TOML must be quoted. Invalid UTF-8 becomes U+FFFD, because TOML requires
// UTF-8.
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

// setting returns the two arguments that override one key of Codex's configuration with a string.
func setting(key, value string) []string { return []string{"-c", key + "=" + tomlString(value)} }

// topLevelText finds a string before the first table of a TOML file. It is for display only: it finds quoted strings
// on one line and nothing else.
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
