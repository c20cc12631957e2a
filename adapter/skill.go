package adapter

// SkillKeeper is an agent that reads skills and sub-agents from folders by convention. The methods perform no
// I/O.
type SkillKeeper interface {
	// SkillFolder returns where the agent reads skills in a scope, SubagentFolder where it reads sub-agents;
	// false if it reads none. dir is the project.
	SkillFolder(h Host, scope ConfigScope, dir string) (Folder, bool)
	SubagentFolder(h Host, scope ConfigScope, dir string) (Folder, bool)
}

// Folder is a folder that an agent reads by convention.
type Folder struct {
	Dir    string   // absolute; Drawbar writes here
	Within string   // the project that must contain it; empty for the user's own
	Suffix string   // of a sub-agent's file: .md, .agent.md or .toml
	Also   []string // other folders that the agent reads in the scope; Drawbar only lists them
	Note   string   // conditions for the agent to read it
}
