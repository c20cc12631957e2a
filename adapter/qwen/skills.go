package qwen

import (
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
)

// SkillFolder is where Qwen Code reads skills.
func (Adapter) SkillFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".qwen", "skills"), Within: dir, Also: []string{filepath.Join(dir, ".agents", "skills")}}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "skills"), Also: []string{filepath.Join(h.Home, ".agents", "skills")}}, true
}

// SubagentFolder is where Qwen Code reads sub-agents.
func (Adapter) SubagentFolder(h adapter.Host, scope adapter.ConfigScope, dir string) (adapter.Folder, bool) {
	if scope == adapter.ScopeProject {
		return adapter.Folder{Dir: filepath.Join(dir, ".qwen", "agents"), Within: dir, Suffix: ".md"}, true
	}
	return adapter.Folder{Dir: filepath.Join(configDir(h), "agents"), Suffix: ".md"}, true
}
