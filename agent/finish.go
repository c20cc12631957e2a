package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// finish creates the result and ends the stream. Only the first call has an effect.
func (r *Run) finish(res execution.Result) {
	r.finish1.Do(func() {
		end := r.conclude(res)
		r.cancel(errOver)
		r.exclusive(func() {
			res = r.outcome(res, end)
			r.seq.finish(res, r.publish)
			r.hold.endAll()
			r.showHeld(time.Now())
			r.fill(&res)
			res = secret.Deep(r.hold.secrets, res)
			res.Events = r.col.collected
			if r.held != nil {
				r.held.Stop()
			}
			r.mu.Lock()
			final := finalState(res)
			if !r.setLocked(final) {
				r.setLocked(execution.StateRunning)
				r.setLocked(final)
			}
			r.mu.Unlock()
			r.result = res
			r.publish(execution.Event{Body: execution.Finished{Result: res}})
			r.seq.ended = true
		})
		close(r.done)
	})
}

// conclude closes the run for its caller: messages and stops are refused from here on.
func (r *Run) conclude(res execution.Result) ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finishing, r.inputOpen = true, false
	stopTimer(r.giveUp)
	stopTimer(r.insist)
	if r.end.kind == endNone && r.ctx.Err() != nil && res.Status != execution.StatusCompleted {
		r.cancelledLocked() // the end came before its cause was known
	}
	if r.end.kind == endNone {
		r.end = ending{kind: endOver, cause: errOver}
	}
	for _, in := range r.queue {
		r.push(execution.InputCancelled{ID: in.id, Reason: "the run ended"})
	}
	r.queue = nil
	for _, p := range r.pending {
		p.cancel()
		r.push(execution.QuestionWithdrawn{ID: p.q.ID, Reason: "the run ended"})
	}
	r.pending = nil
	if r.inbox != nil {
		r.inbox.close()
		r.inbox = nil
	}
	return r.end
}

// outcome rewrites a result whose end was not caused by the backend.
func (r *Run) outcome(res execution.Result, end ending) execution.Result {
	res.BackendID = r.Agent()
	replace := func(status execution.Status, exit execution.ExitReason, code execution.ErrorCode, message string) {
		stderr := ""
		if res.Error != nil {
			stderr = res.Error.Stderr
		}
		res.Status, res.ExitReason = status, exit
		res.Error = nil
		if code != "" {
			res.Error = execution.NewResultError(code, message)
			res.Error.Stderr = stderr
		}
	}
	switch end.kind {
	case endOver:
		r.checked(&res)
		interrupted := !r.seq.open && r.col.lastTurn.Reason == execution.TurnInterrupted
		// An agent that is stopped because it was silent may still end its turn, as interrupted.
		if interrupted && res.Status != execution.StatusUnsupported && res.ExitReason != execution.ExitInactivity {
			replace(execution.StatusFailed, execution.ExitInterrupted, execution.CodeInterrupted, "the turn was interrupted")
		}
		// The names in the decision table apply to every backend.
		if res.ExitReason == execution.ExitInactivity && res.Error != nil {
			e := *res.Error
			e.Message += r.col.retryCause()
			res.Error = &e
		}
		if res.ExitReason == execution.ExitTurnLimit && res.Status != execution.StatusDeferred {
			replace(execution.StatusDeferred, execution.ExitTurnLimit, "", "")
		}
	case endTimeout:
		replace(execution.StatusFailed, execution.ExitByTimeout, execution.CodeTimeout, "the run took longer than "+r.limitText(end.cause)+r.col.retryCause())
	case endInterrupt:
		replace(execution.StatusFailed, execution.ExitInterrupted, execution.CodeInterrupted, "the run was interrupted")
	case endTurnLimit:
		replace(execution.StatusDeferred, execution.ExitTurnLimit, "", "")
	case endBudget:
		spent, _ := r.col.spent()
		replace(execution.StatusFailed, execution.ExitCompleted, execution.CodeBudgetExceeded,
			fmt.Sprintf("the budget of %.4f USD is used up: %.4f USD spent", *r.req.Run.MaxBudgetUSD, spent))
	case endApproval:
		q, _ := end.by.(execution.ApprovalRequired)
		replace(execution.StatusAwaitingApproval, execution.ExitCompleted, "", "")
		res.ApprovalRequest = &execution.ApprovalRequest{Reason: cmp.Or(q.Detail, q.Action), ApprovalKey: string(q.ID),
			Metadata: map[string]any{"toolName": q.ToolName, "toolCallId": q.ToolCallID, "input": q.Input, "riskLevel": q.Risk}}
		r.continuation(&res, execution.ContinuationApproval, r.calls.waiting(q))
	case endInput:
		q, _ := end.by.(execution.InputRequired)
		replace(execution.StatusNeedsClarification, execution.ExitCompleted, "", "")
		res.Output = &execution.Output{Text: q.Question}
		r.continuation(&res, execution.ContinuationClarification, map[string]any{"question": q.Question})
	case endAbort:
		replace(execution.StatusFailed, execution.ExitReasonAbort, execution.CodeAborted, fmt.Sprintf("the run was %v", end.cause)) // "aborted", with the cause
	default:
		replace(execution.StatusFailed, execution.ExitReasonAbort, execution.CodeAborted, fmt.Sprintf("the run was cancelled: %v", end.cause))
	}
	switch res.Status {
	case execution.StatusDeferred:
		r.continuation(&res, execution.ContinuationDeferred, map[string]any{"stopReason": string(res.ExitReason)})
	case execution.StatusNeedsClarification:
		r.continuation(&res, execution.ContinuationClarification, nil)
	case execution.StatusAwaitingApproval:
		r.continuation(&res, execution.ContinuationApproval, nil)
	case execution.StatusFailed:
		if res.Error.Code == execution.FailureTimeout {
			r.continuation(&res, execution.ContinuationDeferred, nil)
		}
	}
	return res
}

