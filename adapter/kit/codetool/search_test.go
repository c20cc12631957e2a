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
