package plan

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/script"
)

const sample = `# Roadmap

## Feature: Login

Some words, and a list:
- [ ] without an id
- [x] Set up (model: opus) #T1
- [ ] Add a form (depends: #T1, T2) #T3 (agent: codex)
  - **Files**: ` + "`src/form.ts` (create), `src/login/`" + `
  - [ ] an acceptance criterion that is no task

    with a paragraph
* [~] Follows #T1 in words (agent: x) #T2

` + "```" + `
- [ ] in a code block #T9
` + "```" + `
### Other
	- [!] indented #T4
`

func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"LF": sample, "CRLF": strings.ReplaceAll(sample, "\n", "\r\n")} {
		got := parse(text)
		for i := range got {
			got[i].faults = nil
		}
		want := []Task{
			{ID: "T1", State: Done, Title: "Set up", Model: "opus", Feature: "Login", Line: 7},
			{ID: "T3", State: Todo, Title: "Add a form", Depends: []string{"T1", "T2"}, Agent: "codex", Feature: "Login", Line: 8,
				Files: script.Scope{{Path: "src/form.ts", Action: "create"}, {Path: "src/login/"}},
				Body:  "- **Files**: `src/form.ts` (create), `src/login/`\n- [ ] an acceptance criterion that is no task\n\n  with a paragraph"},
			{ID: "T2", State: Review, Title: "Follows #T1 in words", Agent: "x", Feature: "Login", Line: 13},
			{ID: "T4", State: Blocked, Title: "indented", Feature: "Other", Line: 19},
		}
		if d := cmp.Diff(want, got, cmp.Transformer("", func(t Task) [9]any {
			return [9]any{t.ID, t.State, t.Title, t.Depends, t.Agent + t.Model, t.Feature, t.Line, t.Files, t.Body}
		})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if text := parse(sample)[1].Text(); !strings.HasPrefix(text, "# T3: Add a form\n\n- **Files**") {
		t.Errorf("%q", text)
	}
}

// TestCheck: each fault of a file is found, in annotated lines too.
func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- [ ] a #T1\n- [ ] b #T1": "the id is that of line 1",
		"- [*] a #T1":              "the marker [*] is unknown",
		"- [X] a #T1":              "the marker [X] is unknown",
		"- [✓] a #T1":              "the marker [✓] is unknown",
		"- [] a #T1":               "the marker [] is unknown",
		"- [ ] a (depends: #T2) #T1 (agent: codex)":                         "depends on T2, which does not exist",
		"- [ ] a (depends: #T1) #T1":                                        "depends on itself",
		"- [ ] a (depends: T2, #T2) #T1\n- [ ] b #T2":                       "depends on T2 twice",
		"- [ ] a (depends: the rest) #T1":                                   `"the rest" is not a task`,
		"- [x] a (depends: #T2) #T1\n- [ ] b #T2":                           "it is done, and depends on T2, which is todo",
		"- [-] a (depends: #T2) #T1\n- [?] b #T2":                           "in progress, and depends on the draft T2",
		"- [ ] a (depends: #T2) #T1 (agent: x)\n- [ ] b (depends: #T1) #T2": "circle: T1 -> T2 -> T1",
		"- [ ] a (agent: ../../bin/sh) #T1":                                 "(agent: ../../bin/sh) is not a valid name",
		"- [ ] a (agent: x) #T1 (agent: y)":                                 "(agent:) is there twice",
		"- [ ] a #T1\n  - Files: `../x`":                                    `"../x" is not a path inside the project`,
	} {
		faults := (&Roadmap{Tasks: parse(text)}).Check()
		if len(faults) != 1 || !strings.Contains(faults[0].Message, want) {
			t.Errorf("%q: %v, want %q", text, faults, want)
		}
	}
	if faults := (&Roadmap{Tasks: parse(strings.Replace(sample, ", T2", "", 1))}).Check(); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
}

