package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// Backend is an adapter and what is known about it.
type Backend struct {
	Name         string // the backendId, and the agent of events
	Adapter      adapter.Adapter
	Models       []execution.Model
	DefaultModel string
	Warning      string // shown as a debug event at the start of every run
	Version      string // of the agent's program, empty if unknown
	Untested     string // why the version may not work, empty for a tested one: a warning, and in the result's metadata
}

// BackendOf returns the backend of a descriptor.
func BackendOf(d adapter.Descriptor) Backend {
	return Backend{Name: d.Name, Adapter: d.New(), Models: d.Models, DefaultModel: d.DefaultModel}
}

// Agent runs requests on one backend. It is safe for concurrent use and keeps no state of its runs.
type Agent struct{ backend Backend }

// New returns an agent of a backend. Name and Adapter are required.
func New(b Backend) *Agent {
	if b.Name == "" || b.Adapter == nil {
		panic("agent.New: a backend needs a name and an adapter")
	}
	return &Agent{backend: b}
}

// ToolHandler runs a tool of the request. It is called concurrently; ctx ends with the run.
type ToolHandler func(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error)

// Options are a run's callbacks and limits besides its request. The zero value is a run whose questions nobody
// can answer.
type Options struct {
	// Tools runs the request's tools. Without it a request with tools is unsupported.
	Tools ToolHandler
	// OnApproval answers permission questions in prompt mode, OnInput questions for text in every mode but
	// deny. They are called concurrently. Their ctx ends when the question is answered elsewhere or withdrawn,
	// or when the run ends; the run does not wait for a function that ignores this, and drops its answer.
	OnApproval func(ctx context.Context, q execution.ApprovalRequired) execution.Decision
	OnInput    func(ctx context.Context, q execution.InputRequired) (string, error)
	// Hooks are called at certain moments of the run. A backend whose tool calls cannot wait for a decision
	// refuses a request with a PreToolUse hook.
	Hooks Hooks
	// Handlers receive every event, in order, before any reader. See On.
	Handlers []Handler
	// ResultMetadata adds the caller's own metadata to the result before anybody receives it. It is called
	// once, when only the finished event is left; it must not wait for the run.
	ResultMetadata func() map[string]any
	// Secrets are values to remove from events, questions and the result, such as the agent's keys. Well-known
	// forms of keys are removed as well; ordinary words are not. Tools, PreToolUse and the agent itself receive
	// everything unchanged.
	Secrets []string
	// EventBuffer limits the events kept for readers. Older ones are dropped, and a reader that missed some
	// receives a Gap. 0 means DefaultEventBuffer, less than 100 means 100.
	EventBuffer int
	// MaxElapsed is an additional deadline of the caller. 0 is none.
	MaxElapsed time.Duration
	// SessionUsage returns what an agent's session used since the run began, according to the agent's files;
	// zero if unknown. It is called at the end of an execution that did not state the tokens of a turn.
	SessionUsage func(agent, session string) execution.Usage
	// BudgetIfKnown means that a run is kept to its MaxBudgetUSD as far as its cost becomes known. Without it a request is refused
	// whose cost may stay unknown.
	BudgetIfKnown bool
	// Price overrides the backend's price table; nil results mean unknown.
	Price func(model string) *execution.Price
	// Fallback lists backends to try in order when the previous one does not support the request, is not
	// installed, crashes, returns invalid output, or fails because of its login, provider, rate limit, model or
	// context window. A run that resumes a session, or that already had an answer, does not change its backend.
	Fallback []Backend
	// NewRunID returns the id of a run without one; nil means the package's NewRunID.
	NewRunID func() execution.RunID
}

// DefaultEventBuffer is the default number of events kept for readers.
const DefaultEventBuffer = 65536

// Negotiate returns what the request would really get from this agent. It has no side effects.
func (a *Agent) Negotiate(req execution.Request, opts Options) execution.Negotiation {
	return negotiateBackend(a.backend, resumed(req.Clone()), opts)
}

