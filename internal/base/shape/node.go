// Package shape says what JSON values may be, as tables: kinds, keys, bounds, defaults, meanings. One table serves the check that lists
// every fault, the JSON Schema, the reference and the command that sets single values. It words nothing: who checks says in its own
// words what a Fault is.
package shape

import (
	"reflect"
	"strings"
)

// Kind is what a value is.
type Kind string

// The kinds. An object has the keys of its table, a map names of the user's; words are a string or a list of strings.
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

// Node says what a value may be.
type Node struct {
	Kind  Kind
	Doc   string
	Keys  []Key
	Also  []string // keys of an object that are read too, and that the table does not offer
	Names string   // pattern of the names of a map
	Of    *Node    // of a map's values, of a list's items
	// Closed objects refuse keys that the table does not have.
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
	// Null is set where null is a common way to say nothing. It is read so everywhere.
	Null bool
	Want string // what to write, where Doc does not say it
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
	return n.Kind == Map && strings.TrimSpace(name) != "" && (n.Names == "" || Matches(n.Names, name))
}

// Inside is the key at a dotted path, which goes through lists as through objects. The table has to know it.
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

// KeyNames are the names of the keys, in the order of the table.
func (n *Node) KeyNames() []string {
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

// Small makers keep tables readable. Each call makes a new node: nodes hold bounds that are pointers.

func num(x float64) *float64 { return &x }

// Text is a string that is not blank.
func Text(doc string) Node { return Node{Kind: String, Doc: doc} }

// One is one of some words.
func One(doc string, words ...string) Node { return Node{Kind: String, Doc: doc, Enum: words} }

// Named is a string that matches a pattern.
func Named(doc, pattern string) Node { return Node{Kind: String, Doc: doc, Pattern: pattern} }

// Flag is true or false.
func Flag(doc string) Node { return Node{Kind: Boolean, Doc: doc} }

// Whole is a whole number that is not below least.
func Whole(doc string, least float64) Node { return Node{Kind: Integer, Doc: doc, Min: num(least)} }

// Within is a whole number within bounds.
func Within(doc string, least, most float64) Node {
	return Node{Kind: Integer, Doc: doc, Min: num(least), Max: num(most)}
}

// AtLeast is a number that is not below least.
func AtLeast(doc string, least float64) Node { return Node{Kind: Number, Doc: doc, Min: num(least)} }

// Above is a number above least.
func Above(doc string, least float64) Node {
	return Node{Kind: Number, Doc: doc, Min: num(least), Above: true}
}

// Raw is any value.
func Raw(doc string) Node { return Node{Kind: Any, Doc: doc} }

// ListOf is a list.
func ListOf(doc string, of Node) Node { return Node{Kind: List, Doc: doc, Of: &of} }

// MapOf has names of the user's.
func MapOf(doc, names string, of Node) Node { return Node{Kind: Map, Doc: doc, Names: names, Of: &of} }

// ObjectOf has the keys of its table, and may have others.
func ObjectOf(doc string, keys ...Key) Node { return Node{Kind: Object, Doc: doc, Keys: keys} }

// ClosedOf has the keys of its table only.
func ClosedOf(doc string, keys ...Key) Node {
	return Node{Kind: Object, Doc: doc, Keys: keys, Closed: true}
}

// Def gives the value that holds when there is none.
func (n Node) Def(v any) Node { n.Default = v; return n }

// OrNull says that null is common.
func (n Node) OrNull() Node { n.Null = true; return n }

// AtMost gives the upper bound.
func (n Node) AtMost(most float64) Node { n.Max = num(most); return n }

// AtLeastItems gives the lower bound of a list.
func (n Node) AtLeastItems(least int) Node { n.MinItems = least; return n }

// AnyText may be blank.
func (n Node) AnyText() Node { n.Blank = true; return n }

// Opt is a key that may be absent, Must one that may not.
func Opt(name string, n Node) Key { return Key{Name: name, Node: n} }

// Must is a key that has to be there.
func Must(name string, n Node) Key { return Key{Name: name, Node: n, Required: true} }

// Of is the node of a Go type: its kinds and JSON names, and the meanings of its doc tags. No key of it is required, and what JSON
// can be of a type with methods of its own is any value.
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
