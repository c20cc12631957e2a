package pi

import (
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
)

const (
	name    = "pi"
	install = "npm install -g @earendil-works/pi-coding-agent@1.6.0"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Pi's providers with one key each (docs/providers.md), and those of its folders.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY",
	"NVIDIA_API_KEY", "COPILOT_GITHUB_TOKEN", "MISTRAL_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY", "XAI_API_KEY", "OPENROUTER_API_KEY",
	"AI_GATEWAY_API_KEY", "ZAI_API_KEY", "ZAI_CODING_CN_API_KEY", "OPENCODE_API_KEY", "RADIUS_API_KEY", "HF_TOKEN", "FIREWORKS_API_KEY",
	"TOGETHER_API_KEY", "BASETEN_API_KEY", "KIMI_API_KEY", "META_API_KEY", "MINIMAX_API_KEY", "MINIMAX_CN_API_KEY", "MOONSHOT_API_KEY",
	"QWEN_TOKEN_PLAN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY", "QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY",
	"QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY", "TYPESAFE_API_KEY", "XIAOMI_API_KEY", "XIAOMI_TOKEN_PLAN_CN_API_KEY", "XIAOMI_TOKEN_PLAN_AMS_API_KEY",
	"XIAOMI_TOKEN_PLAN_SGP_API_KEY", "ANT_LING_API_KEY", "AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "CLOUDFLARE_API_KEY"}

// places are the variables that move Pi's files or configure its providers without being a login.
var places = []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_PACKAGE_DIR", "PI_OFFLINE", "PI_TELEMETRY", "PI_CACHE_RETENTION",
	"PI_SKIP_VERSION_CHECK", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_RESOURCE_NAME", "AZURE_OPENAI_API_VERSION",
	"AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
	"CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID", "ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_IDENTITY_TOKEN_FILE",
	"ANTHROPIC_SERVICE_ACCOUNT_ID", "ANTHROPIC_WORKSPACE_ID"}

// Descriptor describes Pi. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        name,
		Aliases:     []string{"pi-coding-agent"},
		DisplayName: "Pi",
		Command:     "pi",
		// The package had another name before, and records without the reason of a message's end.
		MinVersion:     "0.87.1",
		TestedVersions: []string{"0.87.1", "1.6.0"},
		ModelFlag:      modelFlag,
		Config:         configSchema(),
		Install: []adapter.InstallMethod{{Platform: "all", Type: "npm", Package: "@earendil-works/pi-coding-agent", Command: install,
			PrerequisiteCheck: "npm --version", Requires: []adapter.Requirement{{Command: "node", MinVersion: neededNode}},
			Notes: "the package @mariozechner/pi-coding-agent is an old name of it and ends at 0.73.1"}},
		HostSignals:  []string{"PI_CODING_AGENT"},
		HostTraces:   []string{"PI_RUN_ID", "PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"},
		HostMetadata: map[string]string{"sessionId": "PI_SESSION_ID", "model": "PI_MODEL"},
		Keys:         slices.Concat(keys, places),
		Docs:         "https://pi.dev/docs",
		New:          func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter drives Pi. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.SkillsOf[declares]
	declared.PluginsOf[declares]
	declared.UpdatesOf[declares]
	declared.LoginsOf[declares]
	declared.ModelsOf[declares]
}

// home is the folder of Pi's settings, logins and sessions.
var home = declared.Dir{Default: ".pi/agent", Variable: "PI_CODING_AGENT_DIR", Tilde: true}

const settingsFile = "settings.json"

type declares struct{}

// Table is what Pi declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "pi", Home: home, Project: ".pi",
	Model: declared.Setting("", home, settingsFile, "defaultModel"), Models: &models,
	Skills:  declared.Folders{Also: []string{".agents"}, Note: "pi reads it in folders that the user trusts"},
	Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(cliagent.Spec{
		Name:         name,
		Command:      "pi",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    newParser,
		Negotiate:    negotiate,
		ToolHook:     &cliagent.ToolHook{Approvals: true},
		Keys:         slices.Concat(keys, places),
	}, opts)}, Store: sessions}
}
