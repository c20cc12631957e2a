package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// Spec describes a model API.
type Spec struct {
	Name  string // of the agent
	Title string // of the service, for people
	Wire  Wire

	Base     string   // default address, without a slash at its end
	BaseVars []string // variables that replace it, the first one set
	Root     func(base string) string
	KeyVars  []string // variables with the key, the first one set
	Keyless  bool     // works without a key
	KeyPage  string   // URL of the page that issues keys
	NoTopK   bool     // the API has no such option
	Default  string   // model of a request that names none; empty: a request must name one

	// Capabilities declares what differs from Common.
	Capabilities func(c *execution.Capabilities)
	// Redirect is the setup that makes the agent use a scripted model.
	Redirect func(baseURL string) adapter.Redirect
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
	spec Spec
	opts Options
}

var (
	_ adapter.Adapter         = (*Adapter)(nil)
	_ adapter.Negotiator      = (*Adapter)(nil)
	_ adapter.Prober          = (*Adapter)(nil)
	_ adapter.AuthGuide       = (*Adapter)(nil)
	_ adapter.ModelRedirector = (*Adapter)(nil)
)

// New returns the adapter of a spec.
func New(spec Spec, opts Options) *Adapter {
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	return &Adapter{spec, opts}
}

// Name returns the name of the API's agent.
func (a *Adapter) Name() string { return a.spec.Name }

// DefaultModel returns the model of a request that names none, empty if it must name one.
func (a *Adapter) DefaultModel() string { return a.spec.Default }

// KeyVars returns the variables that contain keys of the API.
func (a *Adapter) KeyVars() []string { return slices.Clone(a.spec.KeyVars) }

// Common are the capabilities of a model without tools of its own.
func Common() execution.Capabilities {
	return execution.Capabilities{
		ToolUse: execution.ToolsAdapterMediated, StructuredToolCalls: true,
		ApprovalInterrupts: execution.ApprovalsAdapterMediated,
		TraceDepth:         execution.TraceDetailed, Attachments: true, MaxContextStrategy: execution.ContextLarge,
		Notes: []string{
			"a model without tools of its own: it reads and changes no files; the caller's tools are its only ones",
			"a conversation lives as long as the run, and no session is kept",
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
	if !a.spec.Keyless {
		c.Agent.AuthMethods = []execution.AuthMethod{{Type: "api_key", Name: a.spec.KeyVars[0]}}
	}
	a.spec.Capabilities(&c)
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

// environ returns a variable as a run sees it.
func (a *Adapter) environ(run execution.RunOptions) func(name string) string {
	inherited := map[string]string{}
	for _, e := range a.opts.Environ() {
		if name, value, ok := strings.Cut(e, "="); ok {
			inherited[name] = value
		}
	}
	return func(name string) string {
		if value, ok := run.Env[name]; ok {
			return value
		}
		return inherited[name]
	}
}

// first returns the first variable that is set.
func first(getenv func(string) string, names []string) (value, name string) {
	for _, name := range names {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return value, name
		}
	}
	return "", ""
}

// base returns the address of the API.
func (a *Adapter) base(getenv func(string) string) (string, *execution.Error) {
	value, name := first(getenv, a.spec.BaseVars)
	if value == "" {
		return a.spec.Base, nil
	}
	if a.spec.Root != nil {
		value = a.spec.Root(value)
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		e := execution.Errorf(execution.CodeConfig, "%s is not the address of an API", name)
		e.Agent = a.spec.Name
		return "", e.WithHint("set %s to a URL like %s: http or https, a host, and no user or query", name, a.spec.Base)
	}
	return strings.TrimSuffix(value, "/"), nil
}

// Probe implements adapter.Prober: a service needs no installation.
func (a *Adapter) Probe(ctx context.Context, _ adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, ActiveModel: a.spec.Default, Notes: a.spec.Title + " needs no installation"}, ctx.Err()
}

// DetectAuth implements adapter.Prober. Only the service knows whether a key is valid.
func (a *Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	switch _, name := first(h.Getenv, a.spec.KeyVars); {
	case name != "":
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: name + " is set"}
	case a.spec.Keyless:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: a.spec.Title + " needs no key"}
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Details: a.keyHint()}
}

func (a *Adapter) keyHint() string {
	return "set " + strings.Join(a.spec.KeyVars, " or ") + "; keys: " + a.spec.KeyPage
}

// AuthGuidance implements adapter.AuthGuide.
func (a *Adapter) AuthGuidance() adapter.AuthGuidance {
	g := adapter.AuthGuidance{Provider: a.spec.Title}
	if a.spec.Keyless {
		g.Steps = []adapter.AuthStep{{Description: "nothing to do: " + a.spec.Title + " needs no key"}}
		return g
	}
	g.Steps = []adapter.AuthStep{{Description: "create a key", URL: a.spec.KeyPage},
		{Description: "set it in your shell", Command: "export " + a.spec.KeyVars[0] + "=..."}}
	g.Documentation = []string{a.spec.KeyPage}
	for _, name := range a.spec.KeyVars {
		g.EnvVars = append(g.EnvVars, adapter.AuthVariable{Name: name, Description: "key of " + a.spec.Title})
	}
	return g
}

// RedirectModel implements adapter.ModelRedirector.
func (a *Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	r := a.spec.Redirect(baseURL)
	r.Env["HOME"] = home
	r.MCP = func(_, tool string, input json.RawMessage) adapter.ScriptedCall {
		return adapter.ScriptedCall{Name: tool, Input: input}
	}
	return r
}

// Descriptor completes the descriptor of a model API from its spec.
func (s Spec) Descriptor(d adapter.Descriptor) adapter.Descriptor {
	d.Protocol = adapter.ProtocolAPI
	d.Name, d.DefaultModel, d.Keys = s.Name, s.Default, append(append([]string(nil), s.KeyVars...), s.BaseVars...)
	d.Install = []adapter.InstallMethod{{Platform: "all", Type: "manual", Notes: "nothing to install: it is a service"}}
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
