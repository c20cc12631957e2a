package shape

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Value is a JSON value with its position in the text. Members keep their order and duplicates.
type Value struct {
	Kind    string // object, array, string, number, boolean or null
	At      int    // offset of its first byte
	Text    []byte // as written; the text of a repaired number
	Members []Member
	Items   []*Value
	Drop    bool // omitted by Render: it cannot be decoded, or is a duplicate
	index   map[string]*Value
}

// Member is a key with its value.
type Member struct {
	Key   string
	At    int
	Value *Value
}

// Get returns the member that counts: the first of a name.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	if v.index == nil {
		v.index = make(map[string]*Value, len(v.Members))
		for _, m := range v.Members {
			if v.index[m.Key] == nil {
				v.index[m.Key] = m.Value
			}
		}
	}
	return v.index[key]
}

// Has reports whether there is a member of that name.
func (v *Value) Has(key string) bool { return v.Get(key) != nil }

// Is reports whether the value exists and is not null.
func (v *Value) Is() bool { return v != nil && v.Kind != "null" }

// Str returns the text of a string; empty for anything else.
func (v *Value) Str() string {
	if v == nil || v.Kind != "string" {
		return ""
	}
	var s string
	_ = json.Unmarshal(v.Text, &s) // was parsed before
	return s
}

// Raw returns the text of the value; nil for none.
func (v *Value) Raw() []byte {
	if v == nil {
		return nil
	}
	return v.Text
}

// List returns the elements of an array.
func (v *Value) List() []*Value {
	if v == nil {
		return nil
	}
	return v.Items
}

// Parse parses a text that is known to be JSON.
func Parse(data []byte) *Value {
	r := reader{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	r.d.UseNumber()
	return r.value()
}

type reader struct {
	data []byte
	d    *json.Decoder
}

// next returns the offset of the next token.
func (r *reader) next() int {
	at := int(r.d.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) value() *Value {
	v := &Value{At: r.next()}
	t, err := r.d.Token()
	if err != nil {
		panic(err) // the text was parsed before
	}
	switch t := t.(type) {
	case json.Delim:
		v.Kind = "array"
		if t == '{' {
			v.Kind = "object"
		}
		for r.d.More() {
			if v.Kind == "array" {
				v.Items = append(v.Items, r.value())
				continue
			}
			m := Member{At: r.next()}
			key, _ := r.d.Token()
			m.Key, _ = key.(string)
			m.Value = r.value()
			v.Members = append(v.Members, m)
		}
		_, _ = r.d.Token()
	case string:
		v.Kind = "string"
	case bool:
		v.Kind = "boolean"
	case nil:
		v.Kind = "null"
	default:
		v.Kind = "number"
	}
	v.Text = r.data[v.At:r.d.InputOffset()]
	return v
}

// Render writes the value without the dropped parts.
func (v *Value) Render(b *bytes.Buffer) {
	switch v.Kind {
	case "object":
		b.WriteByte('{')
		for _, m := range v.Members {
			if m.Value.Drop {
				continue
			}
			separate(b, '{')
			name, _ := json.Marshal(m.Key) // a string
			b.Write(name)
			b.WriteByte(':')
			m.Value.Render(b)
		}
		b.WriteByte('}')
	case "array":
		b.WriteByte('[')
		for _, i := range v.Items {
			if !i.Drop {
				separate(b, '[')
				i.Render(b)
			}
		}
		b.WriteByte(']')
	default:
		b.Write(v.Text)
	}
}

// separate writes a comma, except at the start.
func separate(b *bytes.Buffer, begin byte) {
	if text := b.Bytes(); text[len(text)-1] != begin {
		b.WriteByte(',')
	}
}

// Position returns the line and column of an offset, from 1; columns count characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}
