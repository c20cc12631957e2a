package codex

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTOMLString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`say "hi"`, `"say \"hi\""`},
		{`C:\new`, `"C:\\new"`},
		{"a\nb\tc\rd\be\ff", `"a\nb\tc\rd\be\ff"`},
		{"\x00\x01\x1f\x7f", `"\u0000\u0001\u001F\u007F"`},
		{"true", `"true"`},
		{`{ a = "b" }`, `"{ a = \"b\" }"`},
		{"é – 😀", `"é – 😀"`},
		{"bad \xff byte", "\"bad \uFFFD byte\""},
		{"'''", `"'''"`},
	} {
		if got := tomlString(tt.in); got != tt.want {
			t.Errorf("tomlString(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if got := setting("model_reasoning_effort", "high"); len(got) != 2 || got[0] != "-c" || got[1] != `model_reasoning_effort="high"` {
		t.Errorf("setting = %q", got)
	}
}

// untoml reads a TOML basic string, by the rules of the language.
func untoml(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	var b strings.Builder
	for s = s[1 : len(s)-1]; s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if r == '"' || r < 0x20 && r != '\t' || r == 0x7f {
			return "", false
		}
		if r != '\\' {
			b.WriteRune(r)
			continue
		}
		if s == "" {
			return "", false
		}
		c := s[0]
		s = s[1:]
		if i := strings.IndexByte(`btnfr"\`, c); i >= 0 {
			b.WriteByte("\b\t\n\f\r\"\\"[i])
			continue
		}
		if c != 'u' || len(s) < 4 {
			return "", false
		}
		n, err := strconv.ParseUint(s[:4], 16, 32)
		if err != nil {
			return "", false
		}
		b.WriteRune(rune(n))
		s = s[4:]
	}
	return b.String(), true
}

// FuzzTOMLString: what is written is read back, with U+FFFD in place of what is no UTF-8.
func FuzzTOMLString(f *testing.F) {
	for _, s := range []string{"", "a\"b", "\\", "\x00", "é\xff", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want strings.Builder
		for _, r := range s {
			want.WriteRune(r)
		}
		if got, ok := untoml(tomlString(s)); !ok || got != want.String() {
			t.Errorf("%q is written as %s and read as %q", s, tomlString(s), got)
		}
	})
}
