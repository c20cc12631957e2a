package declared

import (
	"cmp"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/settings"
)

// Folders describes where an agent reads skills and sub-agents: the folders skills and agents below its settings.
type Folders struct {
	Suffix      string   // of a sub-agent's file; empty for an agent without sub-agents
	Subagents   string   // the folder of sub-agents if it is not agents
	Also        []string // other folders with skills, in the home directory and in a project
	AlsoProject []string // other folders in a project only
	Note        string   // condition for those of a project
	UserOnly    bool     // a project has none
}

// SkillsOf implements adapter.SkillKeeper from the table.
type SkillsOf[D Declares] struct{}

// SkillFolder returns where the agent reads skills.
func (SkillsOf[D]) SkillFolder(h adapter.Host, scope settings.Scope, dir string) (settings.Folder, bool) {
	t := of[D]()
	if t.Skills.UserOnly && scope == settings.Project {
		return settings.Folder{}, false
	}
	f := t.folder(h, scope, dir, "skills")
	home, also := h.Home, t.Skills.Also
	if scope == settings.Project {
		home, also = dir, append(also[:len(also):len(also)], t.Skills.AlsoProject...)
	}
	for _, other := range also {
		f.Also = append(f.Also, filepath.Join(home, other, "skills"))
	}
	return f, true
}

// SubagentFolder returns where the agent reads sub-agents.
func (SkillsOf[D]) SubagentFolder(h adapter.Host, scope settings.Scope, dir string) (settings.Folder, bool) {
	t := of[D]()
	if t.Skills.Suffix == "" {
		return settings.Folder{}, false
	}
	f := t.folder(h, scope, dir, cmp.Or(t.Skills.Subagents, "agents"))
	f.Suffix = t.Skills.Suffix
	return f, true
}

func (t *Table) folder(h adapter.Host, scope settings.Scope, dir, name string) settings.Folder {
	at, within := t.settingsDir(h, scope, dir)
	f := settings.Folder{Dir: filepath.Join(at, name), Within: within}
	if within != "" {
		f.Note = t.Skills.Note
	}
	return f
}
