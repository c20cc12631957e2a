package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlSyntax is TOML. The library validates and decodes a text; positions are found by scanning the text, which is
// then known to be well formed.
type tomlSyntax struct{}

func (tomlSyntax) decode(text []byte) (map[string]any, *SyntaxError) {
	if at := tooDeep(text); at >= 0 {
		return nil, faultAt(text, at, fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	m := map[string]any{}
	err := toml.Unmarshal(text, &m)
	var fault *toml.DecodeError
	switch {
	case errors.As(err, &fault):
		line, column := fault.Position()
		return nil, &SyntaxError{Line: line, Column: column, Message: strings.TrimPrefix(fault.Error(), "toml: ")}
	case err != nil:
		return nil, &SyntaxError{Message: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return decoded(m).(map[string]any), nil
}

// set edits the value in place, else adds it to its table, else creates the table.
func (s tomlSyntax) set(text []byte, path Path, v any) ([]byte, error) {
	style := tomlStyle{eol: lineEnd(text)}
	doc := scanTOML(text)
	// The value itself, or an inline table on the path.
	for n := len(path); n > 0; n-- {
		e := doc.entry(path[:n])
		if e == nil {
			continue
		}
		if n == len(path) {
			return splice(text, e.value.from, e.value.to, style.inline(v)), nil
		}
		return style.setInline(text, e.value, path[n:], v)
	}
	if doc.inList(path) {
		return nil, errors.New("is in a list of tables ([[...]]), which must be edited by hand")
	}
	if doc.isTable(path) {
		// A table is replaced by another value: remove its sections first.
		text, err := s.unset(text, path)
		if err != nil {
			return nil, err
		}
		return s.set(text, path, v)
	}
	if pairs, ok := v.(Pairs); ok {
		return style.addTable(text, doc, path, pairs)
	}
	return style.addKey(text, doc, path, v)
}

func (s tomlSyntax) unset(text []byte, path Path) ([]byte, error) {
	doc := scanTOML(text)
	for n := len(path) - 1; n > 0; n-- {
		if e := doc.entry(path[:n]); e != nil {
			return unsetInline(text, e.value, path[n:]), nil
		}
	}
	if doc.inList(path) {
		return nil, errors.New("is in a list of tables ([[...]]), which must be edited by hand")
	}
	var cuts []span
	for i := range doc.sections {
		sec := &doc.sections[i]
		if hasPrefix(sec.path, path) && sec.header.to > 0 {
			cuts = append(cuts, span{sec.header.from, sec.end(text)})
			continue
		}
		for _, e := range sec.entries {
			if hasPrefix(e.full, path) {
				cuts = append(cuts, e.line)
			}
		}
	}
	for _, c := range slices.Backward(cuts) {
		text = splice(text, c.from, c.to, "")
	}
	return text, nil
}

// hasPrefix reports whether path is prefix or below it.
func hasPrefix(path, prefix Path) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// entry returns the last key = value with exactly this path outside lists of tables.
func (d *tomlText) entry(path Path) *tomlEntry {
	for i := range d.sections {
		if d.sections[i].listed {
			continue
		}
		for j := range d.sections[i].entries {
			if e := &d.sections[i].entries[j]; slices.Equal(e.full, path) {
				return e
			}
		}
	}
	return nil
}

// isTable reports whether headers or dotted keys make the path a table.
func (d *tomlText) isTable(path Path) bool {
	for _, sec := range d.sections {
		if hasPrefix(sec.path, path) || slices.ContainsFunc(sec.entries, func(e tomlEntry) bool { return hasPrefix(e.full, path) }) {
			return true
		}
	}
	return len(path) == 0
}

// inList reports whether the path is or is below a list of tables.
func (d *tomlText) inList(path Path) bool {
	for _, sec := range d.sections {
		if sec.list && hasPrefix(path, sec.path) && len(path) > len(sec.path) {
			return true
		}
	}
	return false
}

// section returns the [header] of exactly this path, the top of the file for the empty one, or nil.
func (d *tomlText) section(path Path) *tomlSection {
	for i := range d.sections {
		if sec := &d.sections[i]; slices.Equal(sec.path, path) && !sec.list && !sec.listed {
			return sec
		}
	}
	return nil
}

// dotted returns the section whose dotted keys make path a table, and the number of keys in its header.
func (d *tomlText) dotted(path Path) (*tomlSection, int) {
	for i := range d.sections {
		sec := &d.sections[i]
		for _, e := range sec.entries {
			if !sec.listed && len(sec.path) < len(path) && len(e.full) > len(path) && hasPrefix(e.full, path) {
				return sec, len(sec.path)
			}
		}
	}
	return nil, 0
}

// addKey adds a new key to a table, which may be new as well.
func (s tomlStyle) addKey(text []byte, doc *tomlText, path Path, v any) ([]byte, error) {
	table := path[:len(path)-1]
	if sec := doc.section(table); sec != nil {
		return s.insertLine(text, sec, tomlKey(path[len(path)-1:])+" = "+s.inline(v)), nil
	}
	for n := len(table); n > 0; n-- {
		if sec, depth := doc.dotted(table[:n]); sec != nil {
			return s.insertLine(text, sec, tomlKey(path[depth:])+" = "+s.inline(v)), nil
		}
	}
	return s.addSection(text, doc, table, tomlKey(path[len(path)-1:])+" = "+s.inline(v)+s.eol), nil
}

// addTable adds a new object: as a section, or inline if its siblings are dotted keys.
func (s tomlStyle) addTable(text []byte, doc *tomlText, path Path, pairs Pairs) ([]byte, error) {
	for n := len(path) - 1; n > 0; n-- {
		if sec, depth := doc.dotted(path[:n]); sec != nil {
			return s.insertLine(text, sec, tomlKey(path[depth:])+" = "+s.inline(pairs)), nil
		}
	}
	if len(path) == 0 {
		for _, p := range pairs {
			var err error
			if text, err = (tomlSyntax{}).set(text, Path{p.Key}, p.Value); err != nil {
				return nil, err
			}
		}
		return text, nil
	}
	var body strings.Builder
	s.section(&body, path, pairs)
	out := s.addSection(text, doc, path, "")
	// addSection wrote the header; its content, including sections of its own, follows at the end of the file.
	header := "[" + tomlKey(path) + "]" + s.eol
	at := bytes.LastIndex(out, []byte(header))
	return splice(out, at, at+len(header), body.String()), nil
}

// addSection adds a [header] with its body at the end of the file, or before its first sub-table.
func (s tomlStyle) addSection(text []byte, doc *tomlText, path Path, body string) []byte {
	block := "[" + tomlKey(path) + "]" + s.eol + body
	for _, sec := range doc.sections {
		if len(sec.path) > len(path) && hasPrefix(sec.path, path) && !sec.list {
			return splice(text, sec.header.from, sec.header.from, block+s.eol)
		}
	}
	out := bytes.Clone(text)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, s.eol...)
	}
	if !isBlank(out) && !bytes.HasSuffix(out, []byte("\n\n")) && !bytes.HasSuffix(out, []byte("\n\r\n")) {
		out = append(out, s.eol...)
	}
	return append(out, block...)
}

// insertLine adds a line after the last key of a section.
func (s tomlStyle) insertLine(text []byte, sec *tomlSection, line string) []byte {
	at := sec.header.to
	indent := ""
	if n := len(sec.entries); n > 0 {
		at = sec.entries[n-1].line.to
		indent = indentAt(text, sec.entries[n-1].line.from)
	} else if sec.header.to == 0 {
		at = topComment(text)
	}
	line = indent + line + s.eol
	if at > 0 && text[at-1] != '\n' {
		line = s.eol + line
	}
	// Keep a blank line between the top-level keys and what follows.
	if sec.header.to == 0 && len(sec.entries) == 0 && at < len(text) && text[at] != '\n' && text[at] != '\r' {
		line += s.eol
	}
	return splice(text, at, at, line)
}

// topComment returns the position for the first top-level key: after a comment that is separated from what follows.
func topComment(text []byte) int {
	at := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 {
			return at
		}
		if trimmed[0] != '#' {
			return 0
		}
		at += len(line)
	}
	return at
}
