package main

//go:generate go test . -run TestAgentsTable -update

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
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

// TestInstallLines: who follows the documents builds the program as we do, static, whether there is a C compiler or not.
func TestInstallLines(t *testing.T) {
	for _, page := range []string{"README.md", "docs/quickstart.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "go install ./cmd/drawbar") || strings.Contains(line, "go build -o") {
				found++
				if !strings.HasPrefix(strings.TrimSpace(line), "CGO_ENABLED=0 ") {
					t.Errorf("%s: %s", page, line)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s does not say how to build it", page)
		}
	}
}
