// Package goose drives goose over the Agent Client Protocol, and reads what it keeps beside its runs: sessions and usage in a SQLite
// database, settings and skills.
//
// The protocol belongs to package acpagent, the reading of the database to package sessiondb.
package goose

import (
	"cmp"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
)

const (
	name    = "goose"
	version = "1.50.0"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(row(), New) }

// Adapter drives goose. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	sessiondb.UsageLog
	declared.SkillsOf[declares]
	declared.HooksOf[declares]
	declared.LoginsOf[declares]
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: row().Adapter(opts).Embedded, Store: sessions, UsageLog: usage}
}

type declares struct{}

// Table is what goose declares.
func (declares) Table() *declared.Table { return &table }

var (
	// home is where goose keeps its settings.
	home  = declared.Dir{Default: ".config/goose", Variable: "XDG_CONFIG_HOME", Below: "goose"}
	table = declared.Table{Agent: name, Command: "goose", Home: home, Project: ".goose", Model: configuredModel, Login: &login, Hooks: &hooks,
		Skills: declared.Folders{Suffix: ".md", Also: []string{".claude", ".agents"}}}
)

func row() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: "goose", Command: "goose", TestedVersions: []string{version}, Config: configSchema(), Unasked: unasked(),
			Install: []adapter.InstallMethod{
				acpagent.NPM("@aaif/goose-acp", version, ""),
				{Platform: "darwin", Type: "brew", Package: "block-goose-cli", Command: "brew install block-goose-cli"},
				{Platform: "linux", Type: "brew", Package: "block-goose-cli", Command: "brew install block-goose-cli"}},
			Docs: "https://goose-docs.ai/docs/guides/acp-clients", HostTraces: []string{"AGENT_SESSION_ID"}, Keys: keys},
		Login: acpagent.Login{Command: "goose configure"},
		Notes: []string{"it states the tokens of a turn's last model call alone: those of a run are read from its database at the end",
			"it does not answer an interrupt while it waits for a model: it is stopped after 3 s", "goose session --resume --fork forks a session; over ACP it forks none",
			"it takes no hooks for one run: it reads plugins below ~/.agents and the project alone, and notes each in the user's settings; drawbar hooks install goose PreToolUse adds one there"},
		Limits: func(c *execution.Capabilities) {
			c.Agent.SubagentDispatch, c.Agent.TokensUnstated, c.Agent.SessionPersistence = true, true, "sqlite"
			c.Agent.MCPTransports = []execution.MCPTransport{execution.MCPStdio, execution.MCPStreamableHTTP}
			c.Agent.AuthFiles = []string{"~/.config/goose/config.yaml", "~/.config/goose/secrets.yaml"}
		},
		Quirks: func(s *acpagent.Spec) {
			s.ToolName, s.MCPTool, s.Kind, s.Shell, s.Spawn = toolName, serverTool, kind, shellOf, spawn
			s.CancelWait, s.FailedText, s.Blobs, s.LastCall = 3*time.Second, failed, acpagent.NoBlobs, true
			s.Classify = func(_ int64, message string) execution.ErrorCode { return unconfigured.Code(strings.ToLower(message)) }
			s.Modes = map[execution.ApprovalMode]string{execution.ApprovalYolo: "auto", execution.ApprovalPrompt: "approve", execution.ApprovalDeny: "approve"}
		},
	}
}

// unconfigured is what goose says before its first configuration.
var unconfigured = cliagent.Phrases{{Code: execution.CodeAuth, Parts: []string{"provider not set", "value not found: goose_provider"}}}

// spawn names the model in the environment too: the models that goose offers a session are those of its environment and,
// if it got them in time, those of the provider.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	inv := cliagent.Invocation{Args: []string{"acp"}}
	if model := l.Request.Run.Model; model != "" {
		inv.Env = map[string]string{"GOOSE_MODEL": model}
	}
	return inv, nil
}

// serverTool recognizes a tool by the extension that offers it: goose names an extension as the MCP server.
func serverTool(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
	extension, tool := c.MetaField("goose", "toolCall", "extensionName").Str(), toolName(c)
	for _, s := range servers {
		if s == extension && tool != "" {
			return s, strings.TrimPrefix(tool, s+"__"), true
		}
	}
	return "", "", false
}

func toolName(c *acpagent.ToolCall) string { return c.MetaField("goose", "toolCall", "toolName").Str() }

// kind returns the kind of goose's own tools: it states none, or other.
func kind(c *acpagent.ToolCall) string {
	switch toolName(c) {
	case "shell":
		return "execute"
	case "write", "edit":
		return "edit"
	case "read", "tree":
		return "read"
	}
	return ""
}

// shellOf reads a command, whose output and exit code stand in the result of the tool.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	if code, ended := c.OutputField("exit_code").Int(); ok && ended {
		sh.Output, sh.ExitCode = c.OutputField("stdout").Str()+c.OutputField("stderr").Str(), new(int(code))
	}
	return sh, ok
}

// failed recognizes a failure of the model API: goose words it as an answer, and states no tokens for it.
func failed(text string, spent execution.Usage) (execution.ErrorCode, bool) {
	why, is := strings.CutPrefix(text, "Ran into this error: ")
	if !is {
		why, is = strings.CutPrefix(text, "Network error: ")
	}
	return cmp.Or(acpagent.CodeOfText(why), execution.CodeProvider), is && spent.IsZero()
}

// scripted is the model that a redirected agent asks for.
const scripted = "scripted-model"

// RedirectModel points goose to another Chat Completions API by its variables.
func (Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	return adapter.Redirect{
		Env: acpagent.Loopback(home, "GOOSE_PROVIDER=openai", "GOOSE_MODEL="+scripted, "OPENAI_HOST="+baseURL, "OPENAI_BASE_PATH=v1/chat/completions",
			"OPENAI_API_KEY=dummy", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false"),
		Shell: acpagent.ScriptedShell("shell"), MCP: acpagent.ScriptedMCP("%s__%s"),
	}
}
