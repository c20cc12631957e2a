// Package adapter defines the seam: the interface that a backend must implement to be run, and the interfaces
// it may implement in addition. Package catalog finds backends and detects what a machine has of them.
//
// An adapter translates between package execution and one backend. It has no policy, memory, session store or
// coordination, keeps no state between executions, and reads no file and no variable on its own: optional
// interfaces receive a Host. What every backend must guarantee (one result, event order, deadlines,
// negotiation) is the task of package agent, not of an adapter.
//
// Only Adapter is required; As finds the optional interfaces of an adapter, also through decorators:
//
//   - a run: Negotiator (reasons that capabilities cannot express), RunCapabilities (capabilities per run), Retrier, SessionSums
//     (earlier usage of a session), OutputReader (output of an agent that somebody else started)
//   - the machine: Prober (installed, logged in), AuthGuide, Installer, ModelRedirector (another model API)
//   - what the agent leaves on disk: SessionStore, SessionFollower, SessionRemover, StateKeeper, UsageLog (read by a UsageScanner)
//   - extensions: NativeHooks, PluginManager, PluginSearcher, PluginUpdater, PluginSwitcher, SkillKeeper
//   - what the program itself knows: ModelLister
//   - a decorator: Unwrapper
//
// An Inbox may also be a ToolHost (the caller's tools) and a HookHost (asked before each tool call).
package adapter

import (
	"context"
	"encoding/json"
	"io/fs"
	"iter"

	"github.com/drawbar/drawbar/execution"
)

// Adapter runs one backend. One value serves concurrent executions.
type Adapter interface {
	// Capabilities declares what the backend can do. It is static, performs no I/O, and returns a fresh copy.
	Capabilities() execution.Capabilities

	// Execute runs one process or connection for one or more turns and yields events as they happen.
	//
	// The function body owns the backend and has cleaned up when it returns, whether the backend ends, ctx is
	// done or the consumer stops. Each turn ends with execution.TurnEnd and the last event is
	// execution.Finished; only Body, Parent, Origin and Raw of an event are set. A backend's failure is a
	// Finished result, never an error; an error of the sequence means a broken caller or adapter and ends it.
	//
	// Execute reads commands from in until it returns io.EOF. A run without further messages receives EndInput
	// first and ends after its first turn; answers and interrupts may still arrive until then. An adapter never
	// answers a question itself: it emits it and waits for the Answer.
	Execute(ctx context.Context, req execution.Request, in Inbox) iter.Seq2[execution.Event, error]
}

// Inbox delivers commands to an execution. It must be used by one goroutine at a time.
type Inbox interface {
	// Receive waits for the next command. io.EOF means that no more will come.
	Receive(ctx context.Context) (execution.Command, error)
}

// ToolHost is implemented by an Inbox whose caller provides the tools of the request. CallTool is safe for
// concurrent use. An error means that the caller cannot be reached; a failed tool is a ToolResult with Error
// set.
type ToolHost interface {
	CallTool(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error)
}

// HookHost is implemented by an Inbox whose caller decides on each of the agent's own tool calls. The adapter
// asks before the tool runs, applies the answer, and treats a failure to ask as a denial. DecideTool is safe
// for concurrent use and always answers: a caller that fails or takes too long denies.
type HookHost interface {
	DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult
}

// Negotiator is an adapter that knows more about a request than its capabilities say. Negotiate adds reasons to
// those of package agent; it starts, reads and changes nothing.
type Negotiator interface {
	Negotiate(req execution.Request) []execution.Reason
}

// CapabilitiesOf returns the capabilities of an adapter with every omission made explicit.
func CapabilitiesOf(a Adapter) execution.Capabilities { return a.Capabilities().Stated() }

// RunCapabilities is an adapter whose capabilities differ per run: Capabilities is the maximum, CapabilitiesFor
// what one request gets. It starts, reads and changes nothing.
type RunCapabilities interface {
	CapabilitiesFor(req execution.Request) execution.Capabilities
}

