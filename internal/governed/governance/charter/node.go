package charter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/near"
)

// Node says what a value of the configuration may be. Exactly one of the kinds below fits.
type Node struct {
	// Kind is object (Keys), map (names of the user's to Values), list (of Items), words (a string or a list of strings),
	// string, integer, number, boolean, or any.
	Kind  string
	Doc   string
	Keys  []Key
	Names string // pattern of the names of a map
	Of    *Node  // of a map's values, of a list's items
	// Closed objects refuse keys that the table does not have; others keep them and warn.
	Closed bool

	Enum    []string
	Pattern string
	// Blank strings are refused unless Blank is set.
	Blank    bool
	MaxLen   int
	Min, Max *float64
	// Above excludes Min itself.
	Above              bool
	MinItems, MaxItems int
	Default            any
	// Null is set where null is a common way to say nothing. It is read so everywhere.
	Null bool
}

// Key is one key of an object.
type Key struct {
	Name string
	Node
	Required bool
}

// Find is the key of that name, in the table.
func (n *Node) Find(name string) (*Key, bool) {
	for i := range n.Keys {
		if n.Keys[i].Name == name {
			return &n.Keys[i], true
		}
	}
	return nil, false
}

// Takes reports whether a map may have an entry of that name.
func (n *Node) Takes(name string) bool {
	return n.Kind == "map" && strings.TrimSpace(name) != "" && (n.Names == "" || matches(n.Names, name))
}

func (n *Node) names() []string {
	list := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		list[i] = k.Name
	}
	return list
}

// At is the node that a path of keys leads to; false when the table does not know it. In a map any name leads on.
func (n *Node) At(path []string) (*Node, bool) {
	for _, key := range path {
		switch n.Kind {
		case "object":
			k, ok := n.Find(key)
			if !ok {
				return nil, false
			}
			n = &k.Node
		case "map":
			n = n.Of
		case "any":
			return n, true
		default:
			return nil, false
		}
	}
	return n, true
}

// shape holds a value against its node, lists every fault, and marks what cannot be decoded.
func (f *findings) shape(n *Node, v *value, field string) {
	before := len(f.list)
	defer func() {
		for i := before; i < len(f.list); i++ {
			if f.list[i].Field == field && f.list[i].Type == WrongType {
				v.drop = true
			}
		}
	}()
	if v.kind == "null" {
		return // as if it were not there
	}
	switch n.Kind {
	case "any":
	case "object":
		if f.kind(v, field, "object") {
			f.object(n, v, field)
		}
	case "map":
		if f.kind(v, field, "object") {
			f.names(n, v, field)
		}
	case "list":
		if f.kind(v, field, "array") {
			f.length(n, len(v.items), field)
			for i, it := range v.items {
				if it.kind == "null" {
					f.add(Problem{Type: WrongType, Field: item(field, i), Message: "is null, not " + n.Of.noun()})
					it.drop = true
					continue
				}
				f.shape(n.Of, it, item(field, i))
			}
		}
	case "words":
		f.words(n, v, field)
	case "string":
		if f.kind(v, field, "string") {
			f.text(n, v.str(), field)
		}
	case "boolean":
		f.kind(v, field, "boolean")
	case "integer", "number":
		if f.kind(v, field, "number") {
			f.number(n, v, field)
		}
	}
}

// noun is what the node takes, for messages.
func (n *Node) noun() string {
	switch n.Kind {
	case "map":
		return "an object"
	case "list":
		return "a list"
	case "words":
		return "a string or a list of strings"
	case "integer":
		return "a whole number"
	case "any":
		return "a value"
	}
	return article(n.Kind)
}

func (f *findings) kind(v *value, field, want string) bool {
	if v.kind == want {
		return true
	}
	noun := article(want)
	if want == "array" {
		noun = "a list"
	}
	hint := ""
	if v.kind == "string" && (want == "number" || want == "boolean") {
		hint = "write it without quotes"
	}
	f.add(Problem{Type: WrongType, Field: field, Message: fmt.Sprintf("is %s, not %s", strings.Replace(article(v.kind), "an array", "a list", 1), noun), Hint: hint})
	return false
}

func (f *findings) object(n *Node, v *value, field string) {
	seen := map[string]bool{}
	for _, m := range v.members {
		at := Path(field, m.key)
		if seen[m.key] {
			f.double(m, at)
			continue
		}
		seen[m.key] = true
		if k, ok := n.Find(m.key); ok {
			f.shape(&k.Node, m.v, at)
			continue
		}
		f.unknown(n, m, at)
	}
	for i := range n.Keys {
		k := &n.Keys[i]
		if k.Required && (!seen[k.Name] || v.get(k.Name).kind == "null") {
			f.missing(Path(field, k.Name), k.want())
		}
	}
}

// want says what to write for a missing key.
func (k *Key) want() string {
	if len(k.Enum) > 0 {
		return "one of " + strings.Join(k.Enum, ", ")
	}
	return k.Doc
}

func (f *findings) double(m member, at string) {
	f.add(Problem{Type: DuplicateKey, Field: at, Message: "stands twice: readers would see different values", Hint: "remove one of them"})
	m.v.drop = true
}

// unknown warns about a key that the table does not have. One that differs in case only is refused: what one reader takes
// for the known key is an unknown one for another.
func (f *findings) unknown(n *Node, m member, at string) {
	names := n.names()
	for _, k := range names {
		if strings.EqualFold(k, m.key) {
			f.add(Problem{Type: UnknownKey, Field: at, Message: "is not a key: keys are lower case", Hint: "write " + k})
			m.v.drop = true
			return
		}
	}
	hint := ""
	if meant := near.Word(m.key, names); meant != "" {
		hint = fmt.Sprintf("did you mean %s?", meant)
	}
	if n.Closed {
		if hint == "" {
			hint = "known are " + strings.Join(names, ", ")
		}
		f.add(Problem{Type: UnknownKey, Field: at, Message: "is not a key that may stand here", Hint: hint})
		return
	}
	f.warn(UnknownKey, at, hint, "is not a known key; it is kept and has no effect")
}

