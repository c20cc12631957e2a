package turnruntime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// ran is how a run of the agent ended.
type ran struct {
	execution.Result
	silent bool          // our watchdog stopped it
	said   string        // the agent's last message
	after  time.Duration // the provider's requested wait, if it refuses
}

// note keeps what the result may omit: the last message, and when an exhausted limit resets.
func (r *ran) note(e execution.Event, now time.Time) {
	switch b := e.Body.(type) {
	case execution.MessageStop:
		if e.Parent == "" {
			r.said = b.Text
		}
	case execution.RateLimited:
		if strings.HasPrefix(b.Status, "allowed") {
			break // a warning: nothing is refused
		}
		r.after = time.Duration(b.RetryAfterMs) * time.Millisecond
		if b.ResetsAt > 0 {
			r.after = max(0, time.UnixMilli(b.ResetsAt).Sub(now))
		}
	case execution.RateLimitError:
		if b.RetryAfterMs > 0 {
			r.after = time.Duration(b.RetryAfterMs) * time.Millisecond
		}
	}
}

// lost reports whether the session to continue no longer exists.
func (r ran) lost() bool {
	return r.Error != nil && r.Error.ErrorCode() == execution.CodeSessionNotFound
}

// outcome judges a run: by the staged result first, then by the agent's own result.
func (a *agentRuntime) outcome(ctx context.Context, j *job, order order, r ran) (Outcome, error) {
	d := j.d
	o := Outcome{Signal: r.Signal}
	if r.ExitCode != nil && *r.ExitCode > 0 {
		o.ExitCode = *r.ExitCode
	}
	o.Meta, o.Cost = Account(r.Result)
	o.Meta.Provider = d.Runtime.Agent
	j.latency(o.Meta)
	if d.Runtime.Session == sessionRole {
		o.Session = r.SessionID
	}
	well := r.Status == execution.StatusCompleted
	var unread error
	if order.structured && (well || r.Error != nil && r.Error.ErrorCode() == execution.CodeInvalidOutput) {
		// An agent that failed at its own structured output may have answered with a valid result anyway.
		data, err := answer(r)
		if err == nil {
			if err := d.put(data); err != nil {
				return o, err
			}
		}
		unread = err
	}
	if s := d.look(); s.valid() || s.present && well {
		o.Staged = true
		return o, nil
	}
	if ctx.Err() != nil {
		o.Cancelled, o.Detail, o.Hint = true, "the caller stopped the turn", "drawbar govern step"
		return o, nil
	}
	o.Hint = "see " + d.shown(d.BundleDir) + "/evidence/events.jsonl, then: drawbar govern step --resume"
	if r.silent {
		o.Class, o.Detail = ClassNoOutput, fmt.Sprintf("%s was stopped: no sign of life within %s of its start", d.Runtime.Agent, govern.Took(a.deps.Now().Sub(j.begun)))
		return o, nil
	}
	a.unstaged(&o, d, order, r, unread)
	return o, nil
}

// unstaged says why a run that ended by itself left no result. unread is why its answer is not one.
func (a *agentRuntime) unstaged(o *Outcome, d Dispatch, order order, r ran, unread error) {
	well := r.Status == execution.StatusCompleted
	switch {
	case well && order.structured:
		o.Class, o.Transient = ClassExtraction, true
		o.Detail = fmt.Sprintf("the answer of %s is not a turn result: %v", d.Runtime.Agent, unread)
	case well:
		o.Class = ClassNoResult
		o.Detail = fmt.Sprintf("%s finished its turn without a result in %s", d.Runtime.Agent, d.shown(d.StagedPath))
		if last := lastLine(finalText(r)); last != "" {
			o.Detail += "; it said: " + last
		}
	case r.Error != nil:
		o.fault(d, r, a.deps.Now())
	default:
		o.Class = string(r.Status)
		o.Detail = fmt.Sprintf("%s ended as %s (%s) without a result", d.Runtime.Agent, r.Status, cmp.Or(string(r.ExitReason), "no reason given"))
		switch {
		case r.Status == execution.StatusAwaitingApproval && r.ApprovalRequest != nil:
			o.Detail = fmt.Sprintf("%s asks for permission and nobody can answer: %s. Answer it on a terminal: drawbar govern step --resume; or let it act without asking: "+
				"drawbar govern config set runtimes.%s.approve yolo", d.Runtime.Agent, asked(r.ApprovalRequest), d.RuntimeID)
			o.Hint = ""
		case r.Status == execution.StatusNeedsClarification:
			o.Detail += "; it asks: " + lastLine(finalText(r))
			o.Hint = "answer it in a terminal: drawbar govern step --resume"
		case r.ExitReason == execution.ExitTurnLimit:
			o.Class = classOf(execution.CodeTurnLimit)
		}
	}
}

// asked is an agent's question in one line.
func asked(q *execution.ApprovalRequest) string {
	what := lastLine(q.Reason)
	if tool, _ := q.Metadata["toolName"].(string); tool != "" && !strings.HasPrefix(what, tool) {
		what = strings.TrimSpace(tool + " " + what)
	}
	return cmp.Or(what, "something that it does not name")
}

