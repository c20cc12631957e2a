package cliagent

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestSkillsOfARun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: modes and links are those of Unix")
	}
	work := t.TempDir()
	put := func(path, text string, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(work, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("greet/SKILL.md", "greet", 0o644)
	put("greet/scripts/run.sh", "#!/bin/sh", 0o755)
	put("other/greet/SKILL.md", "greet", 0o644)
	put("bare/README.md", "none", 0o644)
	put("links/SKILL.md", "links", 0o644)
	if err := os.Symlink("/etc/passwd", filepath.Join(work, "links", "notes")); err != nil {
		t.Fatal(err)
	}
	launch := func(skills ...string) *Launch {
		l, err := newLaunch(execution.Request{Run: execution.RunOptions{Cwd: work, Skills: skills}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := launch("greet")
	dir, err := l.SkillPlugin(".plugin/plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.write(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{".plugin/plugin.json": 0o600, "skills/greet/SKILL.md": 0o600, "skills/greet/scripts/run.sh": 0o700} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if err := l.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("it is left behind")
	}
	if dir, err := launch().SkillPlugin("plugin.json"); dir != "" || err != nil {
		t.Errorf("%q %v", dir, err)
	}
	for _, tt := range []struct {
		skills []string
		fault  string
	}{
		{[]string{"none"}, "not a folder with a SKILL.md"},
		{[]string{"bare"}, "not a folder with a SKILL.md"},
		{[]string{"greet/SKILL.md"}, "not a folder with a SKILL.md"},
		{[]string{"links"}, "contains notes"},
		{[]string{"greet", filepath.Join(work, "other", "greet")}, "has the name of greet"},
	} {
		if _, err := launch(tt.skills...).SkillPlugin("plugin.json"); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%v: %v", tt.skills, err)
		}
	}
}
