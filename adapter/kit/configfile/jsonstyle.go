package configfile

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonStyle is the layout of a text, which additions follow.
type jsonStyle struct {
	eol     string
	unit    string // one level of indentation
	compact bool   // everything on one line
	colon   string
}

func jsonStyleOf(text []byte) jsonStyle {
	s := jsonStyle{eol: lineEnd(text), unit: "  ", colon: ": "}
	trimmed := bytes.TrimSpace(text)
	s.compact = len(trimmed) > 2 && !bytes.Contains(trimmed, []byte("\n"))
	if s.compact && !bytes.Contains(trimmed, []byte(`": `)) {
		s.colon = ":"
	}
	// The first indented line is one level deep.
	for line := range bytes.Lines(trimmed) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(rest) > 0 && rest[0] == '"' {
			s.unit = string(line[:n])
			break
		}
	}
	return s
}

// render writes a value; its later lines are indented by indent.
func (s jsonStyle) render(v any, indent string) string {
	var b strings.Builder
	s.write(&b, v, indent)
	return b.String()
}

func (s jsonStyle) write(b *strings.Builder, v any, indent string) {
	open := func(bracket string, n int, item func(i int)) {
		b.WriteString(bracket[:1])
		for i := range n {
			if i > 0 {
				b.WriteString(",")
			}
			if s.compact {
				if i > 0 && s.colon != ":" {
					b.WriteString(" ")
				}
			} else {
				b.WriteString(s.eol + indent + s.unit)
			}
			item(i)
		}
		if n > 0 && !s.compact {
			b.WriteString(s.eol + indent)
		}
		b.WriteString(bracket[1:])
	}
	switch v := v.(type) {
	case Pairs:
		open("{}", len(v), func(i int) {
			b.WriteString(literal(v[i].Key) + s.colon)
			s.write(b, v[i].Value, indent+s.unit)
		})
	case []any:
		open("[]", len(v), func(i int) { s.write(b, v[i], indent+s.unit) })
	default:
		b.WriteString(literal(v))
	}
}

// literal is a scalar as JSON.
func literal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null" // scalars always encode; the comparison after the edit would detect a fault
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// insert adds a member at the end of an object.
func (s jsonStyle) insert(text []byte, v *hujson.Value, o *hujson.Object, key string, value any) []byte {
	open, end := v.StartOffset, v.EndOffset-1
	base := indentAt(text, open)
	if len(o.Members) == 0 {
		inner := bytes.TrimRight(text[open+1:end], " \t\r\n")
		if s.compact {
			return splice(text, open+1+len(inner), end, literal(key)+s.colon+s.render(value, ""))
		}
		indent := base + s.unit
		return splice(text, open+1+len(inner), end, s.eol+indent+literal(key)+s.colon+s.render(value, indent)+s.eol+base)
	}
	last := o.Members[len(o.Members)-1]
	tail := text[last.Value.EndOffset:end]
	comma := commaIn(text, last.Value.EndOffset, end)
	kept := bytes.TrimRight(tail, " \t\r\n")
	previous := open + 1
	if len(o.Members) > 1 {
		previous = o.Members[len(o.Members)-2].Value.EndOffset
	}
	lines := bytes.Contains(text[previous:last.Name.StartOffset], []byte("\n"))
	inline := s
	inline.compact = s.compact || !lines
	separator, indent := " ", ""
	if s.compact && s.colon == ":" {
		separator = ""
	}
	lineComment := bytes.Contains(kept, []byte("//"))
	if lines || lineComment {
		indent = indentAt(text, last.Name.StartOffset)
		separator = s.eol + indent
	}
	added := separator + literal(key) + s.colon + inline.render(value, indent)
	var out []byte
	out = append(out, text[:last.Value.EndOffset]...)
	if comma < 0 {
		out = append(out, ',')
	}
	out = append(out, kept...)
	out = append(out, added...)
	if comma >= 0 {
		out = append(out, ',')
	}
	rest := tail[len(kept):]
	if lineComment && !lines && len(rest) == 0 {
		out = append(out, s.eol...)
	}
	out = append(out, rest...)
	return append(out, text[end:]...)
}
