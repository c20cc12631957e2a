package govern

import (
	"context"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// Agents runs the agents that Drawbar has adapters for.
type Agents interface {
	Negotiate(ctx context.Context, req execution.Request) (execution.Negotiation, error)
	Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error)
}

// Spender is implemented by Agents that keep turns of other runtimes within the budgets for all runs of this machine. A turn counts as a run
// of the agent that its request names, registered or not, or of the agent whose program the request's command starts.
type Spender interface {
	// Spend begins the record of a turn whose cost Drawbar measures. What it may cost is reserved, and becomes the limit of req, nil for none;
	// priced says that the model has a price. ended ends the record. The error is BUDGET_EXCEEDED if a budget has too little left.
	Spend(req *execution.Request, priced bool) (ended func(execution.Result) error, err error)
	// Afford returns BUDGET_EXCEEDED if a budget that the turn would count in is used up.
	Afford(req execution.Request) error
	// Spent records a turn that has ended. req was received when it began.
	Spent(req execution.Request, res execution.Result) error
}

// Recorder is implemented by Agents that keep a record of what a turn's runs cost, also of those whose process was killed.
type Recorder interface {
	// Recorded returns model, usage and cost of the turn's runs that have ended.
	Recorded(turn string) ([]execution.Result, error)
}

// TurnTag is the tag of the runs of a turn.
func TurnTag(turn string) string { return "turn:" + turn }

// Sweeper is implemented by Agents that can end processes of runs whose own process is gone.
type Sweeper interface{ Sweep() error }
