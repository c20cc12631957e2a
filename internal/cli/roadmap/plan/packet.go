package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter/script"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// AdaptersDir is the folder of adapter scripts, relative to the project.
const AdaptersDir = ".claude/agents/adapters"

// SettingsFile is the file of settings, relative to the project.
const SettingsFile = ".claude/settings.json"

// Fallback is the adapter that runs tasks for which nothing else is said.
const Fallback = "claude-code"

// Settings are those of project_os in SettingsFile.
type Settings struct {
	Adapters struct {
		Default  string `json:"default"`
		Fallback *bool  `json:"fallback_on_failure"` // nil is true
	} `json:"adapters"`
	Parallel struct {
		Most int `json:"max_concurrent_agents"` // 0 is 4
	} `json:"parallel"`
}

// ReadSettings reads the settings of a project; it may have none.
func ReadSettings(root string) (s Settings, err error) {
	data, err := repofile.Own(filepath.Join(root, filepath.FromSlash(SettingsFile)), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	var file struct {
		ProjectOS *Settings `json:"project_os"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return s, execution.Errorf(execution.CodeConfig, "read %s: %w", SettingsFile, err)
	}
	if file.ProjectOS != nil {
		s = *file.ProjectOS
	}
	if d := s.Adapters.Default; d != "" && !name().MatchString(d) {
		return s, execution.Errorf(execution.CodeConfig, "%s: project_os.adapters.default: %q is not a valid name", SettingsFile, d).WithHint("lower-case letters, digits and -")
	}
	if s.Parallel.Most < 0 || s.Parallel.Most > 64 {
		return s, execution.Errorf(execution.CodeConfig, "%s: project_os.parallel.max_concurrent_agents: %d is out of range", SettingsFile, s.Parallel.Most).WithHint("1 to 64")
	}
	return s, nil
}

// Adapter returns the name of the adapter that a task is run with: that of its annotation, or else of the settings, or else Fallback.
func (s Settings) Adapter(t Task) string {
	for _, name := range []string{t.Agent, s.Adapters.Default} {
		if name != "" && name != "native" {
			return name
		}
	}
	return Fallback
}

// Fallbacks reports whether an adapter that is not available is replaced by Fallback.
func (s Settings) Fallbacks() bool { return s.Adapters.Fallback == nil || *s.Adapters.Fallback }

// Script returns the path of an adapter script; empty if the project has none of that name. Where files have permissions, one that is not
// executable is an error.
func Script(root, adapter string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(AdaptersDir), adapter+".sh")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", execution.Errorf(execution.CodeConfig, "%w", err)
	case !info.Mode().IsRegular():
		return "", execution.Errorf(execution.CodeConfig, "%s is not a file", path)
	case !executable(info):
		return "", execution.Errorf(execution.CodeConfig, "%s is not executable", path).WithHint("chmod +x %s", path)
	}
	return path, nil
}

// Items are the adapter scripts of a project, which run on this machine.
func Items(root string) (items []trust.Item) {
	paths, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(AdaptersDir), "*.sh")) // the pattern is valid
	for _, path := range paths {
		items = append(items, Item(root, path))
	}
	return items
}

// Item is one script, with the digest of its text.
func Item(root, path string) trust.Item {
	name := filepath.Base(path)
	return trust.New(root, root, AdaptersDir+"/"+name, "adapters."+strings.TrimSuffix(name, ".sh"), "adapter script "+name, path)
}

// designs are the places of the design, in the order in which they are tried; %s is the feature.
var designs = []string{"docs/specs/%s/design.md", "docs/specs/design.md", "docs/design.md", "design.md", "DESIGN.md"}

// Design returns what the design says of a task: the section whose heading has its id or its feature, or else the whole file. A project
// without a design has none.
func Design(root string, t Task) (string, error) {
	for _, place := range designs {
		place = strings.ReplaceAll(place, "%s", slug(t.Feature))
		data, err := repofile.Own(filepath.Join(root, filepath.FromSlash(place)), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", execution.Errorf(execution.CodeConfig, "read %s: %w", place, err)
		}
		text := strings.ReplaceAll(string(data), "\r\n", "\n")
		for _, words := range []string{t.ID, t.Feature} {
			if s := section(text, words); s != "" {
				return s, nil
			}
		}
		return text, nil
	}
	return "", nil
}

// section is the part of a text below the first heading that has the words, with its sub-sections.
func section(text, words string) string {
	if words == "" {
		return ""
	}
	var part strings.Builder
	level, fenced := 0, false
	for line := range strings.Lines(text) {
		if fence().MatchString(line) {
			fenced = !fenced
		}
		h := heading().FindStringSubmatch(strings.TrimRight(line, "\n"))
		if fenced {
			h = nil
		}
		switch {
		case h != nil && level == 0 && has(h[2], words):
			level = len(h[1])
		case h != nil && level > 0 && len(h[1]) <= level:
			return part.String()
		}
		if level > 0 {
			part.WriteString(line)
		}
	}
	return part.String()
}

// has reports whether a heading has the words, not only as a part of others: T1 is not in T10.
func has(heading, words string) bool {
	letter := func(s string, i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 0x80)
	}
	heading, words = strings.ToLower(heading), strings.ToLower(words)
	for from := 0; ; {
		i := strings.Index(heading[from:], words)
		if i < 0 {
			return false
		}
		i += from
		if !letter(heading, i-1) && !letter(heading, i+len(words)) {
			return true
		}
		from = i + 1
	}
}

// slug is a heading as the name of a folder.
func slug(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }), "-")
}

// Packet is what an adapter gets of a task.
type Packet struct {
	Task, Conventions, Design string
	Scope                     script.Scope
	Root                      string // whose files are copied
}

// NewPacket collects the packet of a task from the files below root.
func NewPacket(root string, t Task) (p Packet, err error) {
	p = Packet{Task: t.Text(), Scope: t.Files, Root: root}
	conventions, err := script.Conventions(root)
	if err != nil {
		return p, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	p.Conventions = string(conventions)
	p.Design, err = Design(root, t)
	return p, err
}

// Write writes the context directory dir, which must not exist. The copies of files can only be read.
func (p Packet) Write(dir string) error {
	put := func(name string, content []byte, mode fs.FileMode) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, content, mode)
	}
	err := os.MkdirAll(filepath.Join(dir, script.FilesDir), 0o700)
	for name, text := range map[string]string{script.TaskFile: p.Task, script.ConventionsFile: p.Conventions, script.DesignFile: p.Design} {
		if err == nil {
			err = put(name, []byte(text), 0o600)
		}
	}
	for _, name := range p.Scope.Existing(p.Root) {
		var content []byte
		if err == nil {
			content, err = os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(name)))
		}
		if err == nil {
			err = put(script.FilesDir+"/"+name, content, 0o400)
		}
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write the context of the task: %w", err)
	}
	return nil
}

// Prompt is the packet as a message for an agent that has no directories: it works in the project.
func (p Packet) Prompt() string {
	var b strings.Builder
	b.WriteString("You implement one task of a project, in the current directory.\n\n" + strings.TrimSpace(p.Task) + "\n")
	for _, part := range []struct{ title, text string }{{"Conventions of the project", p.Conventions}, {"Design", p.Design}} {
		if text := strings.TrimSpace(part.text); text != "" {
			fmt.Fprintf(&b, "\n# %s\n\n%s\n", part.title, text)
		}
	}
	b.WriteString("\n# How to work\n\n" +
		"- Change only the files that the task declares. Any other change makes the task fail, and nothing is kept.\n" +
		"- Write the code and its tests, and run the tests.\n" +
		"- Where the task is not clear, do the simplest thing, and say what you assumed.\n" +
		"- Do not commit, and do not change " + File + ".\n" +
		"- At the end, report what you did, the files that you changed, and your assumptions.\n")
	return b.String()
}

// Report is what is left in the output directory by an agent that does not write it itself.
type Report struct {
	Task, Agent string
	Failed      string // why it does not pass
	Files       []string
	Text        string // of the agent
}

// Write writes the report, and the result last.
func (r Report) Write(out string) error {
	result := script.Pass
	if r.Failed != "" {
		result = script.Fail
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion report: %s\n\n- **Status**: %s\n- **Agent**: %s\n", r.Task, result, r.Agent)
	if r.Failed != "" {
		fmt.Fprintf(&b, "- **Reason**: %s\n", strings.Join(strings.Fields(r.Failed), " "))
	}
	b.WriteString("\n## Files changed\n\n")
	for _, name := range r.Files {
		fmt.Fprintf(&b, "- `%s`\n", name)
	}
	if len(r.Files) == 0 {
		b.WriteString("none\n")
	}
	b.WriteString("\n## Report of the agent\n\n" + cmp.Or(strings.TrimSpace(r.Text), "none") + "\n")
	for _, f := range [][2]string{{script.ReportFile, b.String()}, {script.ResultFile, result + "\n"}} {
		if err := os.WriteFile(filepath.Join(out, f[0]), []byte(f[1]), 0o644); err != nil { //nolint:gosec // for the caller's user and tools
			return execution.Errorf(execution.CodeConfig, "write the output: %w", err)
		}
	}
	return nil
}

// Denied is the error about an agent that was not allowed what it needed; nil if it was.
func Denied(res execution.Result) error {
	switch n := res.DeniedCalls; n {
	case 0:
		return nil
	case 1:
		return errors.New("1 call was denied; say what the agent may do: --approve yolo, or --allow RULE")
	default:
		return fmt.Errorf("%d calls were denied; say what the agent may do: --approve yolo, or --allow RULE", n)
	}
}
