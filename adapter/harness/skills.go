package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/settings"
)

// skill is a folder with instructions for one kind of task.
type skill struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	folder      string
	text        string
}

const skillFile = "SKILL.md"

// parseSkill reads the head of a skill's text.
func parseSkill(folder string, text []byte) (skill, error) {
	s := skill{folder: folder, text: strings.ToValidUTF8(string(text), "\uFFFD")}
	if head, ok := strings.CutPrefix(strings.ReplaceAll(s.text, "\r\n", "\n"), "---\n"); ok {
		head, _, _ = strings.Cut(head, "\n---")
		if err := yaml.Unmarshal([]byte(head), &s); err != nil {
			return skill{}, fmt.Errorf("the beginning of %s is not YAML: %v", skillFile, err)
		}
	}
	if s.Name == "" {
		s.Name = filepath.Base(folder)
	}
	return s, nil
}

func has(list []skill, name string) bool {
	return slices.ContainsFunc(list, func(s skill) bool { return s.Name == name })
}

// readSkills reads the skills of a request.
func readSkills(dir string, sources []string) (list []skill, err error) {
	for _, source := range sources {
		folder, err := cliagent.SkillFolder(dir, source)
		if err != nil {
			return nil, err
		}
		text, err := repofile.Own(filepath.Join(folder, skillFile), maxSkill)
		if err != nil {
			return nil, fmt.Errorf("run.skills: read %s: %s %w", source, skillFile, err)
		}
		s, err := parseSkill(folder, text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("run.skills: %s: %w", source, err)
		case has(list, s.Name):
			return nil, fmt.Errorf("run.skills: two skills have the name %s", s.Name)
		}
		list = append(list, s)
	}
	return list, nil
}

// keeper declares where skills are found: .agents/skills in the home directory and in a project.
type keeper struct{}

var shared = declared.Table{Agent: name, Home: declared.Dir{Default: ".agents"}, Project: ".agents"}

// Table implements declared.Declares.
func (keeper) Table() *declared.Table { return &shared }

// findSkills adds the skills of the repository's folders, from dir to its root, and those of the user. Of two with the same name, the first
// counts. A skill that cannot be used is passed over with a note.
func findSkills(h adapter.Host, dir string, list []skill) (all []skill, notes []string) {
	var folders []settings.Folder
	for _, at := range slices.Backward(upwards(dir)) {
		f, _ := declared.SkillsOf[keeper]{}.SkillFolder(h, settings.Project, at)
		folders = append(folders, f)
	}
	if h.Home != "" {
		f, _ := declared.SkillsOf[keeper]{}.SkillFolder(h, settings.Global, "")
		folders = append(folders, f)
	}
	found := 0
	for _, f := range folders {
		entries, err := os.ReadDir(f.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			notes = append(notes, fmt.Sprintf("the skills in %s were not read: %v", f.Dir, err))
		}
		for _, e := range entries {
			s, err := findSkill(f, filepath.Join(f.Dir, e.Name()))
			switch {
			case errors.Is(err, fs.ErrNotExist), err == nil && has(list, s.Name):
			case err != nil:
				notes = append(notes, fmt.Sprintf("the skill %s was not read: %v", filepath.Join(f.Dir, e.Name()), err))
			case found == maxSkills:
				return list, append(notes, fmt.Sprintf("only the first %d skills are offered to the model", maxSkills))
			default:
				list, found = append(list, s), found+1
			}
		}
	}
	return list, notes
}

// findSkill reads a skill in a folder of skills. One of a project is not another user's, and is no link out of its folder: the model may
// read the whole folder of a skill.
func findSkill(f settings.Folder, folder string) (s skill, err error) {
	file := filepath.Join(folder, skillFile)
	var text []byte
	if f.Within == "" {
		text, err = repofile.Own(file, maxSkill)
	} else {
		text, err = repofile.Read(folder, skillFile, maxSkill)
		if err == nil && !plain(f.Within, folder) {
			err = errors.New("it is reached through a link")
		} else if _, foreign := repofile.Foreign(file); err == nil && foreign {
			err = errors.New("it belongs to another user")
		}
	}
	if err != nil {
		return skill{}, err
	}
	if s, err = parseSkill(folder, text); err != nil {
		return skill{}, err
	}
	if strings.ContainsAny(s.Name, "\r\n") {
		return skill{}, errors.New("its name has several lines")
	}
	if len(s.Description) > maxPurpose {
		s.Description = strings.ToValidUTF8(s.Description[:maxPurpose], "")
	}
	return s, nil
}

// plain reports whether no link is on the way from a folder to one below it.
func plain(top, folder string) bool {
	rel, err := filepath.Rel(top, folder)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return false
	}
	at, err := filepath.EvalSymlinks(folder)
	return err == nil && at == filepath.Join(real, rel)
}

// describe tells the model which skills there are.
func describe(list []skill) []string {
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("Skills, which the tool skill reads:")
	for _, s := range list {
		b.WriteString("\n- " + s.Name + ": " + strings.Join(strings.Fields(s.Description), " "))
	}
	return []string{b.String()}
}
