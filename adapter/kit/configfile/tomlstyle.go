package configfile

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// tomlStyle writes TOML.
type tomlStyle struct{ eol string }

// tomlKey formats a dotted key.
func tomlKey(path Path) string {
	parts := make([]string, len(path))
	for i, key := range path {
		bare := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		})
		if parts[i] = key; !bare {
			parts[i] = tomlString(key)
		}
	}
	return strings.Join(parts, ".")
}

// tomlString formats a string on one line.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsControl(r):
			b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inline formats a value on one line.
func (s tomlStyle) inline(v any) string {
	switch v := v.(type) {
	case Pairs:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = tomlKey(Path{p.Key}) + " = " + s.inline(p.Value)
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = s.inline(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return tomlString(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return decimal(v)
	}
	return "null" // TOML has no null: the result is refused when it is parsed
}

// decimal formats a number so that TOML and YAML read it as a float.
func decimal(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// section formats a table as a section, and nested tables as sections of their own.
func (s tomlStyle) section(b *strings.Builder, path Path, pairs Pairs) {
	b.WriteString("[" + tomlKey(path) + "]" + s.eol)
	for _, p := range pairs {
		if sub, ok := p.Value.(Pairs); !ok || len(sub) == 0 {
			b.WriteString(tomlKey(Path{p.Key}) + " = " + s.inline(p.Value) + s.eol)
		}
	}
	for _, p := range pairs {
		if sub, ok := p.Value.(Pairs); ok && len(sub) > 0 {
			b.WriteString(s.eol)
			s.section(b, append(slices.Clip(path), p.Key), sub)
		}
	}
}

// inlineMember is one key = value of an inline table.
type inlineMember struct {
	key   Path
	from  int
	value span
}

// inlineMembers returns the members of the inline table at a span, nil for any other value.
func inlineMembers(text []byte, at span) (list []inlineMember, ok bool) {
	if text[at.from] != '{' {
		return nil, false
	}
	for i := at.from + 1; i < at.to; {
		i = skipSpace(text, i)
		if i >= at.to-1 {
			break
		}
		if text[i] == ',' {
			i++
			continue
		}
		key, end := tomlKeyAt(text, i)
		from := skipSpace(text, end+1)
		to := skipTOMLValue(text, from)
		list = append(list, inlineMember{key, i, span{from, to}})
		i = to
	}
	return list, true
}

// setInline sets a value inside an inline table.
func (s tomlStyle) setInline(text []byte, at span, path Path, v any) ([]byte, error) {
	members, ok := inlineMembers(text, at)
	if !ok {
		return nil, errors.New("cannot be set: a value on the path is not a table")
	}
	for _, m := range members {
		if !hasPrefix(path, m.key) {
			continue
		}
		if len(m.key) == len(path) {
			return splice(text, m.value.from, m.value.to, s.inline(v)), nil
		}
		return s.setInline(text, m.value, path[len(m.key):], v)
	}
	added := tomlKey(path) + " = " + s.inline(v)
	if len(members) == 0 {
		return splice(text, at.from, at.to, "{ "+added+" }"), nil
	}
	end := members[len(members)-1].value.to
	return splice(text, end, end, ", "+added), nil
}

// unsetInline removes a value from an inline table.
func unsetInline(text []byte, at span, path Path) []byte {
	members, _ := inlineMembers(text, at)
	for i := len(members) - 1; i >= 0; i-- {
		m := members[i]
		switch {
		case hasPrefix(m.key, path):
			switch {
			case i+1 < len(members):
				text = splice(text, m.from, members[i+1].from, "")
			case i > 0:
				text = splice(text, members[i-1].value.to, m.value.to, "")
			default:
				text = splice(text, m.from, m.value.to, "")
			}
			// Offsets after the cut have moved; those before it, which come next, have not. The following entry is
			// gone.
			members = members[:i:i]
		case hasPrefix(path, m.key):
			return unsetInline(text, m.value, path[len(m.key):])
		}
	}
	return text
}
