package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds the nesting of values: parsers and editors are recursive.
const maxDepth = 200

// jsonSyntax is a dialect of JSON.
type jsonSyntax struct{ dialect Format }

// parse returns the tree of a text, with the offsets of its parts.
func (s jsonSyntax) parse(text []byte) (hujson.Value, error) {
	if s.dialect == JSON5 {
		return parseJSON5(text)
	}
	return hujson.Parse(text)
}

func (s jsonSyntax) decode(text []byte) (map[string]any, *SyntaxError) {
	if isBlank(text) {
		return map[string]any{}, nil
	}
	if at := tooDeep(text); at >= 0 && s.dialect != JSON5 {
		return nil, faultAt(text, at, fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	if s.dialect == JSON {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &syntax) {
			return nil, faultAt(text, int(syntax.Offset)-1, syntax.Error())
		} else if err != nil {
			return nil, &SyntaxError{Message: err.Error()}
		}
	}
	root, err := s.parse(bytes.Clone(text))
	if err != nil {
		var fault *SyntaxError
		if errors.As(err, &fault) {
			return nil, fault
		}
		fault = &SyntaxError{Message: err.Error()}
		if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &fault.Line, &fault.Column); n == 2 {
			_, message, _ := strings.Cut(err.Error(), ", column ")
			_, fault.Message, _ = strings.Cut(message, ": ")
		}
		return nil, fault
	}
	root.Standardize()
	d := json.NewDecoder(bytes.NewReader(root.Pack()))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &SyntaxError{Message: err.Error()}
	}
	m, ok := v.(map[string]any)
	if !ok {
		line, column := position(text, len(text)-len(bytes.TrimLeft(text, " \t\r\n")))
		return nil, &SyntaxError{Line: line, Column: column, Message: "the top level is " + describe(decoded(v)) + ", not an object"}
	}
	return decoded(m).(map[string]any), nil
}

func faultAt(text []byte, offset int, message string) *SyntaxError {
	line, column := position(text, offset)
	return &SyntaxError{Line: line, Column: column, Message: message}
}

// tooDeep returns the offset of the bracket that nests too deep, or -1. Brackets in comments count too, which only
// matters in hostile files.
func tooDeep(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\n' {
				quoted = false // a quote in a comment
			}
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

// set follows the path while there are objects, then replaces or adds.
func (s jsonSyntax) set(text []byte, path Path, v any) ([]byte, error) {
	if isBlank(text) {
		style := jsonStyle{eol: lineEnd(text), unit: "  ", colon: ": "}
		return []byte(style.render(nest(path, v), "") + style.eol), nil
	}
	root, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	style := jsonStyleOf(text, &root)
	at := &root
	for i := range path {
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return splice(text, at.StartOffset, at.EndOffset, style.render(nest(path[i:], v), indentAt(text, at.StartOffset))), nil
		}
		k := member(o, path[i])
		if k < 0 {
			return style.insert(text, at, style.key(path[i]), nest(path[i+1:], v)), nil
		}
		at = &o.Members[k].Value
	}
	if list, ok := v.([]any); ok {
		if text, ok := s.setList(text, at, list, style); ok {
			return text, nil
		}
	}
	return splice(text, at.StartOffset, at.EndOffset, style.render(v, indentAt(text, at.StartOffset))), nil
}

// setList changes only those elements of a list that differ, so that the others keep their comments. It returns false if too little
// would be left as it is, and in a dialect whose elements it cannot read.
func (s jsonSyntax) setList(text []byte, at *hujson.Value, want []any, style jsonStyle) ([]byte, bool) {
	list, ok := at.Value.(*hujson.Array)
	if !ok || len(list.Elements) == 0 || len(want) == 0 || s.dialect == JSON5 {
		return nil, false
	}
	have := list.Elements
	same := func(i, j int) bool {
		text, err := hujson.Standardize(bytes.Clone(text[have[i].StartOffset:have[i].EndOffset]))
		var v any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		return err == nil && d.Decode(&v) == nil && equal(decoded(v), plain(want[j]))
	}
	before, behind := 0, 0 // elements that stay
	for before < min(len(have), len(want)) && same(before, before) {
		before++
	}
	for behind < min(len(have), len(want))-before && same(len(have)-1-behind, len(want)-1-behind) {
		behind++
	}
	old, added := len(have)-before-behind, len(want)-before-behind
	switch {
	case old == 0 && behind == 0 && added == 1:
		return style.insert(text, at, "", want[before]), true
	case old == 1 && added == 0:
		return cutMember(text, at, before), true
	case old == 1 && added == 1:
		e := have[before]
		return splice(text, e.StartOffset, e.EndOffset, style.render(want[before], indentAt(text, e.StartOffset))), true
	}
	return nil, false
}

