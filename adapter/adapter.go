// Package adapter is the seam: what a backend must offer to be driven, and what it may offer besides. Package catalog
// looks backends up and finds out what a machine has of them.
//
// An adapter translates between the words of package execution and one backend. It holds no policy, memory, session
// store or coordination, keeps no state between executions, and reads no file and no variable on its own: optional
// interfaces receive a Host. What every backend must guarantee (one result, event order, deadlines, negotiation) is not
// an adapter's business but that of package agent.
//
// Everything but Adapter is optional; As finds what an adapter has, also behind decorators:
//
//   - a run: Negotiator (reasons that capabilities cannot state), RunCapabilities (runs that differ), Retrier, SessionSums (what a
//     session had used before), OutputReader (what the agent prints when somebody else started it)
//   - the machine: Prober (installed, logged in), AuthGuide, Installer, ModelRedirector (another model API)
//   - what the agent leaves on disk: SessionStore, SessionFollower, UsageLog (read by a UsageScanner)
//   - what it can be given: NativeHooks, PluginManager, PluginSearcher, SkillKeeper
//   - a decorator: Unwrapper
//
// An Inbox may be a ToolHost (tools of the caller) and a HookHost (asked before each tool call).
package adapter

import (
	"context"
	"encoding/json"
	"io/fs"
	"iter"

	"github.com/drawbar/drawbar/execution"
)

// Adapter drives one backend. One value serves concurrent executions.
type Adapter interface {
	// Capabilities declares what the backend can do. It is static and free of I/O, and every call returns a fresh copy.
	Capabilities() execution.Capabilities

	// Execute runs one process or connection, which carries one or more turns, and yields what happens as it happens.
	//
	// The function body owns the backend and has cleaned up before it returns, whether the backend ends, ctx is done or
	// the consumer stops. Each turn ends with execution.TurnEnd and the last event is execution.Finished; only Body,
	// Parent, Origin and Raw of an event are set. A backend's failure is a Finished result, never an error; the error of
	// the sequence is for a broken caller or a broken adapter and ends it.
	//
	// Execute reads commands from in until it returns io.EOF. A run that takes no more messages gets EndInput first thing
	// and ends after its first turn; answers and interrupts may still follow until then. An adapter never decides a
	// question: it emits it and waits for its Answer.
	Execute(ctx context.Context, req execution.Request, in Inbox) iter.Seq2[execution.Event, error]
}

// Inbox gives an execution its commands. It is safe for use by one goroutine at a time.
type Inbox interface {
	// Receive waits for the next command. io.EOF means that there will be no more.
	Receive(ctx context.Context) (execution.Command, error)
}

// ToolHost is implemented by an Inbox whose caller handles the tools of the request. CallTool is safe for concurrent
// use; its error is for a caller that cannot be reached, a failing tool is a ToolResult with Error set.
type ToolHost interface {
	CallTool(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error)
}

// HookHost is implemented by an Inbox whose caller wants to be asked before each tool call of the agent's own. The adapter
// asks before the tool runs, does what the answer says, and treats whatever keeps it from asking as a denial. DecideTool
// is safe for concurrent use and always answers, a caller that fails or takes too long by a denial.
type HookHost interface {
	DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult
}

// Negotiator is an adapter that knows more about a request than its capabilities say. Negotiate is pure: it adds reasons
// to those that package agent finds, and starts, reads and changes nothing.
type Negotiator interface {
	Negotiate(req execution.Request) []execution.Reason
}

// CapabilitiesOf are the capabilities of an adapter, with a word for what it leaves out.
func CapabilitiesOf(a Adapter) execution.Capabilities { return a.Capabilities().Stated() }

// RunCapabilities is an adapter whose runs differ: Capabilities is the most that a request can get, and CapabilitiesFor what this
// one will. It starts, reads and changes nothing.
type RunCapabilities interface {
	CapabilitiesFor(req execution.Request) execution.Capabilities
}

// Retrier is an adapter that decides itself whether a failed attempt is worth another one (agent-mux specification,
// shouldRetry). Without it package agent applies the policy's own rule. A panic means no.
type Retrier interface {
	// ShouldRetry is asked once per failed attempt; attempt counts from 0.
	ShouldRetry(failure execution.Body, attempt int, policy execution.RetryPolicy) bool
}

// Unwrapper is an adapter that decorates another one.
type Unwrapper interface{ Unwrap() Adapter }

// As finds the first adapter in the chain of decorators that implements T.
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

// Host is the world that optional interfaces may look at. It never belongs to an adapter: the caller passes it in, and
// tests pass a small one.
type Host struct {
	FS       fs.FS                                                           // rooted at /, read only; Name makes its names of absolute paths
	Getenv   func(string) string                                             // never nil
	Home     string                                                          // absolute
	Platform string                                                          // runtime.GOOS of the host
	LookPath func(name string) (string, error)                               // finds a command as a shell would
	Spawn    func(ctx context.Context, c SpawnRequest) (SpawnOutcome, error) // runs a command to its end
}

// SpawnRequest is a command to run to its end.
type SpawnRequest struct {
	Command string
	Args    []string
	Env     map[string]string // set over the host's environment
	Cwd     string
	Stdin   []byte // all of its input; none by default
}

// SpawnOutcome is what a command left behind.
type SpawnOutcome struct {
	Code   int
	Stdout string
	Stderr string
}

// Prober looks whether an agent is installed and logged in. It reads only, asks nobody, and returns within ctx. Probe and
// DetectAuth are called at the same time.
type Prober interface {
	// Probe fills Installed, Path, Version and Notes. An agent that is not there is no error.
	Probe(ctx context.Context, h Host) (Installation, error)
	// DetectAuth reads environment and files only. A failure is the status unknown, never an error.
	DetectAuth(ctx context.Context, h Host) AuthState
}

// Installation is what a probe found.
type Installation struct {
	Installed   bool
	Path        string // absolute
	Version     string // as the agent states it, empty when it could not be read
	ActiveModel string // empty when unknown
	Notes       string // why something could not be found
}

// ModelRedirector is an adapter whose agent can be pointed at another model API: a scripted one, for demonstrations,
// conformance and tests. It is pure; the caller writes the files.
type ModelRedirector interface {
	// RedirectModel says how to run the agent against the model API at baseURL (no path) with a private home directory.
	RedirectModel(baseURL, home string) Redirect
}

// Redirect is what must be set for a redirected agent, and how its model asks for what the agent can do. Keys in it are
// dummies.
type Redirect struct {
	Env   map[string]string // set over a minimal environment; HOME is among them
	Files map[string][]byte // by absolute path below home, to be written with mode 0600
	Model string            // a model that the agent takes without complaint; empty: its default
	// ThinkingModel is a model that has every thinking effort that is declared; empty: Model has.
	ThinkingModel string

	// Shell is the tool call that runs a command; with ask the agent must ask for permission first.
	Shell func(command string, ask bool) ScriptedCall
	// MCP is the call of a tool of an MCP server.
	MCP func(server, tool string, input json.RawMessage) ScriptedCall
	// Clarify is the call that asks the person a question, nil where the agent has none.
	Clarify func(question string) ScriptedCall
	// Structured is the call that gives structured output, nil where the answer's text is the output.
	Structured func(value json.RawMessage) ScriptedCall
}

// ScriptedCall is a tool call as a scripted model makes it.
type ScriptedCall struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace,omitempty"`
	Input     json.RawMessage `json:"input"`
}
