//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// reports is a folder for the reports of TestConform, of which e2e/table makes docs/CONFORMANCE.md; empty for none.
var reports = os.Getenv("DRAWBAR_E2E_REPORTS")

// TestConform: the conformance suite of the seam over the real program.
func TestConform(t *testing.T) {
	if !full {
		t.Skip("it takes minutes an agent; DRAWBAR_E2E_FULL=1 runs it")
	}
	forEach(t, func(t *testing.T, k kit) { conform(t, k) })
	for _, model := range []string{"anthropic", "openai", "google", "ollama"} { // nothing of a vendor runs: Drawbar speaks its API
		forAgent(t, model, func(t *testing.T) { conform(t, kit{name: model}) })
	}
}

func conform(t *testing.T, k kit) {
	o := bareLab(t, k, `{"turns":[{"text":"x"}]}`).command("conform", k.name, "--format", "json")
	var answer struct {
		Data []struct{ Check, Verdict, Message string }
	}
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil || len(answer.Data) == 0 {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	for _, r := range answer.Data {
		if r.Verdict == "fail" {
			t.Errorf("%s: %s", r.Check, r.Message)
		}
	}
	if reports != "" {
		if err := os.WriteFile(filepath.Join(reports, k.name+".json"), []byte(o.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
