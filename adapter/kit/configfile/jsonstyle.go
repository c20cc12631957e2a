package configfile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// jsonStyle is the layout of a text, which additions follow.
type jsonStyle struct {
	eol     string
	unit    string // one level of indentation
	compact bool   // everything on one line
	colon   string
	bare    bool // keys have no quotes where they need none
}

func jsonStyleOf(text []byte, root *hujson.Value) jsonStyle {
	s := jsonStyle{eol: lineEnd(text), unit: "  ", colon: ": "}
	trimmed := bytes.TrimSpace(text)
	s.compact = len(trimmed) > 2 && !bytes.Contains(trimmed, []byte("\n"))
	if o, ok := root.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		first := o.Members[0]
		if s.compact && string(text[first.Name.EndOffset:first.Value.StartOffset]) == ":" {
			s.colon = ":"
		}
		s.bare = !strings.ContainsRune(`"'`, rune(text[first.Name.StartOffset]))
	}
	// The first indented line is one level deep.
	for v := range root.All() {
		start := v.StartOffset
		for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
			start--
		}
		if _, ok := v.Value.(hujson.Literal); ok && start < v.StartOffset && start > 0 && text[start-1] == '\n' {
			s.unit = string(text[start:v.StartOffset])
			break
		}
	}
	return s
}

// bareKey is a key that every reader of JSON5 accepts without quotes.
var bareKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`) })

func (s jsonStyle) key(name string) string {
	if s.bare && bareKey().MatchString(name) {
		return name + s.colon
	}
	return literal(name) + s.colon
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
			b.WriteString(s.key(v[i].Key))
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

// insert adds a member at the end of an object, or with an empty key an element at the end of a list.
func (s jsonStyle) insert(text []byte, v *hujson.Value, key string, value any) []byte {
	list := items(v)
	open, end := v.StartOffset, v.EndOffset-1
	base := indentAt(text, open)
	if len(list) == 0 {
		inner := bytes.TrimRight(text[open+1:end], " \t\r\n")
		if s.compact {
			return splice(text, open+1+len(inner), end, key+s.render(value, ""))
		}
		indent := base + s.unit
		return splice(text, open+1+len(inner), end, s.eol+indent+key+s.render(value, indent)+s.eol+base)
	}
	last := list[len(list)-1]
	tail := text[last.to:end]
	comma := commaIn(text, last.to, end)
	kept := bytes.TrimRight(tail, " \t\r\n")
	previous := open + 1
	if len(list) > 1 {
		previous = list[len(list)-2].to
	}
	lines := bytes.Contains(text[previous:last.from], []byte("\n"))
	inline := s
	inline.compact = s.compact || !lines
	separator, indent := " ", ""
	if s.compact && s.colon == ":" {
		separator = ""
	}
	lineComment := bytes.Contains(kept, []byte("//"))
	if lines || lineComment {
		indent = indentAt(text, last.from)
		separator = s.eol + indent
	}
	added := separator + key + inline.render(value, indent)
	var out []byte
	out = append(out, text[:last.to]...)
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
