package configfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// Pairs is an object with ordered keys.
type Pairs []Pair

// Pair is one key of Pairs with its value.
type Pair struct {
	Key   string
	Value any
}

// normalize converts a value to the types that the formats write: Pairs, []any, string, bool, int64, float64, nil.
func normalize(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint:
		return normalize(uint64(v))
	case uint64:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("cannot be %d: the number is too large", v)
		}
		return int64(v), nil
	case float32:
		return normalize(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("cannot be %v: not a number", v)
		}
		return v, nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, fmt.Errorf("cannot be %q: not a number", v.String())
		}
		return normalize(f)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = normalize(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]string:
		pairs := Pairs{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, Pair{k, v[k]})
		}
		return pairs, nil
	case map[string]any:
		pairs := Pairs{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, Pair{k, v[k]})
		}
		return normalize(pairs)
	case Pairs:
		pairs := Pairs{}
		for _, p := range v {
			n, err := normalize(p.Value)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, Pair{p.Key, n})
		}
		return pairs, nil
	}
	return nil, fmt.Errorf("cannot be a %T", v)
}

func asPairs(v any) (Pairs, bool) {
	p, ok := v.(Pairs)
	return p, ok
}

// plain converts a normalized value to the types of Document.Value.
func plain(v any) any {
	switch v := v.(type) {
	case Pairs:
		m := make(map[string]any, len(v))
		for _, p := range v {
			m[p.Key] = plain(p.Value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	}
	return v
}

// decoded converts a parser's value to the types of Document.Value.
func decoded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = decoded(v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = decoded(v[i])
		}
		return v
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.String(), 64); err == nil {
			return f
		}
		return v.String()
	case uint64:
		if v > math.MaxInt64 {
			return strconv.FormatUint(v, 10)
		}
		return int64(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case nil, string, bool, int64, float64:
		return v
	}
	return fmt.Sprint(v)
}

// equal compares values; an integer equals the same number with a decimal point.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			if w, ok := m[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, equal)
	case int64:
		if f, ok := b.(float64); ok {
			return float64(a) == f
		}
	case float64:
		if n, ok := b.(int64); ok {
			return a == float64(n)
		}
		if f, ok := b.(float64); ok && math.IsNaN(a) {
			return math.IsNaN(f)
		}
	}
	return a == b
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = clone(v[k])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = clone(v[i])
		}
		return list
	}
	return v
}

func lookup(v any, path Path) (any, bool) {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// assign sets the value at path, creating objects on the way; it changes v.
func assign(v any, path Path, value any) any {
	if len(path) == 0 {
		return value
	}
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[path[0]] = assign(m[path[0]], path[1:], value)
	return m
}

func remove(v any, path Path) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if len(path) == 1 {
		delete(m, path[0])
	} else {
		m[path[0]] = remove(m[path[0]], path[1:])
	}
	return m
}
