// Package harness is an agent of Drawbar's own: the tool loop over any model API that has an adapter. It is for whoever has a key, or
// a model on this machine, and no other agent. Its model is PROVIDER/MODEL: drawbar run harness/PROVIDER/MODEL.
//
// The loop is that of kit modelapi, the tools for files and commands are those of kit codetool. What belongs here is which tools a
// request gets, what the model is told, and within which limits it works. Nothing here knows a provider.
package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/mcpclient"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func init() { adapter.Register(Descriptor) }

const name = "harness"

// signal is the variable by which a command knows that the harness runs it.
const signal = "DRAWBAR_HARNESS"

// Descriptor describes the agent. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	models := vendormodel.All()
	for i := range models {
		models[i].ID = models[i].Provider + "/" + models[i].ID
	}
	return adapter.Descriptor{
		Name: name, Aliases: []string{"built-in-harness"}, DisplayName: "Drawbar's harness", InProcess: true, Models: models, HostSignals: []string{signal},
		Install: []adapter.InstallMethod{{Platform: "all", Type: "manual", Notes: "nothing to install: it is a part of Drawbar"}},
		New:     func() adapter.Adapter { return New(Options{Limits: workLimits()}) },
	}
}

// Options are what embedding programs and tests set.
type Options struct {
	// Limits of a turn. Zero fields have the defaults of the BYOH specification's harness, see Limits.
	Limits Limits
	// Services are the model APIs. Default: those of the registered agents.
	Services func() []*modelapi.Adapter
	// Window is the size of a model's context, in tokens, if nobody states it. Default: 200,000.
	Window int64
	// Environ returns the environment that commands inherit, as name=value. Default: os.Environ.
	Environ func() []string
	// Runner starts commands and MCP servers. Default: process.Launch.
	Runner process.Runner
}

// Adapter is the adapter of the harness. It is immutable and safe for concurrent use.
type Adapter struct {
	modelapi.Sessions
	declared.SkillsOf[keeper]
	opts     Options
	services func() []*modelapi.Adapter
}

var (
	_ adapter.Adapter         = (*Adapter)(nil)
	_ adapter.Negotiator      = (*Adapter)(nil)
	_ adapter.RunCapabilities = (*Adapter)(nil)
	_ adapter.Prober          = (*Adapter)(nil)
	_ adapter.AuthGuide       = (*Adapter)(nil)
	_ adapter.ModelRedirector = (*Adapter)(nil)
	_ adapter.ServiceUser     = (*Adapter)(nil)
	_ adapter.StateKeeper     = (*Adapter)(nil)
	_ adapter.SessionStore    = (*Adapter)(nil)
	_ adapter.SkillKeeper     = (*Adapter)(nil)
	_ adapter.UsageLog        = (*Adapter)(nil)
)

// New returns the adapter.
func New(opts Options) *Adapter {
	if opts.Services == nil {
		opts.Services = registered
	}
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	if opts.Runner == nil {
		opts.Runner = process.Launch
	}
	return &Adapter{Sessions: modelapi.SessionsOf(name), opts: opts, services: sync.OnceValue(opts.Services)}
}

// KeepIn implements adapter.StateKeeper.
func (a *Adapter) KeepIn(dir string) adapter.Adapter {
	opts := a.opts
	opts.Environ = modelapi.EnvironWith(dir, a.opts.Environ)
	opts.Services = func() (list []*modelapi.Adapter) {
		for _, s := range a.services() {
			list = append(list, s.WithStateDir(dir))
		}
		return list
	}
	return New(opts)
}

// UseServices implements adapter.ServiceUser: the model APIs among the services are used.
func (a *Adapter) UseServices(services []adapter.Adapter) adapter.Adapter {
	opts := a.opts
	opts.Services = func() []*modelapi.Adapter {
		list := slices.Clone(a.services())
		for _, s := range services {
			if api, ok := s.(*modelapi.Adapter); ok {
				list = append(list, api)
			}
		}
		return list
	}
	return New(opts)
}

// registered returns the model APIs among the registered agents, sorted by name.
func registered() (list []*modelapi.Adapter) {
	for _, d := range adapter.Builtins() {
		if d.Protocol != adapter.ProtocolAPI {
			continue
		}
		if api, ok := d.New().(*modelapi.Adapter); ok {
			list = append(list, api)
		}
	}
	return list
}

