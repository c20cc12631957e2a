package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"testing"
)

// The same seed makes the same files, every line of which is JSON.
func TestGenerate(t *testing.T) {
	for _, agent := range []string{"claude", "codex"} {
		var all [2][]byte
		for i := range all {
			dir := t.TempDir()
			written, files, err := generate(dir, agent, 3_000_000, 7, 1000)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				n++
				b, err := fs.ReadFile(os.DirFS(dir), path)
				all[i] = append(append(all[i], path...), b...)
				for line := range bytes.Lines(b) {
					if !json.Valid(line) {
						t.Fatalf("%s: %.200s", path, line)
					}
				}
				return err
			})
			if err != nil || n != files || written < 3_000_000 {
				t.Errorf("%s: %d files of %d, %d bytes, %v", agent, n, files, written, err)
			}
		}
		if !bytes.Equal(all[0], all[1]) {
			t.Errorf("%s: the same seed makes other files", agent)
		}
	}
}
