package agent

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/drawbar/drawbar/agent/toolrule"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

type pendingQuestion struct {
	q      execution.Question
	ctx    context.Context // of the callback; ends with the question
	cancel context.CancelFunc
}

// Pending returns the unanswered questions, oldest first.
func (r *Run) Pending() []execution.Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]execution.Question, len(r.pending))
	for i, p := range r.pending {
		list[i] = p.q
	}
	return list
}

// Answer answers a pending question. If the question is unknown, answered or withdrawn, the error is
// INTERACTION_NOT_FOUND.
func (r *Run) Answer(id execution.QuestionID, d execution.Decision) error {
	r.mu.Lock()
	err := r.answerLocked(id, d)
	r.mu.Unlock()
	if err == nil {
		r.answered()
	}
	return err
}

// answered applies the caller's answers.
func (r *Run) answered() {
	r.pump(false)
	r.log.lift()
}

func (r *Run) answerLocked(id execution.QuestionID, d execution.Decision) error {
	if r.overLocked() {
		return r.errorf(execution.CodeRunNotActive, "cannot answer: the run is %s", r.conditionLocked())
	}
	p := r.findLocked(id)
	if p == nil {
		return r.errorf(execution.CodeInteractionNotFound, "no question %s is pending: it was answered or withdrawn", id)
	}
	if a, ok := p.q.Approval(); ok && bytes.Contains(d.Input, []byte(secret.Mark)) && bytes.Contains(a.Input, []byte(secret.Mark)) {
		return r.errorf(execution.CodeValidation, "the new input of question %s has %s where the question hides a secret", id, secret.Mark).
			WithHint("write the value out, or approve the input unchanged")
	}
	if err := r.allowLocked(p.q, d); err != nil {
		return err
	}
	r.takeLocked(id)
	r.decideLocked(p.q, d)
	return nil
}

// Suggest returns a rule that allows what a question asks and calls like it, for Decision.Always; empty if there is none.
func (r *Run) Suggest(q execution.ApprovalRequired) string {
	rule, _ := toolrule.Suggest(r.wouldUse(q))
	return rule.String()
}

// allowLocked adds the rule of a decision to the run's. It must allow what was asked.
func (r *Run) allowLocked(q execution.Question, d execution.Decision) error {
	if d.Always == "" {
		return nil
	}
	a, isApproval := q.Approval()
	if !isApproval || !d.Approve {
		return r.errorf(execution.CodeValidation, "only an approval can allow other calls, by the rule %s", d.Always)
	}
	rule, err := toolrule.Parse(d.Always)
	if err != nil {
		return r.errorf(execution.CodeValidation, "always: %v", err)
	}
	if _, ok := (toolrule.Rules{rule}).Allow(r.wouldUse(a)); !ok {
		return r.errorf(execution.CodeValidation, "the rule %s does not allow what is asked: %s", rule, cmp.Or(a.Detail, a.Action))
	}
	r.rules.allow = append(r.rules.allow, rule)
	return nil
}

// decideLocked sends a decision to the agent and reports it. Questions exist only while there is an inbox to
// answer to.
func (r *Run) decideLocked(q execution.Question, d execution.Decision) {
	if r.inbox == nil {
		return
	}
	a, isApproval := q.Approval()
	if !isApproval && d.Text != "" {
		d.Approve = true
	}
	if d.Always != "" {
		d.Reason, d.Always = cmp.Or(d.Reason, "from now on by the rule "+d.Always), "" // the agent knows no rules
	}
	if d.Approve {
		granted := execution.ApprovalGranted{ID: q.ID, Detail: d.Reason}
		if len(d.Input) > 0 {
			granted.ToolCallID, granted.Input = a.ToolCallID, d.Input
		}
		r.push(granted)
	} else {
		r.push(execution.ApprovalDenied{ID: q.ID, Reason: d.Reason, ToolName: a.ToolName})
	}
	r.inbox.put(execution.Answer{ID: q.ID, Decision: d})
}

// takeLocked removes a question if it is pending.
func (r *Run) takeLocked(id execution.QuestionID) {
	if i := slices.IndexFunc(r.pending, func(p *pendingQuestion) bool { return p.q.ID == id }); i >= 0 {
		r.pending[i].cancel()
		r.pending = slices.Delete(r.pending, i, i+1)
	}
}

// Approve approves the oldest pending approval.
func (r *Run) Approve(detail string) error {
	return r.answerOldest(execution.Decision{Approve: true, Reason: detail})
}

// Deny refuses the oldest pending approval.
func (r *Run) Deny(reason string) error { return r.answerOldest(execution.Decision{Reason: reason}) }

func (r *Run) answerOldest(d execution.Decision) error {
	r.mu.Lock()
	err := func() error {
		for _, p := range r.pending {
			if _, ok := p.q.Approval(); ok {
				return r.answerLocked(p.q.ID, d)
			}
		}
		if r.overLocked() {
			return r.errorf(execution.CodeRunNotActive, "cannot answer: the run is %s", r.conditionLocked())
		}
		return r.errorf(execution.CodeNoPendingInteraction, "no approval is pending")
	}()
	r.mu.Unlock()
	if err == nil {
		r.answered()
	}
	return err
}

