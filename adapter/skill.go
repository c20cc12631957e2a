package adapter

// SkillKeeper is an agent that reads skills and sub-agents from folders, by convention. It is pure.
type SkillKeeper interface {
	// SkillFolder is where the agent reads skills, and SubagentFolder where it reads sub-agents, of a scope; false where it reads
	// none. dir is the project.
	SkillFolder(h Host, scope ConfigScope, dir string) (Folder, bool)
	SubagentFolder(h Host, scope ConfigScope, dir string) (Folder, bool)
}

// Folder is where an agent reads what it finds by convention.
type Folder struct {
	Dir    string   // absolute; Drawbar writes here
	Within string   // the project that it must not lead out of; empty for the user's own
	Suffix string   // of a sub-agent's file: .md, .agent.md or .toml
	Also   []string // other folders that the agent reads for the scope; Drawbar only lists them
	Note   string   // what must be so before the agent reads it
}
