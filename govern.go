package drawbar

import (
	"cmp"
	"context"
	"os"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// Governed carries the runs of a governed project: agents and people in roles who move a repository through phases and gates, on
// the record. Every method reads the project anew, takes its lock for as long as it writes, and leaves a state that any other
// program goes on from. It is safe for concurrent use.
//
// An error is an *execution.Error whose hint is the command that goes on; how a turn ended is in the report.
type Governed struct{ *orchestrator.Local }

// What the methods of Governed take and give.
type (
	// TrustItem is one thing of a project that would run, with the files of the project that it names.
	TrustItem = trust.Item

	// GovernStatus is where a run stands.
	GovernStatus = orchestrator.Status
	// GovernReport is how a turn or a decision ended, and what to type next.
	GovernReport = orchestrator.Report
	// GovernRunReport is how a run of many turns ended.
	GovernRunReport = orchestrator.RunReport
	// GovernNotice is something that happens meanwhile.
	GovernNotice = orchestrator.Notice

	// StepOptions choose the turn of a step.
	StepOptions = orchestrator.StepOptions
	// GovernRunOptions bound a run of many turns.
	GovernRunOptions = orchestrator.RunOptions
	// RestartOptions say how a run is taken up.
	RestartOptions = orchestrator.RestartOptions
	// AcceptOptions say what is accepted.
	AcceptOptions = orchestrator.AcceptOptions
	// RejectOptions say what is rejected, and why.
	RejectOptions = orchestrator.RejectOptions
	// ApproveOptions choose the gate.
	ApproveOptions = orchestrator.ApproveOptions
	// EscalateOptions say what a person has to do.
	EscalateOptions = orchestrator.EscalateOptions
)

// How a command on a governed run ended: GovernReport.Outcome.
const (
	GovernAccepted    = orchestrator.OutcomeAccepted
	GovernRejected    = orchestrator.OutcomeRejected
	GovernFailed      = orchestrator.OutcomeFailed
	GovernBlocked     = orchestrator.OutcomeBlocked
	GovernPaused      = orchestrator.OutcomePaused
	GovernCompleted   = orchestrator.OutcomeCompleted
	GovernAssigned    = orchestrator.OutcomeAssigned
	GovernInterrupted = orchestrator.OutcomeInterrupted
	GovernDone        = orchestrator.OutcomeDone
)

// GovernOptions are what a governed project is opened with. The zero value carries turns of people and of programs; turns of
// Drawbar's agents need a Client.
type GovernOptions struct {
	// Client runs the agents of runtimes of type agent; nil refuses such turns.
	Client *Client
	// Owner names this process to others who find the project locked; empty is the name of the program.
	Owner string
	// Trust is asked before something of the project runs that the user of this machine has not trusted by "drawbar trust": programs
	// and agents of its runtimes, hooks, gate actions. True lets it run this time; nil refuses with PROJECT_NOT_TRUSTED.
	Trust func(root string, items []TrustItem) bool
	// Notice hears what happens while a method works; calls come one at a time. nil drops it.
	Notice func(GovernNotice)
	// Approve and Answer are asked by agents in prompt mode; nil means that nobody is there.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)
}

// OpenProject opens the governed project that dir is in: the nearest folder above with an agentxchain.json. It starts nothing
// and takes no lock.
func OpenProject(dir string, o GovernOptions) (*Governed, error) {
	root, err := project.Find(dir)
	if err != nil {
		return nil, err
	}
	if _, err := project.Load(root); err != nil {
		return nil, err
	}
	opts := orchestrator.Options{
		Owner: cmp.Or(o.Owner, os.Args[0]), Getenv: os.Getenv, Environ: os.Environ(), Notice: o.Notice, Approve: o.Approve, Answer: o.Answer,
	}
	if opts.Trust, err = trusts(o.Trust); err != nil {
		return nil, err
	}
	if o.Client != nil {
		opts.Agents = GovernedAgents{o.Client}
	}
	local, err := orchestrator.Open(root, opts)
	if err != nil {
		return nil, err
	}
	return &Governed{local}, nil
}

// trusts holds items against what the user has trusted, and asks about the others.
func trusts(ask func(string, []TrustItem) bool) (func(string, []TrustItem) error, error) {
	dir, err := config.UserDir(os.Getenv)
	if err != nil {
		return nil, err
	}
	store := trust.Store{File: trust.FileIn(dir)}
	return func(root string, items []TrustItem) error {
		if err := (config.Dirs{User: dir}).Own(root, protocol.ConfigFile); err != nil {
			return err
		}
		pending, err := store.Pending(root, items)
		if err != nil || len(pending) == 0 {
			return err
		}
		list := make([]TrustItem, len(pending))
		for i, p := range pending {
			list[i] = p.Item
		}
		if ask != nil && ask(root, list) {
			return nil
		}
		return trust.Refusal(root, pending)
	}, nil
}

// GovernedAgents lets the turns of governed runs be carried out by the agents of a client.
type GovernedAgents struct{ Client *Client }

// Sweep ends what runs left whose own process is gone.
func (a GovernedAgents) Sweep() error {
	_, err := a.Client.RemoveLeftovers()
	return err
}

// ReadOutput begins to read what a program prints when line is the first record of one of the client's agents; nil for any other.
func (a GovernedAgents) ReadOutput(line []byte) adapter.Output {
	for _, info := range a.Client.Adapters().List() {
		if e, err := a.Client.Adapters().Get(info.Agent); err == nil {
			if r, ok := adapter.As[adapter.OutputReader](e.Adapter); ok {
				if out := r.ReadOutput(line); out != nil {
					return out
				}
			}
		}
	}
	return nil
}

// Negotiate answers what the agent could do, and that its program is there; it starts nothing.
func (a GovernedAgents) Negotiate(_ context.Context, req execution.Request) (execution.Negotiation, error) {
	entry, err := a.Client.Adapters().Get(req.Run.Agent)
	if err != nil {
		return execution.Negotiation{}, err
	}
	if command := entry.Descriptor.Command; command != "" {
		if _, err := lookpath.In(os.Environ(), "", command); err != nil {
			return execution.Negotiation{}, execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed: there is no command %q on PATH", req.Run.Agent, command).
				WithHint("drawbar agents install %s", req.Run.Agent)
		}
	}
	return a.Client.Negotiate(req, RunOptions{})
}

// Run starts the agent. The run is recorded like any other.
func (a GovernedAgents) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	return a.Client.Run(ctx, req, RunOptions{Options: o})
}
