package turnresult

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/drawbar/drawbar/govern/protocol"
)

// DecodeError says where a staged text is not a turn result. Line and Column count from 1, columns in bytes.
type DecodeError struct {
	Line, Column int
	Message      string
}

// Error names the position.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Decode parses a staged text. It accepts a byte order mark, UTF-16 after one, and one JSON object in a fenced block or
// in prose; the changes list what it did. Several objects, or none, are a *DecodeError, and so is a duplicate key
// anywhere: two readers would see two different results.
func Decode(data []byte) (protocol.RawResult, []protocol.Change, error) {
	whole, changes := unwrap(data)
	trimmed := bytes.TrimSpace(whole)
	if len(trimmed) == 0 {
		return protocol.RawResult{}, nil, &DecodeError{1, 1, "the file is empty"}
	}
	err := syntax(trimmed)
	if err == nil {
		raw, err := decodeObject(whole, bytes.Index(whole, trimmed), trimmed)
		return raw, changes, err
	}
	start, block, rationale, found := find(whole)
	switch {
	case found > 1:
		return protocol.RawResult{}, nil, errorAt(whole, start, "a second JSON object begins here: write only the turn result")
	case found == 0 && trimmed[0] != '{':
		return protocol.RawResult{}, nil, errorAt(whole, bytes.Index(whole, trimmed), "the text contains no JSON object")
	case found == 0:
		return protocol.RawResult{}, nil, errorAt(whole, bytes.Index(whole, trimmed)+place(err, trimmed), "this is not JSON: "+err.Error())
	}
	raw, err := decodeObject(whole, start, block)
	if err != nil {
		return protocol.RawResult{}, nil, err
	}
	around := len(trimmed) - len(block)
	return raw, append(changes, protocol.Change{Field: "$", Original: encode(fmt.Sprintf("%d bytes of text around the object", around)),
		Normalized: null, Rationale: rationale}), nil
}

// unwrap removes a byte order mark and converts to UTF-8.
func unwrap(data []byte) ([]byte, []protocol.Change) {
	change := func(what, rationale string) protocol.Change {
		return protocol.Change{Field: "$", Original: encode(what), Normalized: encode("UTF-8"), Rationale: rationale}
	}
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:], []protocol.Change{change("byte order mark", "byte_order_mark_removed")}
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		big := data[0] == 0xfe
		units := make([]uint16, 0, len(data)/2)
		for b := data[2:]; len(b) >= 2; b = b[2:] {
			u := uint16(b[0]) | uint16(b[1])<<8
			if big {
				u = u<<8 | u>>8
			}
			units = append(units, u)
		}
		return []byte(string(utf16.Decode(units))), []protocol.Change{change("UTF-16", "utf16_decoded")}
	}
	if !utf8.Valid(data) {
		return bytes.ToValidUTF8(data, []byte("\uFFFD")), []protocol.Change{change("bytes that are not UTF-8", "invalid_utf8_replaced")}
	}
	return data, nil
}

// syntax is the syntax error of a JSON text; nil if it is valid.
func syntax(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}

// place is the offset of a syntax error.
func place(err error, data []byte) int {
	var s *json.SyntaxError
	if errors.As(err, &s) && s.Offset > 0 {
		return min(int(s.Offset)-1, max(0, len(data)-1))
	}
	return max(0, len(data)-1)
}

// errorAt is a DecodeError at an offset of the text.
func errorAt(data []byte, offset int, message string) *DecodeError {
	before := data[:max(0, min(offset, len(data)))]
	line := bytes.Count(before, []byte("\n"))
	return &DecodeError{Line: line + 1, Column: len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1, Message: message}
}

// decodeObject decodes the block that begins at an offset of the whole text and is valid JSON.
func decodeObject(whole []byte, offset int, block []byte) (protocol.RawResult, error) {
	if kind := protocol.Kind(block); kind != "object" {
		return protocol.RawResult{}, errorAt(whole, offset, "this is the "+kind+" of a JSON text; a turn result is an object")
	}
	if key, twin := twin(block); twin >= 0 {
		return protocol.RawResult{}, errorAt(whole, offset+twin, fmt.Sprintf("the key %q appears twice in one object", cut(key)))
	}
	var raw protocol.RawResult
	if err := json.Unmarshal(block, &raw); err != nil {
		return protocol.RawResult{}, errorAt(whole, offset, err.Error())
	}
	return raw, nil
}

