package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// put writes files with their folders.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFoundSkills: the model is told of the skills in .agents/skills, of the working directory, the repository and the user, in this
// order, after those of the request. It reads their folders, and nothing that a link of a project leads to.
func TestFoundSkills(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	home, repo := filepath.Join(top, "home"), filepath.Join(top, "repo")
	dir := filepath.Join(repo, "sub")
	in := func(at, name string) string { return filepath.Join(at, ".agents", "skills", name) }
	text := func(name, purpose string) string {
		return "---\nname: " + name + "\ndescription: " + purpose + "\n---\nText of " + purpose + "\n"
	}
	put(t, map[string]string{filepath.Join(repo, ".git", "HEAD"): "x", filepath.Join(top, "named", skillFile): text("one", "the request"),
		filepath.Join(in(dir, "one"), skillFile): text("one", "the folder"), filepath.Join(in(dir, "two"), skillFile): text("two", "the folder"),
		filepath.Join(in(repo, "two"), skillFile): text("two", "the repository"), filepath.Join(in(repo, "three"), skillFile): text("three", "the repository"),
		filepath.Join(in(home, "three"), skillFile): text("three", "the user"), filepath.Join(in(home, "four"), skillFile): text("four", "the user"),
		filepath.Join(in(top, "outside"), skillFile): text("outside", "above the repository"), filepath.Join(in(home, "none"), "x"): "no skill",
		filepath.Join(in(home, "broken"), skillFile): "---\nname: [\n---\n", filepath.Join(in(home, "lines"), skillFile): "---\nname: \"a\\nb\"\n---\n",
		filepath.Join(in(home, "long"), skillFile): text("long", strings.Repeat("x", maxPurpose+1)), filepath.Join(in(home, "four"), "more.txt"): "more of it",
		filepath.Join(top, "secret", skillFile): text("secret", "elsewhere"), filepath.Join(top, "secret", "key"): "hunter2"})
	notes := 2
	if runtime.GOOS != "windows" {
		notes++
		if err := os.Symlink(filepath.Join(top, "secret"), in(dir, "linked")); err != nil {
			t.Fatal(err)
		}
	}
	m := &model{replies: []reply{calls(`skill {"name":"one"}`, `skill {"name":"two"}`, `skill {"name":"three"}`, `skill {"name":"four"}`),
		calls(`read {"path":"`+filepath.ToSlash(filepath.Join(in(home, "four"), "more.txt"))+`"}`,
			`read {"path":"`+filepath.ToSlash(filepath.Join(top, "secret", "key"))+`"}`), says("done")}}
	req := request(t, "go")
	req.Run.Cwd, req.Run.Skills, req.Run.Env = dir, []string{filepath.Join(top, "named")}, map[string]string{"HOME": home}
	res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusCompleted {
		t.Fatalf("%s %+v", res.Status, res.Error)
	}
	system := m.said(t, 0)[0]
	_, list, _ := strings.Cut(system, "Skills, which the tool skill reads:\n")
	want := []string{"- one: the request", "- two: the folder", "- three: the repository", "- four: the user", "- long: " + strings.Repeat("x", maxPurpose)}
	if lines := strings.Split(strings.TrimSpace(list), "\n"); len(lines) < len(want) || !slices.Equal(lines[:len(want)], want) {
		t.Errorf("the model is told %q", lines)
	}
	got := strings.Join(m.said(t, 2), "\n")
	for _, want := range []string{"Text of the request", "Text of the folder", "Text of the repository", "Text of the user", "1\tmore of it"} {
		if !strings.Contains(got, want) {
			t.Errorf("the model did not get %q: %s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") || strings.Contains(got, "elsewhere") || strings.Contains(got, "above the repository") {
		t.Errorf("the model got %s", got)
	}
	warned := slices.DeleteFunc(bodies[execution.Debug](events), func(d execution.Debug) bool { return !strings.Contains(d.Message, "was not read") })
	if len(warned) != notes || len(bodies[execution.SkillLoaded](events)) != len(want) {
		t.Errorf("notes %+v, loaded %+v", warned, bodies[execution.SkillLoaded](events))
	}
}

// TestManySkills: more skills than a model should be told are left out, with a note.
func TestManySkills(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for i := range maxSkills + 1 {
		put(t, map[string]string{filepath.Join(home, ".agents", "skills", fmt.Sprint("s", i), skillFile): "x"})
	}
	list, notes := findSkills(adapter.Host{Home: home, Getenv: func(string) string { return "" }}, t.TempDir(), nil)
	if len(list) != maxSkills || len(notes) != 1 {
		t.Errorf("%d skills, %q", len(list), notes)
	}
}
