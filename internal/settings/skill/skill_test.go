package skill

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const hello = "---\nname: hello\ndescription: Says hello.\n---\nSay hello.\n"

func skillIn(t *testing.T, dir, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]string{manifest: content, "scripts/run.sh": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFrontMatter(t *testing.T) {
	for name, tt := range map[string]struct{ text, fault string }{
		"good":              {hello, ""},
		"windows":           {strings.ReplaceAll(hello, "\n", "\r\n"), ""},
		"byte order mark":   {"\ufeff" + hello, ""},
		"none":              {"Say hello.\n", "no front matter"},
		"not closed":        {"---\nname: hello\n", "no front matter"},
		"empty":             {"", "no front matter"},
		"not valid YAML":    {"---\n{[\n---\n", "not valid YAML"},
		"no name":           {"---\ndescription: x\n---\n", "name is missing"},
		"name no text":      {"---\nname: [a]\ndescription: x\n---\n", "name is missing"},
		"no description":    {"---\nname: a\n---\n", "description is missing"},
		"name leads out":    {"---\nname: ../../etc\ndescription: x\n---\n", "is not a valid name"},
		"name with a space": {"---\nname: a b\ndescription: x\n---\n", "is not a valid name"},
		"name with a quote": {"---\nname: \"a'b\"\ndescription: x\n---\n", "is not a valid name"},
		"name with a line":  {"---\nname: \"a\\nb\"\ndescription: x\n---\n", "is not a valid name"},
		"dots":              {"---\nname: a..b\ndescription: x\n---\n", "is not a valid name"},
	} {
		_, err := ParseMarkdown("SKILL.md", []byte(tt.text))
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), "SKILL.md")) {
			t.Errorf("%s: %v, want %q", name, err, tt.fault)
		}
	}
}

func FuzzParseMarkdown(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte("---\n\n---\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		front, err := ParseMarkdown("f", b)
		if err == nil && CheckName(front.Name) != nil {
			t.Errorf("name %q", front.Name)
		}
		_, _ = ParseTOML("f", b)
		if err == nil {
			_, _ = rename(b, "other")
		}
	})
}

func TestAddListRemove(t *testing.T) {
	dir := t.TempDir()
	src := skillIn(t, filepath.Join(dir, "src dir"), hello)
	f := settings.Folder{Dir: filepath.Join(dir, "home", "skills")}
	item, err := Add(Skill, src, f, Options{})
	if err != nil || item.Path != filepath.Join(f.Dir, "hello") {
		t.Fatalf("%+v %v", item, err)
	}
	if info, err := os.Stat(filepath.Join(item.Path, "scripts", "run.sh")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the script: %v %v", info, err)
	}
	if _, err := Add(Skill, src, f, Options{}); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second time: %v", err)
	}
	skillIn(t, src, strings.Replace(hello, "Says", "Sings", 1))
	if _, err := Add(Skill, src, f, Options{Force: true}); err != nil {
		t.Errorf("with force: %v", err)
	}
	if item, err = Add(Skill, src, f, Options{Name: "hullo"}); err != nil || item.Name != "hullo" {
		t.Errorf("renamed: %+v %v", item, err)
	}
	if err := os.MkdirAll(filepath.Join(f.Dir, "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	list, err := List(Skill, f)
	var got []string
	for _, i := range list {
		got = append(got, i.Name+"|"+i.Description+"|"+map[bool]string{true: "faulty"}[i.Fault != ""])
	}
	if err != nil || strings.Join(got, " ") != "broken||faulty hello|Sings hello.| hullo|Sings hello.|" {
		t.Errorf("%v %q", err, got)
	}
	for _, bad := range []string{"../hello", "a/b", "", ".", "..", "broken", "nosuch"} {
		if _, err := Remove(Skill, bad, f); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("remove %q: %v", bad, err)
		}
	}
	if _, err := Remove(Skill, "hello", f); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(f.Dir)
	if len(entries) != 2 { // broken and hullo: nothing of the work is left
		t.Errorf("left: %v", entries)
	}
}

func TestLinksOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: links need rights there")
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	_ = os.WriteFile(secret, []byte("s"), 0o600)
	for name, tt := range map[string]struct {
		link, to string
		fault    string
	}{
		"absolute":             {"a", secret, "the link a"},
		"relative":             {"scripts/b", "../../secret", "the link scripts/b"},
		"a folder":             {"c", "../", "the link c"},
		"leads nowhere":        {"d", "nowhere", "the link d"},
		"stays inside":         {"e", "scripts/run.sh", ""},
		"inside, but absolute": {"f", "ABS", "the link f"},
	} {
		t.Run(name, func(t *testing.T) {
			src := skillIn(t, filepath.Join(t.TempDir(), "s"), hello)
			to := tt.to
			if tt.to == "../../secret" {
				_ = os.WriteFile(filepath.Join(filepath.Dir(src), "secret"), []byte("s"), 0o600)
			}
			if to == "ABS" {
				to = filepath.Join(src, "scripts")
			}
			if err := os.Symlink(to, filepath.Join(src, tt.link)); err != nil {
				t.Fatal(err)
			}
			f := settings.Folder{Dir: filepath.Join(t.TempDir(), "skills")}
			_, err := Add(Skill, src, f, Options{})
			if tt.fault == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %v", err)
			}
			if _, serr := os.Stat(f.Dir); serr == nil {
				t.Error("something was written")
			}
		})
	}
	t.Run("the project's folder is a link out", func(t *testing.T) {
		project := t.TempDir()
		if err := os.Symlink(dir, filepath.Join(project, ".claude")); err != nil {
			t.Fatal(err)
		}
		_, err := Add(Skill, skillIn(t, filepath.Join(t.TempDir(), "s"), hello), settings.Folder{Dir: filepath.Join(project, ".claude", "skills"), Within: project}, Options{})
		if execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "leads out of the project") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSubagents(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "greeter.md")
	_ = os.WriteFile(src, []byte("---\nname: greeter\ndescription: greets \"people\"\n---\nYou greet.\n'''\n"), 0o600)
	md := settings.Folder{Dir: filepath.Join(dir, "md"), Suffix: ".agent.md"}
	if item, err := Add(Subagent, src, md, Options{}); err != nil || item.Path != filepath.Join(md.Dir, "greeter.agent.md") {
		t.Errorf("%+v %v", item, err)
	}
	toml := settings.Folder{Dir: filepath.Join(dir, "toml"), Suffix: ".toml"}
	item, err := Add(Subagent, src, toml, Options{Name: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(item.Path)
	if front, err := ParseTOML("x", data); err != nil || front.Name != "hi" || front.Description != `greets "people"` || front.Body != "You greet.\n'''\n" {
		t.Errorf("%v %+v\n%s", err, front, data)
	}
	if _, err := Add(Subagent, item.Path, md, Options{}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("TOML for Markdown: %v", err)
	}
	if list, err := List(Subagent, toml); err != nil || len(list) != 1 || list[0].Name != "hi" {
		t.Errorf("%v %+v", err, list)
	}
	if _, err := Remove(Subagent, "hi", toml); err != nil {
		t.Error(err)
	}
}

func TestNotASkill(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	_ = os.WriteFile(file, nil, 0o600)
	f := settings.Folder{Dir: filepath.Join(dir, "skills")}
	for _, src := range []string{file, filepath.Join(dir, "nosuch"), dir} {
		if _, err := Add(Skill, src, f, Options{}); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: %v", src, err)
		}
	}
	if _, err := os.Stat(f.Dir); err == nil {
		t.Error("something was written")
	}
}
