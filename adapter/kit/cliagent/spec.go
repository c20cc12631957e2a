package cliagent

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Spec describes a command line agent. The functions are called once per run and must be safe for concurrent runs.
type Spec struct {
	Name         string                        // the agent's registered name, for errors
	Command      string                        // program, looked up on the PATH of the run's environment
	Other        string                        // program that takes the place of a Command that is not there; empty for none
	InstallHint  string                        // install command, for the error if it is missing
	Capabilities func() execution.Capabilities // a fresh copy for each call
	Spawn        func(*Launch) (Invocation, error)
	NewParser    func(execution.Request) Parser
	Locate       func(found string) string                  // optional: replaces the program that was found
	Negotiate    func(execution.Request) []execution.Reason // optional; pure
	// Narrow removes the capabilities that the run of a request lacks. Optional; pure.
	Narrow      func(execution.Request, *execution.Capabilities)
	HostSignals []string // removed from the environment besides the markers of registered agents; for an agent that is not registered
	Keys        []string // variables kept in a minimal environment besides the allow-list
	Hooks       Hooks
	ToolHook    *ToolHook // nil for an agent that cannot ask before a tool call
	// ToolUse returns what a tool call of a hook would do. Required with a ToolHook, unless it has Approvals, which state it themselves.
	ToolUse func(tool string, input json.RawMessage) execution.ToolUse
	// Prints are the possible first records of the agent's output when another program runs it for one turn.
	Prints []Record
	// Printed returns the parser of that output. Optional; default: NewParser with an empty request.
	Printed func() Parser

	// Hasty means that the program exits before its output is read and loses what exceeds a pipe's buffer: it gets a
	// larger buffer.
	Hasty bool

	Grace  time.Duration // TERM to KILL; default 5s, Run.GracePeriodMs wins
	Linger time.Duration // from Sink.Done to stopping a process that does not exit; default 5s
	Drain  time.Duration // from exit to closing streams that a grandchild keeps open; default 2s
}

// Invocation describes how to start the program, without a shell.
type Invocation struct {
	Command   string            // overrides Spec.Command
	Args      []string          //
	Env       map[string]string // set over the run's environment, below Run.Env; an empty value unsets
	EnvOver   map[string]string // set over Run.Env too: values that contain the user's, which Spawn read with Launch.Variable
	EnvLists  map[string]string // appended with a comma to the variables of these names
	Stdin     []byte            // written at the start
	KeepStdin bool              // keep stdin open for Sink.Write; Sink.CloseInput or the end closes it
	PTY       bool              // run it in a terminal; the parser gets lines without control sequences
}

// Parser converts the output of one run to events. The kit serializes all calls, so a parser needs no locks; it must
// not block. A panic in Line becomes a recoverable PARSE_ERROR event, and parsing continues with the next line.
type Parser interface {
	// Open is called after the process started and before the first line, to write a handshake.
	Open(*Sink)
	// Line parses a line without its line ending; it may contain any bytes and is valid during the call only. In
	// debug mode the kit sets the line as Raw of the call's events.
	Line(src process.Stream, line []byte, s *Sink)
	// Command passes on Say, Answer, Interrupt or EndInput to the running agent. EndInput comes at most once, and
	// directly after Open for a run that is not interactive. An *execution.Error says why it cannot be done now: the
	// kit cancels a refused message and makes a recoverable error event of any other refusal except that of EndInput.
	Command(cmd execution.Command, s *Sink) error
	// Exit is called once, when the process has ended and every line was parsed, unless the consumer stopped before.
	// It returns the outcome as the agent stated it: Status, Output, Error, Model, SessionID, Usage, Cost, ExitReason
	// and Metadata as far as known. The kit fills in the rest: a result without Status and Error means that the agent
	// stated none, which is never a success.
	Exit(exit process.Exit, s *Sink) execution.Result
}

// Alarmed is a parser that can be called at a time, see Sink.AlarmIn. It must not block.
type Alarmed interface {
	Alarm(*Sink)
}

// Hooks replace the kit's behaviour at the edges of a run (agent-mux specification, section 4). A nil or panicking
// hook means the default.
type Hooks struct {
	// OnSpawnError returns the event for a process that could not start. Default: crash with exit code -1.
	OnSpawnError func(error) execution.Body
	// OnTimeout returns the event for inactivity, which timeout{inactivity} follows. Default: error
	// INACTIVITY_TIMEOUT, not recoverable.
	OnTimeout func() execution.Body
	// OnProcessExit returns events for the exit. Default: none for 0, for a stopped process, and for one whose parser
	// states a result; crash with code and stderr for another code without an earlier crash; error AGENT_CRASH for a
	// signal.
	OnProcessExit func(process.Exit) []execution.Body
	// ShouldRetry decides about another attempt; attempt counts from 0. Default: attempts remain, the code is in
	// policy.RetryOn, and the failure is recoverable.
	ShouldRetry func(failure execution.Body, attempt int, policy execution.RetryPolicy) bool
}
