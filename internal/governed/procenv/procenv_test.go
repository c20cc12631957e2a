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
