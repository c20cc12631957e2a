// Package hermes drives Hermes Agent over the Agent Client Protocol, and reads what it keeps beside its runs: sessions and usage in a
// SQLite database, settings and skills. It was never run here; it follows the vendor's documents, which its tests name.
//
// The protocol belongs to package acpagent, the reading of the database to package sessiondb.
package hermes

import (
	"cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const (
	name = "hermes"
	docs = "https://hermes-agent.nousresearch.com/docs/"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(row(), New) }

// Adapter drives Hermes Agent. It is stateless and safe for concurrent use.
type Adapter struct {
	acpagent.Adapter
	sessionfile.Store
	sessiondb.UsageLog
	declared.SkillsOf[declares]
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Adapter: row().Adapter(opts), Store: sessions, UsageLog: usage}
}

type declares struct{}

// Table is what Hermes declares.
func (declares) Table() *declared.Table { return &table }

var (
	// home is where Hermes keeps everything (user-guide/configuration).
	home  = declared.Dir{Default: ".hermes", Variable: "HERMES_HOME"}
	table = declared.Table{Agent: name, Command: name, Home: home, Skills: declared.Folders{UserOnly: true}}
)

func row() acpagent.Agent {
	script := "curl -fsSL https://hermes-agent.nousresearch.com/install.sh | bash"
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: "Hermes Agent", Command: name, Aliases: []string{"hermes-agent"}, Config: configSchema(),
			Docs: docs + "user-guide/features/acp", Documented: docs + "user-guide/features/acp",
			Install: []adapter.InstallMethod{
				{Platform: "darwin", Type: "script", Command: script}, {Platform: "linux", Type: "script", Command: script},
				{Platform: "windows", Type: "manual", Notes: "how to install it: " + docs + "getting-started/installation"}},
			HostTraces: []string{"HERMES_RUN_ID", "HERMES_SESSION"}, Keys: []string{"HERMES_HOME", "OPENAI_BASE_URL"}},
		Args: []string{"acp"},
		Login: acpagent.Login{Provider: "any model API", Command: "hermes model", Variables: declared.ProviderKeys("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"),
			Files: []string{".hermes/auth.json", ".hermes/.env"}},
		Notes: []string{"its ACP server is an extra of the installation: hermes acp --check says whether it is there",
			"it asks before commands that it considers dangerous, not before each tool"},
		Limits: func(c *execution.Capabilities) {
			c.Agent.SessionPersistence = "sqlite"
			c.Agent.SubagentDispatch = true // delegate_task
		},
	}
}

// configSchema describes config.yaml, which Hermes has for the user alone (user-guide/configuration, cli-config.yaml.example).
func configSchema() settings.Schema {
	field := func(path, native, kind, description string) settings.Field {
		return settings.Field{Path: path, Native: cmp.Or(native, path), Type: kind, Scope: settings.Global, Description: description}
	}
	model := field("model", "model.default", settings.TypeString, "model to use when a run names none")
	provider := field("provider", "model.provider", settings.TypeString, "provider of the model")
	approval := field("approvalMode", "approvals.mode", settings.TypeEnum, "what needs approval")
	approval.Enum, approval.Values = []string{"manual", "smart", "off"}, []settings.Value{{Value: "prompt", Native: "manual"}, {Value: "yolo", Native: "off"}}
	servers := field("mcpServers", "mcp_servers", settings.TypeMCPServers, "MCP servers by name")
	normalized := []*settings.Field{&model, &provider, &approval, &servers}
	for i, label := range []string{"Model", "Provider", "Approval mode", "MCP servers"} {
		normalized[i].Label, normalized[i].Normalized = label, true
	}
	turns := field("agent.max_turns", "", settings.TypeInteger, "model calls of a turn")
	turns.Min = new(1.0)
	effort := field("agent.reasoning_effort", "", settings.TypeEnum, "how much the model thinks")
	effort.Enum = []string{"none", "minimal", "low", "medium", "high", "xhigh"}
	threshold := field("compression.threshold", "", settings.TypeNumber, "part of the context window at which it is compacted")
	threshold.Min, threshold.Max = new(0.0), new(1.0)
	timeout := field("terminal.timeout", "", settings.TypeInteger, "time limit of a command, in seconds")
	timeout.Min = new(1.0)
	return settings.NewSchema(name, "", []settings.File{
		{Scope: settings.Global, Path: "~/.hermes/config.yaml", Moved: "$HERMES_HOME/config.yaml", Format: "yaml"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio},
		{Transport: execution.MCPStreamableHTTP, URL: "url", Headers: "headers"},
	}}, []settings.Field{model, provider, approval, servers, field("model.base_url", "", settings.TypeString, "address of the model API"),
		turns, effort, field("compression.enabled", "", settings.TypeBoolean, "compact a long conversation"), threshold, timeout,
		field("terminal.backend", "", settings.TypeString, "where commands run: local, docker, ssh and others")})
}