// Capabilities implements adapter.Adapter: the maximum of all providers. CapabilitiesFor has those of one.
func (a *Adapter) Capabilities() execution.Capabilities {
	c := modelapi.Common()
	c.ToolUse, c.ContinuationSupport, c.ApprovalInterrupts = execution.ToolsNativeIterative, execution.ContinuationsStructured, execution.ApprovalsNative
	c.Notes = []string{
		"its model is PROVIDER/MODEL, of any model API that is an agent here: drawbar run harness/PROVIDER/MODEL",
		"files are confined to the working directory; commands are not, so the sandbox workspace-write is refused, and read-only has no commands",
		"commands and MCP servers do not get the keys of model APIs",
		"a conversation is a session in Drawbar's own state directory; a result that waits or reached a limit has a continuation that contains it",
	}
	g := &c.Agent
	g.NativeTools, g.AgentsMD, g.Skills, g.SkillsFormat, g.SubagentDispatch, g.MaxTurns = true, true, true, "directory", true, true
	g.ParallelToolCalls = false
	g.CanResume, g.CanFork, g.SessionPersistence = true, true, "file"
	g.MCP, g.MCPTransports = true, []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP}
	g.SandboxModes = []execution.SandboxMode{execution.SandboxReadOnly, execution.SandboxNone}
	g.ThinkingEfforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}
	g.ThinkingBudgetTokens = true
	g.Verbs = append(g.Verbs, execution.VerbSteer)
	g.AuthMethods = []execution.AuthMethod{{Type: "api_key", Name: "the key of a model API"}}
	return c.Stated()
}

// CapabilitiesFor implements adapter.RunCapabilities: what the provider of the request's model supports.
func (a *Adapter) CapabilitiesFor(req execution.Request) execution.Capabilities {
	c := a.Capabilities()
	if api, _, err := a.choose(req); err == nil {
		p := api.Capabilities().Agent
		g := &c.Agent
		g.ThinkingEfforts, g.ThinkingBudgetTokens, g.FileAttachments = p.ThinkingEfforts, p.ThinkingBudgetTokens, p.FileAttachments
		g.Thinking = len(p.ThinkingEfforts) > 0
	}
	return c
}

// Negotiate implements adapter.Negotiator: the provider must exist and take the request, and a continuation must be one of ours.
func (a *Adapter) Negotiate(req execution.Request) []execution.Reason {
	if c := req.Continuation; c != nil {
		var err error
		if hasPast(c) {
			_, err = modelapi.ReadPast(c)
		}
		if id := req.Run.SessionID + req.Run.ForkSessionID; err == nil && id != "" && id != c.State["sessionId"] {
			err = errors.New("the request has a continuation and another session: leave one out")
		}
		if err != nil {
			var r cliagent.Reasons
			r.Add(execution.SeverityBlocking, "continuation", "%v", err)
			r[0].Code = execution.ReasonContinuationUnsupported
			return r
		}
	}
	api, model, err := a.choose(req)
	if err != nil && err.Code == execution.CodeAuth {
		return nil // the run says so
	}
	if err != nil {
		r := cliagent.NewReasons(req)
		r.Add(execution.SeverityBlocking, "model", "%s", err.Message)
		return r
	}
	req.Run.Model = model
	return api.Negotiate(req)
}

// hasPast reports whether a continuation contains the conversation. One that does not names the session.
func hasPast(c *execution.Continuation) bool {
	return c.State["messages"] != nil || c.State["sessionId"] == nil
}

// model returns the model of a request: its own, that of the conversation or session that it continues, or the default of the only provider
// whose key is set.
func (a *Adapter) model(req execution.Request) string {
	switch {
	case req.Run.Model != "":
		return req.Run.Model
	case req.Continuation != nil && hasPast(req.Continuation):
		model, _ := req.Continuation.State["model"].(string)
		return model
	}
	getenv := service.Environment(req.Run, a.opts.Environ())
	if id := req.Run.SessionID + req.Run.ForkSessionID; id != "" {
		if model := a.Sessions.Model(getenv, id); model != "" {
			return model
		}
	}
	ready := a.ready(adapter.Host{Getenv: getenv})
	if len(ready) != 1 {
		return ""
	}
	return ready[0]
}

// choose returns the model API of a request, and the model as it is called there.
func (a *Adapter) choose(req execution.Request) (*modelapi.Adapter, string, *execution.Error) {
	model := a.model(req)
	if model == "" && len(a.ready(adapter.Host{Getenv: service.Environment(req.Run, a.opts.Environ())})) == 0 {
		e := execution.Errorf(execution.CodeAuth, "no key of a model API is set, and no model is named")
		e.Agent = name
		return nil, "", e.WithHint("set a key: drawbar auth guide %s; or name a model of this machine: drawbar run %s/PROVIDER/MODEL", name, name)
	}
	return a.service(model)
}

