package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Extra are the keys of an object that this version does not know, as they were read, in their order. They are written back.
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

// Is reports whether the raw value is there and not null.
func Is(raw json.RawMessage) bool {
	k := Kind(raw)
	return k != "nothing" && k != "null"
}

var fieldsOf sync.Map // reflect.Type to map[string]int

// known are the JSON names of a struct's fields, each with a number.
func known(t reflect.Type) map[string]int {
	if m, ok := fieldsOf.Load(t); ok {
		return m.(map[string]int) //nolint:forcetypeassert // nothing else is stored
	}
	m := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			m[name] = i
		}
	}
	fieldsOf.Store(t, m)
	return m
}

// unmarshalKeep decodes data into the struct that v points to and puts what it does not know into extra.
func unmarshalKeep(data []byte, v any, extra *Extra) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	if Kind(data) != "object" {
		return nil
	}
	names := known(reflect.TypeOf(v).Elem())
	seen := make([]bool, reflect.TypeOf(v).Elem().NumField())
	*extra = Extra{}
	return eachField(data, func(key, raw []byte) error {
		i, ok := names[string(key)]
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

func twice(key string) error { return fmt.Errorf("the key %q stands twice", key) }

// marshalKeep encodes a struct and puts extra behind its fields.
func marshalKeep(v any, extra Extra) ([]byte, error) {
	b, err := Marshal(v)
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
