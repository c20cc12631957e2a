package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	part := ObjectOf("", Must("id", Text("")), Opt("n", Within("", 1, 3)))
	part.Also = []string{"old"}
	root := ObjectOf("",
		Must("name", Named("", `^[a-z]+$`)),
		Opt("word", One("", "a", "b")),
		Opt("free", Node{Kind: String, Blank: true, Not: `^<.*>$`, MaxLen: 3}),
		Opt("command", Node{Kind: Words}),
		Opt("share", Above("", 0)),
		Opt("flag", Flag("")),
		Opt("parts", ListOf("", part).AtLeastItems(1)),
		Opt("by", MapOf("", `^[a-z]+$`, Flag(""))),
		Opt("few", Node{Kind: List, Of: &Node{Kind: Any}, MaxItems: 1}),
	)
	for text, want := range map[string]string{
		`{"name":"x","word":"a","free":"","command":["a",""],"share":0.5,"flag":true,"parts":[{"id":"i","n":2.0,"old":1}],"by":{"x":true},"few":[1]}`: "",
		`{"name":null,"word":null,"share":null}`: "missing name",
		`{}`:                                     "missing name",
		`{"name":"X"}`:                           "no match name",
		`{"name":" ","word":"c","free":"long"}`:  "blank name, not one of word, too long free",
		`{"name":1,"flag":"true","parts":{},"by":[]}`:            "kind name, kind flag, kind parts, kind by",
		`{"name":"x","free":" <x> "}`:                            "forbidden free",
		`{"name":"x","command":[]}`:                              "no words command",
		`{"name":"x","command":[" ",1]}`:                         "blank command[0], kind command[1]",
		`{"name":"x","command":1}`:                               "kind command",
		`{"name":"x","share":0}`:                                 "outside share",
		`{"name":"x","share":1e999}`:                             "too large share",
		`{"name":"x","parts":[]}`:                                "too few parts",
		`{"name":"x","parts":[null,{"n":1.5},{"id":"i","n":4}]}`: "kind parts[0], not whole parts[1].n, missing parts[1].id, outside parts[2].n",
		`{"name":"x","by":{"":true,"A":null}}`:                   `no name by."", bad name by.A, kind by.A`,
		`{"name":"x","name":"y"}`:                                "twice name",
		`{"name":"x","Word":"a","more":1}`:                       "other case Word, unknown key more",
		`{"name":"x","few":[1,2]}`:                               "too many few",
	} {
		var got []string
		for _, f := range root.Check(Parse([]byte(text)), "") {
			got = append(got, fmt.Sprintf("%s %s", f.Wrong, f.Field))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s\n got %s\nwant %s", text, s, want)
		}
	}
}

// What nothing can decode is left out, and a whole number is written as one.
func TestRender(t *testing.T) {
	t.Parallel()
	root := ObjectOf("", Opt("n", Whole("", 0)), Opt("s", Text("")), Opt("l", ListOf("", Text(""))))
	for text, want := range map[string]string{
		`{"n":1e3,"s":1,"l":["a",2,"b"],"x":{"y":[]}}`: `{"n":1000,"l":["a","b"],"x":{"y":[]}}`,
		`{"s":"a","s":"b","N":1}`:                      `{"s":"a"}`,
		`{"l":[1],"n":2}`:                              `{"l":[],"n":2}`,
	} {
		v, b := Parse([]byte(text)), bytes.Buffer{}
		root.Check(v, "")
		if v.Render(&b); b.String() != want {
			t.Errorf("%s is written as %s, want %s", text, b.String(), want)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	type part struct {
		N *int64 `json:"n,omitempty" doc:"how many"`
	}
	type whole struct {
		Parts []part          `json:"parts"`
		Any   json.RawMessage `json:"any"`
		Yes   bool            `json:"yes"`
		Share float64         `json:"share"`
		Skip  string          `json:"-"`
	}
	n := Of(reflect.TypeFor[whole]())
	want := ObjectOf("", Opt("parts", ListOf("", ObjectOf("", Opt("n", Node{Kind: Integer, Doc: "how many", Null: true})))), Opt("any", Raw("")),
		Opt("yes", Flag("")), Opt("share", Node{Kind: Number}))
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
	if k := n.Inside("parts.n"); k.Doc != "how many" {
		t.Errorf("%+v", k)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"a":[1,"x",null],"a":{}}`)
	root := ObjectOf("", Must("a", ListOf("", Node{Kind: Words})), Opt("b", MapOf("", "", Whole("", 1))))
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		v, b := Parse([]byte(text)), bytes.Buffer{}
		root.Check(v, "")
		if v.Render(&b); !json.Valid(b.Bytes()) {
			t.Errorf("%q is written as %q", text, b.String())
		}
	})
}
