// Package exactjson decodes JSON unambiguously: keys spelled exactly as in the type, and none twice. It knows nothing
// about the meaning of values.
package exactjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// UnknownKeyError is a key that the type does not have; errors.As finds it.
type UnknownKeyError struct {
	Path string // of the object, empty at the top
	Key  string
	Like string // a key of the type that differs only in case
}

// Error names the key and its position.
func (e *UnknownKeyError) Error() string {
	text := fmt.Sprintf("unknown key %q", e.Key)
	if e.Path != "" {
		text += " in " + e.Path
	}
	if e.Like != "" {
		text += fmt.Sprintf("; it is spelled %q", e.Like)
	}
	return text
}

// Aliases are additional keys of a type.
type Aliases map[reflect.Type][]string

// Decode decodes one JSON value into v. A duplicate key at any depth, an unknown key, a key in another case, null for
// a value, and anything after the value are errors.
func Decode(data []byte, v any, also Aliases) error {
	if err := Keys(data); err != nil {
		return err
	}
	if err := also.fits(data, reflect.TypeOf(v).Elem(), ""); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// maxDepth bounds the nesting of a value, which is walked recursively.
const maxDepth = 100

// Keys checks that data is one JSON value without duplicate keys.
func Keys(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := unique(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func unique(d *json.Decoder, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return syntax(err)
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return syntax(err)
			}
			key, _ := k.(string)
			if seen[key] {
				return fmt.Errorf("the key %q is there twice", join(path, key))
			}
			seen[key] = true
			if err := unique(d, join(path, key), depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := unique(d, fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // the closing bracket
	return syntax(err)
}

// syntax describes an unexpected end of the text.
func syntax(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textual     = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawMessage  = reflect.TypeFor[json.RawMessage]()
)

// fits checks the keys of a value against a type. encoding/json reports values of a wrong type better.
func (also Aliases) fits(data []byte, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	data = bytes.TrimSpace(data)
	if t == rawMessage || t.Kind() == reflect.Interface || len(data) == 0 {
		return nil
	}
	if string(data) == "null" {
		return fmt.Errorf("%s: null is not a value; remove the key", or(path, "the value"))
	}
	switch {
	case t.Kind() == reflect.Struct && data[0] == '{':
		return also.object(data, t, path)
	case t.Kind() == reflect.Struct || reflect.PointerTo(t).Implements(unmarshaler) || reflect.PointerTo(t).Implements(textual):
		return nil
	case t.Kind() == reflect.Map && data[0] == '{':
		return each(data, func(key string, value json.RawMessage) error { return also.fits(value, t.Elem(), join(path, key)) })
	case t.Kind() == reflect.Slice && data[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		for i, item := range list {
			if err := also.fits(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (also Aliases) object(data []byte, t reflect.Type, path string) error {
	known := map[string]reflect.Type{}
	fields(t, known)
	for _, name := range also[t] {
		known[name] = rawMessage
	}
	return each(data, func(key string, value json.RawMessage) error {
		field, ok := known[key]
		if ok {
			return also.fits(value, field, join(path, key))
		}
		e := &UnknownKeyError{Path: path, Key: key}
		for name := range known {
			if strings.EqualFold(name, key) {
				e.Like = name
			}
		}
		return e
	})
}

// each calls fn with the members of an object in order.
func each(data []byte, fn func(string, json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		key, _ := t.(string)
		if err := fn(key, value); err != nil {
			return err
		}
	}
	return nil
}

// fields collects the keys of a struct, including embedded ones.
func fields(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			fields(f.Type, into)
		case f.IsExported():
			into[or(name, f.Name)] = f.Type
		}
	}
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
