package settings

// Folder is a folder that an agent reads by convention.
type Folder struct {
	Dir    string   // absolute; Drawbar writes here
	Within string   // the project that must contain it; empty for the user's own
	Suffix string   // of a sub-agent's file: .md, .agent.md or .toml
	Also   []string // other folders that the agent reads in the scope; Drawbar only lists them
	Note   string   // conditions for the agent to read it
}
