package jsonscan

import (
	"strings"
	"testing"
)

func TestPeek(t *testing.T) {
	for _, tc := range []struct {
		name, line, key, want string
		found                 bool
	}{
		{"first", `{"type":"user","message":{}}`, "type", `"user","message":{}}`, true},
		{"behind others", `{"a":[1,{"type":0}],"b":"\"type\":\"no\"","type":"yes"}`, "type", `"yes"}`, true},
		{"cut value", `{"a":1,"type":"us`, "type", `"us`, true},
		{"cut before the value", `{"a":1,"type":`, "type", "", false},
		{"cut inside a member before", `{"a":"no end of it, \"type\":1`, "type", "", false},
		{"blanks", " { \"a\" : 1 , \"type\" : 2 }", "type", "2 }", true},
		{"deeper only", `{"a":{"type":1}}`, "type", "", false},
		{"in a string only", `{"a":"\"type\":1"}`, "type", "", false},
		{"not an object", `["type",1]`, "type", "", false},
		{"empty", ``, "type", "", false},
		{"empty object", `{}`, "type", "", false},
		{"nested key", `{"payload":{"type":"x`, "payload", `{"type":"x`, true},
		{"behind where to stop", `{"a":1,"stop":{},"type":2}`, "type", "", false},
		{"before where to stop", `{"a":1,"type":2,"stop":{}}`, "type", `2,"stop":{}}`, true},
		{"wrong between members", `{"a":1;"type":2}`, "type", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, found := Peek([]byte(tc.line), tc.key, "stop")
			if string(got) != tc.want || found != tc.found {
				t.Errorf("got %q, %v, want %q, %v", got, found, tc.want, tc.found)
			}
		})
	}
}

// FuzzPeek holds Peek against Fields: where a line is valid, both see the same member, unless its name is repeated or escaped.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"a":[1],"type":"x"}`))
	f.Add([]byte(`{"type":{"type":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, found := Peek(line, "type", "")
		if found && len(got) == 0 {
			t.Fatal("found without a value")
		}
		var dst [1]Value
		if Fields(line, dst[:], NewKeySet("type")) != nil || strings.Contains(string(line), `\`) || strings.Count(string(line), `"type"`) > 1 {
			return
		}
		if found != dst[0].Exists() {
			t.Fatalf("Peek %v, Fields %v", found, dst[0].Exists())
		}
		if found && !strings.HasPrefix(string(got), string(dst[0].Raw())) {
			t.Fatalf("Peek %q, Fields %q", got, dst[0].Raw())
		}
	})
}
