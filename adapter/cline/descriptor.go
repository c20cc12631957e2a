package cline

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const (
	name    = "cline"
	version = "3.0.65"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes Cline. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(described(), New) }

// Adapter drives Cline. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.SkillsOf[declares]
	declared.HooksOf[declares]
	declared.LoginsOf[declares]
}

var (
	// home is the folder of skills and rules.
	home = declared.Dir{Default: ".cline", Variable: "CLINE_DIR"}
	// loginFiles are the providers that cline auth stored, below the folder of Cline's data.
	loginFiles = []string{"settings/providers.json", "secrets.json"}
)

const loginHint = "log in with: cline auth, or set CLINE_API_KEY"

// data is the folder of sessions and settings.
func data(h adapter.Host) string {
	return cmp.Or(h.Getenv("CLINE_DATA_DIR"), home.Path(h, "data"))
}

type declares struct{}

// Table is what Cline declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: name, Home: home, Project: ".cline",
	Skills: declared.Folders{Suffix: ".md", Also: []string{".agents"}},
	Hooks:  &hooks,
	Login: &declared.LoginTable{
		Variables: []declared.Variable{{Name: "CLINE_API_KEY", Method: "api_key"}},
		Stored:    declared.StoredIn(declared.Dir{Default: ".cline/data", Variable: "CLINE_DATA_DIR"}, loginHint, loginFiles...),
		Guidance: adapter.AuthGuidance{Provider: "Cline", LoginCommand: "cline auth", Documentation: []string{"https://docs.cline.bot/cline-cli/acp-editor-integrations"},
			Steps: []adapter.AuthStep{{Description: "log in with the agent's own command", Command: "cline auth"},
				{Description: "or set CLINE_API_KEY: API key of the Cline account"}},
			EnvVars: []adapter.AuthVariable{{Name: "CLINE_API_KEY", Description: "API key of the Cline account"}}},
	},
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: described().Adapter(opts).Embedded, Store: sessions}
}

// described is how Cline speaks the Agent Client Protocol.
func described() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: "Cline CLI", Command: name, TestedVersions: []string{version},
			Install: []adapter.InstallMethod{acpagent.NPM(name, version, "")},
			Docs:    "https://docs.cline.bot/cline-cli/acp-editor-integrations", Config: configSchema(), Unasked: unasked(),
			HostSignals: []string{"CLINE_CONNECTOR_CLI_LAUNCH"},
			Keys:        []string{"CLINE_API_BASE_URL", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR"}},
		Login: acpagent.Login{Provider: "Cline", Command: "cline auth", Variables: []adapter.AuthVariable{{Name: "CLINE_API_KEY", Description: "API key of the Cline account"}}},
		Notes: []string{"over ACP it uses a Cline account or a ChatGPT subscription; another provider that its settings name is ignored",
			"it states no tokens and no prices over ACP; those of a run are read from the session's files",
			"it starts no MCP servers of a run over ACP, but those of its settings",
			"a hook of its own that denies a tool call ends the turn; its model does not learn why",
			"it takes no hooks for one run: it accepts --hooks-dir and CLINE_HOOKS_DIR, but reads the folders of the user and the project alone; drawbar hooks install cline PreToolUse adds one there"},
		Quirks: func(s *acpagent.Spec) {
			s.Spawn, s.ToolName, s.FailedCall, s.Shell = spawn, acpagent.TitleWord, failedCall, shellOf
		},
		Limits: func(c *execution.Capabilities) {
			c.Agent.TokensUnstated, c.StructuredToolCalls = true, false
			c.Agent.MCP, c.Agent.MCPTransports = false, nil
			c.Agent.AuthFiles = []string{"~/.cline/data/settings/providers.json"}
		},
	}
}

// spawn returns the command line. By default Cline starts a hub, a daemon that runs the sessions of every Cline of the user: a run
// would end with the run whose hub it uses, because the processes of that run are ended.
func spawn(*cliagent.Launch) (cliagent.Invocation, error) {
	return cliagent.Invocation{Args: []string{"--acp"}, Env: map[string]string{"CLINE_SESSION_BACKEND_MODE": "local"}}, nil
}

// failedCall returns the error in the output of a call that Cline reports as completed.
func failedCall(c *acpagent.ToolCall) string { return c.OutputField("error").Str() }

// unasked is what it runs of a project.
func unasked() []settings.Unasked {
	list := declared.UnaskedByBun()
	for _, path := range []string{".cline/hooks/*", ".clinerules/hooks/*", ".cline/plugins/*", ".cline/plugins/*/*"} {
		list = append(list, settings.Unasked{Path: path, Up: true})
	}
	return list
}

// configSchema describes the file of MCP servers: Cline asks for everything else in its own terminal.
func configSchema() settings.Schema {
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.cline/data/settings/cline_mcp_settings.json", Moved: "$CLINE_DATA_DIR/settings/cline_mcp_settings.json", Format: "json"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio"},
		{Transport: execution.MCPStreamableHTTP, Type: "streamableHttp", URL: "url", Headers: "headers"},
		{Transport: execution.MCPSSE, Type: "sse", URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", Scope: settings.Global, Description: "MCP servers by name"},
	})
}

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points Cline to another address of its own API.
func (Adapter) RedirectModel(baseURL, dir string) adapter.Redirect {
	return adapter.Redirect{
		Env: acpagent.Loopback(dir, "CLINE_API_KEY=dummy", "CLINE_API_BASE_URL="+baseURL),
		Shell: func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("run_commands", map[string]any{"commands": []string{command}})
		},
		MCP: func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			return adapter.ScriptedCall{Name: server + "__" + tool, Input: input}
		},
	}
}

// sessionRoot is the folder of the sessions.
func sessionRoot(h adapter.Host) string {
	return cmp.Or(h.Getenv("CLINE_SESSION_DATA_DIR"), filepath.Join(data(h), "sessions"))
}
