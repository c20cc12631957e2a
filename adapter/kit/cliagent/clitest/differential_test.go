package clitest

import (
	"bytes"
	"strings"
	"testing"
)

// TestTokens finds words, values and names of members, each where it stands.
func TestTokens(t *testing.T) {
	t.Parallel()
	line := `{"a": "x", "b":[1, null,{"c" :true}], "d":{}, "e":"y"}`
	for kind, want := range map[token]string{isWord: `"x" "y"`, isValue: "1 null true", isKey: `"a" "b" "c" "d" "e"`} {
		var got []string
		for _, at := range tokens([]byte(line), kind) {
			got = append(got, line[at[0]:at[1]])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("kind %d: %q, want %s", kind, got, want)
		}
	}
}

// TestMutations change the recording, the same way each time, and nothing beyond the span.
func TestMutations(t *testing.T) {
	t.Parallel()
	said := func(line []byte) (int, int) {
		if line[0] == '>' {
			return 0, 0
		}
		return 0, len(line)
	}
	r := Recording{Name: "r", Stdout: []byte("{\"a\":\"x\",\"n\":1}\n> client\n{\"b\":\"y\",\"n\":2}\n")}
	other := [][]byte{[]byte("> other\n"), []byte("{\"spliced\":\"z\",\"n\":0}\n")}
	for _, class := range mutations {
		changed := 0
		for seed := range 20 {
			var once []byte
			for range 2 {
				m := newMutator(r, class.name, seed, other, said)
				class.apply(m)
				got := m.recording(r).Stdout
				if once != nil && !bytes.Equal(got, once) {
					t.Errorf("%s with seed %d is not the same twice", class.name, seed)
				}
				once = got
			}
			if !bytes.Equal(once, r.Stdout) {
				changed++
			}
			if class.name != "cut" && !bytes.Contains(once, []byte("> client\n")) || bytes.Contains(once, []byte("> other")) {
				t.Errorf("%s with seed %d touched what the client said: %s", class.name, seed, once)
			}
		}
		if changed < 5 {
			t.Errorf("%s changes nothing", class.name)
		}
	}
}
