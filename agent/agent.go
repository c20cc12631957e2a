package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// Backend is an adapter with what is known about it.
type Backend struct {
	Name         string // the backendId, and the agent of events
	Adapter      adapter.Adapter
	Models       []execution.Model
	DefaultModel string
	Warning      string // shown as a debug event at the start of every run
	Version      string // of the agent's program, empty where it is not known
	Untested     string // why the version may not work, empty for a tested one: a warning, and in the result's metadata
}

// BackendOf is the backend of a descriptor.
func BackendOf(d adapter.Descriptor) Backend {
	return Backend{Name: d.Name, Adapter: d.New(), Models: d.Models, DefaultModel: d.DefaultModel}
}

// Agent runs requests on one backend. It is safe for concurrent use and holds no state of its runs.
type Agent struct{ backend Backend }

// New makes an agent of a backend. Name and Adapter are required.
func New(b Backend) *Agent {
	if b.Name == "" || b.Adapter == nil {
		panic("agent.New: a backend needs a name and an adapter")
	}
	return &Agent{backend: b}
}

// ToolHandler carries out a tool of the request. It is called concurrently; ctx ends with the run.
type ToolHandler func(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error)

// Options are what a run needs besides its request: callbacks and limits of the caller. The zero value is a run that
// nobody can answer.
type Options struct {
	// Tools carries out the request's tools. Without it a request with tools is unsupported.
	Tools ToolHandler
	// OnApproval answers permission questions in prompt mode, OnInput questions for text in every mode but deny. Calls are
	// concurrent. Their ctx ends when the question is answered otherwise or withdrawn, or the run ends; a function that does
	// not return then is left behind, and its answer is dropped.
	OnApproval func(ctx context.Context, q execution.ApprovalRequired) execution.Decision
	OnInput    func(ctx context.Context, q execution.InputRequired) (string, error)
	// Hooks are asked and told at moments of the run. A backend that cannot hold a tool call for an answer does not run a
	// request with a PreToolUse hook.
	Hooks Hooks
	// Handlers see every event, in order, before any reader does. See On.
	Handlers []Handler
	// ResultMetadata adds to the metadata of the result what the caller alone knows of the run, before anybody is given the result.
	// It is called once, when no event but finished is left to come; it must not wait for the run.
	ResultMetadata func() map[string]any
	// Secrets are values that nobody is to see in events, questions and the result: keys that the agent was given. Well-known shapes of
	// keys are taken out besides, ordinary words are not. Tools, PreToolUse and the agent itself get everything as it is.
	Secrets []string
	// EventBuffer bounds the events kept for readers; older ones are dropped and a reader that missed some gets a Gap. 0
	// is DefaultEventBuffer, less than 100 is 100.
	EventBuffer int
	// MaxElapsed is a deadline of the caller's own, besides those of ctx and the request. 0 is none.
	MaxElapsed time.Duration
	// SessionUsage is what a session of an agent used since the run began, by the agent's own files; zero when that is not
	// known. It is asked at the end of an execution that did not state the tokens of a turn.
	SessionUsage func(agent, session string) execution.Usage
	// Price overrides the backend's price table; nil results mean unknown.
	Price func(model string) *execution.Price
	// Fallback are tried in order when the backend before cannot do it: it does not support the request or is not installed, its
	// login, provider, rate limit, model or context window fails, it crashes or makes no sense. A run that resumes a session, or
	// that has had an answer, stays where it is.
	Fallback []Backend
	// NewRunID makes the id of a run without one; nil is NewRunID.
	NewRunID func() execution.RunID
}

// DefaultEventBuffer is the number of events kept for readers unless Options say otherwise.
const DefaultEventBuffer = 65536

// Negotiate answers what the request would really get from this agent. It has no side effects.
func (a *Agent) Negotiate(req execution.Request, opts Options) execution.Negotiation {
	return negotiateBackend(a.backend, goOn(req.Clone()), opts)
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
		n.with(neg.Negotiate(req.Clone()))
	}
	return n.Negotiation
}

// goOn is the request with the session of its continuation, where that names one: what a result of this package gives
// to go on with is understood here, too.
func goOn(req execution.Request) execution.Request {
	o := &req.Run
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

// Start validates the request, negotiates, and begins the run. The error is an *execution.Error about the request
// itself; everything that happens later, an unsupported request included, is in the run's result. ctx bounds the whole
// run: its deadline is a timeout, its cancellation a cancellation.
func (a *Agent) Start(ctx context.Context, req execution.Request, opts Options) (*Run, error) {
	req = goOn(req.Clone())
	req.SchemaVersion = cmp.Or(req.SchemaVersion, execution.SchemaVersion)
	req.Run.Agent = cmp.Or(req.Run.Agent, a.backend.Name)
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if req.Run.RunID == "" {
		newID := opts.NewRunID
		if newID == nil {
			newID = NewRunID
		}
		id, err := execution.ParseRunID(string(newID()))
		if err != nil {
			return nil, execution.Errorf(execution.CodeInternal, "make a run id: %w", err)
		}
		req.Run.RunID = id
	}
	r := newRun(ctx, a.backend, req, opts)
	go r.drive()
	return r, nil
}

// Execute runs the request to its end and returns the one result: the batch form of the BYOH specification. The error
// is that of Start.
func (a *Agent) Execute(ctx context.Context, req execution.Request, opts Options) (execution.Result, error) {
	r, err := a.Start(ctx, req, opts)
	if err != nil {
		return execution.Result{}, err
	}
	return r.Result(context.WithoutCancel(ctx))
}
