package execution

import "testing"

func TestOutcomeOfAResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status Status
		code   ErrorCode
		turns  int
		want   Outcome
	}{
		{StatusCompleted, "", 1, OutcomeCompleted},
		{StatusDeferred, "", 1, OutcomeDeferred},
		{StatusAwaitingApproval, "", 1, OutcomeWaiting},
		{StatusNeedsClarification, "", 1, OutcomeWaiting},
		{StatusUnsupported, CodeCapability, 0, OutcomeRefused},
		{StatusFailed, CodeCapability, 0, OutcomeRefused},
		{StatusFailed, CodeAgentNotInstalled, 0, OutcomeRefused},
		{StatusFailed, CodeValidation, 0, OutcomeRefused},
		{StatusFailed, CodeValidation, 1, OutcomeFailed},
		{StatusFailed, CodeAborted, 1, OutcomeCancelled},
		{StatusFailed, CodeInterrupted, 1, OutcomeInterrupted},
		{StatusFailed, CodeTimeout, 1, OutcomeTimedOut},
		{StatusFailed, CodeInactivityTimeout, 0, OutcomeTimedOut},
		{StatusFailed, CodeSessionNotFound, 0, OutcomeFailed},
		{StatusFailed, CodeInvalidOutput, 1, OutcomeFailed},
		{StatusFailed, CodeAgentCrash, 1, OutcomeFailed},
		{StatusFailed, "", 0, OutcomeFailed},
	} {
		if got := OutcomeOf(c.status, c.code, c.turns); got != c.want {
			t.Errorf("%s %s after %d turns: %s, want %s", c.status, c.code, c.turns, got, c.want)
		}
	}
	timedOut := Result{Status: StatusFailed, ExitReason: ExitCompleted, TurnCount: 1, Error: &ResultError{Code: FailureTimeout}}
	if got := timedOut.Outcome(); got != OutcomeTimedOut {
		t.Errorf("a timeout of a foreign adapter: %s", got)
	}
}
