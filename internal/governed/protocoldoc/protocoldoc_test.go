package protocoldoc

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/PROTOCOL.md")

func wordsFile(t *testing.T) string {
	t.Helper()
	words, err := os.ReadFile("words.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(words)
}

// TestProtocolDocument holds docs/PROTOCOL.md against the code, and every field to a meaning.
func TestProtocolDocument(t *testing.T) {
	want, empty := generate(wordsFile(t))
	for _, f := range empty {
		t.Errorf("%s has no meaning: give the field a doc tag, or the key of the configuration a text", f)
	}
	path := filepath.Join("..", "..", "..", "docs", "PROTOCOL.md")
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
		t.Errorf("docs/PROTOCOL.md is out of date: go generate ./... (-want +got)\n%s", diff)
	}
}

// TestLinks: whatever a type names has its heading.
func TestLinks(t *testing.T) {
	text, _ := generate(wordsFile(t))
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchors[strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1)
	for _, m := range links {
		if !anchors[m[1]] {
			t.Errorf("nothing is at #%s", m[1])
		}
	}
	if len(links) < 50 || strings.Count(text, "\n| `attempt` | integer") < 2 {
		t.Errorf("%d links in a document of %d bytes", len(links), len(text))
	}
}

// notWords are groups of constants that are no vocabulary, by how their comments begin.
var notWords = []string{"Versions of the files.", "Paths of a governed project", "Files of"}

// TestWords holds words.md against the constants of internal/governed/governance, both ways.
func TestWords(t *testing.T) {
	code, blocks := constants(t)
	documented, pkg := map[string]map[string]bool{}, ""
	var reasons []string
	for line := range strings.Lines(wordsFile(t)) {
		if m := regexp.MustCompile(`^\*\*(\w+)\*\*: `).FindStringSubmatch(line); m != nil {
			pkg = m[1]
		} else if strings.HasPrefix(line, "## ") {
			pkg = ""
		}
		row := regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\|\n$").FindStringSubmatch(line)
		switch {
		case row == nil:
		case pkg == "":
			reasons = append(reasons, row[1])
		default:
			if documented[pkg] == nil {
				documented[pkg] = map[string]bool{}
			}
			documented[pkg][row[1]] = true
		}
	}
	if diff := cmp.Diff(code, documented); diff != "" {
		t.Errorf("words.md and the constants (-code +words.md)\n%s", diff)
	}
	for _, on := range blocks {
		if !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(r, on) }) {
			t.Errorf("words.md has no reason %s...", on)
		}
	}
	for _, r := range reasons {
		if !slices.ContainsFunc(blocks, func(on string) bool { return strings.HasPrefix(r, on) }) {
			t.Errorf("nothing blocks on %s", r)
		}
	}
}

// constants are the exported string constants by package, and how the reasons of blocks begin.
func constants(t *testing.T) (map[string]map[string]bool, []string) {
	t.Helper()
	words, values, blocks := map[string]map[string]bool{}, map[string]string{}, map[string]bool{}
	var parsed []*ast.File
	parse := func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		parsed = append(parsed, f)
		return err
	}
	for _, dir := range []string{filepath.Join("..", "governance"), filepath.Join("..", "..", "..", "govern", "protocol")} {
		if err := filepath.WalkDir(dir, parse); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range parsed {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			word := !slices.ContainsFunc(notWords, func(p string) bool { return strings.HasPrefix(g.Doc.Text(), p) })
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				lit, ok := v.Values[0].(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				text, _ := strconv.Unquote(lit.Value)
				values[v.Names[0].Name] = text
				if pkg := f.Name.Name; word && v.Names[0].IsExported() {
					if words[pkg] == nil {
						words[pkg] = map[string]bool{}
					}
					words[pkg][text] = true
				}
			}
		}
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if ok {
				if id, named := c.Type.(*ast.Ident); named && id.Name == "blockage" {
					blocks[begins(c.Elts[0].(*ast.KeyValueExpr).Value, values)] = true
				}
			}
			return true
		})
	}
	delete(blocks, "") // a variable: dispatch
	blocks["dispatch:"] = true
	return words, slices.Sorted(maps.Keys(blocks))
}

// begins is the text that an expression begins with.
func begins(e ast.Expr, values map[string]string) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return begins(x.X, values)
	case *ast.Ident:
		return values[x.Name]
	}
	return ""
}