// fault is the agent's error as an outcome.
func (o *Outcome) fault(d Dispatch, r ran, now time.Time) {
	e := r.Error
	code := e.ErrorCode()
	name := cmp.Or(d.Runtime.Agent, r.BackendID)
	o.Class, o.Detail = classOf(code), name+": "+e.Message
	// An expired deadline also applies to the next attempt, unless a person extends it.
	o.Transient = e.Retryable && code != execution.CodeTimeout && code != execution.CodeInactivityTimeout
	if code == execution.CodeRateLimited && r.after > 0 {
		o.RetryAfter = r.after
		o.Hint = "the limit ends at " + now.Add(r.after).UTC().Format(time.RFC3339) + "; then: drawbar govern step --resume"
	}
	hint, _ := e.Metadata["hint"].(string)
	switch code {
	case execution.CodeTimeout:
		o.Hint = "give it more time: drawbar govern step --resume --timeout 40m"
	case execution.CodeAuth:
		o.Hint = cmp.Or(hint, "drawbar auth guide "+name) + "; then: drawbar govern step --resume"
	case execution.CodeBudgetExceeded:
		if d.Runtime.Agent == "" {
			break // its own limit, which its command sets
		}
		o.Hint = "raise runtimes." + d.RuntimeID + ".budget_usd or budget.per_turn_max_usd in " + protocol.ConfigFile + ", then: drawbar govern step --resume"
	default:
		if hint != "" {
			o.Hint = hint
		}
	}
	o.settle(code)
}

// finalText is the agent's last message.
func finalText(r ran) string {
	if r.Output != nil && r.Output.Text != "" {
		return r.Output.Text
	}
	return cmp.Or(r.said, r.Text)
}

// answer stages the result that the agent answered with.
func answer(r ran) ([]byte, error) {
	return resultIn(structured(r.Result), finalText(r))
}

// resultIn is the turn result in the first of the texts that contains one, in the form of a file.
func resultIn(texts ...string) ([]byte, error) {
	var first error
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		raw, err := decode([]byte(text))
		if err == nil {
			err = shaped(raw)
		}
		if err == nil {
			return protocol.MarshalFile(raw)
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("the answer is empty")
	}
	return nil, first
}

// shaped refuses an object that is clearly not a turn result: a result has a run_id or turn_id, and a status, role or
// runtime_id.
func shaped(raw protocol.RawResult) error {
	says := func(keys ...string) bool {
		for _, k := range keys {
			var text string
			if json.Unmarshal(raw.At(k), &text) == nil && strings.TrimSpace(text) != "" {
				return true
			}
		}
		return false
	}
	if !says("run_id", "turn_id") || !says("status", "role", "runtime_id") {
		return fmt.Errorf("the object names no run_id or turn_id, or no status, role or runtime_id")
	}
	return nil
}

func structured(r execution.Result) string {
	if r.Output == nil {
		return ""
	}
	return string(r.Output.Structured)
}

// Account is the usage of the run, as far as the agent reports it.
func Account(r execution.Result) (*protocol.AdapterMeta, *protocol.Cost) {
	m := &protocol.AdapterMeta{Model: r.Model, SessionID: r.SessionID}
	if r.Retries > 0 {
		m.Retries = &r.Retries
	}
	u := r.Usage
	if u == nil && r.Cost != nil {
		v := r.Cost.Usage()
		u = &v
	}
	var c *protocol.Cost
	if u != nil {
		in, out := u.Input+u.Cached+u.CacheWrite, u.Output
		total := in + out
		m.InputTokens, m.OutputTokens, m.TotalTokens = &in, &out, &total
		c = &protocol.Cost{InputTokens: in, OutputTokens: out}
	}
	if r.Cost != nil && r.Cost.TotalUSD != nil {
		usd := *r.Cost.TotalUSD
		m.CostUSD = &usd
		if c == nil {
			c = &protocol.Cost{}
		}
		c.USD = usd
	}
	return m, c
}

// longestPause is the longest wait for a limit after which another attempt makes sense.
const longestPause = 10 * time.Minute

// settle adds a hint, and makes an outcome final if the limit resets too late for another attempt.
func (o *Outcome) settle(code execution.ErrorCode) {
	if o.RetryAfter > longestPause {
		o.Transient = false
	}
	if o.Hint != "" {
		return
	}
	switch code {
	case execution.CodeAuth:
		o.Hint = "log in to the agent (drawbar auth), then: drawbar govern step --resume"
	case execution.CodeModelNotFound:
		o.Hint = "choose another model in " + protocol.ConfigFile + ", then: drawbar govern step --resume"
	default:
		o.Hint = "drawbar govern step --resume"
	}
}

// classOf is the record's class for an error code.
func classOf(code execution.ErrorCode) string {
	switch code {
	case execution.CodeBudgetExceeded:
		return "budget_exceeded"
	case execution.CodeTurnLimit:
		return "turn_limit"
	case execution.CodeSpawn, execution.CodeAgentNotInstalled, execution.CodeAgentNotFound, execution.CodeUnknownAgent:
		return ClassSpawn
	case execution.CodeCapability:
		return ClassUnsupported
	case execution.CodeInactivityTimeout:
		return ClassStalled
	case execution.CodeAgentCrash:
		return ClassSubprocess
	}
	return string(code.Row().Class)
}
