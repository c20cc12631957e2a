package declarative

import "github.com/drawbar/drawbar/adapter"

// Entry is an agent as the configuration describes it. Keys is the table of its JSON form.
type Entry struct {
	DisplayName  string            `json:"displayName"`
	Docs         string            `json:"docs"`
	Command      []string          `json:"command"`
	Prompt       string            `json:"prompt"`
	Output       Output            `json:"output"`
	API          *API              `json:"api"`
	SSH          *SSH              `json:"ssh"`
	Agent        string            `json:"agent"`
	Directory    string            `json:"directory"`
	Options      Options           `json:"options"`
	Environment  map[string]string `json:"environment"`
	Login        Login             `json:"login"`
	Version      Version           `json:"version"`
	Install      []Install         `json:"install"`
	HostSignals  []string          `json:"hostSignals"`
	Errors       []ErrorRule       `json:"errors"`
	Capabilities map[string]bool   `json:"capabilities"`
	Notes        []string          `json:"notes"`
	DefaultModel string            `json:"defaultModel"`
	Documented   string            `json:"documented"`
}

// Output is the format of what the program prints.
type Output struct {
	Format string `json:"format"`
	Events []Rule `json:"events"`
}

// Rule gives a meaning to lines of JSON. The fields are paths to the event's values.
type Rule struct {
	Event string            `json:"event"`
	When  map[string]string `json:"when"`

	Text    string `json:"text"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Input   string `json:"input"`
	Output  string `json:"output"`
	Failed  string `json:"failed"`
	Error   string `json:"error"`
	Usage   string `json:"usage"`
	Session string `json:"session"`
	Model   string `json:"model"`
}

// Options are the arguments of a run's options.
type Options struct {
	Model               []string            `json:"model"`
	Effort              []string            `json:"effort"`
	Efforts             map[string]string   `json:"efforts"`
	SystemPrompt        []string            `json:"systemPrompt"`
	ReplaceSystemPrompt []string            `json:"replaceSystemPrompt"`
	Approval            map[string][]string `json:"approval"`
	MCP                 []string            `json:"mcp"`
	MCPTransports       []string            `json:"mcpTransports"`
	NewSession          []string            `json:"newSession"`
	Resume              []string            `json:"resume"`
	Fork                []string            `json:"fork"`
	Ephemeral           []string            `json:"ephemeral"`
}

// Login says how to log in.
type Login struct {
	Variables []Variable `json:"variables"`
	Command   []string   `json:"command"`
	Provider  string     `json:"provider"`
}

// Variable is a variable that logs in.
type Variable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Version says how the program states its version, and which versions are supported.
type Version struct {
	Args   []string `json:"args"`
	Min    string   `json:"min"`
	Tested []string `json:"tested"`
}

// Install is a way to install the program.
type Install struct {
	Platform string `json:"platform"`
	Type     string `json:"type"`
	Package  string `json:"package"`
	Command  string `json:"command"`
	Notes    string `json:"notes"`
}

func (i Install) method() adapter.InstallMethod {
	return adapter.InstallMethod{Platform: i.Platform, Type: i.Type, Package: i.Package, Command: i.Command, Notes: i.Notes}
}

// ErrorRule gives an error code to exit codes and messages.
type ErrorRule struct {
	Code    string   `json:"code"`
	Exits   []int    `json:"exits"`
	Phrases []string `json:"phrases"`
	Pattern string   `json:"pattern"`
}
