package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mentions matches the agents' names where a word begins; a name of a few letters is a whole word.
func mentions(agents []string) *regexp.Regexp {
	var parts []string
	for _, name := range agents {
		title := strings.ToUpper(name[:1]) + name[1:]
		if len(name) > 4 {
			parts = append(parts, `(?:^|[^A-Za-z])(?i:`+name+`)`, `[a-z]`+title)
			continue
		}
		parts = append(parts, `(?:^|[^A-Za-z])(?i:`+name+`)(?:[^A-Za-z]|$)`, `(?:^|[^A-Za-z])`+name+`[A-Z]`, `[a-z]`+title+`(?:[^a-z]|$)`)
	}
	return regexp.MustCompile(strings.Join(parts, "|"))
}

// Named lists where code below fsys names an agent, as file to the names: in what it declares, and in texts of one word. Texts of
// several words are for people. Left out are tests, and the folder below adapter that has the agent's name.
func Named(fsys fs.FS, agents []string) (map[string][]string, error) {
	pattern := mentions(agents)
	found := map[string][]string{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || slices.Contains(agents, d.Name()) && path.Dir(p) == "adapter") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, src, 0)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		note := func(text string) {
			if pattern.MatchString(text) {
				found[p] = append(found[p], text)
			}
		}
		imports := map[*ast.BasicLit]bool{}
		for _, spec := range file.Imports {
			imports[spec.Path] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !imports[n] && !strings.ContainsAny(text, " \n") {
					note(text)
				}
			case *ast.FuncDecl:
				note(n.Name.Name)
			case *ast.TypeSpec:
				note(n.Name.Name)
			case *ast.ValueSpec:
				for _, name := range n.Names {
					note(name.Name)
				}
			}
			return true
		})
		return nil
	})
	return found, err
}