// ready returns the providers whose key is set.
func (a *Adapter) ready(h adapter.Host) (names []string) {
	for _, api := range a.services() {
		if api.DetectAuth(context.Background(), h).Status == adapter.Authenticated {
			names = append(names, api.Name())
		}
	}
	return names
}

// service returns the model API of PROVIDER/MODEL, and the model as it is called there. PROVIDER alone means its default.
func (a *Adapter) service(model string) (*modelapi.Adapter, string, *execution.Error) {
	provider, rest, _ := strings.Cut(model, "/")
	var names []string
	for _, api := range a.services() {
		if api.Name() != provider {
			names = append(names, api.Name())
			continue
		}
		if rest = cmp.Or(rest, api.DefaultModel()); rest == "" {
			return nil, "", execution.Errorf(execution.CodeValidation, "%s has no default model; name one: drawbar run %s/%s/MODEL", provider, name, provider)
		}
		return api, rest, nil
	}
	if model == "" {
		return nil, "", execution.Errorf(execution.CodeValidation, "%s needs a model; name one: drawbar run %s/PROVIDER/MODEL, with PROVIDER one of %s",
			name, name, strings.Join(names, ", "))
	}
	return nil, "", execution.Errorf(execution.CodeValidation, "%q is not PROVIDER/MODEL, with PROVIDER one of %s", model, strings.Join(names, ", "))
}

// Execute implements adapter.Adapter.
func (a *Adapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	api, model, err := a.choose(req)
	if err != nil {
		return refused(err)
	}
	w := &worker{harness: a, req: req}
	window := cmp.Or(a.opts.Window, 200_000)
	if m := execution.FindModel(vendormodel.All(), model); m != nil && m.ContextWindow > 0 {
		window = m.ContextWindow
	}
	agent := modelapi.Agent{Name: name, Window: window, Prefix: api.Name() + "/", InOrder: true, Limits: a.opts.Limits.kit(), Table: table(false), Open: w.open, Close: w.close}
	req.Run.Model = model
	return api.Run(ctx, agent, req, in)
}

// refused is an execution that starts nothing.
func refused(err *execution.Error) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		f := cliagent.Failure{Code: err.Code, Message: err.Message, Hint: err.Hint}
		if yield(execution.Event{Body: f.Event()}, nil) {
			yield(execution.Event{Body: execution.Finished{Result: execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: name,
				Status: execution.StatusFailed, Error: f.Result(), ExitReason: execution.ExitCompleted}}}, nil)
		}
	}
}

// Probe implements adapter.Prober: the harness is a part of this program.
func (a *Adapter) Probe(ctx context.Context, _ adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, Notes: "a part of Drawbar"}, ctx.Err()
}

// DetectAuth implements adapter.Prober: one provider is enough.
func (a *Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	ready := a.ready(h)
	if len(ready) == 0 {
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: "no key of a model API is set: drawbar auth guide " + name}
	}
	return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "keys are set of " + strings.Join(ready, ", ")}
}

// AuthGuidance implements adapter.AuthGuide.
func (a *Adapter) AuthGuidance() adapter.AuthGuidance {
	g := adapter.AuthGuidance{Provider: "a model API"}
	for _, api := range a.services() {
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "for models of " + api.Name(), Command: "drawbar auth guide " + api.Name()})
		g.EnvVars = append(g.EnvVars, api.AuthGuidance().EnvVars...)
	}
	return g
}

// RedirectModel implements adapter.ModelRedirector, with the first provider that can be redirected.
func (a *Adapter) RedirectModel(baseURL, home string) adapter.Redirect {
	for _, api := range a.services() {
		r := api.RedirectModel(baseURL, home)
		r.Model = api.Name() + "/" + cmp.Or(r.Model, api.DefaultModel())
		r.Shell = func(command string, _ bool) adapter.ScriptedCall {
			return cliagent.Scripted("shell", map[string]any{"command": command})
		}
		r.Clarify = func(question string) adapter.ScriptedCall {
			return cliagent.Scripted("ask", map[string]any{"question": question})
		}
		r.MCP = func(server, tool string, input json.RawMessage) adapter.ScriptedCall {
			if server != cliagent.CallerTools {
				tool = mcpclient.Name(server, tool)
			}
			return adapter.ScriptedCall{Name: tool, Input: input}
		}
		return r
	}
	return adapter.Redirect{Env: map[string]string{"HOME": home}}
}

// keys returns the variables with keys of model APIs.
func (a *Adapter) keys() (list []string) {
	for _, api := range a.services() {
		list = append(list, api.KeyVars()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
