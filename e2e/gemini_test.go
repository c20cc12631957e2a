//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// geminiPatient gives Gemini its own number of attempts back.
func geminiPatient(l *lab) {
	l.t.Helper()
	file := filepath.Join(l.home, ".gemini", "settings.json")
	b, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	var settings map[string]map[string]any
	if err := json.Unmarshal(b, &settings); err != nil {
		l.t.Fatal(err)
	}
	delete(settings["general"], "maxAttempts")
	if b, err = json.Marshal(settings); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
}
