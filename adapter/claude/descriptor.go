package claude

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
)

const (
	name    = "claude"
	install = "npm install -g @anthropic-ai/claude-code@2.1.332"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Claude's logins and model APIs.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
	"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
	"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
	"DISABLE_ERROR_REPORTING",
	"CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
	"CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLOUD_ML_REGION",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT",
	"CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE"}

// Descriptor describes Claude Code. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:           name,
		Aliases:        []string{"claude-code"},
		DisplayName:    "Claude Code",
		Command:        "claude",
		MinVersion:     "2.1.197",
		TestedVersions: []string{"2.1.329", "2.1.332"},
		Models:         models(),
		ModelFlag:      modelFlag,
		Config:         configSchema(),
		Unasked:        declared.UnaskedByClaude(),
		Install: []adapter.InstallMethod{
			{Platform: "all", Type: "npm", Package: "@anthropic-ai/claude-code", Command: install, PrerequisiteCheck: "npm --version",
				Notes: "state the version: with an older Node.js npm installs an older Claude Code and does not say so"},
			{Platform: "darwin", Type: "brew", Package: "--cask claude-code", Command: "brew install --cask claude-code"},
			{Platform: "windows", Type: "winget", Package: "Anthropic.ClaudeCode", Command: "winget install --exact --id Anthropic.ClaudeCode"},
			{Platform: "linux", Type: "script", Command: "curl -fsSL https://claude.ai/install.sh | bash", Notes: "installs into ~/.local/bin and updates itself"},
			{Platform: "darwin", Type: "script", Command: "curl -fsSL https://claude.ai/install.sh | bash", Notes: "installs into ~/.local/bin and updates itself"},
		},
		HostSignals: []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
			"CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PID",
			"CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR"},
		HostTraces: []string{"CLAUDE_CODE"},
		HostMetadata: map[string]string{"sessionId": "CLAUDE_CODE_SESSION_ID", "entrypoint": "CLAUDE_CODE_ENTRYPOINT", "projectDir": "CLAUDE_PROJECT_DIR",
			"program": "AI_AGENT"},
		Keys: append([]string(nil), keys...),
		Docs: "https://code.claude.com/docs",
		New:  func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter drives Claude Code. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.Of[declares]
	declared.UpdatesOf[declares]
	declared.SwitchesOf[declares]
	declared.ModelsOf[declares]
	declared.SearchOf[declares]
}

// home is where Claude keeps its settings.
var home = declared.Dir{Default: ".claude", Variable: "CLAUDE_CONFIG_DIR"}

type declares struct{}

// Table is what Claude Code declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "claude", Home: home, Project: ".claude",
	Model: declared.Setting("ANTHROPIC_MODEL", home, "settings.json", "model"), Models: &modelList,
	Skills: declared.Folders{Suffix: ".md"}, Hooks: &hooks, Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(cliagent.Spec{
		Name:         name,
		Command:      "claude",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    newParser,
		Prints:       []cliagent.Record{{"type": "system", "subtype": "init", "claude_code_version": ""}, {"type": "result", "subtype": "", "modelUsage": ""}},
		Negotiate:    negotiate,
		Narrow:       narrow,
		ToolHook:     declared.ToolHook[declares](),
		ToolUse:      tools.Use,
		Keys:         keys,
	}, opts)}, Store: sessions}
}
