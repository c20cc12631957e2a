package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/statedir"
)

// Spec describes a model API.
type Spec struct {
	service.Access
	Wire Wire

	NoTopK  bool   // the API has no such option
	Default string // model of a request that names none; empty: a request must name one

	// Capabilities declares what differs from Common.
	Capabilities func(c *execution.Capabilities)
	// Scripted is the path of the API below the address of a scripted model, which speaks all formats.
	Scripted string
	Notes    []string // remarks on the capabilities
}

// Options are what tests and embedding programs replace.
type Options struct {
	// Transport makes the HTTP requests. Default: a transport of its own per run.
	Transport http.RoundTripper
	// Environ returns the inherited environment, as name=value. Default: os.Environ.
	Environ func() []string
}

// Adapter is the adapter of a model API. It is immutable and safe for concurrent use.
type Adapter struct {
	Sessions
	spec Spec
	opts Options
}

var (
	_ adapter.Adapter         = (*Adapter)(nil)
	_ adapter.Negotiator      = (*Adapter)(nil)
	_ adapter.Prober          = (*Adapter)(nil)
	_ adapter.StateKeeper     = (*Adapter)(nil)
	_ adapter.AuthGuide       = (*Adapter)(nil)
	_ adapter.ModelRedirector = (*Adapter)(nil)
)

// New returns the adapter of a spec.
func New(spec Spec, opts Options) *Adapter {
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	return &Adapter{SessionsOf(spec.Name), spec, opts}
}

// KeepIn implements adapter.StateKeeper.
func (a *Adapter) KeepIn(dir string) adapter.Adapter { return a.WithStateDir(dir) }

// WithStateDir returns the adapter with another state directory of Drawbar's.
func (a *Adapter) WithStateDir(dir string) *Adapter {
	kept := *a
	kept.opts.Environ = EnvironWith(dir, a.opts.Environ)
	return &kept
}

// EnvironWith returns an environment with another state directory of Drawbar's.
func EnvironWith(stateDir string, environ func() []string) func() []string {
	return func() []string { return append(slices.Clip(environ()), statedir.Variable+"="+stateDir) }
}

// Name returns the name of the API's agent.
func (a *Adapter) Name() string { return a.spec.Name }

// DefaultModel returns the model of a request that names none, empty if it must name one.
func (a *Adapter) DefaultModel() string { return a.spec.Default }

// KeyVars returns the variables that contain keys of the API.
func (a *Adapter) KeyVars() []string { return a.spec.Secrets() }

// Common are the capabilities of a model without tools of its own.
func Common() execution.Capabilities {
	return execution.Capabilities{
		ToolUse: execution.ToolsAdapterMediated, StructuredToolCalls: true,
		ApprovalInterrupts: execution.ApprovalsAdapterMediated,
		TraceDepth:         execution.TraceDetailed, Attachments: true, MaxContextStrategy: execution.ContextLarge,
		Notes: []string{
			"a model without tools of its own: it reads and changes no files; the caller's tools are its only ones",
		},
		Agent: execution.AgentCapabilities{
			CanRunEphemeral: true, SupportsMultiTurn: true,
			TextStreaming: true, ToolCallStreaming: true, ThinkingStreaming: true, ParallelToolCalls: true,
			ApprovalModes: []execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:  cliagent.RuntimeHooks(true),
			Thinking:      true, StructuredOutput: true, StructuredSession: execution.TransportPersistent,
			Sampling: true, OutputTokenLimit: true, InteractiveMode: true, StdinInjection: true, ImageInput: true, FileAttachments: true,
			SystemPromptModes: []execution.SystemPromptMode{execution.SystemPromptPrepend, execution.SystemPromptAppend, execution.SystemPromptReplace},
			ParallelExecution: true,
			Verbs: []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbContinue, execution.VerbApprove, execution.VerbDeny,
				execution.VerbInterrupt, execution.VerbAbort},
		},
	}
}

// Capabilities implements adapter.Adapter.
func (a *Adapter) Capabilities() execution.Capabilities {
	c := Common()
	c.ContinuationSupport = execution.ContinuationsOpaqueResume
	c.Agent.CanResume, c.Agent.CanFork, c.Agent.SessionPersistence = true, true, "file"
	c.Notes = append(c.Notes, "a conversation is a session in Drawbar's own state directory")
	c.Agent.AuthMethods = a.spec.Methods()
	a.spec.Capabilities(&c)
	c.Notes = append(c.Notes, a.spec.Notes...)
	return c.Stated()
}

// Negotiate implements adapter.Negotiator: attachments must be images, text or PDF documents, and a model must be known.
func (a *Adapter) Negotiate(req execution.Request) []execution.Reason {
	r := cliagent.NewReasons(req)
	caps := a.Capabilities().Agent
	accepts := "images and text files"
	if caps.FileAttachments {
		accepts = "images, PDF and text files"
	}
	r.Attachments(a.spec.Name, accepts, req.Message.Attachments, func(kind cliagent.Media, _ string) bool {
		return kind == cliagent.MediaAudio || kind == cliagent.MediaOther || kind == cliagent.MediaPDF && !caps.FileAttachments
	})
	if a.spec.NoTopK && req.Run.TopK > 0 {
		r.Add(execution.SeverityBlocking, "sampling", "%s has no topK", a.spec.Title)
	}
	if cmp.Or(req.Run.Model, a.spec.Default) == "" {
		r.Add(execution.SeverityBlocking, "model", "%s has no default model; name one: drawbar run %s/MODEL", a.spec.Name, a.spec.Name)
	}
	return r
}

// Probe implements adapter.Prober: a service needs no installation.
func (a *Adapter) Probe(ctx context.Context, _ adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, ActiveModel: a.spec.Default, Notes: a.spec.Title + " needs no installation"}, ctx.Err()
}

// DetectAuth implements adapter.Prober.
func (a *Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	return a.spec.DetectAuth(h.Getenv)
}

// AuthGuidance implements adapter.AuthGuide.
func (a *Adapter) AuthGuidance() adapter.AuthGuidance { return a.spec.AuthGuidance() }

// RedirectModel implements adapter.ModelRedirector.
func (a *Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	r := adapter.Redirect{Env: map[string]string{"HOME": home, "DRAWBAR_STATE_DIR": filepath.Join(home, ".local", "state", "drawbar"),
		a.spec.BaseVars[0]: baseURL + a.spec.Scripted}}
	if a.spec.Default == "" {
		r.Model = "scripted-model"
	}
	if !a.spec.Keyless {
		for _, name := range a.spec.Secrets() {
			r.Env[name] = "dummy-key"
		}
	}
	r.MCP = func(_, tool string, input json.RawMessage) adapter.ScriptedCall {
		return adapter.ScriptedCall{Name: tool, Input: input}
	}
	return r
}

// Descriptor completes the descriptor of a model API from its spec.
func (s Spec) Descriptor(d adapter.Descriptor) adapter.Descriptor {
	d.Protocol = adapter.ProtocolAPI
	d.Name, d.DefaultModel, d.Keys = s.Name, s.Default, s.Variables()
	d.Install = service.Install()
	d.New = func() adapter.Adapter { return New(s, Options{}) }
	return d
}

// limits of one call.
const (
	maxEvent  = 32 << 20        // bytes of one event: an image, or a whole tool input
	maxAnswer = 256 << 20       // bytes of one answer
	maxFault  = 1 << 20         // bytes of an error
	silence   = 5 * time.Minute // between two pieces of an answer
)
