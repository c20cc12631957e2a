package procenv

import (
	"fmt"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	lookup := Of([]string{"A=1", "B=two", "A=one", "EMPTY=", "=C:=x", "no"}, []string{"B=2"}).Or(Getenv(func(n string) string {
		if n == "G" {
			return "from getenv"
		}
		return ""
	}))
	for text, want := range map[string]string{
		"":                    " []",
		"plain":               "plain []",
		"${A}${B}-$A":         "one2-$A []",
		"${EMPTY}.":           ". []",
		"${G}":                "from getenv []",
		"${NO} ${A} ${NO}":    "${NO} one ${NO} [NO]",
		"${NO}${OTHER}":       "${NO}${OTHER} [NO OTHER]",
		"${A":                 "${A []",
		"${}${1A}${a b}$${A}": "${}${1A}${a b}$one []",
		"${${A}}":             "${one} []",
	} {
		got, missing := Expand(text, lookup)
		if s := fmt.Sprintf("%s %v", got, missing); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
	err := &MissingError{Where: "runtimes.dev.env.KEY", Names: []string{"A", "B"}}
	if got := err.Error(); got != "runtimes.dev.env.KEY needs ${A} and ${B}, which the environment does not set" {
		t.Error(got)
	}
	if _, ok := Getenv(nil)("A"); ok {
		t.Error("a function that is none")
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("a${B}c${", "x")
	f.Fuzz(func(t *testing.T, text, value string) {
		got, missing := Expand(text, func(n string) (string, bool) { return value, n != "MISSING" })
		if !strings.Contains(text, "${") && (got != text || missing != nil) {
			t.Errorf("%q became %q", text, got)
		}
		if len(missing) > 1 {
			t.Error(missing)
		}
	})
}

func TestTelling(t *testing.T) {
	for name, want := range map[string]bool{"API_KEY": true, "github_token": true, "Authorization": true, "DB_PASSWORD": true, "Cookie": true,
		"PATH": false, "HOME": false, "SSH_AUTH_SOCK": false, "LANG": false} {
		if Telling(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestRedactor(t *testing.T) {
	r := NewRedactor([]string{"API_KEY=sk-secret-1", "MY_TOKEN=sk-secret-1-longer", "SHORT_KEY=1", "PATH=/usr/bin", "X_TOKEN="})
	r.Add("Bearer abc-def-ghi")
	r.Add("sk-secret-1")
	for text, want := range map[string]string{
		"nothing":                           "nothing",
		"x sk-secret-1-longer y":            "x [redacted] y",
		"sk-secret-1 1 /usr/bin":            "[redacted] 1 /usr/bin",
		"Authorization: Bearer abc-def-ghi": "Authorization: [redacted]",
		"token=abc-def-ghi":                 "token=[redacted]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
		if got := string(r.Bytes([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := new(Redactor).Text("x"); got != "x" {
		t.Error(got)
	}
	args := []string{"--api-key", "abc", "--token=abc", "--name", "x", "sk-secret-1", "--auth-token", "--verbose", "y"}
	want := "[--api-key [redacted] --token=[redacted] --name x [redacted] --auth-token --verbose y]"
	if got := fmt.Sprint(r.MaskArgs(args)); got != want {
		t.Errorf("%s", got)
	}
}
