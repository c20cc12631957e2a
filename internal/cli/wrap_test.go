package cli

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 59)
	for name, tc := range map[string]struct{ in, want string }{
		"empty":     {"", ""},
		"kept":      {"Short.\n\nUsage:\n  drawbar run\n", "Short.\n\nUsage:\n  drawbar run\n"},
		"paragraph": {"one two\nthree\n\nfour\n", "one two three\n\nfour\n"},
		"refilled":  {word + " " + word + " a\nb", word + " " + word + "\na b"},
		"exactly":   {word + " " + word + "x", word + " " + word + "x"},
		"flag":      {"  --f string   " + word + " " + word, "  --f string   " + word + "\n               " + word},
		"indented":  {"  " + word + " " + word + " y", "  " + word + "\n    " + word + " y"},
		"too long":  {"a " + word + word + word, "a\n" + word + word + word},
		"wide":      {strings.Repeat("é", 119) + " y", strings.Repeat("é", 119) + "\ny"},
	} {
		if got := Wrap(tc.in); got != tc.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tc.want)
		}
	}
}
