package execution

// Outcome is the one word for how a run stands or ended: in the record, in listings and in messages. A result's status and
// exit reason say more; the outcome is derived from them by OutcomeOf.
type Outcome string

// The outcomes. Running and waiting are those of a live run; a run that ended with a question is waiting too.
const (
	OutcomeRunning     Outcome = "running"
	OutcomeWaiting     Outcome = "waiting"     // for a person: a pending question, an approval, a clarification
	OutcomeCompleted   Outcome = "completed"   // the agent did what it was asked, as far as it says
	OutcomeDeferred    Outcome = "deferred"    // stopped at a limit; the session can go on
	OutcomeFailed      Outcome = "failed"      // the agent, its model or its output failed
	OutcomeRefused     Outcome = "refused"     // nothing was started
	OutcomeCancelled   Outcome = "cancelled"   // aborted: drawbar stop, a signal, the caller
	OutcomeInterrupted Outcome = "interrupted" // the turn was interrupted and the run ended with it
	OutcomeTimedOut    Outcome = "timed-out"   // a time limit ended it: of the run, or of silence
	OutcomeLost        Outcome = "lost"        // the process that recorded it is gone and left no result
)

// OutcomeOf is the outcome of a run that ended with this status and error code. turns is how many turns were started: an
// error that the table of exit codes reserves for requests that start nothing is a refusal only without a turn.
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

// Outcome is the outcome of the run that ended with this result.
func (r Result) Outcome() Outcome { return OutcomeOf(r.Status, r.Error.ErrorCode(), r.TurnCount) }
