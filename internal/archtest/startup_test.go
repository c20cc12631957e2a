package archtest

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// largestMap is the most entries a map in a package variable may have.
const largestMap = 20

// TestPackageVariables: every command pays at its start for what package variables compute, so large maps and compiled expressions
// are slices, functions or sync.OnceValue.
func TestPackageVariables(t *testing.T) {
	root := "../.."
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == "tools" || e.Name() == "e2e" || e.Name() == "bench" || strings.HasPrefix(e.Name(), ".") && path != root) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, fault := range eagerVariables(t, path, text) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func eagerVariables(t *testing.T, path string, text []byte) (faults []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.VAR {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "MustCompile" {
					faults = append(faults, set.Position(n.Pos()).String()+": an expression is compiled at every start")
				}
			case *ast.CompositeLit:
				if _, ok := n.Type.(*ast.MapType); ok && len(n.Elts) > largestMap {
					faults = append(faults, set.Position(n.Pos()).String()+": a large map is built at every start")
				}
			}
			return true
		})
	}
	return faults
}

func TestEagerVariables(t *testing.T) {
	large := strings.Repeat("1: 1, ", largestMap+1)
	text := `package p
var a = regexp.MustCompile("x")
var b = map[int]int{` + large + `}
var c = func() any { return regexp.MustCompile("x") }
var d = map[int]int{1: 1}
func f() { _ = regexp.MustCompile("x") }
`
	if faults := eagerVariables(t, "p.go", []byte(text)); len(faults) != 2 || !strings.HasPrefix(faults[0], "p.go:2:") || !strings.HasPrefix(faults[1], "p.go:3:") {
		t.Errorf("found %q", faults)
	}
}

// TestSupervisorsNeedLittle: Go initializes a package as soon as everything that it imports is, the first by path first. A keeper
// that needed package strings or reflect would wait for most of the program.
func TestSupervisorsNeedLittle(t *testing.T) {
	context := build.Default
	context.GOOS, context.CgoEnabled = "linux", false
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output() // a test that is built with -trimpath does not know it
	if err != nil {
		t.Fatal(err)
	}
	context.GOROOT = strings.TrimSpace(string(root))
	const module = "github.com/drawbar/drawbar/"
	seen := map[string]bool{}
	var check func(name string, through []string)
	check = func(name string, through []string) {
		if seen[name] || name == "unsafe" || name == "C" {
			return
		}
		seen[name] = true
		through = append(slices.Clone(through), name)
		if name == "strings" || name == "reflect" {
			t.Errorf("a supervisor waits for the initialization of %s", strings.Join(through, " -> "))
			return
		}
		var p *build.Package
		var err error
		if dir, ours := strings.CutPrefix(name, module); ours {
			p, err = context.ImportDir(filepath.Join("../..", dir), 0)
		} else {
			p, err = context.Import(name, "", 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Imports {
			check(i, through)
		}
	}
	check(module+"transport/process/internal/supervisor", nil)
	check(module+"internal/cli/first/ahead", nil)
}
