package configfile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

type span struct{ from, to int }

// tomlText is the positions of the parts of a TOML text.
type tomlText struct{ sections []tomlSection }

// tomlSection is the top of the file or the content of a header.
type tomlSection struct {
	path    Path
	list    bool // [[path]]
	listed  bool // in or below a list of tables
	header  span // the whole line; zero for the top of the file
	entries []tomlEntry
	next    int // start of the next header's line
}

// end is the end of the section's text: comments directly above the next header belong to that header.
func (s *tomlSection) end(text []byte) int {
	if s.next == len(text) {
		return s.next
	}
	last := s.header.to
	if n := len(s.entries); n > 0 {
		last = s.entries[n-1].line.to
	}
	lines := slices.Collect(bytes.Lines(text[last:s.next]))
	at := s.next
	for _, line := range slices.Backward(lines) {
		if t := bytes.TrimSpace(line); len(t) == 0 || t[0] != '#' {
			break
		}
		at -= len(line)
	}
	return at
}

// tomlEntry is one key = value.
type tomlEntry struct {
	full  Path
	line  span // from the start of its first line to the end of its last, including a comment there
	value span
}

// scanTOML finds the parts of valid TOML.
func scanTOML(text []byte) *tomlText {
	doc := &tomlText{sections: []tomlSection{{}}}
	var lists []Path
	sec := &doc.sections[0]
	for i := 0; i < len(text); {
		start := i
		i = skipBlank(text, i)
		switch {
		case i >= len(text):
		case text[i] == '\n' || text[i] == '\r':
			i++
		case text[i] == '#':
			i = lineEndAt(text, i)
		case text[i] == '[':
			list := i+1 < len(text) && text[i+1] == '['
			from := i + 1
			if list {
				from++
			}
			path, end := tomlKeyAt(text, from)
			i = lineEndAt(text, end)
			if i < len(text) {
				i++
			}
			sec.next = start
			if list {
				lists = append(lists, path)
			}
			below := slices.ContainsFunc(lists, func(l Path) bool { return hasPrefix(path, l) })
			doc.sections = append(doc.sections, tomlSection{path: path, list: list, listed: below, header: span{start, i}})
			sec = &doc.sections[len(doc.sections)-1]
		default:
			key, end := tomlKeyAt(text, i)
			from := skipBlank(text, end+1)
			to := skipTOMLValue(text, from)
			i = lineEndAt(text, to)
			if i < len(text) {
				i++
			}
			sec.entries = append(sec.entries, tomlEntry{full: slices.Concat(sec.path, key), line: span{start, i}, value: span{from, to}})
		}
	}
	sec.next = len(text)
	return doc
}

func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

// skipSpace skips white space, line ends and comments.
func skipSpace(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '#':
			i = lineEndAt(text, i)
		default:
			return i
		}
	}
	return i
}

// lineEndAt returns the offset of the next line feed.
func lineEndAt(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// tomlKeyAt reads a dotted key and returns the offset after it: = or ].
func tomlKeyAt(text []byte, i int) (Path, int) {
	var path Path
	for i < len(text) {
		i = skipBlank(text, i)
		from := i
		switch {
		case i < len(text) && (text[i] == '"' || text[i] == '\''):
			i = skipTOMLString(text, i)
			var v struct{ K string }
			if toml.Unmarshal(slices.Concat([]byte("K = "), text[from:i]), &v) != nil {
				return path, i
			}
			path = append(path, v.K)
		default:
			for i < len(text) && !strings.ContainsRune(" \t.=]\r\n", rune(text[i])) {
				i++
			}
			path = append(path, string(text[from:i]))
		}
		i = skipBlank(text, i)
		if i >= len(text) || text[i] != '.' {
			return path, i
		}
		i++
	}
	return path, i
}

// skipTOMLString returns the offset after the string that starts at i.
func skipTOMLString(text []byte, i int) int {
	quote := text[i]
	if triple := bytes.Repeat([]byte{quote}, 3); bytes.HasPrefix(text[i:], triple) {
		for i += 3; i < len(text); i++ {
			if quote == '"' && text[i] == '\\' {
				i++
			} else if bytes.HasPrefix(text[i:], triple) {
				i += 3
				// Up to two quotes may precede the closing three.
				for n := 0; n < 2 && i < len(text) && text[i] == quote; n++ {
					i++
				}
				return i
			}
		}
		return len(text)
	}
	for i++; i < len(text); i++ {
		if quote == '"' && text[i] == '\\' {
			i++
		} else if text[i] == quote {
			return i + 1
		}
	}
	return len(text)
}

// skipTOMLValue returns the offset after the value that starts at i.
func skipTOMLValue(text []byte, i int) int {
	if i >= len(text) {
		return i
	}
	switch text[i] {
	case '"', '\'':
		return skipTOMLString(text, i)
	case '[', '{':
		close := byte(']')
		if text[i] == '{' {
			close = '}'
		}
		for i++; i < len(text); {
			i = skipSpace(text, i)
			switch {
			case i >= len(text):
			case text[i] == close:
				return i + 1
			case text[i] == ',':
				i++
			case close == '}':
				_, end := tomlKeyAt(text, i)
				i = skipTOMLValue(text, skipSpace(text, end+1))
			default:
				i = skipTOMLValue(text, i)
			}
		}
		return i
	}
	from := i
	for i < len(text) && !strings.ContainsRune(",]}#\r\n", rune(text[i])) {
		i++
	}
	return from + len(bytes.TrimRight(text[from:i], " \t"))
}
