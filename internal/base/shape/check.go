package shape

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Wrong is a kind of fault of a value.
type Wrong string

// The kinds of faults.
const (
	WrongKind Wrong = "kind"        // another type of value
	NotWhole  Wrong = "not whole"   // a number with a fraction for an integer
	TooLarge  Wrong = "too large"   // a number that no type can represent
	Outside   Wrong = "outside"     // a number out of bounds
	IsBlank   Wrong = "blank"       // an empty or blank string
	NotOneOf  Wrong = "not one of"  // a string that is not in Enum
	NoMatch   Wrong = "no match"    // a string that does not match Pattern
	Forbidden Wrong = "forbidden"   // a string that matches Not
	TooLong   Wrong = "too long"    // a string of more than MaxLen characters
	NoWords   Wrong = "no words"    // an empty list of words
	TooFew    Wrong = "too few"     // a list below MinItems
	TooMany   Wrong = "too many"    // a list above MaxItems
	NoName    Wrong = "no name"     // a blank key of a map
	BadName   Wrong = "bad name"    // a key of a map that does not match Names
	Twice     Wrong = "twice"       // a duplicate key
	OtherCase Wrong = "other case"  // a key that differs from a known one only in case
	Unknown   Wrong = "unknown key" // a key that the table does not have
	Missing   Wrong = "missing"     // a missing or null required key
)

// Fault is one fault.
type Fault struct {
	Wrong Wrong
	Field string // dotted, as in roles.dev.runtime or policies[0].rule
	Node  *Node  // what the value may be; for an unknown key the object's node
	Value *Value // nil if a required key is missing
	At    int    // offset of the value, of the key, or of the object that lacks the key
	Key   string // of faults of keys
	Like  string // the known key that differs only in case
}

// Check checks a value against the node and lists every fault in the order of the text. Values that cannot be decoded
// are marked as to be dropped. null counts as missing, except in lists and maps.
func (n *Node) Check(v *Value, field string) []Fault {
	c := &checker{}
	c.value(n, v, field)
	return c.faults
}

type checker struct{ faults []Fault }

func (c *checker) add(wrong Wrong, n *Node, v *Value, field string) {
	c.faults = append(c.faults, Fault{Wrong: wrong, Node: n, Value: v, Field: field, At: v.At})
	if wrong == WrongKind || wrong == NotWhole || wrong == TooLarge {
		v.Drop = true
	}
}

func (c *checker) value(n *Node, v *Value, field string) {
	want, known := map[Kind]string{Object: "object", Map: "object", List: "array", String: "string", Boolean: "boolean", Integer: "number", Number: "number"}[n.Kind]
	switch {
	case v.Kind == "null": // counts as missing
	case known && v.Kind != want:
		c.add(WrongKind, n, v, field)
	case n.Kind == Object:
		c.object(n, v, field)
	case n.Kind == Map:
		c.names(n, v, field)
	case n.Kind == List:
		if len(v.Items) < n.MinItems {
			c.add(TooFew, n, v, field)
		} else if n.MaxItems > 0 && len(v.Items) > n.MaxItems {
			c.add(TooMany, n, v, field)
			return // do not also report each item
		}
		for i, it := range v.Items {
			c.inside(n.Of, it, Item(field, i))
		}
	case n.Kind == Words:
		c.words(n, v, field)
	case n.Kind == String:
		c.text(n, v, field)
	case n.Kind == Integer || n.Kind == Number:
		c.number(n, v, field)
	}
}

// inside checks a value of a list or a map, where null is a value.
func (c *checker) inside(n *Node, v *Value, field string) {
	if v.Kind == "null" {
		c.add(WrongKind, n, v, field)
		return
	}
	c.value(n, v, field)
}

// members yields the members of an object, each key once.
func (c *checker) members(n *Node, v *Value, field string, fn func(m Member, at string)) {
	seen := map[string]bool{}
	for _, m := range v.Members {
		at := Path(field, m.Key)
		if seen[m.Key] {
			c.faults = append(c.faults, Fault{Wrong: Twice, Node: n, Value: m.Value, Field: at, Key: m.Key, At: m.At})
			m.Value.Drop = true
			continue
		}
		seen[m.Key] = true
		fn(m, at)
	}
}

