package acpagent

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// Agent is an agent that is reached over the protocol alone: one row of a table. Descriptor registers it. A package of
// its own embeds Adapter and adds optional interfaces.
type Agent struct {
	About  adapter.Descriptor // Protocol and New are filled in, and the variables of the login are added to Keys
	Args   []string           // what starts the ACP mode of About.Command
	Other  string             // another name of About.Command, used where that is not there; empty for none
	Linger time.Duration      // time to exit when its input is closed; default 1s, because some never do
	Login  Login
	Notes  []string                      // peculiarities, after the protocol's own
	Limits func(*execution.Capabilities) // changes what the protocol allows to what this agent does; nil for no difference
	Quirks func(*Spec)                   // changes the protocol's defaults; nil for none
	Hook   *cliagent.ToolHook            // how it asks before a tool call, its Read states what the call would do; nil if it cannot
	// Redirect points the agent to another model API, see adapter.ModelRedirector; nil if its model cannot be replaced.
	Redirect func(baseURL, home string) adapter.Redirect
}

// Login is what is known of an agent's login without running it.
type Login struct {
	Provider  string                 // default: the agent's display name
	Command   string                 // the agent's own login in a terminal, empty for none
	Variables []adapter.AuthVariable // each logs in by itself
	Files     []string               // where a login may be stored, below the home directory
}

// Descriptor describes the agent. Every call returns a fresh copy.
func (a Agent) Descriptor() adapter.Descriptor {
	d := a.About
	d.Protocol = cmp.Or(d.Protocol, adapter.ProtocolACP)
	for _, v := range a.Login.Variables {
		d.Keys = append(d.Keys[:len(d.Keys):len(d.Keys)], v.Name)
	}
	d.New = func() adapter.Adapter {
		made := a.Adapter(cliagent.Options{})
		if a.Redirect == nil {
			return made
		}
		return redirected{made, a.Redirect}
	}
	return d
}

// DescriptorOf describes an agent whose adapter is a package of its own: made returns the adapter.
func DescriptorOf[A adapter.Adapter](a Agent, made func(cliagent.Options) A) adapter.Descriptor {
	d := a.Descriptor()
	d.Protocol = "" // that of a row of a table
	d.New = func() adapter.Adapter { return made(cliagent.Options{}) }
	return d
}

// NPM is the installation of a package from npm; node is the lowest version of Node.js that it needs, empty for any.
func NPM(pkg, version, node string) adapter.InstallMethod {
	return adapter.InstallMethod{Platform: "all", Type: "npm", Package: pkg, Command: "npm install -g " + pkg + "@" + cmp.Or(version, "latest"),
		PrerequisiteCheck: "npm --version", Requires: []adapter.Requirement{{Command: "node", MinVersion: node}}}
}

// redirected is the adapter of an agent whose model can be replaced; the others must not implement adapter.ModelRedirector.
type redirected struct {
	Adapter
	redirect func(baseURL, home string) adapter.Redirect
}

func (r redirected) RedirectModel(baseURL, home string) adapter.Redirect {
	return r.redirect(baseURL, home)
}

// Adapter is the adapter of an Agent. It is stateless and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	about adapter.Descriptor
	other string
	login Login
}

var (
	_ adapter.Prober    = Adapter{}
	_ adapter.AuthGuide = Adapter{}
)

// Adapter returns the agent's adapter; zero options are for a normal program.
func (a Agent) Adapter(opts cliagent.Options) Adapter {
	d := a.Descriptor()
	return Adapter{login: a.Login, about: d, other: a.Other, Embedded: cliagent.Embedded{Adapter: cliagent.New(Join(cliagent.Spec{
		Name:         d.Name,
		Command:      d.Command,
		Other:        a.Other,
		InstallHint:  installHint(d),
		Capabilities: a.capabilities,
		Linger:       cmp.Or(a.Linger, time.Second),
		Keys:         d.Keys,
		ToolHook:     a.Hook,
	}, a.Spec(), nil), opts)}}
}

// ByModel is the mode of Claude Code and Qwen Code in which a model decides in the place of the person.
const ByModel = "auto"

// asking is Spec.Asking of every agent. A session begins in the mode of the user's settings, or of the project's.
var asking = map[string]string{
	ByModel: "default", "acceptEdits": "default", "dontAsk": "default", "bypassPermissions": "default", // Claude Code
	"auto-edit": "default", "autoEdit": "default", "yolo": "default", // Qwen Code, Gemini CLI
	"auto-low": "normal", "auto-medium": "normal", "auto-high": "normal", // Droid
}

