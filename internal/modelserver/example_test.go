package modelserver

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// readSchema reads the schema of scripts.
func readSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "schema", "model-script.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// TestExample: the example is a script, and what it says answers requests.
func TestExample(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]byte(Example)); err != nil {
		t.Fatal(err)
	}
	_, url := start(t, Example)
	a := do(t, "POST", url+"/v1/messages", `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"what is it?"}]}`)
	if a.status != 200 || !strings.Contains(a.body, "swordfish") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestSchema: the schema has the keys that Parse reads, and agrees with it about scripts.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := readSchema(t)
	for name, pair := range map[string][2][]string{
		"turn": {turnKeys, slices.Collect(maps.Keys(s.Defs["turn"].Properties))},
		"side": {sideKeys, slices.Collect(maps.Keys(s.Properties["side"].Properties))},
	} {
		if d := cmp.Diff(slices.Sorted(slices.Values(pair[0])), slices.Sorted(slices.Values(pair[1]))); d != "" {
			t.Errorf("the keys of %s: %s", name, d)
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		Example, `{"turns":[{"text":"a","colour":1}]}`, `{"turns":[{}]}`, `{"turns":[{"text":"ab","chunks":["a","b"],"hang":"mid-text"}]}`, `{"turns":[{"text":"abc","chunks":3,"cut":2}]}`,
		`{"turns":[{"text":"a"}],"onExhausted":"never"}`, `{"turns":[{"text":"a"}],"onExhausted":"text:more"}`, `{"turns":[{"garbage":true}]}`, `{"turns":[{"garbage":"<html>"}]}`,
		`{"turns":[{"tools":[{"input":{}}]}]}`, `{"turns":[{"tools":[{"name":"x","input":"y","custom":true}]}]}`, `{"turns":[{"text":"a","usage":{"input":-1}}]}`,
		`{"scripts":{"a":{"turns":[{"text":"x"}]}}}`, `{"scripts":{"-":{"turns":[{"text":"x"}]}}}`, `{"turns":[{"status":200}]}`, `{"turns":[{"status":429,"retryAfter":1,"headers":{"a":"b"}}]}`,
		`{"turns":[{"text":"a","repeat":0}]}`, `{"turns":[{"text":"a","match":{"words":"x"}}]}`, `{"turns":[],"side":{"text":"x","thinking":"y"}}`, `{"turns":[{"text":"a"}],"defaults":{"model":""}}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(script), &value); err != nil {
			t.Fatal(err)
		}
		_, parsed := Parse([]byte(script))
		if valid := resolved.Validate(value); (valid == nil) != (parsed == nil) {
			t.Errorf("%s: the schema says %v, Parse says %v", script, valid, parsed)
		}
	}
}
