package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/near"
)

// node is one JSON value with its path. Scripts are read through nodes rather than struct tags, because every fault
// must be reported with its path, and encoding/json stops at the first and hides repeated keys. Members and items are
// parsed on demand, so that a deeply nested tool input costs nothing.
type node struct {
	path  string
	kind  byte // one of { [ " 0 t and n: object, array, string, number, boolean, null
	raw   json.RawMessage
	text  string // of a string or a number
	truth bool
}

type member struct {
	key   string
	value *node
}

// parseNode reads one JSON document.
func parseNode(data []byte) (*node, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8 text")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column := position(data, int(syntax.Offset))
			return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
		}
		return nil, err
	}
	return newNode(whole, ""), nil
}

// newNode returns the node of valid JSON without space around it.
func newNode(raw json.RawMessage, path string) *node {
	n := &node{path: path, raw: raw, kind: '0'}
	switch c := raw[0]; c {
	case '{', '[', 'n':
		n.kind = c
	case '"':
		n.kind = '"'
		_ = json.Unmarshal(raw, &n.text) // valid
	case 't', 'f':
		n.kind, n.truth = 't', c == 't'
	default:
		n.text = string(raw)
	}
	return n
}

// members returns the members of an object in order, repeated keys included.
func (n *node) members() []member {
	if n.kind != '{' {
		return nil
	}
	var list []member
	for d := n.decoder(); d.More(); {
		// The JSON is valid, so neither can fail.
		key, _ := d.Token()
		name, _ := key.(string)
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			break
		}
		list = append(list, member{name, newNode(raw, joinPath(n.path, name))})
	}
	return list
}

// items returns the elements of an array.
func (n *node) items() []*node {
	if n.kind != '[' {
		return nil
	}
	var list []*node
	for d := n.decoder(); d.More(); {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			break
		}
		list = append(list, newNode(raw, n.path+"["+strconv.Itoa(len(list))+"]"))
	}
	return list
}

// decoder is positioned after the opening bracket.
func (n *node) decoder() *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(n.raw))
	_, _ = d.Token()
	return d
}

func joinPath(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\" \t\n") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, len(before) - (bytes.LastIndexByte(before, '\n') + 1)
}

func (n *node) kindName() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't':
		return "true or false"
	}
	return "null"
}

// faults collects the faults of a script.
type faults struct {
	list    []Fault
	omitted int
}

func (f *faults) add(path, format string, args ...any) {
	if path == "" {
		path = "script"
	}
	if len(f.list) == maxFaults {
		f.omitted++
		return
	}
	f.list = append(f.list, Fault{Path: path, Message: fmt.Sprintf(format, args...)})
}

// object returns the members of n by key, and reports unknown and repeated keys.
func (f *faults) object(n *node, keys ...string) map[string]*node {
	found := map[string]*node{}
	if n == nil {
		return found
	}
	if n.kind != '{' {
		f.add(n.path, "want an object, have %s", n.kindName())
		return found
	}
	for _, m := range n.members() {
		switch {
		case found[m.key] != nil:
			f.add(m.value.path, "key given twice")
		case len(keys) > 0 && !slices.Contains(keys, m.key):
			f.add(m.value.path, "unknown key; %s", suggestion(m.key, keys))
		default:
			found[m.key] = m.value
		}
	}
	return found
}

func (f *faults) str(n *node) string {
	if n == nil {
		return ""
	}
	if n.kind != '"' {
		f.add(n.path, "want a string, have %s", n.kindName())
	}
	return n.text
}

func (f *faults) boolean(n *node) bool {
	if n == nil {
		return false
	}
	if n.kind != 't' {
		f.add(n.path, "want true or false, have %s", n.kindName())
	}
	return n.truth
}

// integer returns the integer n from low to high, or 0 if missing.
func (f *faults) integer(n *node, low, high int64) int64 {
	if n == nil {
		return 0
	}
	if n.kind != '0' {
		f.add(n.path, "want a number, have %s", n.kindName())
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < low || v > high {
		f.add(n.path, "want a whole number from %d to %d, have %s", low, high, n.text)
		return 0
	}
	return v
}

func (f *faults) elements(n *node) []*node {
	if n == nil {
		return nil
	}
	if n.kind != '[' {
		f.add(n.path, "want a list, have %s", n.kindName())
		return nil
	}
	return n.items()
}

// keyHints name the key for synonyms in other scripted servers.
var keyHints = [][2]string{
	{"args", `use "input"`}, {"arguments", `use "input"`}, {"hang_mid", `use "hang": "mid-text"`},
	{"side_match", `use "side": {"contains": [...]}`},
}

// suggestion returns which key was probably meant.
func suggestion(key string, keys []string) string {
	for _, hint := range keyHints {
		if hint[0] == key {
			return hint[1]
		}
	}
	if best := near.Word(key, keys); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(keys, ", ")
}
