package codex

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
)

// SkillFolder is where Codex reads skills.
func (Adapter) SkillFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".codex", "skills"), Within: dir, Also: []string{filepath.Join(dir, ".agents", "skills")}, Note: "codex reads it in projects that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "skills"), Also: []string{filepath.Join(h.Home, ".agents", "skills")}}, true
}

// SubagentFolder is where Codex reads sub-agents.
func (Adapter) SubagentFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".codex", "agents"), Within: dir, Suffix: ".toml", Note: "codex reads it in projects that the user trusts"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "agents"), Suffix: ".toml"}, true
}