// checked repairs an invalid result: every status gets its required parts, and a failure is never passed on as
// a success.
func (r *Run) checked(res *execution.Result) {
	invalid := func(what string) {
		*res = failed(execution.Errorf(execution.CodeInvalidOutput, "the adapter %s ended with %s", r.Agent(), what))
		res.BackendID = r.Agent()
	}
	switch res.Status {
	case execution.StatusCompleted:
		if res.Error != nil {
			res.Status = execution.StatusFailed
		}
	case execution.StatusFailed:
		if res.Error == nil {
			res.Error = execution.NewResultError(execution.CodeInternal, "the adapter "+r.Agent()+" gave no reason")
			res.Error.Code = execution.FailureBackendExecution
		}
	case execution.StatusUnsupported:
		if res.Error == nil {
			res.Error = execution.NewResultError(execution.CodeCapability, "the adapter "+r.Agent()+" does not support this and gave no reason")
		}
	case execution.StatusAwaitingApproval:
		if res.ApprovalRequest == nil {
			invalid("awaiting_approval without an approval request")
		}
	case execution.StatusNeedsClarification, execution.StatusDeferred:
	case "":
		invalid("a result without a status")
	default:
		invalid(fmt.Sprintf("the unknown status %q", res.Status))
	}
}

func (r *Run) limitText(cause error) string {
	if errors.Is(cause, errDeadline) {
		return r.limit().String()
	}
	return "the caller's deadline"
}

// continuation adds the continuation if there is a session to continue.
func (r *Run) continuation(res *execution.Result, kind string, state map[string]any) {
	if c := res.Continuation; c != nil {
		if _, ok := c.State[stateRun]; !ok {
			own := *c
			if own.State = maps.Clone(c.State); own.State == nil {
				own.State = map[string]any{}
			}
			own.State[stateRun] = string(r.ID())
			res.Continuation = &own
		}
		return
	}
	session := cmp.Or(res.SessionID, r.col.sessionID)
	if state == nil {
		state = map[string]any{}
	}
	state["agent"], state[stateRun] = r.Agent(), string(r.ID())
	if session == "" || r.req.Run.NoSession || !r.col.caps.Agent.CanResume {
		if kind == execution.ContinuationDeferred {
			return
		}
	} else {
		state["sessionId"] = session
	}
	res.Continuation = &execution.Continuation{Kind: kind, State: state}
}

