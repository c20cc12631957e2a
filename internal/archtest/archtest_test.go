package archtest

import (
	_ "embed"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

//go:embed rules.txt
var rulesText string

const module = "github.com/drawbar/drawbar"

func TestRooms(t *testing.T) {
	rules, err := ParseRules(rulesText)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range Check(module, rules, packages) {
		t.Error(line)
	}
}

func TestCheckFindsViolations(t *testing.T) {
	tree := func(files map[string]string) fstest.MapFS {
		m := fstest.MapFS{}
		for name, src := range files {
			m[name] = &fstest.MapFile{Data: []byte(src)}
		}
		return m
	}
	clean := map[string]string{
		"a/a.go":             "package a\nimport _ \"fmt\"",
		"b/b.go":             "package b\nimport _ \"" + module + "/a\"",
		"internal/c/c.go":    "package c\nimport _ \"example.org/lib/x\"",
		"b/testdata/x.go":    "package x\nimport _ \"nowhere/at.all\"",
		"nested/go.mod":      "module nested",
		"nested/n.go":        "package n\nimport _ \"example.org/other\"",
		"b/b_test.go":        "package b\nimport _ \"github.com/google/go-cmp/cmp\"",
		"internal/c/_old.go": "package c",
	}
	rules := "# comment\na:\nb: a\ninternal/c: example.org/lib/...\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		rules string
		want  string
	}{
		{"clean", nil, rules, ""},
		{"forbidden import", map[string]string{"a/bad.go": "package a\nimport _ \"" + module + "/b\""}, rules, "package a imports b"},
		{"forbidden module", map[string]string{"a/bad.go": "package a\nimport _ \"example.org/lib/y\""}, rules, "package a imports example.org/lib/y"},
		{"process starter", map[string]string{"a/bad.go": "package a\nimport _ \"os/exec\""}, rules, "package a imports os/exec"},
		{"another platform's file", map[string]string{"a/a_windows.go": "//go:build windows\n\npackage a\nimport _ \"os/exec\""}, rules, "package a imports os/exec"},
		{"unknown package", map[string]string{"d/d.go": "package d"}, rules, "package d has no rule"},
		{"unused rule", nil, rules + "gone: a\n", "is about gone"},
		{"unused allowance", nil, strings.Replace(rules, "a:", "a: fmt/x.y", 1), "allows fmt/x.y, which nothing there imports"},
		{"public test imports internal", map[string]string{"b/x_test.go": "package b\nimport _ \"" + module + "/internal/c\""}, rules, "tests of b import internal/c"},
		{"denied import", map[string]string{"a/bad.go": "package a\nimport _ \"os\""}, rules + "!a: os/... time.Now\n", "package a uses os"},
		{"denied import below", map[string]string{"a/sub/bad.go": "package sub\nimport _ \"os/signal\""}, rules + "a/sub:\n!a/...: os/...\n",
			"package a/sub uses os/signal"},
		{"denied function", map[string]string{"a/bad.go": "package a\nimport \"time\"\nvar t = time.Now()"}, rules + "!a/...: os time.Now\n",
			"package a uses time.Now"},
		{"denied function under another name", map[string]string{"a/bad.go": "package a\nimport clock \"time\"\nvar t = clock.Now"},
			rules + "!a: time.Now\n", "package a uses time.Now"},
		{"denied function by a dot import", map[string]string{"a/bad.go": "package a\nimport . \"time\"\nvar t = Now()"}, rules + "!a: time.Now\n",
			"package a uses time.*"},
		{"allowed function of the same package", map[string]string{"a/ok.go": "package a\nimport \"time\"\nvar t = time.Unix(0, 0)"},
			rules + "!a: time.Now\n", ""},
		{"a test may use the clock", map[string]string{"a/ok_test.go": "package a\nimport \"time\"\nvar t = time.Now()"}, rules + "!a: time.Now\n", ""},
		{"denial of nothing", nil, rules + "!gone/...: os\n", "is about gone/..."},
		{"test library", map[string]string{"b/x_test.go": "package b\nimport _ \"github.com/stretchr/testify\""}, rules, "no test library"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{}
			maps.Copy(files, clean)
			maps.Copy(files, tc.files)
			parsed, err := ParseRules(tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			packages, err := Load(tree(files))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(Check(module, parsed, packages), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for _, bad := range []string{"no colon", ": a", "a:\na: b"} {
		if _, err := ParseRules(bad); err == nil {
			t.Errorf("rules %q were accepted", bad)
		}
	}
}
