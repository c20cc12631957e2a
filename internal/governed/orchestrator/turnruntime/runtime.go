// Package turnruntime runs one dispatched turn: it gives the dispatch bundle to a worker, supervises the worker, and
// reports how the work ended. It does not judge the turn's result.
//
// There is one Runtime for each kind of worker: manual (a person), local_cli (any program), agent (an agent with an
// adapter), api_proxy (a model behind an API), mcp (a tool of an MCP server), remote_agent (an agent's service),
// custom (an adapter of the project).
package turnruntime

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/transport/process"
)

// DefaultTimeout bounds a turn that nothing else bounds.
const DefaultTimeout = 20 * time.Minute

// Dispatch is a turn to run. Paths are absolute.
type Dispatch struct {
	Root    string // of the project
	WorkDir string // where the work is done: Root, or the turn's worktree; empty is Root
	Run     string
	Phase   string
	Turn    protocol.Turn

	RoleID    string
	Role      protocol.Role
	RuntimeID string
	Runtime   protocol.Runtime
	Loop      protocol.RunLoop

	Prompt  string // the content of PROMPT.md
	Context string // the content of CONTEXT.md
	// BundleDir holds the sealed bundle; runtimes write evidence to its folder evidence.
	BundleDir  string
	StagedPath string // where the turn's result is expected

	// Timeout is the caller's limit and overrides the configuration. If it is zero, the limit is the earlier of a
	// Deadline in the future and the runtime's own timeout, or else DefaultTimeout.
	Timeout  time.Duration
	Deadline time.Time

	Getenv  func(string) string
	Environ []string
	// Session is the role's conversation from an earlier Outcome; empty starts a new one.
	Session   string
	BudgetUSD *float64 // budget of the turn; nil is unlimited
	// Rates are the prices of models that the project states.
	Rates protocol.Ordered[protocol.CostRate]

	// Requirements are the requirements of the phase's gate, in lines for a person.
	Requirements []string
	// Approve answers permission questions of an agent in prompt mode, and Answer its questions for text; nil means
	// that there is no person to ask.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)

	Log io.Writer    // receives what the worker prints; nil discards it
	Out func(string) // receives lines for the person at the terminal; nil discards them
}

// Classes of outcomes in addition to the provider's (execution.ErrorClass).
const (
	ClassTimeout     = "timeout"           // the time limit expired
	ClassExit        = "exit"              // the program exited without a result
	ClassSubprocess  = "subprocess_failed" // the program was killed by a signal, or its exit is unknown
	ClassSpawn       = "spawn_failed"      // the program could not be started
	ClassNoOutput    = "no_output"         // it started but never gave a sign of life
	ClassStalled     = "stalled"           // it stopped giving signs of life
	ClassUnsupported = "unsupported"       // the agent lacks a capability that the turn needs
	ClassNoResult    = "no_result"         // the agent finished normally without a result

	// ClassExtraction is an answer that is not a result.
	ClassExtraction = string(execution.ClassExtractionFailure)
)

// Outcome is how the work on a turn ended. Staged without a Class is success.
type Outcome struct {
	// Staged reports whether there is a result at Dispatch.StagedPath.
	Staged bool
	// Class is the reason why there is none: one of the classes above, or an execution.ErrorClass. It is empty with
	// Staged.
	Class    string
	ExitCode int
	Signal   string
	// Transient says that another attempt may help without any change: the attempt is used up, and the run continues.
	Transient bool
	Detail    string // one line
	Hint      string // what to do or type next
	// RetryAfter is the wait that the provider asks for.
	RetryAfter time.Duration
	Meta       *protocol.AdapterMeta
	Cost       *protocol.Cost
	// Session is the conversation to continue in the role's next turn; empty for none.
	Session string
	// Cancelled says that the caller's context ended the work.
	Cancelled bool
	// Draft says that the wait for a person ended while they were writing a result: the file is left alone and the turn
	// stays.
	Draft bool
}

// Watch receives progress. Calls do not overlap and must return soon.
type Watch interface {
	// Attached reports that the work has begun; pid is 0 if no process of ours does it.
	Attached(pid int)
	// FirstOutput reports the first sign of life: on stdout, stderr, as staged_result or as event.
	FirstOutput(stream string)
	Progress(govern.Progress)
	Event(execution.Event)
}

// Runtime runs turns with one kind of worker. It is safe for concurrent use.
type Runtime interface {
	// Check returns what would keep the turn from starting. It does not run the worker. The error is an
	// *execution.Error.
	Check(Dispatch) error
	// Run runs the turn to its end. The Outcome says what the worker did; the error is about this machine, such as a
	// folder that cannot be written. When ctx ends, the worker is stopped and the Outcome says Cancelled.
	Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error)
}

// ProcessName is the name of a turn's program for process.EndSurvivors. It contains the project, because a copy of a
// project has the same turns.
func ProcessName(root, turn string) string { return "turn " + turn + " of " + root }

// Deps are the dependencies of runtimes. The zero value suffices for manual and local_cli.
type Deps struct {
	Agents govern.Agents
	Start  process.Runner    // nil is process.Launch
	Now    func() time.Time  // nil is time.Now
	HTTP   http.RoundTripper // of requests to services; nil is one of its own for each turn
}

// For returns the runtime of a declaration. The error says what is not supported.
func For(rt protocol.Runtime, deps Deps) (Runtime, error) {
	if deps.Start == nil {
		deps.Start = process.Launch
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	switch rt.Type {
	case protocol.RuntimeManual:
		return &manual{deps}, nil
	case protocol.RuntimeLocalCLI:
		return deps.counted(&localCLI{deps}), nil
	case protocol.RuntimeAgent:
		if deps.Agents == nil {
			return nil, execution.Errorf(execution.CodeInternal, "runtime type agent: no agent client is configured")
		}
		return &agentRuntime{deps}, nil
	case protocol.RuntimeAPIProxy:
		return &apiProxy{deps}, nil
	case protocol.RuntimeMCP:
		return deps.counted(&mcpRuntime{deps}), nil
	case protocol.RuntimeRemoteAgent:
		return deps.counted(&remoteAgent{deps}), nil
	}
	if rt.Adapter != nil {
		return deps.counted(&custom{deps}), nil
	}
	return nil, execution.Errorf(execution.CodeConfig, "the runtime type %q is unknown", rt.Type).
		WithHint("use %s in %s", strings.Join(charter.RuntimeTypes(), ", "), protocol.ConfigFile)
}
