// Package deepcopy copies values of plain data: what structs, pointers, slices and maps refer to. Free-form values in interfaces and the
// values of maps are shared.
package deepcopy

import "reflect"

// Of returns a copy of v. Unexported fields are shared.
func Of[T any](v T) T { return value(reflect.ValueOf(&v).Elem()).Interface().(T) }

func value(v reflect.Value) reflect.Value {
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) && v.IsNil() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(value(v.Elem()))
	case reflect.Slice:
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(c, v)
		for i := 0; v.Type().Elem().Kind() == reflect.Struct && i < v.Len(); i++ {
			c.Index(i).Set(value(v.Index(i)))
		}
	case reflect.Map:
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for key, item := range v.Seq2() {
			c.SetMapIndex(key, item)
		}
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() {
				f.Set(value(v.Field(i)))
			}
		}
	default:
		return v
	}
	return c
}
