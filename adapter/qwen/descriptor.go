package qwen

import (
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/settings"
)

const (
	name    = "qwen"
	install = "npm install -g @qwen-code/qwen-code@0.24.4"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Qwen Code's logins and model APIs.
var keys = []string{"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_MODEL", "QWEN_OAUTH", "QWEN_API_KEY", "QWEN_BASE_URL",
	"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL",
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
	"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY", "GOOGLE_MODEL", "GOOGLE_GENAI_USE_VERTEXAI",
	"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
	"DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "MODELSCOPE_API_KEY",
	"QWEN_CODE_SYSTEM_SETTINGS_PATH", "QWEN_CODE_SYSTEM_DEFAULTS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH",
	"QWEN_CODE_API_TIMEOUT_MS", "QWEN_CODE_UNATTENDED_RETRY", "QWEN_USAGE_STATISTICS_ENABLED", "QWEN_TLS_INSECURE", "NODE_EXTRA_CA_CERTS"}

// Descriptor describes Qwen Code. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        name,
		Aliases:     []string{"qwen-code"},
		DisplayName: "Qwen Code",
		Command:     "qwen",
		// Older versions read the output of 0.15.10; forks, thinking efforts and the exit codes of commands need a
		// later one.
		MinVersion:     "0.15.10",
		TestedVersions: []string{"0.24.4"},
		Models:         models(),
		ModelFlag:      modelFlag,
		Config:         configSchema(),
		Unasked: []settings.Unasked{
			{Path: ".qwen/settings.json", Format: "jsonc", Keys: []string{"hooks", "mcpServers", "modelProviders", "env", "security.auth", "proxy", "tools.discoveryCommand", "tools.callCommand"}},
			declared.UnaskedVariables(".qwen/.env"), declared.UnaskedVariables(".env"),
		},
		Install: []adapter.InstallMethod{
			{Platform: "all", Type: "npm", Package: "@qwen-code/qwen-code", Command: install, PrerequisiteCheck: "npm --version",
				Requires: []adapter.Requirement{{Command: "node", MinVersion: neededNode + ".0.0"}},
				Notes:    "state the version: with a Node.js before 22, npm silently installs Qwen Code 0.15.10"},
			{Platform: "darwin", Type: "brew", Package: "qwen-code", Command: "brew install qwen-code"},
			{Platform: "linux", Type: "brew", Package: "qwen-code", Command: "brew install qwen-code"},
		},
		HostSignals: []string{"QWEN_CODE", "QWEN_CODE_SESSION_ID", "QWEN_CODE_PROJECT_DIR", "QWEN_CODE_CLI", "QWEN_CODE_MODEL", "QWEN_CODE_PROMPT_ID",
			"QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_LAUNCHER_PATH", "QWEN_CODE_MANAGED_NPM_PIN", "QWEN_CODE_MANAGED_NPM_ROOT", "QWEN_CODE_RELAUNCH_ARGS",
			"QWEN_CODE_STARTUP_VERSION", "QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_SIMPLE"},
		HostTraces: []string{"QWEN_SESSION_ID"},
		Keys:       slices.Clone(keys),
		Docs:       "https://qwenlm.github.io/qwen-code-docs",
		New:        func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter drives Qwen Code. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.Of[declares]
	declared.UpdatesOf[declares]
	declared.SwitchesOf[declares]
}

// home is where Qwen Code keeps its settings.
var home = declared.Dir{Default: ".qwen", Variable: "QWEN_HOME", Tilde: true}

type declares struct{}

// Table is what Qwen Code declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "qwen", Home: home, Project: ".qwen", Note: nodeNote,
	Model:  func(h adapter.Host) string { return readWorld(h).model() },
	Skills: declared.Folders{Suffix: ".md", Also: []string{".agents"}}, Hooks: &hooks, Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(acpagent.Join(cliagent.Spec{
		Name:         name,
		Command:      "qwen",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    newParser,
		Prints:       []cliagent.Record{{"type": "system", "subtype": "init", "qwen_code_version": ""}},
		Negotiate:    negotiate,
		Narrow:       narrow,
		ToolHook:     declared.ToolHook[declares](),
		ToolUse:      tools.Use,
		Keys:         keys,
		Hasty:        true,
	}, protocol(), twoWay), opts)}, Store: sessions}
}
