//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
)

// piWithoutProvider names a provider of Pi's own in place of the one that models.json describes with its key.
func piWithoutProvider(l *lab) {
	file := filepath.Join(l.home, ".pi", "agent", "settings.json")
	if err := os.WriteFile(file, []byte(`{"defaultProvider":"openai","defaultModel":"gpt-5.1"}`), 0o600); err != nil {
		l.t.Fatal(err)
	}
}