// twin finds a duplicate key of an object, and its offset; -1 if there is none. The text is valid JSON.
func twin(data []byte) (string, int) {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // the next token of an object is a value
	}
	var stack []level
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return "", -1 // the end: the text is valid
		}
		top := len(stack) - 1
		if top >= 0 && stack[top].keys != nil && !stack[top].value {
			if key, ok := t.(string); ok {
				if stack[top].keys[key] {
					return key, int(d.InputOffset()) - 1
				}
				stack[top].keys[key] = true
				stack[top].value = true
				continue
			}
		}
		switch t {
		case json.Delim('{'):
			if top >= 0 {
				stack[top].value = false
			}
			stack = append(stack, level{keys: map[string]bool{}})
		case json.Delim('['):
			if top >= 0 {
				stack[top].value = false
			}
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
		default:
			if top >= 0 {
				stack[top].value = false
			}
		}
	}
}

// span is a part of a text.
type span struct {
	start int
	block []byte
}

// find locates the turn result in a text that is more than JSON: a fenced block, or an object in prose, that has a key
// only turn results have; otherwise the only fenced block. If there are several, it returns the second.
func find(data []byte) (start int, block []byte, rationale string, found int) {
	fenced := inFences(data)
	likely := slices.DeleteFunc(slices.Clone(fenced), func(s span) bool { return !looksLikeResult(s.block) })
	rationale = "taken_from_fenced_block"
	if len(likely) == 0 {
		likely, rationale = inProse(data), "taken_from_prose"
	}
	if len(likely) == 0 {
		likely, rationale = fenced, "taken_from_fenced_block"
	}
	if len(likely) == 0 {
		return 0, nil, "", 0
	}
	one := likely[min(1, len(likely)-1)]
	return one.start, one.block, rationale, len(likely)
}

// inFences finds the fenced blocks whose content is an object.
func inFences(data []byte) []span {
	var found []span
	open := -1
	var fence string
	for offset := 0; offset < len(data); {
		next := len(data)
		if end := bytes.IndexByte(data[offset:], '\n'); end >= 0 {
			next = offset + end + 1
		}
		line := strings.TrimSpace(string(data[offset:min(next, offset+256)]))
		mark := line[:len(line)-len(strings.TrimLeft(line, "`~"))]
		switch {
		case open < 0 && len(mark) >= 3 && mark[0] == mark[len(mark)-1]:
			open, fence = next, mark
		case open >= 0 && strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "":
			if b := bytes.TrimSpace(data[open:offset]); len(b) > 0 && b[0] == '{' && syntax(b) == nil {
				found = append(found, span{open + bytes.Index(data[open:offset], b), b})
			}
			open = -1
		}
		offset = next
	}
	return found
}

// inProse finds the objects in a text that look like turn results, ignoring braces of sentences and of broken objects.
// The work is linear in the length of the text, whatever braces it has.
func inProse(data []byte) []span {
	var found []span
	budget := 4*len(data) + 1<<16
	for offset := 0; offset < len(data) && budget > 0; {
		i := bytes.IndexByte(data[offset:], '{')
		if i < 0 {
			break
		}
		offset += i
		var raw json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(data[offset:])).Decode(&raw); err != nil {
			var s *json.SyntaxError
			if !errors.As(err, &s) {
				break // the text ends inside this object, and its members are not results
			}
			budget -= int(s.Offset) + 512
			offset++
			continue
		}
		if looksLikeResult(raw) {
			found = append(found, span{offset, raw})
		}
		budget -= len(raw) + 512
		offset += len(raw)
	}
	return found
}

func looksLikeResult(raw json.RawMessage) bool {
	var o struct {
		Version json.RawMessage `json:"schema_version"`
		Turn    json.RawMessage `json:"turn_id"`
	}
	return json.Unmarshal(raw, &o) == nil && (o.Version != nil || o.Turn != nil)
}
