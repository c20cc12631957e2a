package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Ordered is a JSON object whose key order matters: the order of routing is the order of phases. The zero value is
// empty and ready to use. A copy of the struct shares its content; Clone does not. It is not safe for concurrent use.
type Ordered[V any] struct {
	keys   []string
	values map[string]V
}

// Get returns the value of a key.
func (o *Ordered[V]) Get(key string) (V, bool) {
	v, ok := o.values[key]
	return v, ok
}

// At returns the value of a key, or the zero value.
func (o *Ordered[V]) At(key string) V { return o.values[key] }

// Has reports whether the key exists.
func (o *Ordered[V]) Has(key string) bool {
	_, ok := o.values[key]
	return ok
}

// Set replaces the value of a key, or adds the key at the end.
func (o *Ordered[V]) Set(key string, v V) {
	if o.values == nil {
		o.values = map[string]V{}
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// Delete removes a key.
func (o *Ordered[V]) Delete(key string) {
	if _, ok := o.values[key]; !ok {
		return
	}
	delete(o.values, key)
	o.keys = slices.DeleteFunc(slices.Clone(o.keys), func(k string) bool { return k == key })
}

// Keys returns the keys in their order; the caller owns the slice.
func (o *Ordered[V]) Keys() []string { return slices.Clone(o.keys) }

// Len is the number of keys.
func (o *Ordered[V]) Len() int { return len(o.keys) }

// All yields keys and values in order.
func (o *Ordered[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range o.keys {
			if !yield(k, o.values[k]) {
				return
			}
		}
	}
}

// Clone copies the object; values are copied by assignment.
func (o *Ordered[V]) Clone() Ordered[V] {
	c := Ordered[V]{keys: slices.Clone(o.keys)}
	if o.values != nil {
		c.values = make(map[string]V, len(o.values))
		maps.Copy(c.values, o.values)
	}
	return c
}

// MarshalJSON writes the object in its order; an empty one is {}.
func (o Ordered[V]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := Marshal(o.values[k])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps the order of its keys. null is empty. A duplicate key is an error: two
// readers would see two different objects.
func (o *Ordered[V]) UnmarshalJSON(data []byte) error {
	*o = Ordered[V]{}
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	return eachField(data, func(name, raw []byte) error {
		key := string(name)
		if o.Has(key) {
			return twice(key)
		}
		var v V
		if whole, ok := any(&v).(*json.RawMessage); ok {
			*whole = bytes.Clone(raw)
		} else if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		o.Set(key, v)
		return nil
	})
}
