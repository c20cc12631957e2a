package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

const (
	legacyDir     = protocol.Dir + "/legacy"
	migrationFile = protocol.Dir + "/migration-report.md"
	legacyLimit   = 16 << 20 // of one file
)

// legacyFiles are the files of a generation 3 project besides its configuration.
var legacyFiles = []string{"lock.json", "state.json", "state.md", "history.jsonl", "log.md"}

var roleID = lazy.Regexp(`^[a-z0-9_-]+$`)

// Migration is the result of Migrate.
type Migration struct {
	Migrated bool        `json:"migrated"` // false for a project that is already governed
	Project  string      `json:"project"`
	Backup   string      `json:"backup_path,omitempty"`
	Phase    string      `json:"inferred_phase,omitempty"` // phase of the old state; the first run begins in the first phase
	Archived []string    `json:"archived_files"`
	Inferred []Inference `json:"inferences"`
	Created  []string    `json:"created"`
}

// Inference is a value that is not in the old configuration.
type Inference struct {
	Role  string `json:"role"`
	Field string `json:"field"`
	Value string `json:"inferred"`
}

// legacy is a configuration of generation 3.
type legacy struct {
	Version int    `json:"version"`
	Project string `json:"project"`
	Agents  protocol.Ordered[struct {
		Name    string `json:"name"`
		Mandate string `json:"mandate"`
	}] `json:"agents"`
	Rules struct {
		RequireMessage *bool `json:"require_message"`
	} `json:"rules"`
}

// Migrate converts a project of generation 3 to a governed one, completely or not at all. Every agent becomes a
// person's role; the old configuration is kept beside the new one, and the old files are copied to
// .agentxchain/legacy.
func Migrate(root string) (Migration, error) {
	m := Migration{Archived: []string{}, Inferred: []Inference{}, Created: []string{}}
	data, err := repofile.Read(root, protocol.ConfigFile, legacyLimit)
	if err != nil {
		return m, execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.ConfigFile, err)
	}
	var old legacy
	var kind struct {
		Version json.RawMessage `json:"version"`
		Schema  json.RawMessage `json:"schema_version"`
	}
	if err = json.Unmarshal(data, &kind); err == nil && kind.Schema != nil {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &old)
	}
	if err == nil && old.Version != 3 {
		err = fmt.Errorf("version %s is not 3", kind.Version)
	}
	if err != nil {
		return m, execution.Errorf(execution.CodeConfig, "%s is not a project of generation 3: %w", protocol.ConfigFile, err).WithHint("drawbar govern init --force")
	}
	if err := vacantRecord(root); err != nil {
		return m, err
	}
	c, err := old.governed(root, &m)
	if err != nil {
		return m, err
	}
	files, err := old.files(root, c, &m)
	if err != nil {
		return m, err
	}
	b, err := newBuilder(root)
	if err != nil {
		return m, execution.Errorf(execution.CodeConfig, "migrate %s: %w", root, err)
	}
	defer b.close()
	if err := b.build(c, files); err != nil {
		b.undo()
		return m, execution.Errorf(execution.CodeConfig, "migrate %s: %w", root, err).WithHint("no changes were kept; fix the cause and try again")
	}
	slices.Sort(b.made)
	m.Migrated, m.Created = true, b.made
	return m, nil
}

// vacantRecord refuses a folder with a record: it belongs to a governed project.
func vacantRecord(root string) error {
	if _, err := repofile.Read(root, protocol.StateFile, legacyLimit); err == nil {
		return execution.Errorf(execution.CodeConfig, "%s already exists, but a migration starts a new record", protocol.StateFile).
			WithHint("move %s aside", protocol.Dir)
	}
	return nil
}

