// Package openclaw drives OpenClaw over the Agent Client Protocol, and reads what it keeps beside its runs: sessions and usage in a
// SQLite database, settings and skills.
//
// OpenClaw's ACP mode is a bridge to its gateway. A run uses the gateway that serves the user's state, or else starts one for
// itself, with the user's settings and the options of the request: gateway.mjs. The protocol belongs to package acpagent.
package openclaw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

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
	name    = "openclaw"
	version = "2026.9.6"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor { return acpagent.DescriptorOf(row(), New) }

// Adapter drives OpenClaw. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	sessionfile.Store
	sessiondb.UsageLog
	declared.SkillsOf[declares]
	declared.LoginsOf[declares]
}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{Embedded: row().Adapter(opts).Embedded, Store: sessions, UsageLog: usage}
}

type declares struct{}

// Table is what OpenClaw declares.
func (declares) Table() *declared.Table { return &table }

var (
	// home is where OpenClaw keeps its settings and its state.
	home  = declared.Dir{Default: ".openclaw", Variable: "OPENCLAW_STATE_DIR", Tilde: true}
	table = declared.Table{Agent: name, Command: name, Home: home, Model: configuredModel, Login: &login,
		Skills: declared.Folders{Also: []string{".agents"}, UserOnly: true}}
)

func row() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: name, DisplayName: "OpenClaw", Command: name, TestedVersions: []string{version}, Config: configSchema(), Unasked: []settings.Unasked{declared.UnaskedVariables(".env")},
			Install: []adapter.InstallMethod{acpagent.NPM(name, version, "24.16.0")},
			Docs:    "https://docs.openclaw.ai/cli/acp", Keys: keys,
			HostSignals: []string{"OPENCLAW_CLI", "OPENCLAW_SHELL"}, HostTraces: []string{"OPENCLAW_RUN_ID", "OPENCLAW_SESSION"}},
		Linger: 15 * time.Second, // its gateway closes its databases
		Login:  acpagent.Login{Command: "openclaw onboard"},
		Notes: []string{
			"a run starts a gateway of its own, without channels and automations, unless one runs: openclaw gateway run, OPENCLAW_GATEWAY_URL or OPENCLAW_GATEWAY_PORT",
			"a gateway of the user's takes no model and no MCP servers from a run; one state directory has one gateway, so runs at the same time need one of the user's",
			"it asks before it runs a command; it changes files of the working directory without asking, others only with the approval mode yolo",
			"with the approval mode deny it has no tools that change files, skills or plugins, and needs a gateway of its own",
			"it states no tokens and no prices over ACP: those of a run are read from its database at the end",
			"it shows no thoughts; of an answer whose connection was cut and that it asked for again, only what is longer than the first part is shown",
			"its sessions are read of its agent main",
			"a turn that was killed with its gateway goes on when the next gateway starts, which the run that starts it says",
		},
		Limits: func(c *execution.Capabilities) {
			c.Agent.TokensUnstated, c.Agent.SessionPersistence, c.Agent.ParallelExecution, c.Agent.ThinkingStreaming = true, "sqlite", false, false
			c.Agent.AuthFiles = []string{"~/.openclaw/openclaw.json"}
		},
		Quirks: func(s *acpagent.Spec) {
			s.Spawn, s.ToolName, s.MCPTool, s.Shell = spawn, toolName, mcpTool, shellOf
			s.ModelInArgs, s.MCPInArgs, s.Startup, s.Blobs = true, true, 5*time.Minute, acpagent.NoBlobs
			s.Report, s.Classify = reportOf, classify
		},
	}
}

// toolName returns the name of a tool, which begins the title of its call.
func toolName(c *acpagent.ToolCall) string {
	tool, _, _ := strings.Cut(c.Title, ":")
	return tool
}

// shellOf reads a command, whose exit code and directory stand in the details of its output.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	details := c.OutputField("details")
	if code, stated := details.Get("exitCode").Int(); ok && stated {
		sh.ExitCode = new(int(code))
		sh.Output = strings.TrimSuffix(sh.Output, fmt.Sprintf("\n\n(Command exited with code %d)", code))
		sh.Output = strings.TrimPrefix(sh.Output, "(no output)")
	}
	sh.Cwd = cmp.Or(sh.Cwd, details.Get("cwd").Str())
	return sh, ok
}

// mcpTool recognizes server__tool.
var mcpTool = acpagent.MCPNamed(toolName, "%s__", "")

// scripted is the model that a redirected agent asks for.
const scripted = "scripted-model"

var _ adapter.ModelRedirector = Adapter{}

// RedirectModel points OpenClaw to another Chat Completions API by a provider in its settings. Its model sees every tool at once.
func (Adapter) RedirectModel(baseURL, dir string) adapter.Redirect {
	settings, err := json.Marshal(map[string]any{
		"agents": map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "script/" + scripted}, "skipBootstrap": true}},
		"tools":  map[string]any{"profile": "full", "toolSearch": false},
		"models": map[string]any{"mode": "merge", "providers": map[string]any{"script": map[string]any{"baseUrl": baseURL + "/v1", "api": "openai-completions", "apiKey": "dummy",
			"models": []any{map[string]any{"id": scripted, "name": "Scripted", "contextWindow": 128000, "maxTokens": 4096, "input": []string{"text", "image"}, "reasoning": true,
				"cost": map[string]any{"input": 2, "output": 10, "cacheRead": 0, "cacheWrite": 0}}}}}},
	})
	if err != nil {
		panic(err) // maps of texts and numbers always encode
	}
	return adapter.Redirect{
		Env:   acpagent.Loopback(dir, "OPENCLAW_OFFLINE=1"),
		Files: map[string][]byte{filepath.Join(dir, ".openclaw", "openclaw.json"): settings},
		Shell: acpagent.ScriptedShell("exec"), MCP: acpagent.ScriptedMCP("%s__%s"),
	}
}
