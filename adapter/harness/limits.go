package harness

import (
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// Limits end a turn. A turn that reaches MaxIterations or MaxToolCalls is deferred, one that reaches MaxElapsed fails with the code
// timeout; both leave a continuation. The others fail the turn. A field of zero has its default, which is that of the BYOH
// specification's harness, and a negative one is no limit.
type Limits struct {
	MaxIterations                   int           // model calls (default 6)
	MaxToolCalls                    int           // (default 8); a turn that uses up all of them is deferred, too
	MaxElapsed                      time.Duration // (default 30s)
	MaxConsecutiveInvalidOutputs    int           // answers that cannot be used (default 2)
	MaxConsecutiveIdenticalCalls    int           // calls with the same input and the same result (default 3)
	MaxSubIterations, MaxSubToolUse int           // model calls and tool calls of one sub-agent (default: as above)
}

// workLimits are those of the registered agent: a change to a repository takes more steps than a chat's turn, and the time, the money
// and the number of model calls are the user's to limit.
func workLimits() Limits {
	return Limits{MaxIterations: 250, MaxToolCalls: 1000, MaxElapsed: -1, MaxConsecutiveIdenticalCalls: 5, MaxSubIterations: 60, MaxSubToolUse: 200}
}

func or[T int | time.Duration](n, otherwise T) T {
	if n == 0 {
		return otherwise
	}
	return n
}

// kit returns the limits of the agent's own turns. That of the request is enforced by the kit.
func (l Limits) kit() modelapi.Limits {
	return modelapi.Limits{ModelCalls: or(l.MaxIterations, 6), ToolCalls: or(l.MaxToolCalls, 8), Elapsed: or(l.MaxElapsed, 30*time.Second),
		Invalid: or(l.MaxConsecutiveInvalidOutputs, 2), Same: or(l.MaxConsecutiveIdenticalCalls, 3)}
}

// sub returns the limits of a sub-agent.
func (l Limits) sub(run execution.RunOptions) modelapi.Limits {
	k := l.kit()
	k.ModelCalls, k.ToolCalls = or(l.MaxSubIterations, k.ModelCalls), or(l.MaxSubToolUse, k.ToolCalls)
	if n := run.MaxTurns; n > 0 && (k.ModelCalls <= 0 || n < k.ModelCalls) {
		k.ModelCalls = n
	}
	return k
}
