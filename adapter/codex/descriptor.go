package codex

import (
	"os"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
)

const (
	name    = "codex"
	install = "npm install -g @openai/codex@0.171.0"
)

func init() { adapter.Register(Descriptor) }

// keys are the variables of Codex's logins and model APIs. OPENAI_API_KEY is the key of a provider in many
// configurations; Codex itself does not read it.
var keys = []string{"CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL",
	"OPENAI_ORGANIZATION", "OPENAI_PROJECT", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"}

// Descriptor describes Codex. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        name,
		Aliases:     []string{"codex-cli"},
		DisplayName: "Codex CLI",
		Command:     "codex",
		// This version's app-server protocol is used, with excludeTurns and turn/steer; older versions name approvals
		// and sandboxes differently.
		MinVersion:     "0.169.0",
		TestedVersions: []string{"0.169.0", "0.171.0"},
		Models:         models(),
		Config:         configSchema(),
		Install: []adapter.InstallMethod{
			{Platform: "all", Type: "npm", Package: "@openai/codex", Command: install, PrerequisiteCheck: "npm --version",
				Notes: "the package brings a native program for the platform"},
			{Platform: "darwin", Type: "brew", Package: "--cask codex", Command: "brew install --cask codex"},
		},
		HostSignals: []string{"CODEX_CI", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION", "CODEX_MANAGED_BY_NPM",
			"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"},
		HostTraces: []string{"CODEX_APP_SERVER", "CODEX_CLI", "CODEX_RUN_ID"},
		HostMetadata: map[string]string{"sessionId": "CODEX_SESSION_ID", "threadId": "CODEX_THREAD_ID", "toolCallId": "CODEX_TOOL_CALL_ID",
			"version": "CODEX_VERSION"},
		Keys: slices.Clone(keys),
		Docs: "https://developers.openai.com/codex",
		New:  func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter drives Codex. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.Of[declares]
	declared.ModelsOf[declares]
	declared.SearchOf[declares]
}

// home is where Codex keeps its settings.
var home = declared.Dir{Default: ".codex", Variable: "CODEX_HOME"}

type declares struct{}

// Table is what Codex declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: "codex", Home: home, Project: ".codex",
	Model: func(h adapter.Host) string {
		data, _ := home.Read(h, "config.toml") // by default Codex chooses
		return topLevelText(data, "model")
	},
	Models: &modelList,
	Skills: declared.Folders{Suffix: ".toml", Also: []string{".agents"}, Note: trusted}, Hooks: &hooks, Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	e := launcher{environ: opts.Environ}
	if e.environ == nil {
		e.environ = os.Environ
	}
	return Adapter{Embedded: cliagent.Embedded{Adapter: cliagent.New(cliagent.Spec{
		Name:         name,
		Command:      "codex",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        e.spawn,
		NewParser:    e.newParser,
		Prints:       []cliagent.Record{{"type": "thread.started", "thread_id": ""}},
		Printed:      newPrinted,
		Negotiate:    negotiate,
		Narrow:       narrow,
		ToolHook:     declared.ToolHook[declares](),
		ToolUse:      hooked.Use,
		Keys:         keys,
	}, opts)}, Store: sessions}
}
