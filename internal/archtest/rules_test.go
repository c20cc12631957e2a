package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rule is one line of the rules: a package, by its path inside the module, and what it may import besides the standard
// library. An element is a path inside the module, the path of another module's package, or one of the restricted packages of the
// standard library; a trailing /... means everything below.
type Rule struct {
	Package string
	Allow   []string
	Line    int
	// Deny makes it a rule of what the package, or with a trailing /... every package below, does without: Allow lists imports, of the
	// standard library too, and names such as time.Now.
	Deny bool
}

// restricted are the packages of the standard library that a rule must allow by name: what starts processes.
var restricted = []string{"os/exec"}

// testOnly are the modules that tests anywhere may use.
var testOnly = []string{"github.com/google/go-cmp/", "github.com/rogpeppe/go-internal/", "go.uber.org/goleak", "github.com/google/jsonschema-go/jsonschema", "github.com/a2aproject/a2a-go/v2/a2a", "github.com/coder/websocket", "os/exec"}

// ParseRules reads rules, one a line: "package: import import ...", or "!package: import name ..." for what it does without. "." is
// the module's root; # begins a comment.
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	seen := map[string]bool{}
	sc := bufio.NewScanner(strings.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		pkg, allow, ok := strings.Cut(line, ":")
		pkg = strings.TrimSpace(pkg)
		if !ok || pkg == "" || strings.Contains(pkg, " ") {
			return nil, fmt.Errorf("rules line %d: want \"package: imports\", got %q", n, line)
		}
		if seen[pkg] {
			return nil, fmt.Errorf("rules line %d: %s has a rule already", n, pkg)
		}
		seen[pkg] = true
		name, deny := strings.CutPrefix(pkg, "!")
		rules = append(rules, Rule{Package: name, Allow: strings.Fields(allow), Line: n, Deny: deny})
	}
	return rules, sc.Err()
}

// Package is one package of the tree with what it imports; files of all platforms count.
type Package struct {
	Path        string // inside the module, "." for the root
	Imports     []string
	TestImports []string
	Uses        []string // what the code, without tests, uses of the packages it imports: time.Now, net/http.Get
}

// Load reads the imports of every package of the module whose root is fsys. Nested modules and testdata are left out.
func Load(fsys fs.FS) ([]Package, error) {
	found := map[string]*Package{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != "." {
				if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
					return fs.SkipDir
				}
				if _, err := fs.Stat(fsys, path.Join(p, "go.mod")); err == nil {
					return fs.SkipDir
				}
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, src, 0)
		if err != nil {
			return err
		}
		dir := path.Dir(p)
		pkg := found[dir]
		if pkg == nil {
			pkg = &Package{Path: dir}
			found[dir] = pkg
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", p, spec.Path.Value, err)
			}
			if strings.HasSuffix(p, "_test.go") {
				pkg.TestImports = append(pkg.TestImports, name)
			} else {
				pkg.Imports = append(pkg.Imports, name)
			}
		}
		if !strings.HasSuffix(p, "_test.go") {
			pkg.Uses = append(pkg.Uses, uses(file)...)
		}
		return nil
	})
	var list []Package
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		p := found[dir]
		p.Imports, p.TestImports, p.Uses = unique(p.Imports), unique(p.TestImports), unique(p.Uses)
		list = append(list, *p)
	}
	return list, err
}

// uses lists what a file uses of the packages that it imports, by import path and name. A dot import counts as using all of it.
func uses(file *ast.File) []string {
	imports := map[string]string{}
	var list []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		local := path.Base(name)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			list = append(list, name+".*")
		}
		imports[local] = name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier with an object is a variable of that name, not the package.
		if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && imports[id.Name] != "" {
			list = append(list, imports[id.Name]+"."+sel.Sel.Name)
		}
		return true
	})
	return list
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// Check holds packages against rules and returns every violation as a line.
func Check(module string, rules []Rule, packages []Package) []string {
	var bad []string
	byPath := map[string]Rule{}
	for _, r := range rules {
		if r.Deny {
			bad = append(bad, checkDenied(module, r, packages)...)
			continue
		}
		byPath[r.Package] = r
	}
	known := map[string]bool{}
	for _, p := range packages {
		known[p.Path] = true
		rule, ok := byPath[p.Path]
		if !ok {
			bad = append(bad, fmt.Sprintf("package %s has no rule: say in rules.txt what it may import", p.Path))
			continue
		}
		used := map[string]bool{}
		for _, imp := range p.Imports {
			name, ours := inside(module, imp)
			if !ours && isStd(imp) && !slices.Contains(restricted, imp) {
				continue
			}
			allowed := false
			for _, a := range rule.Allow {
				if matches(a, name) {
					allowed, used[a] = true, true
				}
			}
			if !allowed {
				bad = append(bad, fmt.Sprintf("package %s imports %s, which its rule (line %d) does not allow", p.Path, name, rule.Line))
			}
		}
		for _, a := range rule.Allow {
			if !used[a] {
				bad = append(bad, fmt.Sprintf("the rule of %s (line %d) allows %s, which nothing there imports", p.Path, rule.Line, a))
			}
		}
		bad = append(bad, checkTests(module, p)...)
	}
	for _, r := range rules {
		if !r.Deny && !known[r.Package] {
			bad = append(bad, fmt.Sprintf("the rule of line %d is about %s, which does not exist", r.Line, r.Package))
		}
	}
	return bad
}

// checkDenied holds packages to what they do without. Tests are free.
func checkDenied(module string, r Rule, packages []Package) []string {
	var bad []string
	about := false
	for _, p := range packages {
		if !matches(r.Package, p.Path) {
			continue
		}
		about = true
		for _, used := range slices.Concat(p.Imports, p.Uses) {
			name, _ := inside(module, used)
			all, dot := strings.CutSuffix(name, ".*") // a dot import uses everything
			for _, d := range r.Allow {
				if matches(d, name) || dot && strings.HasPrefix(d, all+".") {
					bad = append(bad, fmt.Sprintf("package %s uses %s, which the rule of line %d denies to it", p.Path, name, r.Line))
				}
			}
		}
	}
	if !about {
		bad = append(bad, fmt.Sprintf("the rule of line %d is about %s, which does not exist", r.Line, r.Package))
	}
	return bad
}

// checkTests holds a package's tests to the one rule that matters for them: a public package is tested without the product side.
func checkTests(module string, p Package) []string {
	public := !strings.HasPrefix(p.Path, "internal/") && !strings.HasPrefix(p.Path, "cmd/") && !strings.HasPrefix(p.Path, "e2e") && !strings.HasPrefix(p.Path, "examples/") && p.Path != "."
	var bad []string
	for _, imp := range p.TestImports {
		if name, ours := inside(module, imp); ours {
			if public && strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "internal/base/") {
				bad = append(bad, fmt.Sprintf("the tests of %s import %s: a public package is tested without internal", p.Path, name))
			}
			continue
		}
		if isStd(imp) || slices.Contains(p.Imports, imp) || slices.ContainsFunc(testOnly, func(t string) bool { return strings.HasPrefix(imp, t) }) {
			continue
		}
		if !strings.Contains(imp, "golang.org/x/") && !strings.Contains(imp, "modelcontextprotocol") && !strings.Contains(imp, "santhosh-tekuri") {
			bad = append(bad, fmt.Sprintf("the tests of %s import %s, which is no test library of this module", p.Path, imp))
		}
	}
	return bad
}

func inside(module, imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
		return rest, true
	}
	return imp, false
}

func isStd(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func matches(allow, name string) bool {
	if prefix, ok := strings.CutSuffix(allow, "/..."); ok {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return allow == name
}