// Retrier is an adapter that decides itself whether to repeat a failed attempt (agent-mux specification,
// shouldRetry). Without it package agent applies the policy's rule. A panic means no.
type Retrier interface {
	// ShouldRetry is called once per failed attempt; attempt counts from 0.
	ShouldRetry(failure execution.Body, attempt int, policy execution.RetryPolicy) bool
}

// Unwrapper is an adapter that decorates another one.
type Unwrapper interface{ Unwrap() Adapter }

// As returns the first adapter in the chain of decorators that implements T.
func As[T any](a Adapter) (T, bool) {
	for a != nil {
		if t, ok := a.(T); ok {
			return t, true
		}
		u, ok := a.(Unwrapper)
		if !ok {
			break
		}
		a = u.Unwrap()
	}
	var zero T
	return zero, false
}

// Host is the machine that optional interfaces may inspect. The caller passes it in, and tests pass a small
// one; an adapter never keeps it.
type Host struct {
	FS       fs.FS                                                           // rooted at /, read-only; Name converts absolute paths to its names
	Getenv   func(string) string                                             // never nil
	Home     string                                                          // absolute
	Platform string                                                          // runtime.GOOS of the host
	LookPath func(name string) (string, error)                               // finds a command as a shell would
	Spawn    func(ctx context.Context, c SpawnRequest) (SpawnOutcome, error) // runs a command and waits for it
}

// SpawnRequest is a command to run and wait for.
type SpawnRequest struct {
	Command string
	Args    []string
	Env     map[string]string // added to the host's environment
	Cwd     string
	Stdin   []byte // its complete input; none by default
}

// SpawnOutcome is the outcome of a command.
type SpawnOutcome struct {
	Code   int
	Stdout string
	Stderr string
}

// Prober detects whether an agent is installed and logged in. It only reads, asks nobody, and returns within
// ctx. Probe and DetectAuth run concurrently.
type Prober interface {
	// Probe fills in Installed, Path, Version and Notes. A missing agent is not an error.
	Probe(ctx context.Context, h Host) (Installation, error)
	// DetectAuth reads only the environment and files. A failure is the status unknown, never an error.
	DetectAuth(ctx context.Context, h Host) AuthState
}

// Installation is what a probe found.
type Installation struct {
	Installed   bool
	Path        string // absolute
	Version     string // as stated by the agent, empty if it could not be read
	ActiveModel string // empty if unknown
	Notes       string // why something was not found
}

// ModelRedirector is an adapter whose agent can use another model API, such as a scripted one for
// demonstrations, conformance and tests. It performs no I/O; the caller writes the files.
type ModelRedirector interface {
	// RedirectModel returns how to run the agent against the model API at baseURL (no path) with a private home
	// directory.
	RedirectModel(baseURL, home string) Redirect
}

// Redirect is the setup of a redirected agent, and how its model calls the agent's tools. Its keys are dummies.
type Redirect struct {
	Env   map[string]string // added to a minimal environment; includes HOME
	Files map[string][]byte // by absolute path below home, to be written with mode 0600
	Model string            // a model that the agent accepts; empty: its default
	// ThinkingModel is a model with every declared thinking effort; empty: Model has them.
	ThinkingModel string

	// Shell returns the tool call that runs a command; with ask the agent must ask for permission first.
	Shell func(command string, ask bool) ScriptedCall
	// Unasked is a part of the tool result that refuses a call with ask in a run that allows everything; the model then
	// makes the call without ask. Empty: the agent makes both calls.
	Unasked string
	// MCP returns the call of an MCP server's tool.
	MCP func(server, tool string, input json.RawMessage) ScriptedCall
	// Clarify returns the call that asks the person a question, nil if the agent has none.
	Clarify func(question string) ScriptedCall
	// Structured returns the call that gives structured output, nil if the answer's text is the output.
	Structured func(value json.RawMessage) ScriptedCall
}

// ScriptedCall is a tool call as a scripted model makes it.
type ScriptedCall struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace,omitempty"`
	Input     json.RawMessage `json:"input"`
}