// governed returns the new configuration: the generic template with the old agents as people's roles.
func (l *legacy) governed(root string, m *Migration) (*protocol.Config, error) {
	o := ScaffoldOptions{Name: l.Project}
	t, err := o.settle(root)
	if err != nil {
		return nil, err
	}
	m.Project = o.Name
	c := t.config(o, protocol.Runtime{Type: protocol.RuntimeManual})
	c.Roles, c.Runtimes, c.Prompts, c.ApprovalPolicy = protocol.Ordered[protocol.Role]{}, protocol.Ordered[protocol.Runtime]{}, protocol.Ordered[string]{}, nil
	if l.Rules.RequireMessage != nil {
		c.Rules.ChallengeRequired = l.Rules.RequireMessage
	}
	ids := l.Agents.Keys()
	if len(ids) == 0 {
		return nil, execution.Errorf(execution.CodeConfig, "%s has no agents", protocol.ConfigFile).WithHint("drawbar govern init --force")
	}
	for id, a := range l.Agents.All() {
		if !roleID().MatchString(id) || strings.TrimSpace(a.Mandate) == "" {
			return nil, execution.Errorf(execution.CodeConfig, "the agent %q cannot become a role: it needs a mandate, and an id of lower-case letters, digits, - and _", id).
				WithHint("fix agents.%s in %s, then: drawbar govern migrate", id, protocol.ConfigFile)
		}
		r := protocol.Role{Title: a.Name, Mandate: a.Mandate, WriteAuthority: authorityOf(id), Runtime: "manual-" + id}
		if strings.TrimSpace(r.Title) == "" {
			r.Title = id
		}
		c.Roles.Set(id, r)
		c.Runtimes.Set(r.Runtime, protocol.Runtime{Type: protocol.RuntimeManual})
		c.Prompts.Set(id, protocol.PromptsDir+"/"+id+".md")
		m.Inferred = append(m.Inferred, Inference{id, "write_authority", string(r.WriteAuthority)}, Inference{id, "runtime", protocol.RuntimeManual})
	}
	for phase, word := range map[string]string{"planning": "", "implementation": "dev", "qa": "qa"} {
		entry := ids[0]
		if i := slices.IndexFunc(ids, func(id string) bool { return word != "" && strings.Contains(id, word) }); i >= 0 {
			entry = ids[i]
		}
		p := c.Routing.At(phase)
		p.EntryRole, p.AllowedNextRoles = entry, append(slices.Clone(ids), protocol.Human)
		c.Routing.Set(phase, p)
	}
	if faults := charter.Errors(charter.Check(c)); len(faults) > 0 {
		return nil, (&InvalidError{File: protocol.ConfigFile, Problems: faults}).refusal()
	}
	return c, nil
}

// authorityOf derives a role's write authority from its name: whether it plans, tests or leads reviews.
func authorityOf(id string) protocol.Authority {
	for _, word := range []string{"pm", "product", "manager", "qa", "test", "quality", "ux", "design", "reviewer", "director", "lead", "architect"} {
		if strings.Contains(id, word) {
			return protocol.ReviewOnly
		}
	}
	return protocol.Authoritative
}

// files returns those of a new project, a prompt for every role, the old files, and a page about the migration.
func (l *legacy) files(root string, c *protocol.Config, m *Migration) (map[string]string, error) {
	files, err := templates[0].files(c)
	if err != nil {
		return nil, err
	}
	prompts := map[string]string{}
	maps.DeleteFunc(files, func(name, text string) bool {
		isPrompt := filepath.ToSlash(filepath.Dir(name)) == protocol.PromptsDir
		if isPrompt {
			prompts[name] = text
		}
		return isPrompt
	})
	for id, role := range c.Roles.All() {
		name := c.Prompts.At(id)
		if files[name] = prompts[name]; files[name] == "" {
			files[name] = fmt.Sprintf("# %s\n\n%s\n", role.Title, role.Mandate)
		}
	}
	for _, name := range legacyFiles {
		b, err := repofile.Read(root, name, legacyLimit)
		if err != nil {
			continue // missing, or not a file of the project
		}
		files[legacyDir+"/"+name] = string(b)
		m.Archived = append(m.Archived, name)
		var state struct {
			Phase string `json:"phase"`
		}
		if name == "state.json" && json.Unmarshal(b, &state) == nil {
			m.Phase = state.Phase
		}
	}
	m.Backup = protocol.ConfigFile + ".bak"
	var page strings.Builder
	fmt.Fprintf(&page, "# Migration\n\n%s was a project of generation 3. Its configuration is in `%s`.\n\nThe old state was in phase: %s. The first run begins in phase %s.\n\n## To check\n\n",
		m.Project, m.Backup, strings.Join(strings.Fields(m.Phase), " "), c.Phases()[0])
	for _, i := range m.Inferred {
		fmt.Fprintf(&page, "- roles.%s: %s is %s, which the old configuration did not state\n", i.Role, i.Field, i.Value)
	}
	for _, name := range m.Archived {
		fmt.Fprintf(&page, "- `%s` is copied to `%s/%s`\n", name, legacyDir, name)
	}
	files[migrationFile] = page.String()
	return files, nil
}
