package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is the syntax of a file.
type Format string

// The formats. JSON is the strict form; JSONC allows comments and trailing commas, JSON5 all that json5.org has.
const (
	JSON  Format = "json"
	JSONC Format = "jsonc"
	JSON5 Format = "json5"
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// maxSize bounds the size of a configuration file.
const maxSize = 32 << 20

// SyntaxError is text that cannot be parsed. Line and Column count from 1; they are 0 if the position is unknown.
type SyntaxError struct {
	File    string
	Line    int
	Column  int
	Message string
}

// Error includes the position and the reason.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// PathError is a path that cannot be followed; Message is the obstacle.
type PathError struct {
	File    string
	Path    Path
	Message string
}

// Error includes the file, the path and the reason.
func (e *PathError) Error() string { return e.File + ": " + e.Path.String() + " " + e.Message }

// ErrUnsafe matches the refusal of an edit that would have changed more than requested.
var ErrUnsafe = errors.New("the edit would change more than the value")

// Document is the text of a configuration file. It is not safe for concurrent use.
type Document struct {
	format Format
	name   string
	bom    bool
	text   []byte // without the byte order mark
	value  map[string]any
}

// syntax is one format. Texts have no byte order mark and were decoded without error; edits must preserve every byte
// outside the change.
type syntax interface {
	decode(text []byte) (map[string]any, *SyntaxError)
	// set replaces or adds the value at path. A value that is an object is empty or newly created.
	set(text []byte, path Path, v any) ([]byte, error)
	unset(text []byte, path Path) ([]byte, error)
}

var (
	bomMark  = []byte("\xef\xbb\xbf")
	syntaxes = map[Format]syntax{JSON: jsonSyntax{JSON}, JSONC: jsonSyntax{JSONC}, JSON5: jsonSyntax{JSON5}, TOML: tomlSyntax{}, YAML: yamlSyntax{}}
)

// Parse parses a document. name is used in errors only. Empty text is an empty document. The error is a *SyntaxError.
func Parse(format Format, name string, data []byte) (*Document, error) {
	s, ok := syntaxes[format]
	if !ok {
		return nil, &SyntaxError{File: name, Message: fmt.Sprintf("%q is not a configuration format", format)}
	}
	if len(data) > maxSize {
		return nil, &SyntaxError{File: name, Message: fmt.Sprintf("has %d bytes, more than a configuration file may have (%d)", len(data), maxSize)}
	}
	d := &Document{format: format, name: name}
	d.text, d.bom = bytes.Clone(data), bytes.HasPrefix(data, bomMark)
	if d.bom {
		d.text = d.text[len(bomMark):]
	}
	if i := bytes.IndexByte(d.text, 0); i >= 0 {
		line, column := position(d.text, i)
		return nil, &SyntaxError{File: name, Line: line, Column: column, Message: "contains a NUL byte: not a text file"}
	}
	v, fault := contain(func() (map[string]any, *SyntaxError) { return s.decode(d.text) })
	if fault != nil {
		fault.File = name
		return nil, fault
	}
	d.value = v
	return d, nil
}

// contain converts a parser's panic to a syntax error.
func contain(decode func() (map[string]any, *SyntaxError)) (v map[string]any, fault *SyntaxError) {
	defer func() {
		if p := recover(); p != nil {
			v, fault = nil, &SyntaxError{Message: fmt.Sprintf("cannot be parsed: %v", p)}
		}
	}()
	return decode()
}

// Bytes returns the text.
func (d *Document) Bytes() []byte {
	if d.bom {
		return slices.Concat(bomMark, d.text)
	}
	return bytes.Clone(d.text)
}

// Value returns the whole document: map[string]any, []any, string, bool, int64, float64, nil; numbers out of range
// and dates are strings. The caller owns it.
func (d *Document) Value() map[string]any { return clone(d.value).(map[string]any) }

// Get returns the value at a path and whether it exists. The last of duplicate keys counts.
func (d *Document) Get(path Path) (any, bool) {
	v, ok := lookup(d.value, path)
	return clone(v), ok
}

// Set sets the value at path. An object is merged key by key; anything else replaces the old value. Missing objects
// on the path are created. A path through a value that is not an object is a *PathError. On error nothing changes.
//
// Values are those of Value and Pairs, and also all integers, float32, json.Number, []string and map[string]string.
func (d *Document) Set(path Path, value any) error {
	v, err := normalize(value)
	if err != nil {
		return &PathError{d.name, path, err.Error()}
	}
	next := *d
	if err := next.set(path, v); err != nil {
		return err
	}
	*d = next
	return nil
}

// Merge sets every member of an object below path; other keys stay.
func (d *Document) Merge(path Path, values map[string]any) error { return d.Set(path, values) }

func (d *Document) set(path Path, v any) error {
	if len(path) == 0 {
		if _, ok := asPairs(v); !ok {
			return &PathError{d.name, path, "is the whole document and accepts an object only"}
		}
	}
	for i := range path {
		if have, ok := lookup(d.value, path[:i]); ok && have != nil {
			if _, object := have.(map[string]any); !object {
				return &PathError{d.name, path, fmt.Sprintf("cannot be set: %s is %s, not an object", path[:i], describe(have))}
			}
		}
	}
	have, exists := lookup(d.value, path)
	if pairs, ok := asPairs(v); ok {
		if _, object := have.(map[string]any); object {
			for _, p := range pairs {
				if err := d.set(append(slices.Clip(path), p.Key), p.Value); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if exists && equal(have, plain(v)) {
		return nil
	}
	want := assign(clone(d.value), path, plain(v))
	return d.edit(path, []any{want}, func() ([]byte, error) { return syntaxes[d.format].set(d.text, path, v) })
}

// Unset removes the value at path and reports whether it existed. An object left empty stays, except one that TOML
// does not name in a line of its own.
func (d *Document) Unset(path Path) (bool, error) {
	if _, ok := lookup(d.value, path); !ok || len(path) == 0 {
		return false, nil
	}
	want := []any{remove(clone(d.value), path)}
	for n := len(path) - 1; n > 0 && d.format == TOML; n-- {
		rest := want[len(want)-1]
		if m, ok := lookup(rest, path[:n]); !ok || len(m.(map[string]any)) > 0 {
			break
		}
		want = append(want, remove(clone(rest), path[:n]))
	}
	return true, d.edit(path, want, func() ([]byte, error) { return syntaxes[d.format].unset(d.text, path) })
}

// edit applies change if the result is one of the wanted values.
func (d *Document) edit(path Path, want []any, change func() ([]byte, error)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PathError{d.name, path, fmt.Sprintf("cannot be edited: %v", p)}
		}
	}()
	text, err := change()
	if err != nil {
		return &PathError{d.name, path, err.Error()}
	}
	got, fault := syntaxes[d.format].decode(text)
	if fault != nil || !slices.ContainsFunc(want, func(w any) bool { return equal(got, w) }) {
		return fmt.Errorf("%s: %s: %w; edit it by hand", d.name, path, ErrUnsafe)
	}
	d.text, d.value = text, got
	return nil
}

// position returns the line and column of an offset, from 1.
func position(text []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(text))
	before := text[:offset]
	return 1 + bytes.Count(before, []byte("\n")), 1 + offset - (bytes.LastIndexByte(before, '\n') + 1)
}

// lineEnd returns the line ending of a text.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentAt returns the leading white space of the line at an offset.
func indentAt(text []byte, offset int) string {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	end := start
	for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
		end++
	}
	return string(text[start:end])
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// splice replaces text[from:to].
func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

func describe(v any) string {
	switch v.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	}
	return "a " + strings.TrimRight(fmt.Sprintf("%T", v), "0123456789")
}
