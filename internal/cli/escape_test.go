package cli

import (
	"encoding/json"
	"testing"
)

func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"plain \u001b"}`:             `{"a":"plain \u001b"}`,
		"{\"a\":\"w\u00f6rld \u2603\"}":    "{\"a\":\"w\u00f6rld \u2603\"}",
		"\"x\u009b31m\u202ey\x7f\u200dz\"": `"x\u009b31m\u202ey\u007f\u200dz"`,
		"\"\U000E0041\"":                   `"\udb40\udc41"`,
		"\"bad \xff\"":                     "\"bad \xff\"",
	} {
		got := EscapeJSON([]byte(in))
		if string(got) != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		var a, b any
		if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Errorf("%q is no JSON any more", got)
		} else if x, _ := json.Marshal(a); string(x) != func() string { y, _ := json.Marshal(b); return string(y) }() {
			t.Errorf("%q means %v, want %v", got, b, a)
		}
	}
}

// TestEscapeJSONEverywhere: what is escaped is found at every place of a text that is looked at eight bytes at a time.
func TestEscapeJSONEverywhere(t *testing.T) {
	const plain = "sixteen letters, and a few"
	for odd, want := range map[string]string{"\x7f": `\u007f`, "\u0085": `\u0085`, "\u202e": `\u202e`, "\u00e9": "\u00e9", "~": "~"} {
		for at := range len(plain) {
			if got := string(EscapeJSON([]byte(plain[:at] + odd + plain[at:]))); got != plain[:at]+want+plain[at:] {
				t.Errorf("%q at %d: %q", odd, at, got)
			}
		}
	}
}
