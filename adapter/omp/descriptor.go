package omp

import (
	"cmp"
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
	name    = "omp"
	version = "18.2.3"
	pack    = "@oh-my-pi/pi-coding-agent"

	loginHint = "type /login in omp, or set the key of a model provider"
)

func init() { adapter.Register(Descriptor) }

// providers are the variables of model providers with one key each.
var providers = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY", "GROQ_API_KEY",
	"CEREBRAS_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "ZAI_API_KEY", "KIMI_API_KEY", "MOONSHOT_API_KEY", "FIREWORKS_API_KEY", "TOGETHER_API_KEY",
	"HF_TOKEN", "NVIDIA_API_KEY", "OPENCODE_API_KEY", "AI_GATEWAY_API_KEY", "COPILOT_GITHUB_TOKEN"}

// Descriptor describes Oh My Pi. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(described(), New) }

// Adapter drives Oh My Pi. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	declared.SkillsOf[declares]
	declared.PluginsOf[declares]
	declared.UpdatesOf[declares]
	declared.SwitchesOf[declares]
	declared.LoginsOf[declares]
	declared.ModelsOf[declares]
}

// home is the folder of the settings, logins and sessions.
var home = declared.Dir{Default: ".omp/agent", Variable: "PI_CODING_AGENT_DIR"}

type declares struct{}

// Table is what Oh My Pi declares.
func (declares) Table() *declared.Table { return &table }

var table = declared.Table{
	Agent: name, Command: name, Home: home, Project: ".omp",
	Model: declared.Setting("", home, "config.yml", "modelRoles", "default"), Models: &models,
	Skills:  declared.Folders{Suffix: ".md", Also: []string{".agents", ".agent"}, AlsoProject: []string{".claude"}},
	Plugins: &plugins, Login: &login,
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: described().Adapter(opts).Embedded, Store: sessions}
}

// described is how Oh My Pi speaks the Agent Client Protocol.
func described() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, Aliases: []string{"oh-my-pi"}, DisplayName: "Oh My Pi", Command: name, TestedVersions: []string{version},
			Install: []adapter.InstallMethod{{Platform: "all", Type: "npm", Package: pack, Command: "npm install -g " + pack + "@" + version,
				PrerequisiteCheck: "npm --version", Requires: []adapter.Requirement{{Command: "bun", MinVersion: "1.3.14"}}}},
			Docs: "https://github.com/can1357/oh-my-pi", Config: configSchema(), Unasked: unasked(),
			HostSignals: []string{"OMPCODE"}, HostTraces: []string{"OMP_RUN_ID", "OMP_SESSION_ID"}, HostCopies: []string{"CLAUDECODE"},
			Keys: append([]string{"PI_CODING_AGENT_DIR", "PI_CONFIG_DIR", "PI_OFFLINE"}, providers...)},
		Args: []string{"acp"},
		Notes: []string{"approval mode prompt asks before commands; it writes files of the workspace unasked, and refuses other writes unasked. deny, or a run in which nobody can be asked, refuses all but reading",
			"it tries a failed request again for half a minute without a sign of it; later retries are shown"},
		Login: acpagent.Login{Command: name},
		Limits: func(c *execution.Capabilities) {
			c.Agent.CanFork, c.Agent.Thinking, c.Agent.CostReported, c.Agent.MaxTurns = true, true, true, true
			c.Agent.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh}
			c.Agent.SubagentDispatch = true
			c.Agent.Plugins, c.Agent.PluginFormats = true, []string{settings.PluginPackage}
			c.Agent.SystemPromptModes = []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace}
			c.Agent.AuthFiles = []string{"~/.omp/agent/agent.db", "~/.omp/agent/models.yml"}
			c.Agent.AuthMethods = []execution.AuthMethod{
				{Type: "api_key", Name: "a provider's API key", Description: "the provider's variable, such as ANTHROPIC_API_KEY"},
				{Type: "oauth", Name: "a provider's account", Description: "type /login in omp"},
				{Type: "config_file", Name: "a provider of one's own", Description: "~/.omp/agent/models.yml"},
			}
		},
		Quirks: func(s *acpagent.Spec) {
			s.Spawn, s.InstructionsInArgs, s.ToolName, s.MCPTool, s.Shell, s.Report, s.TurnLimit = spawn, true, toolName, mcpTool, shellOf, reportOf, true
			s.Blobs, s.InlineTexts = acpagent.NoBlobs, true // other content becomes its name
		},
	}
}

// approvals are Oh My Pi's approval modes. Over the protocol it asks before commands only: what else its mode does not allow, it
// refuses unasked, because the protocol lacks the dialog that it would ask in.
var approvals = map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo", execution.ApprovalPrompt: "write", execution.ApprovalDeny: "always-ask"}

// spawn returns the command line.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	mode := cmp.Or(l.Request.Run.ApprovalMode, execution.ApprovalPrompt)
	if mode == execution.ApprovalPrompt && !l.Request.Run.Interactive { // nobody is there to be asked
		mode = execution.ApprovalDeny
	}
	args := []string{"acp", "--approval-mode", approvals[mode], "--extension", l.File("report.js", extension(l.Request.Run.MaxTurns))}
	replace, added := cliagent.Instructions(l.Request)
	if replace != "" {
		args = append(args, "--system-prompt", l.File("system-prompt.md", []byte(replace)))
	}
	if added != "" {
		args = append(args, "--append-system-prompt", l.File("append-system-prompt.md", []byte(added)))
	}
	return cliagent.Invocation{Args: args}, nil
}

// toolName returns the name of a tool, which begins the title of its call. The title of a command is the command, and where
// the model states an intent, that.
func toolName(c *acpagent.ToolCall) string {
	if word, subject, ok := strings.Cut(c.Title, ": "); ok && subject != "" {
		for _, field := range []string{"path", "command", "pattern", "query"} {
			if c.InputField(field) == subject {
				return word
			}
		}
	}
	return acpagent.DefaultToolName(c)
}

// mcpTool recognizes mcp__server_tool.
var mcpTool = acpagent.MCPNamed(func(c *acpagent.ToolCall) string {
	word, _, _ := strings.Cut(c.Title, ": ")
	return word
}, "mcp__%s_", " ")

// login is detected from the providers' variables and the files of logins and providers of one's own, whose content
// is Oh My Pi's alone.
var login = declared.LoginTable{
	Variables: declared.APIKeys(providers...),
	Stored:    declared.StoredIn(home, loginHint, "agent.db", "models.yml"),
	Guidance: adapter.AuthGuidance{
		Provider: "any of Oh My Pi's model providers",
		Steps: []adapter.AuthStep{
			{Description: "with an account or a key: start omp, type /login and choose the provider", Command: "omp"},
			{Description: "or with a key: set the provider's variable"},
			{Description: "or with a provider of your own, such as a local server: describe it in ~/.omp/agent/models.yml"},
		},
		EnvVars:       declared.ProviderKeys("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
		Documentation: []string{"https://github.com/can1357/oh-my-pi"},
		LoginCommand:  "omp",
	},
}
