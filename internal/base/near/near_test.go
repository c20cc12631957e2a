package near

import (
	"strings"
	"testing"
)

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}, {"äb", "ab", 1}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestNearestIgnoresLongNames does not run in parallel: it counts allocations.
func TestNearestIgnoresLongNames(t *testing.T) {
	long, names := strings.Repeat("claude ", 100000), map[string]string{"claude": "claude"}
	if n := testing.AllocsPerRun(10, func() { Words(long, names) }); n > 0 {
		t.Errorf("%v allocations for a name that no agent can have", n)
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"model", "agent", "maxTokens", "env", "roles", "rules", "temperature"}
	for asked, want := range map[string]string{
		"modell": "model", "mdoel": "model", "MODEL": "model", "maxtokns": "maxTokens", "max_tokens": "maxTokens", "tmprature": "temperature",
		"evn": "env", "role": "roles", "rles": "roles", "rulez": "rules",
		"": "", "e": "", "entirely": "", "xyz": "", strings.Repeat("model", 21): "",
	} {
		if got := Word(asked, known); got != want {
			t.Errorf("%q: got %q, want %q", asked, got, want)
		}
	}
}
