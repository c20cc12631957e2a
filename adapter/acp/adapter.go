package acp

import (
	"context"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const name = "acp"

func init() {
	adapter.Register(Descriptor)
	for _, row := range named() {
		adapter.Register(func() adapter.Descriptor { return row().Descriptor() })
	}
}

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	d := unnamed().Descriptor()
	d.Protocol = "" // it is no row: its program comes with every run
	d.New = func() adapter.Adapter { return New(cliagent.Options{}) }
	return d
}

// unnamed describes an agent of which only the protocol is known.
func unnamed() acpagent.Agent {
	return acpagent.Agent{
		About: adapter.Descriptor{
			Name:        name,
			DisplayName: "ACP agent",
			Install: []adapter.InstallMethod{{Platform: "all", Type: "manual",
				Notes: "install the agent you want to run, and name its ACP command behind --: drawbar run acp \"what to do\" -- gemini --acp"}},
			Docs: "https://agentclientprotocol.com",
		},
		Notes:  []string{"an agent may need its model as an argument, behind --"},
		Limits: func(c *execution.Capabilities) { c.Agent.TakesCommand = true },
		Quirks: func(s *acpagent.Spec) {
			s.Spawn, s.ToolName = spawn, toolName
		},
	}
}

// Adapter runs any ACP agent. It is stateless and safe for concurrent use.
type Adapter struct{ acpagent.Adapter }

var (
	_ adapter.Prober    = Adapter{}
	_ adapter.AuthGuide = Adapter{}
)

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter { return Adapter{unnamed().Adapter(opts)} }

// spawn returns the request's command line.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	command := l.Request.Run.Command
	if len(command) == 0 {
		e := execution.Errorf(execution.CodeValidation, "run.command: no program is named")
		e.Agent = name
		return cliagent.Invocation{}, e.WithHint("drawbar run acp \"what to do\" -- COMMAND [ARGS...]")
	}
	return cliagent.Invocation{Command: command[0], Args: command[1:]}, nil
}

// Probe finds nothing, because every run names its program.
func (Adapter) Probe(context.Context, adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, Notes: "runs the program that is named behind --: drawbar run acp \"what to do\" -- COMMAND [ARGS...]"}, nil
}

// DetectAuth reports unknown: the agent states whether it requires a login.
func (Adapter) DetectAuth(context.Context, adapter.Host) adapter.AuthState {
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "unknown until the agent runs"}
}

// AuthGuidance returns what holds for every agent.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{Provider: "the agent's own", Documentation: []string{"https://agentclientprotocol.com"},
		Steps: []adapter.AuthStep{{Description: "log in with the agent's own command"},
			{Description: "or set the key that it reads from its environment", Command: "drawbar run acp --env NAME ... -- COMMAND"},
			{Description: "an agent that wants a login says so, and the error of the run names the ways it offers"}}}
}
