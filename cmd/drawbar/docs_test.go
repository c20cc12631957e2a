package main

//go:generate go test . -run TestAgentsTable|TestCustomAgentKeys -update

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/cli/root"
)

var update = flag.Bool("update", false, "write the generated documents")

const agentsHead = `# What the agents can do

Generated from what the adapters declare: ` + "`drawbar agents matrix --markdown`" + `. An option that an agent cannot honour is refused
before anything starts. Which scenarios pass with the real programs is in [SCENARIOS.md](SCENARIOS.md).

`

// TestAgentsTable holds docs/AGENTS.md against the capabilities of the built-in agents.
func TestAgentsTable(t *testing.T) {
	t.Setenv("DRAWBAR_CONFIG_DIR", t.TempDir()) // without the agents of whoever runs it
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

// TestCustomAgentKeys holds the table of docs/custom-agents.md against the table that checks entries.
func TestCustomAgentKeys(t *testing.T) {
	const mark = "<!-- The rest is generated: go generate ./... -->\n"
	path := filepath.Join("..", "..", "docs", "custom-agents.md")
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	prose, _, ok := strings.Cut(string(got), mark)
	if !ok {
		t.Fatalf("%s has no %q", path, mark)
	}
	want := prose + mark + "\n| key | value | meaning |\n|---|---|---|\n" + keyRows("", declarative.Keys())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/custom-agents.md is out of date: go generate ./... (-want +got)\n%s", diff)
	}
}

// TestCustomAgentExample: the entry in the page has no faults.
func TestCustomAgentExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "custom-agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	entry, _, ok := strings.Cut(rest, "```")
	if _, faults := declarative.Read([]byte(entry)); !ok || len(faults) > 0 {
		t.Error(faults)
	}
}

// keyRows returns a row for each key of an object and of what it contains.
func keyRows(at string, n *shape.Node) (rows string) {
	for i := range n.Keys {
		k := &n.Keys[i]
		value, of := string(k.Kind), &k.Node
		if k.Kind == shape.List || k.Kind == shape.Map {
			of = k.Of
			value += " of " + string(of.Kind)
		}
		if len(of.Enum) > 0 && len(of.Enum) < 20 {
			value = strings.Replace(value, string(of.Kind), strings.Join(of.Enum, ", "), 1)
		}
		doc := k.Doc
		if k.Required {
			doc += ". Required"
		}
		if k.Default != nil {
			doc += fmt.Sprintf(" (default: %v)", k.Default)
		}
		suffix := map[shape.Kind]string{shape.List: "[]", shape.Map: ".NAME"}[k.Kind]
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", at+k.Name, value, strings.ReplaceAll(doc, "|", "\\|"))
		if of.Kind == shape.Object {
			rows += keyRows(at+k.Name+suffix+".", of)
		}
	}
	return rows
}
