package claude

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
)

// SkillFolder is where Claude Code reads skills.
func (Adapter) SkillFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".claude", "skills"), Within: dir}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "skills")}, true
}

// SubagentFolder is where Claude Code reads sub-agents.
func (Adapter) SubagentFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".claude", "agents"), Within: dir, Suffix: ".md"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "agents"), Suffix: ".md"}, true
}
