package protocol

import (
	"fmt"
	"testing"
)

func TestSplitLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"agent run {prompt}": {"agent", "run", "{prompt}"}, "  a\t b\n": {"a", "b"}, `a "b c" 'd "e"'`: {"a", "b c", `d "e"`},
		`a\ b c\"d`: {"a b", `c"d`}, `"" x`: {"", "x"}, `C:\tools\x y`: {`C:\tools\x`, "y"}, "": nil,
	} {
		if got, err := SplitLine(line); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q %v", line, got, err)
		}
	}
	if _, err := SplitLine(`a "b`); err == nil {
		t.Error("an open quote")
	}
}

func FuzzSplitLine(f *testing.F) {
	f.Add(`agent --x "a b" 'c' \ d`)
	f.Fuzz(func(t *testing.T, line string) {
		if words, err := SplitLine(line); err == nil && len(words) > len(line) {
			t.Errorf("%q", words)
		}
	})
}
