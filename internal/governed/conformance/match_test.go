package conformance

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct{ name, expected, actual, want string }{
		{"further keys are no difference", `{"a":1}`, `{"a":1,"b":2}`, ""},
		{"a key is missing", `{"a":{"b":null}}`, `{"a":{}}`, "a.b: want null, but it is missing"},
		{"null is not missing", `{"a":null}`, `{"a":null}`, ""},
		{"null is not false", `{"a":null}`, `{"a":false}`, "a: want null, got false"},
		{"an object is no array", `{"a":{}}`, `{"a":[]}`, "a: want {}, got []"},
		{"an array is no object", `{"a":[]}`, `{"a":{}}`, "a: want [], got {}"},
		{"arrays by place", `[1,{"a":2}]`, `[1,{"a":2,"b":3}]`, ""},
		{"arrays in another order", `[1,2]`, `[2,1]`, "[0]: want 1, got 2"},
		{"arrays of another length", `{"x":[1]}`, `{"x":[1,2]}`, "x: want 1 items, got 2"},
		{"deep", `{"a":[{"b":{"c":"x"}}]}`, `{"a":[{"b":{"c":"y"}}]}`, `a[0].b.c: want "x", got "y"`},
		{"strings exactly", `"a"`, `"A"`, `the answer: want "a", got "A"`},
		{"a string is no number", `"1"`, `1`, "want"},
		{"true is no 1", `true`, `1`, "want"},
		{"numbers by value", `1`, `1.0`, ""},
		{"numbers that differ", `1`, `1.5`, "want 1, got 1.5"},
		{"numbers beyond floats", `9007199254740993`, `9007199254740992`, "want"},
		{"numbers beyond all floats", `1e999`, `1e999`, ""},
		{"warnings_allowed", `{"warnings_allowed":true}`, `{}`, ""},
		{"warnings_allowed inside", `{"a":{"warnings_allowed":true}}`, `{"a":{"warnings_allowed":false}}`, ""},

		{"a text", `{"a":{"assert":"nonempty_string"}}`, `{"a":"x"}`, ""},
		{"a blank text", `{"a":{"assert":"nonempty_string"}}`, `{"a":"  "}`, "a: want"},
		{"no text", `{"a":{"assert":"nonempty_string"}}`, `{"a":7}`, "a: want"},
		{"present", `{"a":{"assert":"present"}}`, `{"a":null}`, ""},
		{"not present", `{"a":{"assert":"present"}}`, `{}`, "it is missing"},
		{"a prefix", `{"a":{"assert":"id_prefix","value":"run_"}}`, `{"a":"run_1"}`, ""},
		{"another prefix", `{"a":{"assert":"id_prefix","value":"run_"}}`, `{"a":"turn_1"}`, "a: want"},
		{"a prefix of nothing", `{"a":{"assert":"id_prefix"}}`, `{"a":"run_1"}`, "a: want"},
		{"any order", `{"a":{"assert":"unordered_array","items":[{"t":1},{"t":2}]}}`, `{"a":[{"t":2,"x":1},{"t":1}]}`, ""},
		{"any order with another item", `{"a":{"assert":"unordered_array","items":[1,2]}}`, `{"a":[2,3]}`, "a: want"},
		{"any order with an item more", `{"a":{"assert":"unordered_array","items":[1]}}`, `{"a":[1,1]}`, "a: want"},
		{"any order with one item for two", `{"a":{"assert":"unordered_array","items":[1,1]}}`, `{"a":[1,2]}`, "a: want"},
		{"any order where the first choice is wrong", `{"assert":"unordered_array","items":[{"assert":"nonempty_string"},"a"]}`, `["a","b"]`, ""},
		{"any order without items", `{"assert":"unordered_array"}`, `[]`, "want"},
		{"an assertion of a later version", `{"a":{"assert":"nearly"}}`, `{"a":1}`, "unknown assertion"},
		{"an assertion that is no word", `{"a":{"assert":1}}`, `{"a":{"assert":1}}`, "unknown assertion"},

		{"no JSON expected", `{`, `1`, "what is expected"},
		{"no JSON answered", `1`, ``, "what was answered"},
		{"more than one value", `1`, `1 2`, "after the JSON value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := MatchJSON([]byte(tc.expected), []byte(tc.actual))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if err := Match(map[string]any{"a": 1.0}, map[string]any{"a": 1.0}); err != nil {
		t.Errorf("plain numbers: %v", err)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add(`{"a":{"assert":"unordered_array","items":[1]}}`, `{"a":[1]}`)
	f.Add(`{"assert":"present"}`, `[null,1e400]`)
	f.Fuzz(func(t *testing.T, expected, actual string) {
		_ = MatchJSON([]byte(expected), []byte(actual))
		if strings.Contains(expected, "assert") {
			return
		}
		if v, err := decode([]byte(expected)); err == nil && Match(v, v) != nil {
			t.Errorf("%s does not match itself", expected)
		}
	})
}
