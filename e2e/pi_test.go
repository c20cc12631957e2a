//go:build e2e

package e2e

import (
	"errors"
	"os"
	"path/filepath"
)

// piWithoutProvider names a provider of Pi's own in place of the one that models.json describes with its key.
func piWithoutProvider(l *lab) {
	folder := filepath.Join(l.home, ".pi", "agent")
	if err := errors.Join(os.Remove(filepath.Join(folder, "models.json")),
		os.WriteFile(filepath.Join(folder, "settings.json"), []byte(`{"defaultProvider":"openai","defaultModel":"gpt-5.1"}`), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}
