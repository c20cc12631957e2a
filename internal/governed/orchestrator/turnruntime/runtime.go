// Package turnruntime carries out one dispatched turn: it hands the dispatch bundle to whoever does the work, watches over
// them, and says how that ended. What the turn's result is worth is not its business.
//
// There is one Runtime for each way to do the work: manual (a person), local_cli (any program), agent (an agent that Drawbar
// has an adapter for).
package turnruntime

import (
	"context"
	"io"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
)

// DefaultTimeout bounds a turn that nothing else bounds.
const DefaultTimeout = 20 * time.Minute

// Dispatch is a turn that is about to be carried out. Paths are absolute.
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
	// BundleDir holds the sealed bundle; what a runtime leaves as evidence goes into its folder evidence.
	BundleDir  string
	StagedPath string // where the turn's result is expected

	// Timeout is what the caller allows, whatever the configuration says; zero leaves it to a Deadline that has not passed and
	// the runtime's own timeout, the earlier of the two, and without both to DefaultTimeout.
	Timeout  time.Duration
	Deadline time.Time

	Getenv  func(string) string
	Environ []string
	// Session is the conversation of the role, as an earlier Outcome gave it; empty begins one.
	Session   string
	BudgetUSD *float64 // what the turn may cost; nil is no limit

	// Requirements are lines that tell a person what the phase's gate will ask for.
	Requirements []string
	// Approve answers permission questions of an agent in prompt mode, and Answer its questions for text; nil means that
	// nobody is there.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)

	Log io.Writer    // takes what the worker prints, as it comes; nil drops it
	Out func(string) // takes lines for the person at the terminal; nil drops them
}

// Classes of outcomes besides the provider's (execution.ErrorClass).
const (
	ClassTimeout     = "timeout"           // the time was over
	ClassExit        = "exit"              // the program ended with a code and left no result
	ClassSubprocess  = "subprocess_failed" // the program was ended by a signal, or its end is unknown
	ClassSpawn       = "spawn_failed"      // the program could not be started
	ClassNoOutput    = "no_output"         // it was started and never gave a sign of life
	ClassStalled     = "stalled"           // it fell silent
	ClassUnsupported = "unsupported"       // the agent cannot do what the turn needs
	ClassNoResult    = "no_result"         // the agent ended in good order and left no result

	// ClassExtraction is an answer that is no result.
	ClassExtraction = string(execution.ClassExtractionFailure)
)

// Outcome is how the work on a turn ended. Staged without a Class is success.
type Outcome struct {
	// Staged says that there is a result at Dispatch.StagedPath.
	Staged bool
	// Class says why there is none: one of the classes above, or an execution.ErrorClass. It is empty with Staged.
	Class    string
	ExitCode int
	Signal   string
	// Transient says that another attempt may help with nothing changed: the attempt is used up, the run goes on.
	Transient bool
	Detail    string // one line
	Hint      string // what to do or type next
	// RetryAfter is how long the provider asks to wait.
	RetryAfter time.Duration
	Meta       *protocol.AdapterMeta
	Cost       *protocol.Cost
	// Session is the conversation that the role's next turn goes on with; empty for none.
	Session string
	// Cancelled says that the caller's context ended the work.
	Cancelled bool
	// Draft says that the wait for a person ended while they have a result in the making: nobody touches it, and the turn stays.
	Draft bool
}

// Watch hears what happens. Calls come one at a time and must return soon.
type Watch interface {
	// Attached says that the work has begun; pid is 0 where no process of ours does it.
	Attached(pid int)
	// FirstOutput is the first sign of life: on stdout, stderr, as staged_result or as event.
	FirstOutput(stream string)
	Progress(govern.Progress)
	Event(execution.Event)
}

// Runtime is one way to carry out turns. It is safe for concurrent use.
type Runtime interface {
	// Check finds what would keep the turn from starting. It never runs the worker. The error is an *execution.Error.
	Check(Dispatch) error
	// Carry does the work and waits for its end. Whatever the worker does is in the Outcome; the error is about what this
	// machine refused, such as a folder that cannot be written. When ctx ends, the worker is stopped and the Outcome says Cancelled.
	Carry(ctx context.Context, d Dispatch, w Watch) (Outcome, error)
}

// ProcessName is the name of a turn's program for process.EndSurvivors. A copy of a project has the same turns and other programs.
func ProcessName(root, turn string) string { return "turn " + turn + " of " + root }

// Deps are what the runtimes stand on. The zero value does for manual and local_cli.
type Deps struct {
	Agents govern.Agents
	Start  process.Runner   // nil is process.Launch
	Now    func() time.Time // nil is time.Now
}

// For is the runtime of a declaration. The error names what is not built.
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
		return &localCLI{deps}, nil
	case protocol.RuntimeAgent:
		if deps.Agents == nil {
			return nil, execution.Errorf(execution.CodeInternal, "runtime type agent: no agent client is configured")
		}
		return &agentRuntime{deps}, nil
	case protocol.RuntimeAPIProxy, protocol.RuntimeMCP, protocol.RuntimeRemoteAgent:
		e := execution.Errorf(execution.CodeCapability, "the runtime type %s is not supported yet", rt.Type)
		e.Capability = "runtimes.type." + rt.Type
		return nil, e.WithHint("give the role a runtime of type manual, local_cli or agent in %s", protocol.ConfigFile)
	}
	return nil, execution.Errorf(execution.CodeConfig, "the runtime type %q is unknown", rt.Type).
		WithHint("use manual, local_cli or agent in %s", protocol.ConfigFile)
}
