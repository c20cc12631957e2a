package main

//go:generate go test . -run TestAgentsTable -update

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/internal/cli/root"
)

var update = flag.Bool("update", false, "write the generated documents")

const agentsHead = `# What the agents can do

Generated from what the adapters declare: ` + "`drawbar agents matrix --markdown`" + `. An option that an agent cannot honour is refused
before anything starts. Which scenarios pass with the real programs is in [SCENARIOS.md](SCENARIOS.md).

`

// TestAgentsTable holds docs/AGENTS.md against the capabilities of the built-in agents.
func TestAgentsTable(t *testing.T) {
	var out bytes.Buffer
	if code := root.Main(t.Context(), []string{"agents", "matrix", "--markdown"}, &bytes.Buffer{}, &out, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want := agentsHead + out.String()
	path := filepath.Join("..", "..", "docs", "AGENTS.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/AGENTS.md is out of date: go generate ./... (-want +got)\n%s", diff)
	}
}
