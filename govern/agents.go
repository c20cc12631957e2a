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

// Sweeper is implemented by Agents that can end processes of runs whose own process is gone.
type Sweeper interface{ Sweep() error }
