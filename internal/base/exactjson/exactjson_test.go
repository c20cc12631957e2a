package exactjson

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	Name string `json:"name"`
}

type sample struct {
	inner
	Mode   string            `json:"mode"`
	List   []inner           `json:"list"`
	Env    map[string]string `json:"env"`
	ByName map[string]*inner `json:"byName"`
	Any    any               `json:"any"`
	Count  *int              `json:"count"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"good", `{"mode":"a","list":[{"name":"x"}],"env":{"A":"1","a":"2"},"byName":{"x":{"name":"y"}},"any":{"z":null},"name":"n","count":1}`, ""},
		{"another case", `{"Mode":"a"}`, `"mode"`},
		{"a letter that folds", "{\"li\u017ft\":[]}", `unknown key`},
		{"twice", `{"mode":"a","mode":"b"}`, `"mode" is there twice`},
		{"twice by an escape", `{"mode":"a","m\u006fde":"b"}`, `"mode" is there twice`},
		{"twice, deep", `{"any":[{"x":{"y":1,"y":2}}]}`, `any[0].x.y`},
		{"unknown in a list", `{"list":[{"nam":"x"}]}`, `"nam" in list[0]`},
		{"another case in a map's value", `{"byName":{"x":{"NAME":"y"}}}`, `it is spelled "name"`},
		{"null", `{"mode":null}`, `mode: null`},
		{"null in a map", `{"env":{"A":null}}`, `env.A: null`},
		{"trailing", `{} {}`, "follows"},
		{"no JSON", `{"mode":`, "unexpected EOF"},
		{"too deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested"},
	} {
		var s sample
		err := Decode([]byte(tt.text), &s, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	var s inner
	if err := Decode([]byte(`{"nick":"x","name":"y"}`), &s, Aliases{reflect.TypeFor[inner](): {"nick"}}); err != nil || s.Name != "y" {
		t.Errorf("an alias: %v", err)
	}
	var unknown *UnknownKeyError
	if err := Decode([]byte(`{"nick":"x"}`), &s, nil); !errors.As(err, &unknown) || unknown.Key != "nick" {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"mode":"a","list":[{"name":"x"}],"any":{"z":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sample
		_ = Decode(data, &s, nil)
	})
}
