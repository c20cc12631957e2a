package cliagent

import (
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Spec describes a command line agent. The functions are called once per run and must be safe for concurrent runs.
type Spec struct {
	Name         string                        // the agent's registered name, for errors
	Command      string                        // program, looked up on the PATH of the run's environment
	InstallHint  string                        // command that installs it, for the error when it is missing
	Capabilities func() execution.Capabilities // a fresh copy each call
	Spawn        func(*Launch) (Invocation, error)
	NewParser    func(execution.Request) Parser
	Locate       func(found string) string                  // optional: the program to start instead of the one that was found
	Negotiate    func(execution.Request) []execution.Reason // optional; pure
	// Narrow takes out of the capabilities what the run of a request does not have. Optional; pure.
	Narrow      func(execution.Request, *execution.Capabilities)
	HostSignals []string // removed from the environment besides the markers of registered agents; for one that is not registered
	Keys        []string // variables kept in a minimal environment besides the allow-list
	Hooks       Hooks
	ToolHook    *ToolHook // nil for an agent that cannot be made to ask before a tool call
	// Prints are the lines of which one is the first record that the agent prints when another program runs it for one turn.
	Prints []Record
	// Printed makes the parser of that output. Optional: NewParser, for a request that says nothing.
	Printed func() Parser

	// Hasty says that the program exits before its output was read and loses what a pipe does not hold: it gets a larger one.
	Hasty bool

	Grace  time.Duration // TERM to KILL; default 5s, Run.GracePeriodMs wins
	Linger time.Duration // from Sink.Done to stopping a process that does not end by itself; default 5s
	Drain  time.Duration // from exit to cutting streams that a grandchild holds; default 2s
}

// Invocation says how to start the program. There is no shell: one element of Args is one argument.
type Invocation struct {
	Command   string            // overrides Spec.Command
	Args      []string          //
	Env       map[string]string // set over the run's environment, below Run.Env; an empty value unsets
	EnvLists  map[string]string // added with a comma to the lists that the environment holds under these names
	Stdin     []byte            // written at the start
	KeepStdin bool              // leave stdin open for Sink.Write; it is closed by Sink.CloseInput or at the end
	PTY       bool              // run it in a terminal; the parser gets its lines without control sequences
}

// Parser turns the output of one run into events. The kit serializes all calls, so a parser may keep state without
// locks; it must not block. A panic in Line becomes a recoverable PARSE_ERROR event and the next line goes on.
type Parser interface {
	// Open is called after the process has started, before the first line: the place to write a handshake.
	Open(*Sink)
	// Line is one line without its line ending, any bytes. It is valid during the call only. In debug mode the kit gives
	// the events of the call the line as Raw.
	Line(src process.Stream, line []byte, s *Sink)
	// Command is something said to the running agent: Say, Answer, Interrupt or EndInput. EndInput comes at most once,
	// and right after Open for a run that is not interactive. An *execution.Error says why it cannot be done now: the kit
	// cancels a message that is refused and makes a recoverable error event of any other refusal but that of EndInput.
	Command(cmd execution.Command, s *Sink) error
	// Exit is called once, when the process is gone and every line has been parsed, unless the consumer has left by then.
	// It returns the outcome as the agent stated it: Status, Output, Error, Model, SessionID, Usage, Cost, ExitReason and
	// Metadata as far as known. The kit fills the rest: a result without Status and Error is the agent's silence, which the kit never takes for success.
	Exit(exit process.Exit, s *Sink) execution.Result
}

// Alarmed is a parser that wants to be called at a time, see Sink.AlarmIn. It must not block.
type Alarmed interface {
	Alarm(*Sink)
}

// Hooks override what the kit does at the edges of a run (agent-mux specification, section 4). A nil or panicking hook
// means the default.
type Hooks struct {
	// OnSpawnError makes the event for a process that could not start. Default: crash with exit code -1.
	OnSpawnError func(error) execution.Body
	// OnTimeout makes the event for silence, which timeout{inactivity} follows. Default: error INACTIVITY_TIMEOUT, not recoverable.
	OnTimeout func() execution.Body
	// OnProcessExit makes events for the exit. Default: none for 0, for a process that was stopped, and for one whose
	// parser states a result; crash with code and stderr for another code without an earlier crash; error AGENT_CRASH
	// for a signal.
	OnProcessExit func(process.Exit) []execution.Body
	// ShouldRetry decides on another attempt; attempt counts from 0. Default: attempts remain, the code is in
	// policy.RetryOn, and the failure is recoverable.
	ShouldRetry func(failure execution.Body, attempt int, policy execution.RetryPolicy) bool
}
