package a2a

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"os"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

// Options are what tests and embedding programs replace.
type Options struct {
	// Transport makes the HTTP requests. Default: a transport of its own per run.
	Transport http.RoundTripper
	// Environ returns the inherited environment, as name=value. Default: os.Environ.
	Environ func() []string
}

// Adapter is the adapter of one agent. It is immutable and safe for concurrent use.
type Adapter struct {
	access service.Access
	notes  []string
	opts   Options
}

var (
	_ adapter.Adapter    = (*Adapter)(nil)
	_ adapter.Negotiator = (*Adapter)(nil)
	_ adapter.Prober     = (*Adapter)(nil)
	_ adapter.AuthGuide  = (*Adapter)(nil)
)

// New returns the adapter of the agent that an access reaches. The key is sent as a bearer token. Notes are remarks on what it can do.
func New(access service.Access, notes []string, opts Options) *Adapter {
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	return &Adapter{access, notes, opts}
}

// Describe completes the descriptor of an agent.
func Describe(access service.Access, notes []string, d adapter.Descriptor) adapter.Descriptor {
	d.Protocol, d.Name, d.Keys = adapter.ProtocolA2A, access.Name, access.Variables()
	d.Install = service.Install()
	d.New = func() adapter.Adapter { return New(access, notes, Options{}) }
	return d
}

// Capabilities implements adapter.Adapter: what the protocol can carry. The card may allow less, and is known when the run starts.
func (a *Adapter) Capabilities() execution.Capabilities {
	c := execution.Capabilities{
		ContinuationSupport: execution.ContinuationsOpaqueResume, Attachments: true,
		Notes: append([]string{
			"the agent works where it is: it sees no files, tools, skills or settings of this machine",
			"what it accepts is in its card, which is read when a run starts; the tools that it uses are not visible",
		}, a.notes...),
		Agent: execution.AgentCapabilities{
			CanResume: true, SupportsMultiTurn: true,
			TextStreaming: true, StructuredSession: execution.TransportPersistent,
			InteractiveMode: true, StdinInjection: true, ImageInput: true, FileAttachments: true, ParallelExecution: true,
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptPrepend, execution.SystemPromptAppend},
			AuthMethods:       a.access.Methods(),
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbContinue, execution.VerbInterrupt,
				execution.VerbAbort},
		},
	}
	return c.Stated()
}

// Negotiate implements adapter.Negotiator.
func (a *Adapter) Negotiate(req execution.Request) []execution.Reason {
	r := cliagent.NewReasons(req)
	if req.Run.Model != "" {
		r.Add(execution.SeverityBlocking, "model", "%s chooses its model itself; run it without %s", a.access.Name, req.Run.Model)
	}
	return r
}

// Execute implements adapter.Adapter.
func (a *Adapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		if in == nil {
			yield(execution.Event{}, errors.New("execute a request: the inbox is nil"))
			return
		}
		execute(ctx, a, req.Clone(), in, yield)
	}
}

// Probe implements adapter.Prober: it reads the card.
func (a *Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	opened, missing := a.access.Open(h.Getenv)
	if missing != nil {
		return adapter.Installation{Installed: true, Notes: missing.Message}, ctx.Err()
	}
	c := dial(&a.access, opened, a.opts.Transport)
	defer c.close()
	card, err := c.card(ctx)
	if err != nil {
		return adapter.Installation{Notes: err.Message}, ctx.Err()
	}
	return adapter.Installation{Installed: true, Version: card.Version, Notes: cut(card.Name+": "+card.Description, 200)}, ctx.Err()
}

// DetectAuth implements adapter.Prober.
func (a *Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	return a.access.DetectAuth(h.Getenv)
}

// AuthGuidance implements adapter.AuthGuide.
func (a *Adapter) AuthGuidance() adapter.AuthGuidance { return a.access.AuthGuidance() }