// fill completes the result from the stream.
func (r *Run) fill(res *execution.Result) {
	c := r.col
	res.SchemaVersion = execution.SchemaVersion
	res.Correlation = r.caller
	res.RunID, res.Agent, res.Tags = r.ID(), r.Agent(), r.req.Run.Tags
	res.SessionID = cmp.Or(res.SessionID, c.sessionID)
	res.Model = cmp.Or(res.Model, c.model)
	stated := res.Text
	res.Text = c.text.String()
	if res.Status == execution.StatusCompleted {
		res.ExitReason = cmp.Or(res.ExitReason, execution.ExitCompleted)
		out := execution.Output{}
		if res.Output != nil {
			out = *res.Output
		}
		out.Text = cmp.Or(out.Text, c.lastTurn.Text, c.message, res.Text, stated)
		if len(out.Structured) == 0 {
			out.Structured = c.lastTurn.Structured
		}
		res.Output = &out
	}
	if res.ExitReason == "" {
		switch {
		case res.Status != execution.StatusFailed:
		case res.Signal != "":
			res.ExitReason = execution.ExitKilled
		case res.Error.ErrorCode().Crash():
			res.ExitReason = execution.ExitCrash
		}
	}
	if u := c.usage; !u.IsZero() {
		res.Usage = &u
	}
	// The stream covers every attempt and backend, the last result only itself.
	if cost := c.cost(); cost != nil && (cost.TotalUSD != nil || res.Cost == nil) {
		res.Cost = cost
	}
	res.Retries, res.DeniedCalls = max(res.Retries, c.retries), c.denied
	res.TurnCount = r.seq.turns
	res.Attempts = max(res.Attempts, 1)
	if res.Status == execution.StatusUnsupported {
		res.Attempts = 0
	}
	now := time.Now()
	res.DurationMs = now.Sub(c.started).Milliseconds()
	n := c.negotiated
	if n.Degraded && len(res.Degradation) == 0 {
		res.Degradation = n.Reasons
	}
	res.Trace = &execution.Trace{Summary: execution.TraceSummary{StartedAt: c.started, CompletedAt: now,
		StepCount: c.stepCount(), ToolCallCount: c.toolCalls, Degraded: n.Degraded}}
	if n.EffectiveCapabilities.TraceDepth.Rank() >= execution.TraceStandard.Rank() {
		res.Trace.Events = c.trace
	}
	r.traceEnd(res, now)
	r.mu.Lock()
	b := r.current
	r.mu.Unlock()
	add := map[string]any{}
	if a := r.calls.answer; a != nil && a.Approved {
		add["approvedCallMade"] = r.calls.by != "" // by the agent, which may have thought better of it
	}
	if r.opts.ResultMetadata != nil {
		maps.Copy(add, r.opts.ResultMetadata())
	}
	for key, value := range map[string]string{"agentVersion": b.Version, "untestedVersion": b.Untested} {
		if value != "" {
			add[key] = value
		}
	}
	if len(add) > 0 {
		all := maps.Clone(res.Metadata)
		if all == nil {
			all = map[string]any{}
		}
		maps.Copy(all, add)
		res.Metadata = all
	}
}

// traceEnd adds how the run ended, unless the trace already says so.
func (r *Run) traceEnd(res *execution.Result, now time.Time) {
	t := res.Trace
	add := func(kind execution.TraceEventType, data map[string]any) {
		t.Events = append(t.Events[:len(t.Events):len(t.Events)], execution.TraceEvent{Type: kind, At: now, Data: data})
	}
	switch {
	case res.Status == execution.StatusDeferred:
		add(execution.TraceDeferred, map[string]any{"stopReason": string(res.ExitReason)})
	case res.Error != nil:
		code := res.Error.ErrorCode()
		for _, e := range t.Events {
			if e.Type == execution.TraceFailure && e.Data["code"] == code {
				return
			}
		}
		add(execution.TraceFailure, map[string]any{"code": code, "message": res.Error.Message})
	}
}

func finalState(res execution.Result) execution.RunState {
	switch res.ExitReason {
	case execution.ExitReasonAbort:
		return execution.StateAborted
	case execution.ExitByTimeout, execution.ExitInactivity:
		return execution.StateTimedOut
	case execution.ExitKilled:
		return execution.StateKilled
	case execution.ExitCrash:
		return execution.StateCrashed
	}
	return execution.StateCompleted
}
