package codex

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

// escapes are what stands for one byte behind a backslash; 0 is for what needs more thought.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f'}

// longText is Value.Str for outputs of commands, which are long and have an escape in every line and hardly any other than
// these: it looks for backslashes only, and copies once.
func longText(v jsonscan.Value) string {
	if _, ok := v.Plain(); ok || v.Kind() != jsonscan.String {
		return v.Str()
	}
	content := v.Raw()
	content = content[1 : len(content)-1]
	if !v.IsASCII() && !utf8.Valid(content) {
		return v.Str()
	}
	var b strings.Builder
	b.Grow(len(content))
	for {
		i := bytes.IndexByte(content, '\\')
		if i < 0 {
			b.Write(content)
			return b.String()
		}
		c := escapes[content[i+1]]
		if c == 0 {
			return v.Str()
		}
		b.Write(content[:i])
		b.WriteByte(c)
		content = content[i+2:]
	}
}
