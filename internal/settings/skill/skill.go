package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/settings"
)

// Kind is a skill (a folder) or a sub-agent (a file).
type Kind string

// The kinds.
const (
	Skill    Kind = "skill"
	Subagent Kind = "sub-agent"
)

// manifest is the file that makes a folder a skill.
const manifest = "SKILL.md"

// Item is something found in an agent's folder. Fault says why the agent will probably ignore it.
type Item struct {
	Front
	Path  string `json:"path"`
	Fault string `json:"fault,omitempty"`
}

// List lists the contents of a folder. A missing folder is empty.
func List(kind Kind, f settings.Folder) ([]Item, error) {
	list := []Item{}
	for _, dir := range append([]string{f.Dir}, f.Also...) {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "list %ss: %w", kind, err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") || kind == Subagent && !strings.HasSuffix(e.Name(), f.Suffix) {
				continue
			}
			if kind == Skill {
				if info, err := os.Stat(path); err != nil || !info.IsDir() {
					continue
				}
			}
			item := Item{Path: path}
			front, err := read(kind, path, f.Suffix)
			if err != nil {
				item.Name = strings.TrimSuffix(e.Name(), f.Suffix)
				item.Fault = err.Error()
			}
			if err == nil {
				item.Front = front
			}
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b Item) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// read reads the front matter of a skill's folder or a sub-agent's file.
func read(kind Kind, path, suffix string) (Front, error) {
	file := path
	if kind == Skill {
		file = filepath.Join(path, manifest)
	}
	data, err := readBounded(file)
	if err != nil {
		return Front{}, err
	}
	if suffix == ".toml" && kind == Subagent {
		return ParseTOML(file, data)
	}
	return ParseMarkdown(file, data)
}

func readBounded(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, execution.Errorf(execution.CodeValidation, "%s does not exist", file)
	case err != nil:
		return nil, execution.Errorf(execution.CodeValidation, "read %s: %w", file, err)
	case !info.Mode().IsRegular():
		return nil, execution.Errorf(execution.CodeValidation, "%s is not a regular file", file)
	case info.Size() > maxText:
		return nil, execution.Errorf(execution.CodeValidation, "%s has %d bytes, the limit is %d", file, info.Size(), maxText)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "read %s: %w", file, err)
	}
	return data, nil
}

// Options of Add.
type Options struct {
	Name  string // empty: its own
	Force bool   // replace an existing one
}

// Add copies a skill's folder or a sub-agent's file into an agent's folder, completely or not at all. A
// sub-agent in Markdown is converted for an agent that needs TOML.
func Add(kind Kind, src string, f settings.Folder, o Options) (Item, error) {
	if o.Name != "" {
		if err := CheckName(o.Name); err != nil {
			return Item{}, err
		}
	}
	var content []byte // of a sub-agent
	var front Front
	var err error
	if kind == Skill {
		info, serr := os.Stat(src)
		switch {
		case serr != nil:
			return Item{}, execution.Errorf(execution.CodeValidation, "read the skill: %w", serr)
		case !info.IsDir():
			return Item{}, execution.Errorf(execution.CodeValidation, "%s is not a folder: a skill is a folder with a %s", src, manifest)
		}
		if err := inspect(src); err != nil {
			return Item{}, err
		}
		front, err = read(kind, src, "")
	} else {
		front, content, err = subagent(src, f.Suffix, o.Name)
	}
	if err != nil {
		return Item{}, err
	}
	name := front.Name
	if o.Name != "" {
		name = o.Name
	}
	if err := configstore.MakeDir(f.Dir, f.Within, 0o755); err != nil {
		return Item{}, err
	}
	target := filepath.Join(f.Dir, name+f.Suffix)
	if kind == Skill {
		target = filepath.Join(f.Dir, name)
	}
	if err := put(kind, src, content, front, name, target, o.Force); err != nil {
		if execution.CodeOf(err) != execution.CodeInternal {
			return Item{}, err
		}
		return Item{}, execution.Errorf(execution.CodeConfig, "write %s: %w", target, err)
	}
	front.Name = name
	return Item{Front: front, Path: target}, nil
}