func (c *checker) object(n *Node, v *Value, field string) {
	c.members(n, v, field, func(m Member, at string) {
		if k, ok := n.Find(m.Key); ok {
			c.value(&k.Node, m.Value, at)
			return
		}
		if slices.Contains(n.Also, m.Key) {
			return
		}
		f := Fault{Wrong: Unknown, Node: n, Value: m.Value, Field: at, Key: m.Key, At: m.At}
		// Readers differ in whether they accept it as the known key.
		if f.Like = n.Like(m.Key); f.Like != "" {
			f.Wrong, m.Value.Drop = OtherCase, true
		}
		c.faults = append(c.faults, f)
	})
	for i := range n.Keys {
		if k := &n.Keys[i]; k.Required && !v.Get(k.Name).Is() {
			c.faults = append(c.faults, Fault{Wrong: Missing, Node: &k.Node, Value: v.Get(k.Name), Field: Path(field, k.Name), Key: k.Name, At: v.At})
		}
	}
}

// Like returns the known key that differs from a key only in case; empty for none.
func (n *Node) Like(key string) string {
	for _, k := range append(n.KeyNames(), n.Also...) {
		if strings.EqualFold(k, key) {
			return k
		}
	}
	return ""
}

func (c *checker) names(n *Node, v *Value, field string) {
	c.members(n, v, field, func(m Member, at string) {
		switch {
		case strings.TrimSpace(m.Key) == "":
			c.faults = append(c.faults, Fault{Wrong: NoName, Node: n, Value: m.Value, Field: at, Key: m.Key, At: m.At})
		case n.Names != "" && !Matches(n.Names, m.Key):
			c.faults = append(c.faults, Fault{Wrong: BadName, Node: n, Value: m.Value, Field: at, Key: m.Key, At: m.At})
		}
		c.inside(n.Of, m.Value, at)
	})
}

var word = Node{Kind: String, Blank: true}

func (c *checker) words(n *Node, v *Value, field string) {
	switch v.Kind {
	case "string":
		c.text(n, v, field)
	case "array":
		if len(v.Items) == 0 {
			c.add(NoWords, n, v, field)
		}
		for i, it := range v.Items {
			if c.inside(&word, it, Item(field, i)); i == 0 && it.Kind == "string" && strings.TrimSpace(it.Str()) == "" {
				c.add(IsBlank, n, it, Item(field, i))
			}
		}
	default:
		c.add(WrongKind, n, v, field)
	}
}

func (c *checker) text(n *Node, v *Value, field string) {
	s := v.Str()
	switch {
	case !n.Blank && strings.TrimSpace(s) == "":
		c.add(IsBlank, n, v, field)
	case len(n.Enum) > 0 && !slices.Contains(n.Enum, s):
		c.add(NotOneOf, n, v, field)
	case n.Not != "" && Matches(n.Not, strings.TrimSpace(s)):
		c.add(Forbidden, n, v, field)
	case n.Pattern != "" && !Matches(n.Pattern, s):
		c.add(NoMatch, n, v, field)
	case n.MaxLen > 0 && utf8.RuneCountInString(strings.TrimSpace(s)) > n.MaxLen:
		c.add(TooLong, n, v, field)
	}
}

func (c *checker) number(n *Node, v *Value, field string) {
	x, err := strconv.ParseFloat(string(v.Text), 64)
	whole := x == math.Trunc(x) && math.Abs(x) < 1<<53
	switch {
	case err != nil || math.IsInf(x, 0):
		c.add(TooLarge, n, v, field)
		return
	case n.Kind == Integer && !whole:
		c.add(NotWhole, n, v, field)
		return
	case n.Min != nil && (x < *n.Min || n.Above && x == *n.Min), n.Max != nil && x > *n.Max:
		c.add(Outside, n, v, field)
	}
	if n.Kind == Integer && bytes.ContainsAny(v.Text, ".eE") {
		v.Text = strconv.AppendInt(nil, int64(x), 10)
	}
}

// patterns are compiled on first use: commands that check no project need none.
var patterns sync.Map // string to *regexp.Regexp

// Matches reports whether a text matches a pattern.
func Matches(pattern, s string) bool {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(s) //nolint:forcetypeassert // nothing else is stored
}

// Path appends keys to a dotted field. A key that a dotted path cannot contain is quoted.
func Path(field string, keys ...string) string {
	for _, k := range keys {
		if k == "" || strings.ContainsAny(k, `."' `) {
			k = strconv.Quote(k)
		}
		if field != "" {
			field += "."
		}
		field += k
	}
	return field
}

// Item returns the field of an element.
func Item(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
