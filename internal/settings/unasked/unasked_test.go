package unasked_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/settings/unasked"
	"github.com/drawbar/drawbar/settings"
)

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func places(items []trust.Item) (list []string) {
	for _, i := range items {
		list = append(list, i.File+" "+i.Place)
	}
	slices.Sort(list)
	return list
}

var files = []settings.Unasked{
	{Path: "mcp.json", Format: "json", Keys: []string{"servers", "login.helper"}, Up: true},
	{Path: ".a/settings.jsonc", Format: "jsonc", Keys: []string{"hooks"}},
	{Path: ".a/*.md", Format: "md", Keys: []string{"hooks"}},
	{Path: ".a/plugins/*.[jt]s"},
	{Path: ".env", Format: "env", Keys: []string{"*_URL", "PATH"}},
}

func TestItems(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":                          {nil, nil},
		"nothing that runs":                {map[string]string{"mcp.json": `{"servers":{},"other":1}`, ".a/settings.jsonc": `{}`, ".env": "KEY=1\n# A_URL=x"}, nil},
		"keys":                             {map[string]string{"mcp.json": `{"servers":{"a":1},"login":{"helper":"x"}}`}, []string{"mcp.json login.helper", "mcp.json servers"}},
		"comments":                         {map[string]string{".a/settings.jsonc": "{ // hooks\n\"hooks\":[\"x\"],}"}, []string{".a/settings.jsonc hooks"}},
		"a byte order mark":                {map[string]string{"mcp.json": "\ufeff" + `{"servers":["x"]}`}, []string{"mcp.json servers"}},
		"front matter":                     {map[string]string{".a/x.md": "---\nhooks: {a: b}\n---\ntext", ".a/y.md": "---\nname: y\n---\n", ".a/z.md": "hooks: x"}, []string{".a/x.md hooks"}},
		"programs":                         {map[string]string{".a/plugins/x.js": "", ".a/plugins/[y].ts": "", ".a/plugins/z.md": "", ".a/plugins/d.js/x": ""}, []string{".a/plugins/[y].ts the whole file", ".a/plugins/x.js the whole file"}},
		"variables":                        {map[string]string{".env": "export A_URL = 'x'\nSECRET=y\nPATH=z"}, []string{".env variables"}},
		"a number that JSON does not have": {map[string]string{".a/x.md": "---\nhooks: {a: b, n: .nan}\n---\n"}, []string{".a/x.md the whole file"}},
		"what cannot be read":              {map[string]string{"mcp.json": `{"servers":`, ".a/x.md": "---\n: [\n---\n"}, []string{".a/x.md the whole file", "mcp.json the whole file"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.files)
			if _, items := unasked.Items(files, dir); !slices.Equal(places(items), c.want) {
				t.Errorf("%q, want %q", places(items), c.want)
			}
		})
	}
}

// TestMany: however many files there are, none is left out; a command is shown as it is.
func TestMany(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	all := map[string]string{"mcp.json": `{"servers":["a && b"]}`}
	for i := range 1200 {
		all[fmt.Sprintf(".a/plugins/%04d.js", i)] = ""
	}
	put(t, dir, all)
	if _, items := unasked.Items(files, dir); len(items) != 1201 || !strings.Contains(items[0].Runs, "a && b") {
		t.Errorf("%d items, first %q", len(items), items[0].Runs)
	}
}