// put makes a copy beside the target and moves it there.
func put(kind Kind, src string, content []byte, front Front, name, target string, force bool) error {
	temp, err := os.MkdirTemp(filepath.Dir(target), ".drawbar-new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, filepath.Base(target))
	if kind == Subagent {
		if err := os.WriteFile(made, content, 0o644); err != nil {
			return err
		}
		return place(made, target, force)
	}
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	if err := copyTree(src, made); err != nil {
		return err
	}
	if name != front.Name {
		file := filepath.Join(made, manifest)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if data, err = rename(data, name); err != nil {
			return execution.Errorf(execution.CodeValidation, "%s: %w", filepath.Join(src, manifest), err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return place(made, target, force)
}

// subagent reads a sub-agent's file and converts it to the target's format.
func subagent(src, suffix, name string) (Front, []byte, error) {
	data, err := readBounded(src)
	if err != nil {
		return Front{}, nil, err
	}
	if strings.HasSuffix(src, ".toml") {
		front, err := ParseTOML(src, data)
		switch {
		case err != nil:
			return front, nil, err
		case suffix != ".toml":
			return front, nil, execution.Errorf(execution.CodeValidation, "%s is TOML, and this agent reads sub-agents in Markdown", src).
				WithHint("write it as Markdown with front matter; it is converted for agents that need TOML")
		case name != "" && name != front.Name:
			return front, nil, execution.Errorf(execution.CodeValidation, "%s names itself %s", src, front.Name).WithHint("change the name in the file")
		}
		return front, data, nil
	}
	front, err := ParseMarkdown(src, data)
	if err != nil {
		return front, nil, err
	}
	if name != "" && name != front.Name {
		if data, err = rename(data, name); err != nil {
			return front, nil, execution.Errorf(execution.CodeValidation, "%s: %w", src, err)
		}
	} else {
		name = front.Name
	}
	if suffix != ".toml" {
		return front, data, nil
	}
	if strings.TrimSpace(front.Body) == "" {
		return front, nil, execution.Errorf(execution.CodeValidation, "%s has no instructions after its front matter, which this agent requires", src)
	}
	out, err := toml.Marshal(struct {
		Name         string `toml:"name"`
		Description  string `toml:"description"`
		Instructions string `toml:"developer_instructions,multiline"`
	}{name, front.Description, front.Body})
	return front, out, err
}

// Remove removes a skill or a sub-agent from a folder. Anything else is left alone.
func Remove(kind Kind, name string, f settings.Folder) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	target := filepath.Join(f.Dir, name)
	if kind == Subagent {
		target += f.Suffix
	}
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", execution.Errorf(execution.CodeValidation, "no %s %s in %s", kind, name, f.Dir).WithHint("drawbar %ss list", strings.ReplaceAll(string(kind), "-", ""))
	case err != nil:
		return "", execution.Errorf(execution.CodeConfig, "check %s: %w", target, err)
	}
	if err := configstore.MakeDir(f.Dir, f.Within, 0o755); err != nil {
		return "", err
	}
	if kind == Skill && info.IsDir() {
		if _, err := os.Lstat(filepath.Join(target, manifest)); err != nil {
			return "", execution.Errorf(execution.CodeValidation, "%s is not a skill: it has no %s", target, manifest).WithHint("to remove it anyway, delete it by hand")
		}
	}
	temp, err := os.MkdirTemp(f.Dir, ".drawbar-old-*")
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "remove %s: %w", target, err)
	}
	defer os.RemoveAll(temp)
	if err := os.Rename(target, filepath.Join(temp, "old")); err != nil {
		return "", execution.Errorf(execution.CodeConfig, "remove %s: %w", target, err)
	}
	return target, nil
}
