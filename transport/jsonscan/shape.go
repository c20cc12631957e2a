package jsonscan

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"unicode"
	"unsafe"
)

// Shape reads messages into a T, a struct whose fields name the members it wants, in one pass and without allocating:
//
//	var lines jsonscan.Shape[struct {
//		Type, ParentToolUseID jsonscan.Value // "type", "parent_tool_use_id"
//		Event struct {
//			Whole jsonscan.Value `scan:"."`   // "event" itself
//			Delta struct{ Text jsonscan.Value } // "event.delta.text"
//			Err   jsonscan.Value `scan:"error"`
//		}
//	}]
//
// Every field is a Value, or a struct of such. A nested struct is an object inside the message; an embedded one has
// members of the struct around it. A member's name is its field's in snake case, or in camel case after a blank field
// of type Camel, which also applies to nested structs until one has a Snake. The tag scan gives any other name, as a
// path of NewKeySet. A field without a member is the zero Value.
//
// The zero Shape is ready for use and safe for concurrent use. Declare it at package level: its first use compiles
// it, and panics if T is invalid.
type Shape[T any] struct {
	keys atomic.Pointer[KeySet]
}

// Camel and Snake set the spelling of a struct's members: a blank field of one of these types, before the others.
type (
	Camel struct{}
	Snake struct{}
)

var (
	typeOfValue = reflect.TypeFor[Value]()
	typeOfCamel = reflect.TypeFor[Camel]()
	typeOfSnake = reflect.TypeFor[Snake]()
)

// Into reads a line, replacing all of dst. It returns false, with dst zero, if the line is not a JSON object.
func (s *Shape[T]) Into(line []byte, dst *T) bool {
	keys := s.set()
	members := values(dst, keys.n)
	clear(members)
	if len(line) > 0 && line[0] == '{' && keys.scan(line, 0, 0, members) == len(line) {
		return true
	}
	return Fields(line, members, keys) == nil // white space around the object, or no object
}

// Read reads a line and returns a T. Use Into for a large T, or for frequent lines.
func (s *Shape[T]) Read(line []byte) (dst T, ok bool) {
	ok = s.Into(line, &dst)
	return dst, ok
}

// From reads a value, replacing all of dst. It returns false, with dst zero, if the value is not an object.
func (s *Shape[T]) From(v Value, dst *T) bool {
	keys := s.set()
	return v.Fields(values(dst, keys.n), keys)
}

// Of reads a value like From and returns a T.
func (s *Shape[T]) Of(v Value) (dst T, ok bool) {
	ok = s.From(v, &dst)
	return dst, ok
}

// Paths returns the members that T names.
func (s *Shape[T]) Paths() []string { return s.set().paths }

// set returns the key set of T. Concurrent first uses compute the same set.
func (s *Shape[T]) set() *KeySet {
	if keys := s.keys.Load(); keys != nil {
		return keys
	}
	return s.compile()
}

// values returns dst as the n values that it consists of, as compile verified.
func values[T any](dst *T, n int) []Value { return unsafe.Slice((*Value)(unsafe.Pointer(dst)), n) }

func (s *Shape[T]) compile() *KeySet {
	t := reflect.TypeFor[T]()
	paths := memberPaths(t, "", false, nil)
	if t.Size() != uintptr(len(paths))*typeOfValue.Size() {
		panic(fmt.Sprintf("jsonscan: %s has a field that is no Value", t))
	}
	seen := map[string]bool{}
	for _, p := range paths {
		if seen[p] {
			panic(fmt.Sprintf("jsonscan: %s names the member %q twice", t, p))
		}
		seen[p] = true
	}
	keys := NewKeySet(paths...)
	keys.ready()
	s.keys.Store(keys)
	return keys
}

// memberPaths appends the paths of the fields of t, whose own path ends with a dot unless it is empty.
func memberPaths(t reflect.Type, path string, camel bool, paths []string) []string {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("jsonscan: a shape has a field of type %s", t))
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("scan")
		switch {
		case f.Type == typeOfCamel, f.Type == typeOfSnake:
			if i > 0 {
				panic(fmt.Sprintf("jsonscan: %s says how it is spelled behind its first field", t))
			}
			camel = f.Type == typeOfCamel
			continue
		case f.Anonymous:
			paths = memberPaths(f.Type, path, camel, paths)
			continue
		case name == ".":
			paths = append(paths, strings.TrimSuffix(path, "."))
			continue
		case name == "":
			name = spell(f.Name, camel)
		}
		if f.Type == typeOfValue {
			paths = append(paths, path+name)
			continue
		}
		paths = memberPaths(f.Type, path+name+".", camel, paths)
	}
	return paths
}

// spell returns the name of a member: parent_tool_use_id or parentToolUseId for ParentToolUseID.
func spell(field string, camel bool) string {
	var b strings.Builder
	r := []rune(field)
	for i, c := range r {
		begins := i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1]))
		switch {
		case begins && camel:
			b.WriteRune(c)
			continue
		case begins:
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