func (f *findings) names(n *Node, v *value, field string) {
	seen := map[string]bool{}
	for _, m := range v.members {
		at := Path(field, m.key)
		if seen[m.key] {
			f.double(m, at)
			continue
		}
		seen[m.key] = true
		switch {
		case strings.TrimSpace(m.key) == "":
			f.invalid(at, "", "has an empty name")
		case n.Names != "" && !matches(n.Names, m.key):
			f.invalid(at, "names match "+n.Names, "%q is no valid name here", m.key)
		}
		if m.v.kind == "null" {
			f.add(Problem{Type: WrongType, Field: at, Message: "is null, not " + n.Of.noun()})
			m.v.drop = true
			continue
		}
		f.shape(n.Of, m.v, at)
	}
}

func (f *findings) words(n *Node, v *value, field string) {
	switch v.kind {
	case "string":
		f.text(n, v.str(), field)
	case "array":
		if len(v.items) == 0 {
			f.invalid(field, "", "is an empty list")
		}
		for i, it := range v.items {
			at := item(field, i)
			if !f.kind(it, at, "string") {
				it.drop = true
			} else if strings.TrimSpace(it.str()) == "" && i == 0 {
				f.invalid(at, "", "is blank")
			}
		}
	default:
		f.add(Problem{Type: WrongType, Field: field, Message: fmt.Sprintf("is %s, not a string or a list of strings", article(v.kind))})
	}
}

func (f *findings) text(n *Node, s, field string) {
	switch {
	case !n.Blank && strings.TrimSpace(s) == "":
		f.invalid(field, "", "is blank")
	case len(n.Enum) > 0 && !slices.Contains(n.Enum, s):
		hint := "one of " + strings.Join(n.Enum, ", ")
		if meant := near.Word(s, n.Enum); meant != "" {
			hint = fmt.Sprintf("did you mean %s? %s", meant, hint)
		}
		f.add(Problem{Type: InvalidValue, Field: field, Message: fmt.Sprintf("cannot be %q", s), Hint: hint, Detail: map[string]any{"valid_values": n.Enum}})
	case n.Pattern != "" && !matches(n.Pattern, s):
		f.invalid(field, "must match "+n.Pattern, "cannot be %q", s)
	case n.MaxLen > 0 && utf8.RuneCountInString(strings.TrimSpace(s)) > n.MaxLen:
		f.invalid(field, "", "has %d characters, more than %d", utf8.RuneCountInString(strings.TrimSpace(s)), n.MaxLen)
	}
}

func (f *findings) number(n *Node, v *value, field string) {
	x, err := strconv.ParseFloat(string(v.text), 64)
	whole := x == math.Trunc(x) && math.Abs(x) < 1<<53
	switch {
	case err != nil || math.IsInf(x, 0):
		f.add(Problem{Type: WrongType, Field: field, Message: fmt.Sprintf("%s is too large a number", v.text)})
		return
	case n.Kind == "integer" && !whole:
		f.add(Problem{Type: WrongType, Field: field, Message: fmt.Sprintf("is %s, not a whole number", v.text), Hint: n.bounds()})
		return
	case n.Min != nil && (x < *n.Min || n.Above && x == *n.Min), n.Max != nil && x > *n.Max:
		f.invalid(field, n.bounds(), "cannot be %s", v.text)
	}
	if n.Kind == "integer" && bytes.ContainsAny(v.text, ".eE") {
		v.text = strconv.AppendInt(nil, int64(x), 10)
	}
}

func (n *Node) bounds() string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case n.Min != nil && n.Max != nil:
		return fmt.Sprintf("%s to %s", num(*n.Min), num(*n.Max))
	case n.Min != nil && n.Above:
		return "more than " + num(*n.Min)
	case n.Min != nil:
		return num(*n.Min) + " or more"
	}
	return ""
}

func (f *findings) length(n *Node, got int, field string) {
	switch {
	case got < n.MinItems:
		f.invalid(field, "", "has %d entries, fewer than %d", got, n.MinItems)
	case n.MaxItems > 0 && got > n.MaxItems:
		f.invalid(field, "", "has %d entries, more than %d", got, n.MaxItems)
	}
}

// patterns are compiled when they are first asked for: a command that looks at no project needs none.
var patterns sync.Map // string to *regexp.Regexp

func matches(pattern, s string) bool {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(s) //nolint:forcetypeassert // nothing else is stored
}

// decodeRaw reads JSON that the protocol keeps raw; false when it is absent or of another type.
func decodeRaw[T any](raw json.RawMessage) (T, bool) {
	var t T
	if len(raw) == 0 {
		return t, false
	}
	return t, json.Unmarshal(raw, &t) == nil
}

// Nearest is the path that a path with an unknown key probably means, in the configuration of that text; empty when nothing
// is near.
func Nearest(data []byte, path []string) string {
	n := Keys()
	doc, _ := parse(data)
	for i, key := range path {
		known := n.names()
		if n.Kind == "map" && doc != nil {
			known = nil
			for _, m := range doc.members {
				known = append(known, m.key)
			}
		}
		next, ok := n.At([]string{key})
		if !ok || n.Kind == "map" && !slices.Contains(known, key) {
			if meant := near.Word(key, known); meant != "" {
				return Path("", append(slices.Clone(path[:i]), meant)...)
			}
			if !ok {
				return ""
			}
		}
		n, doc = next, doc.get(key)
	}
	return ""
}
