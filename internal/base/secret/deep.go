package secret

import (
	"encoding/json"
	"reflect"
	"sync"
)

// Deep removes the secrets from every text within a value: strings, JSON, elements of lists and maps, and the content
// of interfaces and pointers. Strings of a named type are constants and stay, as do unexported fields, bytes, and
// members with names shorter than those that Redactor.JSON checks. The value itself is not changed: what contains a
// secret is copied.
func Deep[T any](r *Redactor, v T) T {
	if clean, changed := r.deep(reflect.ValueOf(&v).Elem()); changed {
		return clean.Interface().(T)
	}
	return v
}

var (
	plainText = reflect.TypeFor[string]()
	rawJSON   = reflect.TypeFor[json.RawMessage]()
)

// deep returns v without secrets; changed is false if that is v itself.
func (r *Redactor) deep(v reflect.Value) (clean reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != plainText {
			return v, false
		}
		text := v.String()
		if f := r.Find(text, 0); f.Any() {
			return reflect.ValueOf(f.Hide(0, len(text))), true
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		if inner, ok := r.deep(v.Elem()); ok {
			clean = reflect.New(v.Type()).Elem()
			if v.Kind() == reflect.Pointer {
				clean = reflect.New(v.Type().Elem())
				clean.Elem().Set(inner)
				return clean, true
			}
			clean.Set(inner)
			return clean, true
		}
	case reflect.Struct:
		for _, i := range fieldsOf(v.Type()) {
			if field, ok := r.deep(v.Field(i)); ok {
				if !changed {
					clean, changed = reflect.New(v.Type()).Elem(), true
					clean.Set(v)
				}
				clean.Field(i).Set(field)
			}
		}
		if changed {
			return clean, true
		}
	case reflect.Slice:
		if v.Type() == rawJSON {
			before := v.Bytes()
			if after := r.JSON(before, nil); len(before) > 0 && &after[0] != &before[0] {
				return reflect.ValueOf(json.RawMessage(after)), true
			}
			return v, false
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v, false
		}
		for i := range v.Len() {
			if element, ok := r.deep(v.Index(i)); ok {
				if !changed {
					clean, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
					reflect.Copy(clean, v)
				}
				clean.Index(i).Set(element)
			}
		}
		if changed {
			return clean, true
		}
	case reflect.Map:
		return r.deepMap(v)
	}
	return v, false
}

// fieldsOf lists the fields of a struct that may contain a text.
func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		return known.([]int)
	}
	var list []int
	for i := range t.NumField() {
		f := t.Field(i)
		switch k := f.Type.Kind(); {
		case !f.IsExported(), k == reflect.String && f.Type != plainText, k == reflect.Struct && len(fieldsOf(f.Type)) == 0:
		case k == reflect.String, k == reflect.Struct, k == reflect.Interface, k == reflect.Pointer, k == reflect.Slice, k == reflect.Map:
			list = append(list, i)
		}
	}
	fields.Store(t, list)
	return list
}

var fields sync.Map // of lists, by type

func (r *Redactor) deepMap(v reflect.Value) (clean reflect.Value, changed bool) {
	for it := v.MapRange(); it.Next(); {
		key, value := it.Key(), it.Value()
		newKey, keyChanged := key, false
		if key.Kind() == reflect.String && key.Len() >= longKey {
			newKey, keyChanged = r.deep(key)
		}
		newValue, valueChanged := r.deep(value)
		if !keyChanged && !valueChanged {
			continue
		}
		if !changed {
			clean, changed = reflect.MakeMapWithSize(v.Type(), v.Len()), true
			for all := v.MapRange(); all.Next(); {
				clean.SetMapIndex(all.Key(), all.Value())
			}
		}
		if keyChanged {
			clean.SetMapIndex(key, reflect.Value{})
		}
		clean.SetMapIndex(newKey, newValue)
	}
	if changed {
		return clean, true
	}
	return v, false
}
