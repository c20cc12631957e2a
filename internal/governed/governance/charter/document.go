package charter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/drawbar/drawbar/govern/protocol"
)

// maxDepth bounds how deep a configuration may be nested; walking it is recursive.
const maxDepth = 64

// value is a JSON value with its place in the text. Members keep their order and their doubles.
type value struct {
	kind    string // as protocol.Kind names it
	at      int    // offset of its first byte
	text    []byte // as written; what a repaired number is written as
	members []member
	items   []*value
	drop    bool // left out by render: it has a type that nothing can decode, or its key stood there already
	index   map[string]*value
}

type member struct {
	key string
	at  int
	v   *value
}

// get is the member that counts: the first of a name.
func (v *value) get(key string) *value {
	if v == nil {
		return nil
	}
	if v.index == nil {
		v.index = make(map[string]*value, len(v.members))
		for _, m := range v.members {
			if v.index[m.key] == nil {
				v.index[m.key] = m.v
			}
		}
	}
	return v.index[key]
}

func (v *value) has(key string) bool { return v.get(key) != nil }

// parse reads a JSON object and its places. What is no such text is one problem with line and column.
func parse(data []byte) (*value, *Problem) {
	fault := func(at int, hint, format string, args ...any) *Problem {
		line, column := position(data, at)
		return &Problem{Severity: SeverityError, Type: SyntaxInvalid, Message: fmt.Sprintf(format, args...), Hint: hint, Line: line, Column: column}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, fault(0, "save the file as UTF-8 without a byte order mark", "begins with a byte order mark")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, fault(i, "save the file as UTF-8", "is no UTF-8 text")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fault(0, "write a new project with: drawbar govern init", "is empty")
	}
	if at := tooDeep(data); at >= 0 {
		return nil, fault(at, "", "is nested more than %d levels deep", maxDepth)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && !bytes.Contains([]byte(err.Error()), []byte("unexpected end")) {
			at = int(syntax.Offset) - 1
		}
		hint := "agentxchain.json is plain JSON"
		if c := bytes.TrimLeft(data[min(max(at, 0), len(data)):], " \t\r\n"); len(c) > 0 && (c[0] == '/' || c[0] == '#') {
			hint = "JSON has no comments: remove it"
		} else if len(c) > 0 && (c[0] == '}' || c[0] == ']') {
			hint = "is there a comma too many before it?"
		}
		return nil, fault(at, hint, "is not JSON: %v", err)
	}
	r := reader{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	r.d.UseNumber()
	root := r.value()
	if root.kind != "object" {
		return nil, fault(root.at, "", "is %s, not an object", article(root.kind))
	}
	return root, nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// tooDeep is the offset of the bracket that nests too deep, or -1.
func tooDeep(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// reader walks text that is known to be JSON.
type reader struct {
	data []byte
	d    *json.Decoder
}

// next is the offset of the token that comes next.
func (r *reader) next() int {
	at := int(r.d.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) value() *value {
	v := &value{at: r.next()}
	v.kind = protocol.Kind(r.data[v.at:])
	t, err := r.d.Token()
	if err != nil {
		panic(err) // the text has been parsed before
	}
	switch t {
	case json.Delim('{'):
		for r.d.More() {
			m := member{at: r.next()}
			key, _ := r.d.Token()
			m.key, _ = key.(string)
			m.v = r.value()
			v.members = append(v.members, m)
		}
		_, _ = r.d.Token()
	case json.Delim('['):
		for r.d.More() {
			v.items = append(v.items, r.value())
		}
		_, _ = r.d.Token()
	}
	v.text = r.data[v.at:r.d.InputOffset()]
	return v
}

// render writes the value without what is to be dropped.
func (v *value) render(b *bytes.Buffer) {
	switch v.kind {
	case "object":
		b.WriteByte('{')
		first := true
		for _, m := range v.members {
			if m.v.drop {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			name, _ := protocol.Marshal(m.key) // a string
			b.Write(name)
			b.WriteByte(':')
			m.v.render(b)
		}
		b.WriteByte('}')
	case "array":
		b.WriteByte('[')
		first := true
		for _, i := range v.items {
			if i.drop {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			i.render(b)
		}
		b.WriteByte(']')
	default:
		b.Write(v.text)
	}
}

// str is the text of a string value.
func (v *value) str() string {
	if v == nil || v.kind != "string" {
		return ""
	}
	var s string
	_ = json.Unmarshal(v.text, &s) // has been parsed before
	return s
}

// position is the line and column of an offset, from 1; columns count characters.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

func article(kind string) string {
	switch kind {
	case "object", "array":
		return "an " + kind
	case "null":
		return "null"
	}
	return "a " + kind
}
