package gemini

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
)

// SkillFolder is where Gemini CLI reads skills.
func (Adapter) SkillFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".gemini", "skills"), Within: dir, Also: []string{filepath.Join(dir, ".agents", "skills")}, Note: "gemini reads it in folders that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "skills"), Also: []string{filepath.Join(h.Home, ".agents", "skills")}}, true
}

// SubagentFolder is where Gemini CLI reads sub-agents.
func (Adapter) SubagentFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".gemini", "agents"), Within: dir, Suffix: ".md", Note: "gemini reads it in folders that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "agents"), Suffix: ".md"}, true
}
