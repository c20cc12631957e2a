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

// Spender is implemented by Agents that keep turns which ask a model's API themselves within the budgets for all runs of this machine.
type Spender interface {
	// Spend begins the record of such a turn. It counts as a run of the agent that req names, which need not be one. What it may cost is
	// reserved, and becomes the limit of req, nil for none; priced says that the model has a price. ended ends the record. The error is
	// BUDGET_EXCEEDED if a budget has too little left.
	Spend(req *execution.Request, priced bool) (ended func(execution.Result) error, err error)
}

// Sweeper is implemented by Agents that can end processes of runs whose own process is gone.
type Sweeper interface{ Sweep() error }
