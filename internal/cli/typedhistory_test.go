package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTypedHistory: what was typed is there in the next conversation, the newest first; repeated and empty messages are not, and neither
// are, in the file, those with secrets. A file that has grown is cut.
func TestTypedHistory(t *testing.T) {
	state := t.TempDir()
	t.Setenv("DRAWBAR_STATE_DIR", state)
	t.Setenv("SOME_API_KEY", "a-value-of-the-environment")
	h := openTypedHistory()
	for _, message := range []string{"one", "one", " ", "two\nlines", "the key is a-value-of-the-environment"} {
		h.keep(message)
	}
	if !slices.Equal(h.list, []string{"one", "two\nlines", "the key is a-value-of-the-environment"}) {
		t.Errorf("%q", h.list)
	}
	file := filepath.Join(state, "conversation-history.jsonl")
	if b, err := os.ReadFile(file); err != nil || string(b) != "\"one\"\n\"two\\nlines\"\n" {
		t.Errorf("%q, %v", b, err)
	}
	if h = openTypedHistory(); !slices.Equal(h.list, []string{"one", "two\nlines"}) {
		t.Errorf("%q", h.list)
	}

	var many bytes.Buffer
	for i := range maxTyped*3/2 + 1 {
		fmt.Fprintf(&many, "%q\n", fmt.Sprint("message ", i))
	}
	many.WriteString("{broken\n")
	if err := os.WriteFile(file, many.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if h = openTypedHistory(); len(h.list) != maxTyped || h.list[maxTyped-1] != fmt.Sprint("message ", maxTyped*3/2) {
		t.Errorf("%d messages, the newest %q", len(h.list), h.list[len(h.list)-1])
	}
	b, err := os.ReadFile(file)
	if err != nil || bytes.Count(b, []byte{'\n'}) != maxTyped {
		t.Errorf("%d lines, %v", bytes.Count(b, []byte{'\n'}), err)
	}
}

// TestCompleteWord: the tab key completes the first word as far as it is certain.
func TestCompleteWord(t *testing.T) {
	t.Parallel()
	words := []string{"/approve", "/abort", "/steer", "/sessions"}
	for line, want := range map[string]string{"/ap": "/approve ", "/a": "/a", "/st": "/steer ", "/s": "/s", "/se": "/sessions ", "/x": "", "": "", "/steer le": "", "hello": ""} {
		got, pos, ok := completeWord(words, line, len(line))
		if got != want || ok != (want != "") || pos != len(want) {
			t.Errorf("%q: %q %d %t", line, got, pos, ok)
		}
	}
	if got, _, _ := completeWord(words, "/ap now", 3); !strings.HasPrefix(got, "/approve ") {
		t.Errorf("before other words: %q", got)
	}
}
