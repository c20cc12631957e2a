package protocoldoc

import (
	"flag"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/PROTOCOL.md")

// TestProtocolDocument holds docs/PROTOCOL.md against the code.
func TestProtocolDocument(t *testing.T) {
	want, err := Generate(filepath.Join("..", "governance"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "..", "docs", "PROTOCOL.md")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/PROTOCOL.md is out of date: go generate ./... (-want +got)\n%s", diff)
	}
}

// TestSources: what code says is found, whichever way it says it.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	lay := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	b.WriteString("package protocol\n")
	for _, f := range files {
		b.WriteString("// " + f.typ + " is a document.\ntype " + f.typ + " struct { RunID *string `json:\"run_id\"` // nil is none\n Inner Ordered[*Part] `json:\"inner,omitempty\"`\n Part\n}\n")
	}
	b.WriteString("// Part is a part.\ntype Part struct {\n// Of a line above.\nX []int64 `json:\"x\"`\nSkip Extra `json:\"-\"`\nY json.RawMessage `json:\"y\"`\n}\n" +
		"// Colours.\nconst (\n Red = \"red|ish\" // like roses\n hidden = \"h\"\n)\n")
	lay("protocol/p.go", b.String())
	lay("x.go", "package governance\nfunc f() { g(blockage{on: \"escalation:\" + slug(in.RoleID) + \":x\", category: \"c\"}); g(blockage{on: prefix + in.Name}) }\nconst prefix = \"policy:\"\n// Refusals.\nconst Late = \"too_late\"\n")
	lay("x_test.go", "package governance\nconst InTest = \"never\"\n")
	out, err := Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"| `run_id` | string or null | absent is none |", "| `inner` | object of [Part](#part), optional |", "| `x` | array of integer | Of a line above. |", "| `y` | any JSON |",
		"### Part\n\nPart is a part.", "Colours. `red|ish`", "| `escalation:<role>:x` | `c` |", "| `policy:<name>` |", "**governance**: Refusals.", "| `too_late` |",
		"`turn_accepted`", "| `protocol` | `protocol_error` |", "| `project_goal` | goal of the project", "`after_acceptance`", "`section_check`",
	} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	for _, part := range []string{"hidden", "never", "Skip"} {
		if strings.Contains(string(out), part) {
			t.Errorf("%q is in the document", part)
		}
	}
	if _, err := Generate(filepath.Join(dir, "none")); err == nil {
		t.Error("no sources are no fault")
	}
	lay("bad.go", "package {")
	if _, err := Generate(dir); err == nil {
		t.Error("a source that does not parse is no fault")
	}
}

// TestEveryFieldIsListed compares with what the types really write.
func TestEveryFieldIsListed(t *testing.T) {
	out, err := Generate(filepath.Join("..", "governance"))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"TurnResult": protocol.TurnResult{}, "State": protocol.State{}, "Assignment": protocol.Assignment{},
		"Manifest": protocol.Manifest{}, "HistoryEntry": protocol.HistoryEntry{}, "Config": protocol.Config{}, "Event": protocol.Event{}} {
		raw, err := protocol.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var o protocol.Ordered[any]
		if err := o.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		for _, key := range o.Keys() {
			if !strings.Contains(string(out), "\n| `"+key+"` |") {
				t.Errorf("%s.%s is not in the document", name, key)
			}
		}
	}
}

// TestEveryFieldHasAMeaning holds every field of the protocol's files to a comment: it is the row's meaning.
func TestEveryFieldHasAMeaning(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "governance", "protocol", "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, path := range paths {
		file := filepath.Base(path)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		src := &source{types: map[string]structure{}}
		src.add(parsed)
		for name, st := range src.types {
			for _, f := range st.fields {
				if f.embedded == "" && f.doc == "" {
					t.Errorf("%s: %s of %s has no meaning: write a comment at the field", file, f.name, name)
				}
			}
		}
	}
}
