package command

import (
	"context"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/execution"
)

const (
	name  = "command"
	usage = "drawbar run command \"what to do\" -- COMMAND [ARGS...]"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:           name,
		DisplayName:    "Any program",
		PromptOptional: true,
		Install: []adapter.InstallMethod{{Platform: "all", Type: "manual",
			Notes: "install the program you want to run, and name it after --: " + usage}},
		New: func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter runs any program. It is stateless and safe for concurrent use.
type Adapter struct{ cliagent.Embedded }

var _ adapter.Prober = Adapter{}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{cliagent.Embedded{Adapter: cliagent.New(cliagent.Spec{
		Name:         name,
		InstallHint:  "is it installed, and on the PATH? The program and its arguments follow --",
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    func(execution.Request) cliagent.Parser { return declarative.NewText(name) },
		Negotiate:    negotiate,
	}, opts)}}
}

// spawn returns the request's command line.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	command := l.Request.Run.Command
	if len(command) == 0 {
		e := execution.Errorf(execution.CodeValidation, "run.command: no program is named")
		e.Agent = name
		return cliagent.Invocation{}, e.WithHint(usage)
	}
	args, stdin := declarative.Arguments(l, command[1:], declarative.Message(l.Request))
	return cliagent.Invocation{Command: command[0], Args: args, Stdin: stdin}, nil
}

// negotiate refuses a model, which nothing could tell the program.
func negotiate(req execution.Request) []execution.Reason {
	r := cliagent.NewReasons(req)
	declarative.RefuseModel(&r, name, req)
	return r
}

// Probe finds nothing, because every run names its program.
func (Adapter) Probe(context.Context, adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, Notes: "runs the program that is named after --: " + usage}, nil
}

// DetectAuth reports unknown: whether the program needs a login is not known.
func (Adapter) DetectAuth(context.Context, adapter.Host) adapter.AuthState {
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "unknown until the program runs"}
}

func capabilities() execution.Capabilities {
	return execution.Capabilities{
		Notes: []string{
			"the prompt is standard input, or replaces {prompt} in an argument, or is in the file that replaces {prompt_file}; without one, the command line is the prompt",
			"standard output is the answer, line by line; exit code 0 means completed",
			"nothing is known about its tools, sessions and costs, and it cannot ask",
			"instructions precede the prompt",
		},
		Agent: execution.AgentCapabilities{
			TakesCommand:      true,
			TextStreaming:     true,
			ParallelExecution: true,
			Elsewhere:         true,
			ApprovalModes:     []execution.ApprovalMode{execution.ApprovalYolo},
			Verbs:             []execution.Verb{execution.VerbAbort},
		},
	}
}