// TestMark: only the marker changes, whatever the line ends with; a task that somebody else moved stays.
func TestMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{sample, strings.ReplaceAll(sample, "\n", "\r\n"), strings.TrimRight(sample, "\n")} {
		path := filepath.Join(t.TempDir(), File)
		put(t, path, text, 0o640)
		if err := Mark(path, "T3", Todo, Progress); err != nil {
			t.Fatal(err)
		}
		if got := get(t, path); got != strings.Replace(text, "- [ ] Add", "- [-] Add", 1) {
			t.Errorf("%q", got)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%v %v", info, err)
		}
		if err := Mark(path, "T3", Todo, Review); err == nil || !strings.Contains(err.Error(), "from todo to in progress") {
			t.Errorf("%v", err)
		}
		if err := Mark(path, "T8", Todo, Review); err == nil {
			t.Error("an unknown task is marked")
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	no := false
	for text, want := range map[string]struct {
		adapter string
		falls   bool
		fails   bool
	}{
		"":                   {"claude-code", true, false},
		`{"permissions":{}}`: {"claude-code", true, false},
		`{"project_os":{"adapters":{"default":"codex","fallback_on_failure":false}}}`: {"codex", no, false},
		`{"project_os":{"adapters":{"default":"native"}}}`:                            {"claude-code", true, false},
		`{"project_os":{"adapters":{"default":"../x"}}}`:                              {fails: true},
		`{"project_os":{"parallel":{"max_concurrent_agents":-1}}}`:                    {fails: true},
		`{"project_os":[]}`: {fails: true},
		`{`:                 {fails: true},
	} {
		root := t.TempDir()
		if text != "" {
			put(t, filepath.Join(root, filepath.FromSlash(SettingsFile)), text, 0o600)
		}
		s, err := ReadSettings(root)
		if (err != nil) != want.fails || err == nil && (s.Adapter(Task{}) != want.adapter || s.Fallbacks() != want.falls || s.Adapter(Task{Agent: "gemini"}) != "gemini") {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
}

// TestPacket: the design is the section of the task or its feature, or else the whole file; copies can only be read.
func TestPacket(t *testing.T) {
	t.Parallel()
	design := "# Design\n\nAll.\n\n## Login\n\nThe login.\n\n### Detail\n\nA detail.\n\n## Notes of T10\n\nTen.\n\n## The form (T3)\n\nThe form.\n\n```\n## no heading\n```\n# End\n"
	for _, c := range []struct{ id, feature, want string }{
		{"T3", "Login", "## The form (T3)\n\nThe form.\n\n```\n## no heading\n```\n"},
		{"T1", "Login", "## Login\n\nThe login.\n\n### Detail\n\nA detail.\n\n"},
		{"T1", "Nothing", design},
	} {
		root := t.TempDir()
		put(t, filepath.Join(root, "docs", "design.md"), design, 0o600)
		if got, err := Design(root, Task{ID: c.id, Feature: c.feature}); err != nil || got != c.want {
			t.Errorf("%s: %q %v", c.id, got, err)
		}
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "CLAUDE.md"), "be kind", 0o600)
	put(t, filepath.Join(root, "docs/specs/my-login/design.md"), "small", 0o600)
	put(t, filepath.Join(root, "src/a.go"), "package a", 0o755)
	put(t, filepath.Join(root, "src/b.go"), "package b", 0o600)
	task := parse("## My login\n- [ ] Do it #T1\n  - **Files**: `src/a.go`, `new.go`\n")[0]
	p, err := NewPacket(root, task)
	if err != nil || p.Design != "small" || p.Conventions != "be kind" {
		t.Fatalf("%+v %v", p, err)
	}
	dir := filepath.Join(t.TempDir(), "context")
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	out, err := script.ReadOutput(dir)
	if err != nil || !slices.Equal(out.Files, []string{"src/a.go"}) || get(t, filepath.Join(dir, "task.md")) != task.Text() ||
		get(t, filepath.Join(dir, "conventions.md")) != "be kind" || get(t, filepath.Join(dir, "design.md")) != "small" {
		t.Errorf("%+v %v", out, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "files/src/a.go")); err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, want := range []string{"# T1: Do it", "be kind", "small", "Change only the files that the task declares"} {
		if !strings.Contains(p.Prompt(), want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := filepath.Join(root, filepath.FromSlash(AdaptersDir), "x.sh")
	if path, err := Script(root, "x"); path != "" || err != nil {
		t.Errorf("%s %v", path, err)
	}
	put(t, at, "#!/bin/sh\n. src/lib.sh\n", 0o644)
	put(t, filepath.Join(root, "src/lib.sh"), "true\n", 0o644)
	if _, err := Script(root, "x"); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "not executable")) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := Script(root, "x"); path != at || err != nil {
		t.Errorf("%s %v", path, err)
	}
	items := Items(root)
	if len(items) != 1 || items[0].Place != "adapters.x" || len(items[0].Files) != 1 || items[0].Files[0].SHA256 == "" {
		t.Errorf("%+v", items)
	}
}

// FuzzParse: no text makes the parser panic, and marking a task changes nothing but its marker.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("- [ ] (depends: #T1, (agent: ) #T1 #T2\r\n  Files:\r\n  - a")
	f.Fuzz(func(t *testing.T, text string) {
		tasks := parse(text)
		(&Roadmap{Tasks: tasks}).Check()
		if len(tasks) == 0 || len((&Roadmap{Tasks: tasks}).Check()) > 0 {
			return
		}
		path := filepath.Join(t.TempDir(), File)
		put(t, path, text, 0o600)
		to := Blocked
		if tasks[0].State == Blocked {
			to = Todo
		}
		if err := Mark(path, tasks[0].ID, tasks[0].State, to); err != nil {
			t.Fatal(err)
		}
		after := parse(get(t, path))
		if len(after) != len(tasks) || after[0].State != to || len(get(t, path)) != len(text) {
			t.Errorf("%q became %q", text, get(t, path))
		}
	})
}

func put(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
