package codetool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestList: what a folder has, in order and with a bound.
func TestList(t *testing.T) {
	t.Parallel()
	files := map[string]string{"b.txt": "", "a/c.txt": "", ".git/x": "", "node_modules/m/x": "", ".env": ""}
	for i := range 1200 {
		files[fmt.Sprintf("many/%04d", i)] = ""
	}
	f, _ := folder(t, files)
	for _, tt := range []struct {
		name  string
		input in
		want  string
		err   string
	}{
		{"the folder", in{}, ".env\n.git/\na/\nb.txt\nmany/\nnode_modules/", ""},
		{"a folder in it", in{"path": "a"}, "c.txt", ""},
		{"a file", in{"path": "b.txt"}, "b.txt", ""},
		{"a missing one", in{"path": "none"}, "", "none does not exist"},
	} {
		if a := use(t, f, "list", tt.input); a.Text != tt.want || !strings.Contains(a.Error, tt.err) {
			t.Errorf("%s: %+v", tt.name, a)
		}
	}
	a := use(t, f, "list", in{"recursive": true})
	if !strings.HasPrefix(a.Text, ".env\n.git/\na/\na/c.txt\nb.txt\nmany/\nmany/0000\n") || !strings.HasSuffix(a.Text, "[more than 1000 entries: list a folder within]") {
		t.Errorf("%.200s", a.Text)
	}
	if a := use(t, f, "list", in{"path": "many"}); strings.Count(a.Text, "\n") != listEntries {
		t.Errorf("%d lines", strings.Count(a.Text, "\n"))
	}
}

// TestSearch: lines by expression, files by glob.
func TestSearch(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.go": "package a\nfunc A() {}\n", "sub/b.go": "package b\nfunc B() {}\n", "sub/c.txt": "func C\n", "bin.go": "func \x00", "node_modules/x.go": "func X\n",
		"long.txt": strings.Repeat("y", 1000) + "needle\n", "dos.txt": "func D\r\n"}
	for i := range 300 {
		files[fmt.Sprintf("many/%03d.md", i)] = "match\n"
	}
	f, _ := folder(t, files)
	for _, tt := range []struct {
		name  string
		input in
		want  string
		err   string
	}{
		{"an expression", in{"pattern": `func \w`, "glob": "*.go"}, "a.go:2: func A() {}\nsub/b.go:2: func B() {}", ""},
		{"no binary file", in{"pattern": "func", "glob": "*.go"}, "a.go:2: func A() {}\nsub/b.go:2: func B() {}", ""},
		{"in a folder", in{"pattern": "func", "path": "sub"}, "sub/b.go:2: func B() {}\nsub/c.txt:1: func C", ""},
		{"in a file", in{"pattern": "func", "path": "sub/c.txt"}, "sub/c.txt:1: func C", ""},
		{"the end of a CRLF line", in{"pattern": "D$"}, "dos.txt:1: func D", ""},
		{"any case", in{"pattern": "FUNC C", "ignore_case": true}, "sub/c.txt:1: func C", ""},
		{"files", in{"glob": "**/*.go"}, "a.go\nbin.go\nsub/b.go", ""},
		{"files of a folder", in{"glob": "sub/*"}, "sub/b.go\nsub/c.txt", ""},
		{"alternatives", in{"glob": "*.{txt,md}", "path": "sub"}, "sub/c.txt", ""},
		{"nothing", in{"pattern": "zzz"}, "[no match]", ""},
		{"a long line", in{"pattern": "^y"}, "long.txt:1: " + strings.Repeat("y", 300) + "...", ""},
		{"no valid expression", in{"pattern": "("}, "", "the pattern is not valid"},
		{"no valid glob", in{"glob": "["}, "", "the glob"},
		{"neither", in{}, "", "neither a pattern nor a glob"},
		{"a missing folder", in{"pattern": "x", "path": "none"}, "", "none does not exist"},
	} {
		if a := use(t, f, "search", tt.input); a.Text != tt.want || !strings.Contains(a.Error, tt.err) || (a.Error == "") != (tt.err == "") {
			t.Errorf("%s: %+v", tt.name, a)
		}
	}
	a := use(t, f, "search", in{"pattern": "match"})
	if !strings.HasSuffix(a.Text, "[more than 200 matches: narrow the search]") || strings.Count(a.Text, "\n") != searchMatches {
		t.Errorf("%.100s", a.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range f.Read() {
		if tool.Name == "search" {
			job, _ := tool.Check(json.RawMessage(`{"pattern":"match"}`))
			if a := job.Do(ctx, nil); a.Error == "" {
				t.Error("a search goes on after its turn")
			}
		}
	}
}

// TestIgnored: what .gitignore files name is not searched, unless it is what is asked for.
func TestIgnored(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".gitignore":      "# built\n\n*.log\n/dist/\ntarget/\n!keep.log\nsub/only.txt\n[\n  \n\\#odd\n",
		"sub/.gitignore":  "*.tmp\n/here.txt\n",
		"a[b]/.gitignore": "x.txt\n",
		"a.log":           "needle", "keep.log": "needle", "dist/a.txt": "needle", "sub/dist/a.txt": "needle", "sub/target/a.txt": "needle", "target": "needle",
		"sub/only.txt": "needle", "only.txt": "needle", "sub/a.tmp": "needle", "a.tmp": "needle", "sub/here.txt": "needle", "sub/deep/here.txt": "needle", "here.txt": "needle",
		"a[b]/x.txt": "needle", "ab/x.txt": "needle", "#odd": "needle",
	}
	f, _ := folder(t, files)
	for _, tt := range []struct{ path, want string }{
		{"", "a.tmp ab/x.txt here.txt keep.log only.txt sub/deep/here.txt sub/dist/a.txt target"},
		{"sub", "sub/deep/here.txt sub/dist/a.txt"},
		{"dist", "dist/a.txt"},
		{"sub/target", "sub/target/a.txt"},
		{"a.log", "a.log"},
	} {
		a := use(t, f, "search", in{"pattern": "needle", "path": tt.path})
		var got []string
		for line := range strings.SplitSeq(a.Text, "\n") {
			got = append(got, strings.TrimSuffix(line, ":1: needle"))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%q: %s, want %s", tt.path, text, tt.want)
		}
	}
	if a := use(t, f, "list", in{"recursive": true}); strings.Contains(a.Text, "dist/a.txt\nhere") || strings.Contains(a.Text, "a.log") || !strings.Contains(a.Text, "keep.log") {
		t.Errorf("%s", a.Text)
	}
	if a := use(t, f, "list", in{}); !strings.Contains(a.Text, "dist/") || !strings.Contains(a.Text, "a.log") {
		t.Errorf("a list of one folder leaves something out: %s", a.Text)
	}
}

// FuzzIgnore: no line breaks a search.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.log", "!/a/**/b/", "[", "{a,b}", "\\", "**", "/"} {
		f.Add(s, "a/b.log")
	}
	f.Fuzz(func(t *testing.T, line, name string) {
		if r, ok := parseRule("a*b", line); ok {
			g := ignored{rules: []rule{r}}
			g.has(name, true)
			g.has(name, false)
		}
	})
}
