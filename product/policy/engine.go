package policy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Action is what an assistant is about to do.
type Action struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"` // such as send_email; tool:NAME for a call of a tool
	Description string         `json:"description,omitempty"`
	SessionID   string         `json:"sessionId,omitempty"`
	UserID      string         `json:"userId,omitempty"`
	Proactive   bool           `json:"proactive,omitempty"` // nobody asked for it
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// Risk is how much harm an action can do.
type Risk string

// The risks.
const (
	Low      Risk = "low"
	Medium   Risk = "medium"
	High     Risk = "high"
	Critical Risk = "critical"
)

// Verdict is what a decision says.
type Verdict string

// The verdicts.
const (
	Allow           Verdict = "allow"
	Deny            Verdict = "deny"
	RequireApproval Verdict = "require_approval"
	Escalate        Verdict = "escalate"
)

// Decision is the answer to an action.
type Decision struct {
	Verdict  Verdict       `json:"action"`
	RuleID   string        `json:"ruleId"` // Fallback if no rule decided
	Risk     Risk          `json:"riskLevel"`
	Reason   string        `json:"reason,omitempty"`
	Approval *ApprovalHint `json:"approvalHint,omitempty"`
}

// ApprovalHint says how an approval is obtained.
type ApprovalHint struct {
	Approver string        `json:"approver,omitempty"`
	Timeout  time.Duration `json:"timeoutNs,omitempty"` // after which an approval no longer counts; 0 is never
	Prompt   string        `json:"prompt,omitempty"`
}

// Fallback is the rule id of a decision that no rule made.
const Fallback = "fallback"

// usualPriority is that of a rule without one.
const usualPriority = 100

// Rule decides about actions. Evaluate returns nil for an action that it says nothing about; it must be safe for concurrent use.
type Rule struct {
	ID          string
	Priority    int // lower ones are asked first, then those that were added first; 0 is 100
	Description string
	Evaluate    func(context.Context, Action, Risk) (*Decision, error)
}

// Event is an entry of the audit: a decision, or an approval of one.
type Event struct {
	ID          string    `json:"id"`
	Action      Action    `json:"action"`
	Risk        Risk      `json:"riskLevel"`
	Decision    Decision  `json:"decision"`
	EvaluatedAt time.Time `json:"evaluatedAt"`
	// Approval is set in the event of an approval, whose Of names the event of the decision.
	Approval *Approval `json:"approval,omitempty"`
	Of       string    `json:"of,omitempty"`
}