// Spec returns how the agent speaks the protocol.
func (a Agent) Spec() Spec {
	spec := Spec{Name: a.About.Name, FailedText: FailedAnswer, LoginHint: a.Login.hint(), Asking: asking,
		Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
			return cliagent.Invocation{Args: slices.Clone(a.Args)}, nil
		}}
	if a.Quirks != nil {
		a.Quirks(&spec)
	}
	return spec
}

// installHint returns how to get the program.
func installHint(d adapter.Descriptor) string {
	for _, m := range d.Install {
		switch {
		case m.Command != "":
			return "install it with: " + m.Command
		case m.Notes != "":
			return m.Notes
		}
	}
	return "see " + d.Docs
}

func (l Login) hint() string {
	var ways []string
	if l.Command != "" {
		ways = append(ways, "log in with: "+l.Command)
	}
	for _, v := range l.Variables {
		ways = append(ways, "set "+v.Name)
	}
	return strings.Join(ways, ", or ")
}

// Probe finds the agent's program and asks for its version.
func (a Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, a.about.Command)
	if !in.Installed && err == nil && a.other != "" {
		if other, failed := cliagent.DetectVersion(ctx, h, a.other); other.Installed && failed == nil {
			in = other
		}
	}
	if in.Installed && in.Notes == "" && a.about.Documented != "" {
		in.Notes = adapter.NotExercised + ": its adapter follows " + a.about.Documented
	}
	return in, err
}

// DetectAuth looks for a key and for the files of a login. Only the agent knows whether a stored login is valid.
func (a Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	for _, v := range a.login.Variables {
		if h.Getenv(v.Name) != "" {
			return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: v.Name + " is set"}
		}
	}
	for _, file := range a.login.Files {
		if state, ok := declared.StoredFile(h, filepath.Join(h.Home, file)); ok {
			return state
		}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "unknown until the agent runs"}
}

// AuthGuidance returns how to log in.
func (a Adapter) AuthGuidance() adapter.AuthGuidance {
	g := adapter.AuthGuidance{Provider: cmp.Or(a.login.Provider, a.about.DisplayName, a.about.Name), EnvVars: a.login.Variables,
		Documentation: []string{a.about.Docs}, LoginCommand: a.login.Command}
	if a.login.Command != "" {
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "log in with the agent's own command", Command: a.login.Command})
	}
	for _, v := range a.login.Variables {
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "or set " + v.Name + ": " + v.Description})
	}
	if len(g.Steps) == 0 {
		g.Steps = []adapter.AuthStep{{Description: "log in as the agent's documentation says", URL: a.about.Docs}}
	}
	g.Steps[0].Description = strings.TrimPrefix(g.Steps[0].Description, "or ")
	return g
}

// capabilities returns what an agent of the protocol can do, with the agent's own differences.
func (a Agent) capabilities() execution.Capabilities {
	c := execution.Capabilities{
		ToolUse:             execution.ToolsNativeIterative,
		StructuredToolCalls: true,
		ContinuationSupport: execution.ContinuationsOpaqueResume,
		ApprovalInterrupts:  execution.ApprovalsNative,
		TraceDepth:          execution.TraceStandard,
		Attachments:         true,
		Notes: append([]string{
			"what depends on the agent is known when it has started; a request that needs more is refused then, before anything is said to a model",
			"resuming a session needs an agent that loads sessions, tools of the caller one that takes MCP servers over HTTP, images one that takes images",
			"a model is set in the session and must be one that the agent offers",
			"whether it asks for permission is the agent's business; approval mode yolo and deny answer what it asks",
			"instructions stand in front of the first message, as the protocol has no system prompt",
			"a message sent during a turn makes the next turn: the protocol has no steering",
			"a tool of the caller is allowed when the agent asks for it as for any other of its tools: by the approval mode, or by whoever answers",
			"prices are counted where the agent states them",
		}, a.Notes...),
		Agent: execution.AgentCapabilities{
			AgentsMD:  true,
			CanResume: true, SupportsMultiTurn: true,
			SessionPersistence: "file",
			TextStreaming:      true,
			ThinkingStreaming:  true,
			NativeTools:        true,
			MCP:                true,
			MCPTransports:      []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP},
			ParallelToolCalls:  true,
			ApprovalModes:      []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			StructuredSession:  execution.TransportPersistent,
			ParallelExecution:  true,
			Elsewhere:          true,
			InteractiveMode:    true,
			StdinInjection:     true,
			ImageInput:         true,
			FileAttachments:    true,
			AuthMethods:        []execution.AuthMethod{{Type: "config_file", Name: "the agent's own login"}},
			Verbs:              Verbs(),
		},
	}
	for _, v := range a.Login.Variables {
		c.Agent.AuthMethods = append(c.Agent.AuthMethods, execution.AuthMethod{Type: "api_key", Name: v.Name})
	}
	if a.Limits != nil {
		a.Limits(&c)
	}
	return c
}
