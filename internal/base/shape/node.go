// Package shape says what JSON values may be, as tables: kinds, keys, bounds, defaults, meanings. One table serves the check that lists
// every fault, the JSON Schema, the reference and the command that sets single values. Fault.Describe gives the usual words for a fault.
package shape

import (
	"reflect"
	"strings"
)

// Kind is what a value is.
type Kind string

// The kinds. An object has the keys of its table, a map has names of the user's; words are a string or a list of
// strings.
const (
	Object  Kind = "object"
	Map     Kind = "map"
	List    Kind = "list"
	Words   Kind = "words"
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Any     Kind = "any"
)

// Node describes a value.
type Node struct {
	Kind  Kind
	Doc   string
	Keys  []Key
	Also  []string // keys of an object that are accepted, but not documented
	Names string   // pattern of the names of a map
	Of    *Node    // of a map's values, of a list's items
	// Closed objects refuse unknown keys.
	Closed bool

	Enum    []string
	Pattern string
	Not     string // pattern that a string must not match
	// Blank strings are refused unless Blank is set.
	Blank    bool
	MaxLen   int
	Min, Max *float64
	// Above excludes Min itself.
	Above              bool
	MinItems, MaxItems int
	Default            any
	// Null is set if null is a common way to state nothing. It is accepted everywhere.
	Null bool
	Want string // what to write, if Doc does not say it
}

// Key is one key of an object.
type Key struct {
	Name string
	Node
	Required bool
}

// Find returns the key of that name, in the table.
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
	return n.Kind == Map && strings.TrimSpace(name) != "" && (n.Names == "" || Matches(n.Names, name))
}

// Inside returns the key at a dotted path, which passes through lists as through objects. The table must contain it.
func (n *Node) Inside(path string) *Key {
	name, rest, more := strings.Cut(path, ".")
	if n.Kind == List {
		n = n.Of
	}
	k, ok := n.Find(name)
	switch {
	case !ok:
		panic("the table has no key " + path)
	case more:
		return k.Inside(rest)
	}
	return k
}

// KeyNames returns the names of the keys, in the order of the table.
func (n *Node) KeyNames() []string {
	list := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		list[i] = k.Name
	}
	return list
}

// At returns the node at a path of keys; false if the table does not contain it. A map accepts any name.
func (n *Node) At(path []string) (*Node, bool) {
	for _, key := range path {
		switch n.Kind {
		case Object:
			k, ok := n.Find(key)
			if !ok {
				return nil, false
			}
			n = &k.Node
		case Map:
			n = n.Of
		case Any:
			return n, true
		default:
			return nil, false
		}
	}
	return n, true
}

// Short constructors keep tables readable. Each call returns a new node, because nodes hold bounds as pointers.

// Text is a string that is not blank.
func Text(doc string) Node { return Node{Kind: String, Doc: doc} }

// One is one of the given words.
func One(doc string, words ...string) Node { return Node{Kind: String, Doc: doc, Enum: words} }

// Named is a string that matches a pattern.
func Named(doc, pattern string) Node { return Node{Kind: String, Doc: doc, Pattern: pattern} }

// Flag is true or false.
func Flag(doc string) Node { return Node{Kind: Boolean, Doc: doc} }

// Whole is an integer of at least least.
func Whole(doc string, least float64) Node { return Node{Kind: Integer, Doc: doc, Min: new(least)} }

// Within is an integer within bounds.
func Within(doc string, least, most float64) Node {
	return Node{Kind: Integer, Doc: doc, Min: new(least), Max: new(most)}
}

// AtLeast is a number of at least least.
func AtLeast(doc string, least float64) Node { return Node{Kind: Number, Doc: doc, Min: new(least)} }

// Above is a number above least.
func Above(doc string, least float64) Node {
	return Node{Kind: Number, Doc: doc, Min: new(least), Above: true}
}

// Raw is any value.
func Raw(doc string) Node { return Node{Kind: Any, Doc: doc} }

// ListOf is a list.
func ListOf(doc string, of Node) Node { return Node{Kind: List, Doc: doc, Of: &of} }

// MapOf is a map with the user's names.
func MapOf(doc, names string, of Node) Node { return Node{Kind: Map, Doc: doc, Names: names, Of: &of} }

// ObjectOf has the keys of its table, and may have others.
func ObjectOf(doc string, keys ...Key) Node { return Node{Kind: Object, Doc: doc, Keys: keys} }

// ClosedOf has only the keys of its table.
func ClosedOf(doc string, keys ...Key) Node {
	return Node{Kind: Object, Doc: doc, Keys: keys, Closed: true}
}

// Def sets the default value.
func (n Node) Def(v any) Node { n.Default = v; return n }

// OrNull marks null as common.
func (n Node) OrNull() Node { n.Null = true; return n }

// AtMost sets the upper bound.
func (n Node) AtMost(most float64) Node { n.Max = new(most); return n }

// AtLeastItems sets the minimum length of a list.
func (n Node) AtLeastItems(least int) Node { n.MinItems = least; return n }

// AnyText may be blank.
func (n Node) AnyText() Node { n.Blank = true; return n }

// Opt is an optional key.
func Opt(name string, n Node) Key { return Key{Name: name, Node: n} }

// Must is a required key.
func Must(name string, n Node) Key { return Key{Name: name, Node: n, Required: true} }

// Of returns the node of a Go type: its kinds, JSON names and doc tags. No key of it is required, and a type with its
// own JSON methods is any value.
func Of(t reflect.Type) Node {
	switch t.Kind() {
	case reflect.Pointer:
		return Of(t.Elem()).OrNull()
	case reflect.String:
		return Text("").AnyText()
	case reflect.Bool:
		return Flag("")
	case reflect.Int, reflect.Int64:
		return Node{Kind: Integer}
	case reflect.Float64:
		return Node{Kind: Number}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return ListOf("", Of(t.Elem()))
		}
	case reflect.Struct:
		n := Node{Kind: Object}
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				k := Opt(name, Of(f.Type))
				k.Doc = f.Tag.Get("doc")
				n.Keys = append(n.Keys, k)
			}
		}
		return n
	}
	return Raw("")
}
