package copilot

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
)

// SkillFolder is where Copilot CLI reads skills.
func (Adapter) SkillFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".github", "skills"), Within: dir, Also: []string{filepath.Join(dir, ".agents", "skills"), filepath.Join(dir, ".claude", "skills")}, Note: "copilot reads it in folders that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(userDir(h), "skills"), Also: []string{filepath.Join(h.Home, ".agents", "skills")}}, true
}

// SubagentFolder is where Copilot CLI reads sub-agents.
func (Adapter) SubagentFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".github", "agents"), Within: dir, Suffix: ".agent.md", Note: "copilot reads it in folders that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(userDir(h), "agents"), Suffix: ".agent.md"}, true
}
