package runstore

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stat string
		start      uint64
		ok, err    bool
	}{
		{"plain", "7 (cat) R 1 2 3 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 165894 3 4", 165894, true, false},
		{"name with parentheses", "7 (a) b) (c) S 1 2 3 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 42 3 4", 42, true, false},
		{"zombie", "7 (cat) Z 1 2 3 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 42 3 4", 0, false, false},
		{"short", "7 (cat) R 1", 0, false, true},
		{"empty", "", 0, false, true},
		{"no number", "7 (cat) R 1 2 3 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 x 3 4", 0, false, true},
	} {
		start, ok, err := parseStat([]byte(c.stat))
		if start != c.start || ok != c.ok || (err != nil) != c.err {
			t.Errorf("%s: got %d, %v, %v", c.name, start, ok, err)
		}
	}
}