// TestOtherNames: an agent that another entry describes is known by its program.
func TestOtherNames(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	put(t, dir, map[string]string{"mcp.json": `{"servers":["x"]}`})
	adapter.Register(func() adapter.Descriptor {
		return adapter.Descriptor{Name: "echo", Command: "echo-cli", Unasked: files, New: func() adapter.Adapter { return nil }}
	})
	allow := unasked.Check(trust.Store{File: filepath.Join(t.TempDir(), "trust.json")})
	for command, want := range map[string]bool{"echo-cli": true, "/usr/bin/echo-cli": true, "other": false} {
		err := allow([]adapter.Descriptor{{Name: "mine", Command: command, Described: true}}, dir)
		if e, ok := errors.AsType[*execution.Error](err); (err != nil) != want || ok && !strings.Contains(e.Hint, "drawbar trust "+dir) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestContent: an item changes with all that decides what runs, and has no secret.
func TestContent(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	start := map[string]string{"mcp.json": `{"servers":{"a":{"command":"sh","args":["run.sh"],"env":{"API_KEY":"planted"}}}}`, "run.sh": "one", ".a/plugins/[x].js": "one", ".env": "A_URL=one\nSECRET=planted"}
	put(t, dir, start)
	_, before := unasked.Items(files, dir)
	if len(before) != 3 {
		t.Fatalf("%q", places(before))
	}
	for _, i := range before {
		if strings.Contains(i.Runs, "planted") {
			t.Errorf("the item of %s has a secret: %s", i.File, i.Runs)
		}
	}
	for file, text := range map[string]string{"run.sh": "two", ".a/plugins/[x].js": "two", ".env": "A_URL=two", "mcp.json": strings.Replace(start["mcp.json"], "planted", "other", 1)} {
		put(t, dir, map[string]string{file: text})
		same := 0
		_, after := unasked.Items(files, dir)
		for _, i := range after {
			if slices.ContainsFunc(before, func(o trust.Item) bool { return trust.Same(i, o) }) {
				same++
			}
		}
		if len(after) != 3 || same != 2 {
			t.Errorf("a change of %s: %d of %d items are the same", file, same, len(after))
		}
		put(t, dir, map[string]string{file: start[file]})
	}
	put(t, dir, map[string]string{".env": "A_URL=one\nSECRET=other"})
	if _, after := unasked.Items(files, dir); !slices.EqualFunc(before, after, trust.Same) {
		t.Error("a variable that does not count counts")
	}
}

// TestDirectories: a file above counts up to the root of the repository, where the agent reads it; a linked work tree has the trust of its
// repository; the home directory is no project.
func TestDirectories(t *testing.T) {
	outer := t.TempDir()
	home, repo := filepath.Join(outer, "home"), filepath.Join(outer, "repo")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	text := map[string]string{"mcp.json": `{"servers":["x"]}`, ".a/settings.jsonc": `{"hooks":["x"]}`, "sub/deep/file": ""}
	put(t, outer, map[string]string{"mcp.json": text["mcp.json"]})
	put(t, repo, text)
	put(t, home, text)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "all")
	git("worktree", "add", "-q", filepath.Join(outer, "tree"))
	check := func(dir, wantRoot string, want ...string) {
		t.Helper()
		root, items := unasked.Items(files, dir)
		if real, err := filepath.EvalSymlinks(wantRoot); err != nil || real != root || !slices.Equal(places(items), want) {
			t.Errorf("%s: %q in %s, want %q in %s", dir, places(items), root, want, wantRoot)
		}
	}
	check(repo, repo, ".a/settings.jsonc hooks", "mcp.json servers")
	check(filepath.Join(repo, "sub", "deep"), repo, "mcp.json servers")
	check(filepath.Join(outer, "tree"), repo, ".a/settings.jsonc hooks", "mcp.json servers")
	store := trust.Store{File: filepath.Join(outer, "trust.json")}
	root, items := unasked.Items(files, repo)
	if err := store.Trust(t.Context(), root, items, false); err != nil {
		t.Fatal(err)
	}
	allow := unasked.Check(store)
	agents := []adapter.Descriptor{{}, {Unasked: files}}
	for _, dir := range []string{repo, filepath.Join(outer, "tree"), filepath.Join(repo, "sub")} {
		if err := allow(agents, dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	put(t, filepath.Join(outer, "tree"), map[string]string{"mcp.json": `{"servers":["y"]}`})
	err := allow(agents, filepath.Join(outer, "tree"))
	if e, ok := errors.AsType[*execution.Error](err); !ok || e.Code != execution.CodeUntrusted || !strings.Contains(e.Hint, "drawbar trust "+filepath.Join(outer, "tree")) {
		t.Errorf("another content in the worktree: %v", err)
	}
	check(home, home)
	check(filepath.Join(home, "sub"), filepath.Join(home, "sub"))
}

// TestOdd: what is no regular file cannot be trusted, and what is not there runs nothing.
func TestOdd(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	put(t, dir, map[string]string{"mcp.json/x": "", ".a": ""})
	if _, items := unasked.Items(files, dir); len(items) > 0 {
		t.Errorf("%q", places(items))
	}
	if _, items := unasked.Items(files, filepath.Join(dir, "missing")); len(items) > 0 {
		t.Errorf("%q", places(items))
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, ".env")); err != nil {
		t.Skip(err)
	}
	_, items := unasked.Items(files, dir)
	store := trust.Store{File: filepath.Join(t.TempDir(), "trust.json")}
	if err := store.Trust(t.Context(), dir, items, false); len(items) != 1 || err == nil {
		t.Errorf("%q: %v", places(items), err)
	}
}
