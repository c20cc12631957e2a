// Package opencode drives OpenCode over the Agent Client Protocol, and reads what it keeps beside its runs: sessions and usage in a
// SQLite database, settings, logins, skills and agents.
//
// The protocol belongs to package acpagent, the reading of the database to package sessiondb. Permissions are those of
// OPENCODE_PERMISSION, because OpenCode asks before no tool by default.
package opencode

import (
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
	name    = "opencode"
	version = "1.18.33"
	data    = ".local/share"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(row(), New) }

// Adapter drives OpenCode. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	sessiondb.UsageLog
	declared.SkillsOf[declares]
	declared.HooksOf[declares]
	declared.LoginsOf[declares]
	declared.ModelsOf[declares]
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: row().Adapter(opts).Embedded, Store: sessions, UsageLog: usage}
}

type declares struct{}

// Table is what OpenCode declares.
func (declares) Table() *declared.Table { return &table }

var (
	// home is where OpenCode keeps its settings.
	home  = declared.Dir{Default: ".config/opencode", Variable: "XDG_CONFIG_HOME", Below: "opencode"}
	table = declared.Table{Agent: name, Command: "opencode", Home: home, Project: ".opencode", Model: configuredModel, Models: &models, Login: &login, Hooks: &hooks,
		Skills: declared.Folders{Suffix: ".md", Also: []string{".claude", ".agents"}}}
)

func row() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: "OpenCode", Command: "opencode", TestedVersions: []string{version}, Config: configSchema(), Unasked: unasked(),
			Install: []adapter.InstallMethod{
				acpagent.NPM("opencode-ai", version, ""),
				{Platform: "darwin", Type: "brew", Package: "opencode", Command: "brew install opencode"},
				{Platform: "linux", Type: "brew", Package: "opencode", Command: "brew install opencode"}},
			Docs: "https://opencode.ai/docs/acp", HostSignals: []string{"OPENCODE", "OPENCODE_PID"}, HostTraces: []string{"OPENCODE_SESSION_ID"}, Keys: keys},
		Args:  []string{"acp"},
		Login: acpagent.Login{Command: "opencode auth login"},
		Notes: []string{"a plugin of the run states the tokens and the price of every model call, why it failed, and that it is tried again; without plugins (OPENCODE_PURE) the tokens come from its database at the end",
			"over ACP it shows nothing of what a sub-agent does or asks: what a sub-agent asks for is refused, and a warning says so",
			"it asks once for a folder outside the workspace and once for the change in it: a person is asked once, about the whole call",
			"opencode models lists the models that --model takes, each as provider/model"},
		Limits: limits,
		Hook:   toolHook(),
		Quirks: func(s *acpagent.Spec) {
			s.Blobs = blobs
			s.Startup = 2 * time.Minute // it takes seconds of processor time
			s.ToolName, s.MCPTool, s.Shell, s.Spawn, s.Report, s.LastCall, s.AsksAgain = acpagent.TitleWord, serverTool, shellOf, spawn, reportOf, true, true
			s.UsableModels = true
		},
	}
}

// limits are what OpenCode does beyond the protocol's minimum.
func limits(c *execution.Capabilities) {
	c.Agent.CanFork, c.Agent.RequiresToolApproval, c.Agent.SubagentDispatch, c.Agent.CostReported = true, true, true, true
	c.Agent.SessionPersistence, c.Agent.RuntimeHooks = "sqlite", cliagent.RuntimeHooks(true)
	c.Agent.AuthFiles = []string{"~/" + data + "/opencode/auth.json"}
}

// asks makes OpenCode ask before every tool but those that only look; by default it asks before none. OpenCode adds this to the rules of the
// user and the project, where a rule of the same name keeps its place, and the last rule that fits a tool decides. So the rule for every tool is
// not named "*", as theirs may be, with rules that allow more behind it.
const asks = `{"**":"ask","codesearch":"allow","glob":"allow","grep":"allow","list":"allow","lsp":"allow","read":"allow","skill":"allow",` +
	`"task":"allow","todoread":"allow","todowrite":"allow"}`

func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	loading, env := reporting(l)
	inv := cliagent.Invocation{Args: []string{"acp"}, Env: env}
	switch {
	case loading != "":
		inv.EnvOver = map[string]string{inline: loading}
	case l.Hook != nil:
		e := execution.Errorf(execution.CodeCapability, "hooks cannot be used with opencode: OPENCODE_PURE or %s keeps the plugin of the run from being loaded", inline).
			WithHint("unset OPENCODE_PURE, and write JSON in %s", inline)
		e.Agent, e.Capability = name, "runtimeHooks.preToolUse"
		return inv, e
	}
	if l.Request.Run.ApprovalMode != execution.ApprovalYolo {
		if inv.Env == nil {
			inv.Env = map[string]string{}
		}
		inv.Env["OPENCODE_PERMISSION"] = asks
	}
	return inv, nil
}

// blobs are what a model may take besides images. OpenCode replaces what a model does not take by a remark to it.
func blobs(mediaType string) bool { return mediaType == "application/pdf" }

// serverTool recognizes server_tool, the title of a call until it has run.
var serverTool = acpagent.MCPNamed(func(c *acpagent.ToolCall) string { return c.Title }, "%s_", " /")
