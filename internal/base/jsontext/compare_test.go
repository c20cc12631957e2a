package jsontext

import (
	"strings"
	"testing"
)

func TestWildcard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*b", "ab", true}, {"*", "", true}, {"a*c*e", "abcde", true},
		{"a*c*e", "abde", false}, {"*opus*", "claude-opus-4[1m]", true}, {"ab*b", "ab", false},
	} {
		if got := Wildcard(tt.pattern, tt.name, "*"); got != tt.want {
			t.Errorf("Wildcard(%q, %q) = %t", tt.pattern, tt.name, got)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	keep := func(s string) string { return s }
	for _, tt := range []struct{ a, b, want string }{
		{`{"a":1,"b":[true,"x"]}`, `{"b":[true,"X"],"a":1}`, ""},
		{`{"a":null}`, `{}`, ""},
		{`{"a":1}`, `{"a":2,"b":"c"}`, `a: recorded "1", received "2"|b: recorded nothing, received "c"`},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1]}}`, `a.b: recorded "[1,2]", received "[1]"`},
		{`{"a":[{"b":"<"}]}`, `{"a":[{"b":"d"}]}`, `a[0].b: recorded "<", received "d"`},
		{`{"a":"use [REDACTED]."}`, `{"a":"use another."}`, ""},
		{`{"a":{}}`, `{"a":[]}`, `a: recorded "{}", received "[]"`},
		{`1`, `2`, `the body: recorded "1", received "2"`},
		{`x`, `y`, `the body: recorded "X", received "y"`},
		{`[1]`, `y`, `the body: recorded "[1]", received "y"`},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1}`, `{}`, `a: recorded "1", received nothing|b: recorded "1", received nothing|c: recorded "1", received nothing|and 2 more`},
	} {
		before := func(s string) string { return strings.ReplaceAll(s, "x", "X") }
		if got := strings.Join(Describe(Compare("the body", []byte(tt.a), []byte(tt.b), before, keep)), "|"); got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if got := Compare("", []byte(deep), []byte(deep), keep, keep); len(got) > 0 {
		t.Errorf("%v", got)
	}
	long := strings.Repeat("a", 200)
	want := `x: recorded ..."` + strings.Repeat("a", 30) + `b", received ..."` + strings.Repeat("a", 30) + `c` + strings.Repeat("d", 59) + `"...`
	if got := (Difference{"x", long + "b", long + "c" + strings.Repeat("d", 100)}).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReplacePath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/a/b/c /a/b": "X/c X", "/a/bc /a/b-c /a/b_ /a/b.": "/a/bc /a/b-c /a/b_ X.", "z/a/b": "z/a/b", "(/a/b)": "(X)", "/a/b/a/b": "X/a/b", "": "",
	} {
		if got := ReplacePath(in, "/a/b", "X"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := ReplacePath("abc", "", "X"); got != "abc" {
		t.Errorf("%q", got)
	}
}
