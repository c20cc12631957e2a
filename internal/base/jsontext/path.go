package jsontext

import "strings"

// ReplacePath replaces the path of a directory where it is not a part of a longer name.
func ReplacePath(text, dir, with string) string {
	if dir == "" || !strings.Contains(text, dir) {
		return text
	}
	var b strings.Builder
	rest, before := text, byte(0)
	for {
		i := strings.Index(rest, dir)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		if i > 0 {
			before = rest[i-1]
		}
		b.WriteString(rest[:i])
		rest = rest[i+len(dir):]
		if nameByte(before) || len(rest) > 0 && nameByte(rest[0]) {
			b.WriteString(dir)
		} else {
			b.WriteString(with)
		}
		before = dir[len(dir)-1]
	}
}

// nameByte reports whether a byte continues the name of a file.
func nameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
