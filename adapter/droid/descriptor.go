package droid

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const (
	name    = "droid"
	version = "0.215.0"

	loginHint = "start droid and log in, set FACTORY_API_KEY, or describe a model of your own in ~/.factory/settings.json"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes Droid. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(described(), New) }

// Adapter drives Droid. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.SkillsOf[declares]
	declared.HooksOf[declares]
	declared.LoginsOf[declares]
	declared.PluginsOf[declares]
	declared.UpdatesOf[declares]
}

// home is the folder of the settings, logins and sessions.
var home = declared.Dir{Default: ".factory"}

type declares struct{}

// Table is what Droid declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: name, Home: home, Project: ".factory",
	Model:  declared.Setting("", home, "settings.json", "sessionDefaultSettings", "model"),
	Skills: declared.Folders{Suffix: ".md", Subagents: "droids"}, Plugins: &plugins, Hooks: &hooks,
	Login: &declared.LoginTable{
		Variables: []declared.Variable{{Name: "FACTORY_API_KEY", Method: "api_key"}},
		Stored:    declared.StoredIn(home, loginHint, "auth.v2.file", "auth.encrypted", "auth.json", "settings.json"),
		Guidance: adapter.AuthGuidance{Provider: "Factory", LoginCommand: name, Documentation: []string{"https://docs.factory.ai/cli/droid-exec/overview"},
			Steps: []adapter.AuthStep{{Description: "log in with the agent's own command", Command: name},
				{Description: "or set FACTORY_API_KEY: API key of the Factory account"},
				{Description: "or describe a model of your own in ~/.factory/settings.json, under customModels: it needs no login"}},
			EnvVars: []adapter.AuthVariable{{Name: "FACTORY_API_KEY", Description: "API key of the Factory account"}}},
	},
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: described().Adapter(opts).Embedded, Store: sessions}
}

// described is how Droid speaks the Agent Client Protocol.
func described() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, Aliases: []string{"factory-droid"}, DisplayName: "Factory Droid", Command: name, TestedVersions: []string{version},
			Install: []adapter.InstallMethod{acpagent.NPM(name, version, "")},
			Docs:    "https://docs.factory.ai/cli/droid-exec/overview", Config: configSchema(), Unasked: unasked(), Keys: []string{"FACTORY_API_KEY"},
			HostSignals: []string{"FACTORY_EXEC_TARGET_AUTONOMY", "FACTORY_DISABLE_SETTINGS_PERSISTENCE"}},
		Args:  []string{"exec", "--output-format", "acp"},
		Login: acpagent.Login{Provider: "Factory", Command: name, Variables: []adapter.AuthVariable{{Name: "FACTORY_API_KEY", Description: "API key of the Factory account"}}},
		Notes: []string{"a model of your own needs no login, and --model with the id that it offers, custom:NAME-0, unless the settings name it",
			"it states no tokens and no prices over ACP; the tokens of a session that the run began are read from the session's files"},
		Quirks: func(s *acpagent.Spec) { s.ToolName, s.MCPTool, s.Blobs = toolName, mcpTool, acpagent.NoBlobs },
		Limits: func(c *execution.Capabilities) {
			c.Agent.TokensUnstated, c.Agent.TextStreaming = true, false
			c.Agent.Plugins, c.Agent.PluginFormats = true, []string{settings.PluginDirectory}
			c.Agent.MCPTransports = []execution.MCPTransport{execution.MCPStdio} // and so no tools of the caller
			c.Agent.AuthFiles = []string{"~/.factory/settings.json"}
		},
	}
}

// toolName returns the name of a tool, which begins the title of its call. The title of a command is the command.
func toolName(c *acpagent.ToolCall) string {
	if strings.HasPrefix(c.Title, "`") {
		return "Execute"
	}
	return acpagent.TitleWord(c)
}

// mcpTool recognizes server___tool.
var mcpTool = acpagent.MCPNamed(acpagent.TitleWord, "%s___", "")
