package protocoldoc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is what the code below internal/governed/governance says.
type source struct {
	types  map[string]structure // of package protocol
	groups []group              // in the order of packages, files and lines
	blocks []block
	consts map[string]string // string constants by name, for what blocks are made of
}

type structure struct {
	doc    string
	fields []field
}

type field struct {
	name, typ, doc string
	refs           []string // structures that the type mentions
	optional       bool
	embedded       string
}

// group is a block of string constants.
type group struct {
	pkg, doc string
	words    []word
}

type word struct{ value, doc string }

// block is a reason for which a run is blocked.
type block struct{ on, category string }

// load parses every package below dir but their tests.
func load(dir string) (*source, error) {
	s := &source{types: map[string]structure{}, consts: map[string]string{}}
	fset := token.NewFileSet()
	var parsed []*ast.File
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
		s.remember(f)
		return nil
	})
	for _, f := range parsed {
		s.add(f)
	}
	if err == nil && len(s.types) == 0 {
		err = fmt.Errorf("%s has no package protocol", dir)
	}
	return s, err
}

// remember takes up the string constants of a file.
func (s *source) remember(f *ast.File) {
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec) //nolint:forcetypeassert // of a constant declaration
			for i, name := range v.Names {
				if i < len(v.Values) {
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						s.consts[name.Name], _ = strconv.Unquote(lit.Value)
					}
				}
			}
		}
	}
}

func (s *source) add(f *ast.File) {
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		switch g.Tok {
		case token.CONST:
			if c := constants(f.Name.Name, g); len(c.words) > 0 {
				s.groups = append(s.groups, c)
			}
		case token.TYPE:
			for _, spec := range g.Specs {
				t := spec.(*ast.TypeSpec) //nolint:forcetypeassert // of a type declaration
				if st, ok := t.Type.(*ast.StructType); ok && f.Name.Name == "protocol" {
					s.types[t.Name.Name] = structOf(comment(g.Doc, t.Doc), st)
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CompositeLit); ok {
			if id, ok := c.Type.(*ast.Ident); ok && id.Name == "blockage" {
				s.blocks = append(s.blocks, s.blockOf(c))
			}
		}
		return true
	})
}

func structOf(doc string, st *ast.StructType) structure {
	out := structure{}
	names := map[string]string{}
	above := "" // a comment of its own line speaks for the fields until the next empty line or comment
	for _, f := range st.Fields.List {
		if f.Doc != nil {
			above = comment(f.Doc)
		}
		if len(f.Names) == 0 {
			if id, ok := f.Type.(*ast.Ident); ok {
				out.fields = append(out.fields, field{embedded: id.Name})
			}
			continue
		}
		name, rest := tag(f.Tag)
		if name == "" || name == "-" {
			continue
		}
		names[f.Names[0].Name] = name
		x := field{name: name, optional: strings.Contains(rest, "omit"), doc: comment(f.Comment)}
		if f.Doc != nil && x.doc == "" {
			x.doc = above
		}
		x.typ, x.refs = typeName(f.Type)
		out.fields = append(out.fields, x)
	}
	out.doc = renamed(doc, names)
	for i := range out.fields {
		out.fields[i].doc = renamed(out.fields[i].doc, names)
	}
	return out
}

var goName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]+\b`)

// renamed puts the names of files where a comment has those of Go.
func renamed(text string, names map[string]string) string {
	return goName.ReplaceAllStringFunc(text, func(w string) string {
		if name, ok := names[w]; ok {
			return code(name)
		}
		return w
	})
}

func tag(lit *ast.BasicLit) (name, rest string) {
	if lit == nil {
		return "", ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return "", ""
	}
	_, text, ok := strings.Cut(text, `json:"`)
	if !ok {
		return "", ""
	}
	text, _, _ = strings.Cut(text, `"`)
	name, rest, _ = strings.Cut(text, ",")
	return name, rest
}

// typeName says in words of JSON what a Go type is.
func typeName(e ast.Expr) (string, []string) {
	switch t := e.(type) {
	case *ast.Ident:
		switch t.Name {
		case "string", "ResultStatus", "RunStatus", "TurnStatus", "Authority", "Stage", "ConfigSchemaVersion":
			return "string", nil
		case "bool":
			return "boolean", nil
		case "int", "int64":
			return "integer", nil
		case "float64":
			return "number", nil
		case "Time":
			return "time", nil
		case "Words":
			return "string or array of strings", nil
		}
		return t.Name, []string{t.Name}
	case *ast.StarExpr:
		name, refs := typeName(t.X)
		return name + " or null", refs
	case *ast.ArrayType:
		name, refs := typeName(t.Elt)
		return "array of " + name, refs
	case *ast.IndexExpr: // Ordered[V]
		name, refs := typeName(t.Index)
		return "object of " + strings.TrimSuffix(name, " or null"), refs
	}
	return "any JSON", nil // json.RawMessage
}

func constants(pkg string, g *ast.GenDecl) group {
	out := group{pkg: pkg}
	names := map[string]string{}
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec) //nolint:forcetypeassert // of a constant declaration
		for i, name := range v.Names {
			if !name.IsExported() || i >= len(v.Values) {
				continue
			}
			lit, ok := v.Values[i].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				continue
			}
			names[name.Name] = value
			if rest := strings.TrimLeft(name.Name[1:], "abcdefghijklmnopqrstuvwxyz"); rest != "" && names[rest] == "" {
				names[rest] = value // RuntimeAgent is called Agent among its like
			}
			out.words = append(out.words, word{value, comment(v.Doc, v.Comment)})
		}
	}
	out.doc = renamed(comment(g.Doc), names)
	for i := range out.words {
		out.words[i].doc = renamed(out.words[i].doc, names)
	}
	return out
}

// blockOf reads a literal that blocks a run: its words as they are, what is put in between as <name>.
func (s *source) blockOf(c *ast.CompositeLit) block {
	var b block
	for _, e := range c.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok {
			continue
		}
		switch key.Name {
		case "on":
			b.on = s.spell(kv.Value)
		case "category":
			b.category = s.spell(kv.Value)
		}
	}
	return b
}

func (s *source) spell(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return s.spell(x.X) + s.spell(x.Y)
	case *ast.SelectorExpr:
		return "<" + spaced(x.Sel.Name) + ">"
	case *ast.Ident:
		if value, ok := s.consts[x.Name]; ok {
			return value
		}
		return "<" + spaced(x.Name) + ">"
	case *ast.CallExpr:
		if len(x.Args) > 0 {
			return s.spell(x.Args[0])
		}
	}
	return "<...>"
}

// spaced makes words of a Go name.
func spaced(name string) string {
	name = strings.TrimSuffix(name, "ID")
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// comment is the text of comments, in words of JSON.
func comment(groups ...*ast.CommentGroup) string {
	var out []string
	for _, g := range groups {
		if g != nil {
			out = append(out, strings.Join(strings.Fields(g.Text()), " "))
		}
	}
	fields := strings.Split(strings.Join(out, " "), " ")
	for i, w := range fields {
		bare := strings.TrimRight(w, ",.;:")
		if bare == "nil" {
			fields[i] = "absent" + w[len(bare):]
		}
	}
	return strings.ReplaceAll(strings.Join(fields, " "), "Nil ", "Absent ")
}

// sortedBlocks are the reasons, each once.
func (s *source) sortedBlocks() []block {
	out := slices.Clone(s.blocks)
	slices.SortFunc(out, func(a, b block) int { return strings.Compare(a.on+a.category, b.on+b.category) })
	return slices.Compact(out)
}
