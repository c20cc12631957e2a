package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// MatchJSON is Match for two JSON texts.
func MatchJSON(expected, actual json.RawMessage) error {
	e, err := decode(expected)
	if err != nil {
		return fmt.Errorf("what is expected: %w", err)
	}
	a, err := decode(actual)
	if err != nil {
		return fmt.Errorf("what was answered: %w", err)
	}
	return Match(e, a)
}

// decode keeps numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the JSON value")
	}
	return v, nil
}

// Match compares an answer with what a fixture expects, both as encoding/json decodes them. Objects match if every
// expected key matches, arrays if they have the same length and match element by element, everything else if the values
// are equal. An expected object with the key assert is a predicate instead, and the key warnings_allowed always
// matches. The error names the first difference.
func Match(expected, actual any) error { return match("", expected, actual, true) }

// match compares below the named path; there is false for a key that the actual object lacks.
func match(place string, expected, actual any, there bool) error {
	switch want := expected.(type) {
	case map[string]any:
		if name, ok := want["assert"]; ok {
			return assert(place, name, want, actual, there)
		}
		got, ok := actual.(map[string]any)
		if !ok {
			return differ(place, expected, actual, there)
		}
		for _, k := range slices.Sorted(keys(want)) {
			if k == "warnings_allowed" {
				continue
			}
			v, there := got[k]
			if err := match(join(place, k), want[k], v, there); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, ok := actual.([]any)
		if !ok {
			return differ(place, expected, actual, there)
		}
		if len(want) != len(got) {
			return fmt.Errorf("%s: want %d items, got %d: %s", name(place), len(want), len(got), show(actual))
		}
		for i, w := range want {
			if err := match(fmt.Sprintf("%s[%d]", place, i), w, got[i], true); err != nil {
				return err
			}
		}
		return nil
	}
	if !there || !same(expected, actual) {
		return differ(place, expected, actual, there)
	}
	return nil
}

// assert evaluates a predicate on a value; an unknown one does not hold.
func assert(place string, predicate any, want map[string]any, actual any, there bool) error {
	s, isString := actual.(string)
	var holds bool
	switch predicate {
	case "nonempty_string":
		holds = isString && strings.TrimSpace(s) != ""
	case "present":
		holds = there
	case "id_prefix":
		prefix, ok := want["value"].(string)
		holds = ok && isString && strings.HasPrefix(s, prefix)
	case "unordered_array":
		items, ok := want["items"].([]any)
		got, isArray := actual.([]any)
		holds = ok && isArray && len(items) == len(got) && assignable(items, got)
	default:
		return fmt.Errorf("%s: unknown assertion %v", name(place), predicate)
	}
	if !holds {
		return differ(place, want, actual, there)
	}
	return nil
}

// assignable reports whether every item can be assigned a different value that it matches.
func assignable(items, values []any) bool {
	owner := make([]int, len(values)) // index of the item assigned to each value, plus one
	var place func(item int, tried []bool) bool
	place = func(item int, tried []bool) bool {
		for v := range values {
			if tried[v] || match("", items[item], values[v], true) != nil {
				continue
			}
			tried[v] = true
			if owner[v] == 0 || place(owner[v]-1, tried) {
				owner[v] = item + 1
				return true
			}
		}
		return false
	}
	for i := range items {
		if !place(i, make([]bool, len(values))) {
			return false
		}
	}
	return true
}

// same compares scalars: numbers by value, everything else exactly.
func same(a, b any) bool {
	x, isNumber := number(a)
	y, other := number(b)
	if isNumber || other {
		return isNumber && other && x == y
	}
	return a == b
}

// number is the value of a decoded number. A number outside the range of float64 is compared as text.
func number(v any) (any, bool) {
	switch n := v.(type) {
	case json.Number:
		if f, err := n.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return f, true
		}
		return n.String(), true
	case float64:
		return n, true
	}
	return nil, false
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func join(place, key string) string {
	if place == "" {
		return key
	}
	return place + "." + key
}

func name(place string) string {
	if place == "" {
		return "the answer"
	}
	return place
}

func differ(place string, expected, actual any, there bool) error {
	if !there {
		return fmt.Errorf("%s: want %s, but it is missing", name(place), show(expected))
	}
	return fmt.Errorf("%s: want %s, got %s", name(place), show(expected), show(actual))
}

// show formats a value for a message, shortened if it is long.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 200
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "..."
	}
	return string(b)
}