// Approval is a person's answer.
type Approval struct {
	Approved   bool      `json:"approved"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ResolvedAt time.Time `json:"resolvedAt"` // zero is now
	Comment    string    `json:"comment,omitempty"`
}

// Errors of an engine, for errors.Is.
var (
	ErrDuplicateRule  = errors.New("a rule with this id exists")
	ErrUnknownRule    = errors.New("no rule has this id")
	ErrClassification = errors.New("the risk cannot be classified")
	ErrRule           = errors.New("a rule failed")
	ErrAudit          = errors.New("the audit failed")
	ErrUnknownEvent   = errors.New("no decision has this id, or it is too old")
	ErrNoApproval     = errors.New("the decision asks for no approval")
	ErrAnswered       = errors.New("the decision has its answer")
	ErrTooLate        = errors.New("the approval comes too late")
)

// Options are the collaborators of an engine.
type Options struct {
	// Classify returns the risk of an action; nil classifies everything as medium.
	Classify func(context.Context, Action) (Risk, error)
	// Audit keeps an event before the engine answers; nil keeps nothing. Its error is the engine's answer.
	Audit func(context.Context, Event) error
	Now   func() time.Time // nil is time.Now
}

// Engine decides about actions. It is safe for concurrent use.
type Engine struct {
	o     Options
	mu    sync.RWMutex
	rules []Rule
	known map[string]*pending // decisions that can be approved, by the id of their event
	order []string
}

type pending struct {
	event    Event
	answered bool
}

// kept is how many decisions can still be approved.
const kept = 1000

// New returns an engine with rules.
func New(o Options, rules ...Rule) (*Engine, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{o: o, known: map[string]*pending{}}
	return e, e.Add(rules...)
}

// Add adds rules: all of them or, with an error, none.
func (e *Engine) Add(rules ...Rule) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Clone(e.rules)
	for _, r := range rules {
		switch {
		case r.ID == "" || r.ID == Fallback || r.Evaluate == nil:
			return execution.Errorf(execution.CodeValidation, "rule %q: a rule needs an id of its own and Evaluate", r.ID)
		case slices.ContainsFunc(all, func(o Rule) bool { return o.ID == r.ID }):
			return fmt.Errorf("rule %q: %w", r.ID, ErrDuplicateRule)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b Rule) int {
		return cmp.Compare(cmp.Or(a.Priority, usualPriority), cmp.Or(b.Priority, usualPriority))
	})
	e.rules = all
	return nil
}

// Remove removes a rule.
func (e *Engine) Remove(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.rules, func(r Rule) bool { return r.ID == id })
	if at < 0 {
		return fmt.Errorf("rule %q: %w", id, ErrUnknownRule)
	}
	e.rules = slices.Delete(slices.Clone(e.rules), at, at+1) // an evaluation may use the list
	return nil
}

// Rules lists the ids in the order in which they are asked.
func (e *Engine) Rules() (ids []string) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, r := range e.rules {
		ids = append(ids, r.ID)
	}
	return ids
}

// Evaluate decides about an action: the first rule that says something does. The decision is in the audit when it returns; eventID is its
// entry, for Approve. With an error nothing is decided.
func (e *Engine) Evaluate(ctx context.Context, a Action) (d Decision, eventID string, err error) {
	risk, err := e.classify(ctx, a)
	if err != nil {
		return Decision{}, "", err
	}
	d, err = e.decide(ctx, a, risk)
	if err != nil {
		return Decision{}, "", err
	}
	event := Event{ID: "pol_" + rand.Text(), Action: a, Risk: risk, Decision: d, EvaluatedAt: e.o.Now()}
	if err := e.audit(ctx, event); err != nil {
		return Decision{}, "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known[event.ID] = &pending{event: event}
	if e.order = append(e.order, event.ID); len(e.order) > kept {
		delete(e.known, e.order[0])
		e.order = e.order[1:]
	}
	return d, event.ID, nil
}

func (e *Engine) classify(ctx context.Context, a Action) (Risk, error) {
	if e.o.Classify == nil {
		return Medium, nil
	}
	risk, err := e.o.Classify(ctx, a)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrClassification, err)
	}
	if !slices.Contains([]Risk{Low, Medium, High, Critical}, risk) {
		return "", fmt.Errorf("%w: %q is not a risk", ErrClassification, risk)
	}
	return risk, nil
}

func (e *Engine) decide(ctx context.Context, a Action, risk Risk) (Decision, error) {
	e.mu.RLock()
	rules := e.rules
	e.mu.RUnlock()
	for _, r := range rules {
		d, err := call(ctx, r, a, risk)
		switch {
		case err != nil:
			return Decision{}, fmt.Errorf("rule %q: %w: %w", r.ID, ErrRule, err)
		case d == nil:
			continue
		case !slices.Contains([]Verdict{Allow, Deny, RequireApproval, Escalate}, d.Verdict):
			return Decision{}, fmt.Errorf("rule %q: %w: %q is not a verdict", r.ID, ErrRule, d.Verdict)
		}
		out := *d
		out.RuleID, out.Risk = r.ID, risk
		return out, nil
	}
	return Decision{Verdict: RequireApproval, RuleID: Fallback, Risk: risk, Reason: "no rule decides about it"}, nil
}

// call asks a rule. A panic is an error: it must not allow anything.
func call(ctx context.Context, r Rule, a Action, risk Risk) (d *Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return r.Evaluate(ctx, a, risk)
}

func (e *Engine) audit(ctx context.Context, event Event) error {
	if e.o.Audit == nil {
		return nil
	}
	if err := e.o.Audit(ctx, event); err != nil {
		return fmt.Errorf("%w: %w", ErrAudit, err)
	}
	return nil
}

// Approve records the answer to a decision that requires an approval or was escalated. Only the first one counts, and none after the hint's
// timeout.
func (e *Engine) Approve(ctx context.Context, eventID string, answer Approval) error {
	e.mu.Lock()
	p := e.known[eventID]
	var err error
	if answer.ResolvedAt.IsZero() {
		answer.ResolvedAt = e.o.Now()
	}
	switch {
	case p == nil:
		err = ErrUnknownEvent
	case p.event.Decision.Verdict != RequireApproval && p.event.Decision.Verdict != Escalate:
		err = ErrNoApproval
	case p.answered:
		err = ErrAnswered
	default:
		if h := p.event.Decision.Approval; h != nil && h.Timeout > 0 && answer.ResolvedAt.Sub(p.event.EvaluatedAt) > h.Timeout {
			err = ErrTooLate
		} else {
			p.answered = true
		}
	}
	e.mu.Unlock()
	if err != nil {
		return fmt.Errorf("approve %s: %w", eventID, err)
	}
	event := p.event
	event.ID, event.Of, event.Approval = "pol_"+rand.Text(), eventID, &answer
	if err = e.audit(ctx, event); err != nil {
		e.mu.Lock()
		p.answered = false // it is not recorded, so it does not count
		e.mu.Unlock()
	}
	return err
}

// Refused is the error of Check for an action that is not allowed.
type Refused struct {
	Decision Decision
	EventID  string // for Approve
}

func (r *Refused) Error() string {
	text := fmt.Sprintf("the policy says %s (rule %s, risk %s)", r.Decision.Verdict, r.Decision.RuleID, r.Decision.Risk)
	if r.Decision.Reason != "" {
		text += ": " + r.Decision.Reason
	}
	return text
}

// Check is the gate before an execution: nil only if the action is allowed, a *Refused if it is not.
func (e *Engine) Check(ctx context.Context, a Action) error {
	d, id, err := e.Evaluate(ctx, a)
	if err == nil && d.Verdict != Allow {
		err = &Refused{d, id}
	}
	return err
}
