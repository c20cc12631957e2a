package all

import (
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
)

// TestHostMarkers: a marker is dropped from every run; a login or a directory must never be. Two agents share none.
func TestHostMarkers(t *testing.T) {
	of := map[string]string{}
	for _, d := range adapter.Builtins() {
		for _, name := range slices.Concat(d.HostSignals, d.HostTraces) {
			for _, part := range []string{"KEY", "SECRET", "OAUTH", "PASSWORD", "HOME", "CONFIG_DIR", "AUTH"} {
				if strings.Contains(name, part) {
					t.Errorf("%s of %s looks like a login or a home", name, d.Name)
				}
			}
			if of[name] != "" {
				t.Errorf("%s is declared by %s and %s", name, of[name], d.Name)
			}
			of[name] = d.Name
		}
	}
	for _, name := range []string{"CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "QWEN_CODE_SIMPLE", "COPILOT_CLI"} {
		if !slices.Contains(adapter.HostMarkers(), name) {
			t.Errorf("%s is not a marker", name)
		}
	}
}