// route is who answers a question.
type route int

const (
	byRule       route = iota // a rule or the approval mode
	byCallback                // the caller's function
	byCaller                  // the holder of the run
	byNextInput               // nobody: the caller's next request
	byNextGrant               // nobody, and the caller wants approvals between turns
	byNobodyHere              // nobody: denied
)

func (r *Run) route(q execution.Question) (route, execution.Decision) {
	a, isApproval := q.Approval()
	if isApproval {
		if d, ok := r.settled(a); ok {
			return byRule, d
		}
	}
	return r.routeToSomebody(isApproval), execution.Decision{}
}

func (r *Run) routeToSomebody(isApproval bool) route {
	mode := r.req.Run.ApprovalMode
	somebody := r.req.Run.Interactive && !r.req.Run.NonInteractive
	switch {
	case isApproval && r.opts.OnApproval != nil, !isApproval && r.opts.OnInput != nil && mode != execution.ApprovalDeny:
		return byCallback
	case somebody:
		return byCaller
	case !isApproval:
		return byNextInput
	case wantsInterrupt(r.req):
		return byNextGrant
	}
	return byNobodyHere
}

// nobodyAsked reports whether a call that needs permission is denied only because nobody can be asked.
func (r *Run) nobodyAsked() bool {
	mode := r.req.Run.ApprovalMode
	return mode != execution.ApprovalYolo && mode != execution.ApprovalDeny && r.routeToSomebody(true) == byNobodyHere
}

// wantsInterrupt reports whether the caller wants the turn to end for an approval instead of a denial.
func wantsInterrupt(req execution.Request) bool {
	q := req.Requirements
	return q != nil && (q.ApprovalInterrupts == execution.SupportPreferred || q.ApprovalInterrupts == execution.SupportRequired)
}

// expect makes a question pending that somebody will answer. An already pending question is asked only once.
func (r *Run) expect(q execution.Question) {
	if to, _ := r.route(q); to != byCallback && to != byCaller {
		return
	}
	q.CreatedAt = time.Now().UnixMilli()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inbox == nil || r.findLocked(q.ID) != nil {
		return
	}
	p := &pendingQuestion{q: q}
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	r.pending = append(r.pending, p)
}

func (r *Run) findLocked(id execution.QuestionID) *pendingQuestion {
	for _, p := range r.pending {
		if p.q.ID == id {
			return p
		}
	}
	return nil
}

// ask routes a question of the backend that was already shown.
func (r *Run) ask(q execution.Question) {
	switch to, d := r.route(q); to {
	case byRule:
		r.decide(q, d)
	case byCallback:
		r.mu.Lock()
		p := r.findLocked(q.ID) // a handler may have answered it
		r.callbacks = r.callbacks || p != nil
		r.mu.Unlock()
		if p != nil {
			r.asked.Go(func() { r.callBack(p) })
		}
	case byCaller:
	case byNextInput:
		r.stop(ending{kind: endInput, cause: errAwaitInput, by: q.Body}, nil)
	case byNextGrant:
		r.stop(ending{kind: endApproval, cause: errAwaitApproval, by: q.Body}, nil)
	case byNobodyHere:
		a, _ := q.Approval()
		r.col.denied++
		r.warn("nobody can approve %s: it was denied", a.Action)
		r.decide(q, execution.Decision{Reason: "nobody can approve it"})
	}
}

// callBack calls the caller's function. If it panics, the answer is a denial.
func (r *Run) callBack(p *pendingQuestion) {
	d, err := func() (d execution.Decision, err error) {
		defer func() {
			if v := recover(); v != nil {
				r.warn("the callback of a question panicked: it was denied")
				d, err = execution.Decision{Reason: "the callback failed"}, nil
			}
		}()
		if a, ok := p.q.Approval(); ok {
			return r.opts.OnApproval(p.ctx, a), nil
		}
		text, err := r.opts.OnInput(p.ctx, p.q.Body.(execution.InputRequired))
		return execution.Decision{Approve: err == nil, Text: text}, err
	}()
	if err != nil {
		d = execution.Decision{Reason: err.Error()}
	}
	r.mu.Lock()
	if r.findLocked(p.q.ID) == p { // otherwise it was answered elsewhere or withdrawn
		if err := r.answerLocked(p.q.ID, d); err != nil {
			_ = r.answerLocked(p.q.ID, execution.Decision{Reason: err.Error()})
		}
	}
	r.mu.Unlock()
	r.answered()
}

// decide answers a question that never became pending.
func (r *Run) decide(q execution.Question, d execution.Decision) {
	r.mu.Lock()
	if !r.overLocked() {
		r.decideLocked(q, d)
	}
	r.mu.Unlock()
	r.pump(false)
}

// withdraw drops a pending question.
func (r *Run) withdraw(id execution.QuestionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(id)
}
