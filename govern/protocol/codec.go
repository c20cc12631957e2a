package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Extra holds the unknown keys of an object as they were read, in their order. They are written back.
type Extra = Ordered[json.RawMessage]

// Marshal is json.Marshal without the escaping of HTML characters, as the files of the protocol are written.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalFile encodes a JSON file of the protocol: two spaces of indentation and a newline at the end.
func MarshalFile(v any) ([]byte, error) {
	line, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Kind names what a JSON text is, for messages: object, array, string, number, boolean, null.
func Kind(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// Deref is the string that s points to; empty for nil.
func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Is reports whether the raw value is present and not null.
func Is(raw json.RawMessage) bool {
	k := Kind(raw)
	return k != "nothing" && k != "null"
}

// keeping describes how a struct with a field Extra is read and written: as a type with the same fields, without its
// methods.
type keeping struct {
	plain reflect.Type
	extra int            // the field
	names map[string]int // the fields by their JSON names
}

var keepings sync.Map // reflect.Type to *keeping

func keepingOf(t reflect.Type) *keeping {
	if k, ok := keepings.Load(t); ok {
		return k.(*keeping) //nolint:forcetypeassert // nothing else is stored
	}
	k := &keeping{names: map[string]int{}}
	for i, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Name == "Extra" {
			k.extra = i
		} else if name != "" && name != "-" {
			k.names[name] = i
		}
	}
	k.plain = reflect.StructOf(reflect.VisibleFields(t))
	keepings.Store(t, k)
	return k
}

// readKeep decodes data into a struct and stores unknown keys in its Extra.
func readKeep[T any](data []byte, v *T) error {
	k, to := keepingOf(reflect.TypeFor[T]()), reflect.ValueOf(v)
	if err := json.Unmarshal(data, reflect.NewAt(k.plain, to.UnsafePointer()).Interface()); err != nil {
		return err
	}
	if Kind(data) != "object" {
		return nil
	}
	seen := make([]bool, to.Elem().NumField())
	extra := to.Elem().Field(k.extra).Addr().Interface().(*Extra) //nolint:forcetypeassert // by its name
	*extra = Extra{}
	return eachField(data, func(key, raw []byte) error {
		i, ok := k.names[string(key)]
		if ok && seen[i] || !ok && extra.Has(string(key)) {
			return twice(string(key))
		}
		if ok {
			seen[i] = true
			return nil
		}
		extra.Set(string(key), bytes.Clone(raw))
		return nil
	})
}

func twice(key string) error { return fmt.Errorf("the key %q appears twice", key) }

// writeKeep encodes a struct, followed by its Extra.
func writeKeep[T any](v T) ([]byte, error) {
	k, from := keepingOf(reflect.TypeFor[T]()), reflect.ValueOf(&v)
	b, err := Marshal(reflect.NewAt(k.plain, from.UnsafePointer()).Interface())
	extra := from.Elem().Field(k.extra).Interface().(Extra) //nolint:forcetypeassert // by its name
	if err != nil || extra.Len() == 0 {
		return b, err
	}
	more, err := Marshal(extra)
	if err != nil {
		return nil, err
	}
	if len(b) == 2 {
		return more, nil
	}
	return append(append(b[:len(b)-1], ','), more[1:]...), nil
}
