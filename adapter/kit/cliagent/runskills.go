package cliagent

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/drawbar/drawbar/execution"
)

// The limits of a run's skill. A larger folder is probably a mistake.
const (
	maxSkillFiles = 1000
	maxSkillBytes = 32 << 20
)

// Skills copies the skill folders of the request to dir/NAME in the run's private directory. They are read now and
// written with the other private files. A folder without a SKILL.md, a link, or anything but files and folders in it
// refuses the run.
func (l *Launch) Skills(dir string) error {
	names := map[string]string{}
	for _, source := range l.Request.Run.Skills {
		root, err := SkillFolder(l.Request.Run.Cwd, source)
		if err != nil {
			return err
		}
		name := filepath.Base(root)
		refuse := func(format string, args ...any) error { return refuseSkill(source, format, args...) }
		if first, taken := names[name]; taken {
			return refuse("has the name of %s", first)
		}
		names[name] = source
		files, total := 0, int64(0)
		err = fs.WalkDir(os.DirFS(root), ".", func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return refuse("cannot be read: %v", err)
			}
			if d.IsDir() {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return refuse("cannot be read: %v", err)
			}
			files, total = files+1, total+info.Size()
			switch {
			case !info.Mode().IsRegular():
				return refuse("contains %s, which is neither a file nor a folder", at)
			case files > maxSkillFiles || total > maxSkillBytes:
				return refuse("contains more than %d files or %d bytes, the limit of a skill", maxSkillFiles, maxSkillBytes)
			}
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
			if err != nil {
				return refuse("cannot be read: %v", err)
			}
			l.File(path.Join(dir, name, at), content)
			l.files[len(l.files)-1].mode |= info.Mode() & 0o100
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// SkillFolder returns the folder of a request's skill, relative to cwd. A folder without a SKILL.md is an error.
func SkillFolder(cwd, source string) (string, error) {
	root := source
	if !filepath.IsAbs(root) {
		root = filepath.Join(cwd, root)
	}
	if info, err := os.Stat(filepath.Join(root, "SKILL.md")); err != nil || !info.Mode().IsRegular() {
		return "", refuseSkill(source, "is not a folder with a SKILL.md")
	}
	return root, nil
}

func refuseSkill(source, format string, args ...any) error {
	return execution.Errorf(execution.CodeValidation, "run.skills: %s %s", source, fmt.Sprintf(format, args...)).
		WithHint("name a folder with a SKILL.md, such as ./skills/review")
}

// SkillPlugin makes a plugin of the run's skills, for agents that load one from a folder, and returns the folder;
// empty for none. manifest is the path of the plugin's description.
func (l *Launch) SkillPlugin(manifest string) (string, error) {
	if len(l.Request.Run.Skills) == 0 {
		return "", nil
	}
	l.File(path.Join("skills-plugin", manifest), []byte(`{"name":"drawbar-skills","version":"1.0.0","description":"skills of this run"}`))
	if err := l.Skills("skills-plugin/skills"); err != nil {
		return "", err
	}
	return l.path("skills-plugin"), nil
}