// negotiateBackend negotiates with a backend. A panic of the adapter refuses the request.
func negotiateBackend(b Backend, req execution.Request, opts Options) (answer execution.Negotiation) {
	defer func() {
		if p := recover(); p != nil {
			answer = execution.Negotiation{SchemaVersion: execution.SchemaVersion, Reasons: []execution.Reason{{Code: execution.ReasonOther,
				Severity: execution.SeverityBlocking, Capability: "adapter", Message: fmt.Sprintf("the adapter %s panicked: %v", b.Name, p)}}}
		}
	}()
	n := negotiate(adapter.CapabilitiesOf(b.Adapter), req, Situation{Agent: b.Name, ToolHandler: opts.Tools != nil, ToolHook: opts.Hooks.PreToolUse != nil,
		Models: b.Models, DefaultModel: b.DefaultModel, Price: priceFunc(b, opts)})
	n.EffectiveCapabilities = capabilitiesFor(b, req, opts)
	n.effective(req)
	if neg, ok := adapter.As[adapter.Negotiator](b.Adapter); ok {
		n.with(neg.Negotiate(asking(req.Clone())))
	}
	if opts.BudgetIfKnown {
		n.warn("budget")
	}
	return n.Negotiation
}

// resumed applies the session of the request's continuation if it names one, so that a result's continuation can
// be passed back. A turn that a decision continues asks before its other calls as the turn before it did.
func resumed(req execution.Request) execution.Request {
	o := &req.Run
	if req.Continuation != nil && req.Continuation.Decision != nil && !wantsInterrupt(req) && (req.Requirements == nil || req.Requirements.ApprovalInterrupts == "") {
		q := execution.Requirements{}
		if req.Requirements != nil {
			q = *req.Requirements
		}
		q.ApprovalInterrupts = execution.SupportRequired
		req.Requirements = &q
	}
	if req.Continuation == nil || o.SessionID != "" || o.ForkSessionID != "" || o.NoSession {
		return req
	}
	if id, ok := req.Continuation.State["sessionId"].(string); ok {
		o.SessionID = id
	}
	return req
}

func priceFunc(b Backend, opts Options) func(string) *execution.Price {
	return func(model string) *execution.Price {
		if opts.Price != nil {
			if p := opts.Price(model); p != nil {
				return p
			}
		}
		if m := execution.FindModel(b.Models, model); m != nil {
			return m.Price
		}
		return nil
	}
}

// Start validates the request, negotiates, and begins the run. The error is an *execution.Error about the
// request itself; later failures, including an unsupported request, are in the run's result. ctx bounds the
// whole run: its deadline is a timeout, its cancellation a cancellation.
func (a *Agent) Start(ctx context.Context, req execution.Request, opts Options) (*Run, error) {
	req = resumed(req.Clone())
	req.SchemaVersion = cmp.Or(req.SchemaVersion, execution.SchemaVersion)
	req.Run.Agent = cmp.Or(req.Run.Agent, a.backend.Name)
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if _, err := rulesOf(req.Run); err != nil {
		return nil, err
	}
	if req.Run.RunID == "" {
		newID := opts.NewRunID
		if newID == nil {
			newID = NewRunID
		}
		id, err := execution.ParseRunID(string(newID()))
		if err != nil {
			return nil, execution.Errorf(execution.CodeInternal, "create a run id: %w", err)
		}
		req.Run.RunID = id
	}
	r := newRun(ctx, a.backend, req, opts)
	go r.drive()
	return r, nil
}

// Execute runs the request and returns its result: the batch form of the BYOH specification. The error is that
// of Start.
func (a *Agent) Execute(ctx context.Context, req execution.Request, opts Options) (execution.Result, error) {
	r, err := a.Start(ctx, req, opts)
	if err != nil {
		return execution.Result{}, err
	}
	return r.Result(context.WithoutCancel(ctx))
}
