package protocoldoc

import (
	"fmt"
	"slices"
	"strings"
)

// file writes a document's table, then those of the structures it is made of which have not been shown.
func (s *source) file(b *strings.Builder, shown map[string]bool, title, where, typ string) error {
	if _, ok := s.types[typ]; !ok {
		return fmt.Errorf("package protocol has no type %s", typ)
	}
	section(b, title, code(where)+". "+s.types[typ].doc)
	queue := []string{typ}
	for first := true; len(queue) > 0; first = false {
		name := queue[0]
		queue = queue[1:]
		st, ok := s.types[name]
		if !ok || shown[name] {
			continue
		}
		shown[name] = true
		if !first {
			fmt.Fprintf(b, "### %s\n\n%s\n\n", name, st.doc)
		}
		var rows [][]string
		for _, f := range s.flat(st) {
			typ := f.typ
			for _, r := range f.refs {
				if _, ok := s.types[r]; ok {
					typ = strings.Replace(typ, r, "["+r+"](#"+strings.ToLower(s.anchor(r))+")", 1)
				}
			}
			if f.optional {
				typ += ", optional"
			}
			rows = append(rows, []string{code(f.name), typ, f.doc})
			queue = append(queue, f.refs...)
		}
		table(b, []string{"Field", "Type", "Meaning"}, rows)
	}
	return nil
}

// anchor is the heading under which a structure is shown.
func (s *source) anchor(typ string) string {
	for _, f := range files {
		if f.typ == typ {
			return strings.ReplaceAll(strings.ReplaceAll(f.title, ":", ""), " ", "-")
		}
	}
	return typ
}

// flat are the fields of a structure, those of embedded ones in their place.
func (s *source) flat(st structure) []field {
	var out []field
	for _, f := range st.fields {
		if f.embedded != "" {
			out = append(out, s.flat(s.types[f.embedded])...)
			continue
		}
		out = append(out, f)
	}
	return out
}

// notWords are groups of package protocol that are no vocabulary.
var notWords = []string{"Versions of the files.", "Paths of a governed project", "Human is the role"}

// words writes the vocabularies of package protocol.
func (s *source) words(b *strings.Builder) {
	section(b, "Words", "")
	for _, g := range s.groups {
		if g.pkg != "protocol" || slices.ContainsFunc(notWords, func(p string) bool { return strings.HasPrefix(g.doc, p) }) {
			continue
		}
		var values []string
		for _, w := range g.words {
			values = append(values, code(w.value))
		}
		fmt.Fprintf(b, "%s %s\n\n", g.doc, strings.Join(values, ", "))
	}
}

// blocked writes the reasons for which a run is blocked, as the code gives them.
func (s *source) blocked(b *strings.Builder) {
	blocks := s.sortedBlocks()
	if len(blocks) == 0 {
		return
	}
	section(b, "Blocked reasons", "What `blocked_on` of the state may be, and the `category` of its reason.")
	var rows [][]string
	for _, x := range blocks {
		if x.on != "" {
			rows = append(rows, []string{code(x.on), code(x.category)})
		}
	}
	table(b, []string{"blocked_on", "category"}, rows)
}

// errors writes the words of the packages that decide.
func (s *source) errors(b *strings.Builder) {
	begun := false
	for _, g := range s.groups {
		if g.pkg == "protocol" || strings.Contains(g.doc, "Files of") {
			continue
		}
		if !begun {
			section(b, "Words of decisions", "What answers, refusals and errors are called, by the package that gives them.")
			begun = true
		}
		var rows [][]string
		for _, w := range g.words {
			rows = append(rows, []string{code(w.value), w.doc})
		}
		if g.doc != "" {
			fmt.Fprintf(b, "**%s**: %s\n\n", g.pkg, g.doc)
		} else {
			fmt.Fprintf(b, "**%s**\n\n", g.pkg)
		}
		table(b, []string{"Word", "Meaning"}, rows)
	}
}
