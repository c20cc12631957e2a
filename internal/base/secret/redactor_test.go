package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

var structural = map[string]bool{"type": true}

// The keys below are made up; their pieces are joined here so that no scanner takes them for real ones.
var keys = map[string]string{
	"openai":     "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5q",
	"anthropic":  "sk-" + "ant-api03-aaaaBBBBccccDDDD1111",
	"github":     "ghp_" + "abcdefghij0123456789abcdefghij012345",
	"github new": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
	"gitlab":     "glpat-" + "abcdefghij0123456789",
	"aws":        "AKIA" + "IOSFODNN7EXAMPLE",
	"slack":      "xoxb-" + "123456789012-abcdef",
	"google":     "AIza" + "SyA0123456789abcdefghijklmnopqrstuv",
	"npm":        "npm_" + "abcdefghij0123456789abcdefghij012345",
	"jwt":        "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
}

func TestSecretsInText(t *testing.T) {
	t.Parallel()
	s := New([]string{"hunter2-of-mine", "short", "  padded-value \n", "with \"quotes\"\nand lines"})
	for name, key := range keys {
		for _, text := range []string{key, "x " + key, "k=" + key + ";", `"` + key + `"`, `{\"k\":\"` + key + `\"}`, `line\n` + key, "\n" + key + "\n", "https://u:" + key + "@host/"} {
			if got := s.Text(text); strings.Contains(got, key) || strings.Contains(got, key[8:]) || !strings.Contains(got, Mark) {
				t.Errorf("%s in %q: got %q", name, text, got)
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"my hunter2-of-mine!", "my [REDACTED]!"},
		{"hunter2-of-minehunter2-of-mine", "[REDACTED][REDACTED]"},
		{"a short one", "a short one"},
		{"a padded-value b", "a [REDACTED] b"},
		{"with \"quotes\"\nand lines", "[REDACTED]"},
		{`{"a":"with \"quotes\"\nand lines"}`, `{"a":"[REDACTED]"}`},
		{"Authorization: Bearer abcdefgh12345678==", "Authorization: Bearer [REDACTED]"},
		{"authorization: bearer  ABCDEFGHIJKLMNOPQR", "authorization: bearer  [REDACTED]"},
		{"the bearer authenticationscheme is", "the bearer authenticationscheme is"},
		{"Bearer bonds", "Bearer bonds"},
		{"sk-learn, sk-circle-fade-dot-animation, task-based-approaches-12345", "sk-learn, sk-circle-fade-dot-animation, task-based-approaches-12345"},
		{"xAKIAIOSFODNN7EXAMPLE", "xAKIAIOSFODNN7EXAMPLE"},
		{"ghp_short", "ghp_short"},
		{"wörld ☃", "wörld ☃"},
		{"", ""},
	} {
		if got := s.Text(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestSecretsInJSON(t *testing.T) {
	t.Parallel()
	s := New([]string{"secret<value>", "1234567890123", "a_message", "text_delta"})
	for _, c := range []struct{ name, in, want string }{
		{"escaped", `{"a":"x secret\u003cvalue\u003e y"}`, `{"a":"x [REDACTED] y"}`},
		{"plain", `{"a":"secret<value>"}`, `{"a":"[REDACTED]"}`},
		{"nested", `{"a":"{\"b\":\"secret\\u003cvalue\\u003e\"}"}`, `{"a":"{\"b\":\"[REDACTED]\"}"}`},
		{"numbers keep their shape", `{"timestamp":1234567890123,"s":"1234567890123"}`, `{"timestamp":1234567890123,"s":"[REDACTED]"}`},
		{"keys stay", `{"a_message":"a_message"}`, `{"a_message":"[REDACTED]"}`},
		{"type stays", `{"type":"text_delta","b":{"type":"text_delta"}}`, `{"type":"text_delta","b":{"type":"[REDACTED]"}}`},
		{"nothing", `{"a":[1,"b",{"c":null}]}`, `{"a":[1,"b",{"c":null}]}`},
		{"no JSON", `found "it": 1234567890123`, `found "it": [REDACTED]`},
	} {
		if got := string(s.JSON([]byte(c.in), structural)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func FuzzSecretsInJSON(f *testing.F) {
	f.Add([]byte(`{"type":"text_delta","delta":"Hello","raw":{"a":["b",{"password":"password=hunter2hunter2"}]}}`), "Hello")
	f.Add([]byte(`{"a":"secret \u003c \\ \" x"}`), `secret \u003c`)
	f.Fuzz(func(t *testing.T, line []byte, secret string) {
		s := New([]string{secret})
		got := s.JSON(line, structural)
		if json.Valid(line) && !json.Valid(got) {
			t.Errorf("%q became %q", line, got)
		}
		s.Text(string(line))
	})
}
