package execution

// ToolKind is what a tool does.
type ToolKind string

// The kinds of tools.
const (
	ToolRead  ToolKind = "read"  // reads, lists or searches files
	ToolEdit  ToolKind = "edit"  // creates, changes or deletes files
	ToolShell ToolKind = "shell" // runs a command
	ToolFetch ToolKind = "fetch" // reaches the network
	ToolAgent ToolKind = "agent" // starts a sub-agent
	ToolSkill ToolKind = "skill" // uses a skill
	ToolMCP   ToolKind = "mcp"   // a tool of an MCP server
)

var toolKinds = []ToolKind{ToolRead, ToolEdit, ToolShell, ToolFetch, ToolAgent, ToolSkill, ToolMCP}

// ToolUse is what a call of a tool does, as far as the agent says. What is empty is not known.
type ToolUse struct {
	Kind    ToolKind `json:"kind,omitempty"`
	Paths   []string `json:"paths,omitempty"`   // files that it reads or changes, absolute or relative to the working directory
	Command string   `json:"command,omitempty"` // that it runs
	Server  string   `json:"server,omitempty"`  // MCP server
	Tool    string   `json:"tool,omitempty"`    // the server's name of the tool
}
