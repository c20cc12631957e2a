package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// guidanceHead introduces a template's addition to a file; originalHeads are those of the original program.
const guidanceHead = "## In a project of this kind"

var originalHeads = []string{"## Project-Type-Specific Guidance", "## Template-Specific Guidance"}

// guidedFile limits a file that guidance is added to.
const guidedFile = 1 << 20

// Planning returns the template's planning files besides those of every project.
func (t Template) Planning() []string { return slices.Sorted(maps.Keys(t.planningFiles(""))) }

// Guided returns the roles whose prompts the template extends.
func (t Template) Guided() []string { return slices.Sorted(maps.Keys(t.guidance)) }

// TemplatePlan is a change of template and the files that it writes.
type TemplatePlan struct {
	govern.TemplateChange
	write map[string][]byte
}

// PlanTemplate returns what the template would change in a project: missing planning files, and guidance at the
// end of prompts and of SYSTEM_SPEC.md. A template with its own team is only for new projects.
func PlanTemplate(p *Project, id string) (TemplatePlan, error) {
	i := slices.IndexFunc(templates, func(t Template) bool { return t.ID == id })
	if i < 0 {
		return TemplatePlan{}, execution.Errorf(execution.CodeValidation, "there is no template %q", id).WithHint("one of %s", strings.Join(templateIDs(), ", "))
	}
	t := templates[i]
	c := TemplatePlan{govern.TemplateChange{From: p.Config.Template, To: id, Created: []string{}, Kept: []string{}, Added: []string{}, Skipped: []string{}}, map[string][]byte{}}
	if c.From == "" {
		c.From = templates[0].ID
	}
	if c.From == c.To {
		return c, nil
	}
	if len(t.guidance) == 0 {
		return c, execution.Errorf(execution.CodeValidation, "the template %s defines its own team and cannot be added to a project", id).
			WithHint("drawbar govern init --template %s, in a new folder", id)
	}
	files := t.planningFiles(p.Config.Project.Name)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, err := os.Lstat(filepath.Join(p.Root, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.Created, c.write[name] = append(c.Created, name), []byte(files[name])
		case err != nil:
			return c, execution.Errorf(execution.CodeConfig, "check %s: %w", name, err)
		default:
			c.Kept = append(c.Kept, name)
		}
	}
	for _, role := range t.Guided() {
		c.add(p.Root, p.Config.Prompts.At(role), "prompt of "+role, t.guidance[role])
	}
	s := t.spec
	c.add(p.Root, protocol.PlanningDir+"/SYSTEM_SPEC.md", "SYSTEM_SPEC.md", fmt.Sprintf("- Purpose: %s\n- Interface: %s\n- Behavior: %s\n- Error cases: %s\n- Acceptance tests: %s",
		s.purpose, s.interfaces, s.behavior, s.errors, s.acceptance))
	return c, nil
}

// add plans guidance at the end of a file, unless the file is missing or already has some.
func (c *TemplatePlan) add(root, name, what, text string) {
	b, err := repofile.Read(root, name, guidedFile)
	has := slices.ContainsFunc(append(slices.Clone(originalHeads), guidanceHead), func(head string) bool { return strings.Contains(string(b), head) })
	if name == "" || err != nil || has {
		c.Skipped = append(c.Skipped, what)
		return
	}
	c.Added = append(c.Added, what)
	c.write[name] = []byte(strings.TrimRight(string(b), "\n") + "\n\n" + guidanceHead + "\n\n" + text + "\n")
}

// Apply writes the change, the configuration last: after an interruption the same change completes it.
func (c TemplatePlan) Apply(p *Project) error {
	if c.From == c.To {
		return nil
	}
	if err := WriteFiles(p.Root, c.write); err != nil {
		return err
	}
	_, _, err := Set(p.Root, "template", c.To)
	return err
}
