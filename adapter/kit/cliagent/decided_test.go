package cliagent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
)

func TestInherit(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	for path, text := range map[string]string{
		"main/sub/f": "", "main/.git/worktrees/w/commondir": "../..", "main/.git/worktrees/w/gitdir": at("trees/w/.git"),
		"trees/w/.git": "gitdir: " + at("main/.git/worktrees/w"), "trees/w/sub/f": "",
	} {
		if err := os.MkdirAll(filepath.Dir(at(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type decisions = map[string]any
	for name, tt := range map[string]struct {
		have  decisions
		dir   string
		exact bool
		want  any // nil: nothing is inherited
	}{
		"trusted":                            {have: decisions{"main": true}, want: true},
		"trusted, below":                     {have: decisions{"main": "TRUST_FOLDER"}, dir: "/sub", want: "TRUST_FOLDER"},
		"its parent is trusted":              {have: decisions{"main/sub": "TRUST_PARENT"}, want: "TRUST_FOLDER"},
		"only below":                         {have: decisions{"main/sub": true}},
		"not below":                          {have: decisions{"main": decisions{"server": "approved"}}, dir: "/sub", exact: true},
		"the same folder":                    {have: decisions{"main/sub": decisions{"server": "approved"}}, dir: "/sub", exact: true, want: decisions{"server": "approved"}},
		"the nearest":                        {have: decisions{"main": true, "main/sub": false}, dir: "/sub"},
		"distrusted":                         {have: decisions{"main": false}},
		"distrusted, in words":               {have: decisions{"main": "DO_NOT_TRUST"}},
		"no decision about trust":            {have: decisions{"main": decisions{"server": "approved"}}},
		"something else in the file":         {have: decisions{"main": true, "gone": 3}},
		"taken back":                         {have: decisions{"main": nil}},
		"the worktree is decided":            {have: decisions{"main": true, "trees/w": false}},
		"the folder of worktrees is":         {have: decisions{"main": true, "trees": false}},
		"nothing decided":                    {have: decisions{}},
		"a folder that is no longer there":   {have: decisions{"gone": true}},
		"in the main work tree, no worktree": {have: decisions{"main": true}, dir: "/../../main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "trust.json")
			have, dir := decisions{}, filepath.Clean(at("trees/w")+tt.dir)
			for folder, v := range tt.have {
				have[at(folder)] = v
			}
			text := append([]byte("// by hand\n"), marshal(t, have)...)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			l := &Launch{Request: execution.Request{Run: execution.RunOptions{Cwd: dir}}}
			content, ok := l.Inherit(Decided{Path: file, Trust: !tt.exact})
			if tt.want == nil {
				if ok {
					t.Fatalf("inherited: %s", content)
				}
				return
			}
			have[dir] = tt.want
			if diff := cmp.Diff(string(marshal(t, have)), string(content)); !ok || diff != "" {
				t.Errorf("%v (-want +got)\n%s", ok, diff)
			}
			l.here = "/there"
			if _, ok := l.Inherit(Decided{Path: file, Trust: !tt.exact}); ok {
				t.Error("a run elsewhere inherits what was decided about folders here")
			}
		})
	}
	for _, text := range []string{"", "[]", "{"} {
		file := filepath.Join(t.TempDir(), "trust.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if content, ok := (&Launch{Request: execution.Request{Run: execution.RunOptions{Cwd: at("trees/w")}}}).Inherit(Decided{Path: file}); ok {
			t.Errorf("%q: %s", text, content)
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
