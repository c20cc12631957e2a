package secret

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

type word string

type inner struct{ Text string }

type outer struct {
	Text    string
	Word    word
	JSON    json.RawMessage
	Bytes   []byte
	List    []inner
	Pointer *inner
	Any     any
	Map     map[string]any
	Number  int
	hidden  string
}

func TestDeep(t *testing.T) {
	t.Parallel()
	const value = "the-known-value"
	r := New([]string{value})
	made := func(v string) outer {
		return outer{Text: "a " + v, JSON: json.RawMessage(`{"a":"` + v + `"}`), List: []inner{{"plain"}, {v}}, Pointer: &inner{v},
			Any: []any{map[string]any{"k": v}, 1}, Map: map[string]any{"short": v, "a name that is long " + v: inner{v}}, Number: 1,
			Word: value, Bytes: []byte(value), hidden: value}
	}
	given := made(value)
	if got, want := Deep(r, given), made(Mark); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !reflect.DeepEqual(given, made(value)) {
		t.Errorf("the value itself was changed: %+v", given)
	}
	clean := made("plain")
	if got := Deep(r, clean); &got.List[0] != &clean.List[0] || got.Pointer != clean.Pointer {
		t.Error("a value without a secret was copied")
	}
	if got := Deep[any](r, nil); got != nil {
		t.Errorf("nil became %v", got)
	}
	if got := Deep[any](r, value); got != Mark {
		t.Errorf("got %v", got)
	}
}

func BenchmarkDeep(b *testing.B) {
	v := outer{Text: strings.Repeat("some text ", 20), JSON: json.RawMessage(`{"path":"a/b/c.go"}`), Any: map[string]any{"k": "v"}}
	r := New([]string{"the-known-value"})
	b.ReportAllocs()
	for b.Loop() {
		v = Deep(r, v)
	}
}
