package jsonscan

import "testing"

// FuzzScan holds Parse, Fields and every decoding against encoding/json.
func FuzzScan(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	for _, file := range []string{"claude.jsonl", "codex.jsonl"} {
		for _, line := range fileLines(f, file) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) { check(t, line) })
}
