package execution

// Outcome says in one word how a run ended or where it stands: in the record, in listings and in messages.
// OutcomeOf derives it from a result's status and exit reason, which say more.
type Outcome string

// The outcomes. A live run is running or waiting; a run that ended with a question is waiting too.
const (
	OutcomeRunning     Outcome = "running"
	OutcomeWaiting     Outcome = "waiting"     // for a person: a pending question, an approval, a clarification
	OutcomeCompleted   Outcome = "completed"   // the agent reports that it did what was asked
	OutcomeDeferred    Outcome = "deferred"    // stopped at a limit; the session can be resumed
	OutcomeFailed      Outcome = "failed"      // the agent, its model or its output failed
	OutcomeRefused     Outcome = "refused"     // nothing was started
	OutcomeCancelled   Outcome = "cancelled"   // aborted by drawbar stop, a signal or the caller
	OutcomeInterrupted Outcome = "interrupted" // the turn was interrupted and the run ended with it
	OutcomeTimedOut    Outcome = "timed-out"   // ended by a time limit: of the run or of inactivity
	OutcomeLost        Outcome = "lost"        // the recording process is gone and left no result
)

// OutcomeOf returns the outcome of a run that ended with this status and error code. turns is the number of
// turns started: an error whose exit code is reserved for requests that start nothing counts as a refusal only
// without a turn.
func OutcomeOf(status Status, code ErrorCode, turns int) Outcome {
	switch status {
	case StatusCompleted:
		return OutcomeCompleted
	case StatusDeferred:
		return OutcomeDeferred
	case StatusAwaitingApproval, StatusNeedsClarification:
		return OutcomeWaiting
	case StatusUnsupported:
		return OutcomeRefused
	}
	switch code {
	case CodeAborted:
		return OutcomeCancelled
	case CodeInterrupted:
		return OutcomeInterrupted
	case CodeTimeout, CodeInactivityTimeout:
		return OutcomeTimedOut
	}
	switch code.Row().Exit {
	case ExitUsage, ExitAgentNotFound, ExitNotInstalled, ExitCapability, ExitConfig, ExitProfile:
		if turns == 0 {
			return OutcomeRefused
		}
	}
	return OutcomeFailed
}

// Outcome returns the outcome of the run that ended with this result.
func (r Result) Outcome() Outcome { return OutcomeOf(r.Status, r.Error.ErrorCode(), r.TurnCount) }