// items are where the members of an object, or the elements of a list, stand.
func items(v *hujson.Value) (list []span) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			list = append(list, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			list = append(list, span{e.StartOffset, e.EndOffset})
		}
	}
	return list
}

// unset removes every member of that name: no duplicate may remain.
func (s jsonSyntax) unset(text []byte, path Path) ([]byte, error) {
	for {
		root, err := s.parse(text)
		if err != nil {
			return nil, err
		}
		at := &root
		for _, key := range path[:len(path)-1] {
			o, _ := at.Value.(*hujson.Object)
			if o == nil {
				return text, nil
			}
			k := member(o, key)
			if k < 0 {
				return text, nil
			}
			at = &o.Members[k].Value
		}
		o, _ := at.Value.(*hujson.Object)
		if o == nil {
			return text, nil
		}
		k := member(o, path[len(path)-1])
		if k < 0 {
			return text, nil
		}
		text = cutMember(text, at, k)
	}
}

// member returns the index of the last member with a key, the one that counts.
func member(o *hujson.Object, key string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		var name string
		literal, _ := o.Members[i].Name.Value.(hujson.Literal)
		if json.Unmarshal(literal, &name) == nil && name == key {
			return i
		}
	}
	return -1
}

// nest wraps a value into one object per key.
func nest(path Path, v any) any {
	for i := len(path) - 1; i >= 0; i-- {
		v = Pairs{{path[i], v}}
	}
	return v
}

// cutMember removes a member or an element with its comma, and its line if nothing else is on it. Comments stay.
func cutMember(text []byte, v *hujson.Value, i int) []byte {
	list, closing := items(v), text[v.EndOffset-1]
	from, to := list[i].from, list[i].to
	limit := v.EndOffset - 1
	if i+1 < len(list) {
		limit = list[i+1].from
	}
	before, previous := -1, v.StartOffset+1
	if i > 0 {
		previous = list[i-1].to
	}
	if comma := commaIn(text, to, limit); comma >= 0 {
		if isBlank(text[to:comma]) {
			to = comma + 1
		} else {
			text = splice(text, comma, comma+1, "") // a comment stands between value and comma
		}
	} else if i > 0 {
		before = commaIn(text, previous, from)
	}
	start, end := from, to
	for start > previous && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
		end++
	}
	switch {
	case start > 0 && text[start-1] == '\n' && (end == len(text) || text[end] == '\n' || text[end] == '\r'):
		// The line holds only the member. Its line end is removed, the previous one stays.
		for end < len(text) && text[end] == '\r' {
			end++
		}
		if end < len(text) && text[end] == '\n' {
			end++
		}
		from, to = start, end
	case i+1 < len(list) && isBlank(text[to:end]):
		to = end // "a": 1, "b": 2
	case i+1 == len(list):
		from = start
	}
	text = splice(text, from, to, "")
	if before >= 0 {
		text = splice(text, before, before+1, "")
	}
	if len(list) == 1 {
		// Close {\n} to {} if nothing is left, not even a comment.
		if close := bytes.IndexByte(text[v.StartOffset+1:], closing); close >= 0 && isBlank(text[v.StartOffset+1:v.StartOffset+1+close]) {
			text = splice(text, v.StartOffset+1, v.StartOffset+1+close, "")
		}
	}
	return text
}

// commaIn returns the offset of a comma outside comments, or -1.
func commaIn(text []byte, from, to int) int {
	for i := from; i < to; i++ {
		switch {
		case text[i] == ',':
			return i
		case bytes.HasPrefix(text[i:to], []byte("//")):
			n := bytes.IndexByte(text[i:to], '\n')
			if n < 0 {
				return -1
			}
			i += n
		case bytes.HasPrefix(text[i:to], []byte("/*")):
			n := bytes.Index(text[i+2:to], []byte("*/"))
			if n < 0 {
				return -1
			}
			i += n + 3
		}
	}
	return -1
}
