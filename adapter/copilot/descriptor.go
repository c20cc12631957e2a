package copilot

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/settings"
)

const (
	name    = "copilot"
	install = "npm install -g @github/copilot@1.0.102"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Copilot's logins and model APIs.
var keys = []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GH_HOST", "GH_HOST", "COPILOT_HOME", "COPILOT_MODEL",
	"COPILOT_OFFLINE", "COPILOT_AUTO_UPDATE", "COPILOT_CUSTOM_INSTRUCTIONS_DIRS",
	"COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_API_KEY_COMMAND",
	"COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_WIRE_API", "COPILOT_PROVIDER_TRANSPORT", "COPILOT_PROVIDER_AZURE_API_VERSION",
	"COPILOT_PROVIDER_MODEL_ID", "COPILOT_PROVIDER_WIRE_MODEL", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
	"COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", "COPILOT_PROVIDER_HEADERS"}

// Descriptor describes Copilot CLI. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:           name,
		Aliases:        []string{"copilot-cli", "github-copilot"},
		DisplayName:    "GitHub Copilot CLI",
		Command:        "copilot",
		MinVersion:     "1.0.102",
		TestedVersions: []string{"1.0.102"},
		Models:         models(),
		ModelFlag:      modelFlag,
		Config:         configSchema(),
		Unasked:        []settings.Unasked{{Path: ".github/hooks/*.json", Format: "json", Keys: []string{"hooks"}, Up: true}},
		Install: []adapter.InstallMethod{
			{Platform: "all", Type: "npm", Package: "@github/copilot", Command: install, PrerequisiteCheck: "npm --version",
				Notes: "the package brings a native program for the platform; gh copilot, an extension of the GitHub CLI, is another and older program"},
			{Platform: "darwin", Type: "brew", Package: "copilot-cli", Command: "brew install copilot-cli", PrerequisiteCheck: "brew --version"},
			{Platform: "linux", Type: "brew", Package: "copilot-cli", Command: "brew install copilot-cli", PrerequisiteCheck: "brew --version"},
			{Platform: "windows", Type: "winget", Package: "GitHub.Copilot", Command: "winget install --exact --id GitHub.Copilot", PrerequisiteCheck: "winget --version"},
		},
		HostSignals:  []string{"COPILOT_CLI", "COPILOT_AGENT_SESSION_ID", "COPILOT_CLI_BINARY_VERSION"},
		HostTraces:   []string{"COPILOT_CLI_SESSION", "GH_COPILOT_SESSION"},
		HostMetadata: map[string]string{"sessionId": "COPILOT_AGENT_SESSION_ID", "version": "COPILOT_CLI_BINARY_VERSION"},
		Keys:         append([]string(nil), keys...),
		Docs:         "https://docs.github.com/copilot/how-tos/copilot-cli",
		New:          func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter drives Copilot CLI. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.Of[declares]
	declared.UpdatesOf[declares]
	declared.SwitchesOf[declares]
	declared.SearchOf[declares]
}

// home is the folder of Copilot's settings and state.
var home = declared.Dir{Default: ".copilot", Variable: "COPILOT_HOME"}

type declares struct{}

// Table is what Copilot CLI declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "copilot", Home: home, Project: ".github",
	Model:  declared.Setting("COPILOT_MODEL", home, "settings.json", "model"),
	Skills: declared.Folders{Suffix: ".agent.md", Also: []string{".agents"}, AlsoProject: []string{".claude"}, Note: trusted},
	Hooks:  &hooks, Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(acpagent.Join(cliagent.Spec{
		Name:         name,
		Command:      "copilot",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    newParser,
		Locate:       native,
		Negotiate:    negotiate,
		Narrow:       narrow,
		ToolHook:     declared.ToolHook[declares](),
		ToolUse:      tools.Use,
		Keys:         keys,
	}, protocol, twoWay), opts)}, Store: sessions}
}
