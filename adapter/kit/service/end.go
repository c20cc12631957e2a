package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// silentError is the cause that ends the context of a turn in which nothing came for too long.
type silentError struct{ after time.Duration }

func (e silentError) Error() string { return fmt.Sprintf("it was silent for %s", e.after) }

// Ended says how a turn whose context ended is over, and why, unless it was interrupted. who is the agent.
func Ended(ctx context.Context, who string) (execution.TurnEndReason, *cliagent.Failure) {
	cause := context.Cause(ctx)
	if silent, ok := errors.AsType[silentError](cause); ok {
		return execution.TurnFailed, &cliagent.Failure{Code: execution.CodeInactivityTimeout, Message: fmt.Sprintf("%s was silent for %s and was stopped", who, silent.after)}
	}
	switch {
	case errors.Is(cause, ErrInterrupted):
		return execution.TurnInterrupted, nil
	case errors.Is(cause, context.DeadlineExceeded):
		return execution.TurnFailed, &cliagent.Failure{Code: execution.CodeTimeout, Message: "the time for the run was over"}
	}
	return execution.TurnFailed, &cliagent.Failure{Code: execution.CodeAborted, Message: "the run was stopped"}
}

// Notices are the events of an end that nobody else reports: they precede the end of the turn.
func Notices(f *cliagent.Failure) []execution.Body {
	if f == nil || f.Code != execution.CodeInactivityTimeout {
		return nil
	}
	return []execution.Body{f.Event(), execution.Timeout{Kind: execution.TimeoutInactivity}}
}
