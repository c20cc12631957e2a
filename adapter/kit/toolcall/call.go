package toolcall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Call is one tool call. Its methods emit each event once and in the order of the contract. A vendor that needs no
// lookup through Calls creates one from an id, a name and a parent.
type Call struct {
	ID, Name, Parent string
	MCP              bool   // the tool belongs to an MCP server
	Server, Short    string // the server, and the tool's name on it
	Kind             Kind
	At               time.Time // start time, zero if unknown

	Path, Command, Cwd, Agent, Skill string
	Bytes                            int64 // size of the file to write
	Creates                          bool  // an edit that creates the file

	Ready   bool   // its input is known
	Async   bool   // a sub-agent that continues after its call returned
	Failure string // failure of the sub-agent, if known before the call ends
	Input   strings.Builder

	begun   bool // the first event was emitted
	running bool // shell_start was emitted
	heard   bool // output was emitted while it was written
}

// Label returns the tool's name without its server.
func (c *Call) Label() string { return cmp.Or(c.Short, c.Name) }

// Running reports whether the command of the call is known to run.
func (c *Call) Running() bool { return c.running }

// Of marks the call as one of an MCP server's tool.
func (c *Call) Of(server, tool string) { c.MCP, c.Server, c.Short, c.Kind = true, server, tool, Other }

func (c *Call) emit(b execution.Body, s *cliagent.Sink) { s.EmitFrom(c.Parent, b) }

// Start emits the start of the call. The tool of an MCP server has one event for start and input.
func (c *Call) Start(s *cliagent.Sink) {
	if !c.begun && !c.MCP {
		c.begun = true
		c.emit(execution.ToolCallStart{ToolCallID: c.ID, ToolName: c.Name}, s)
	}
}

// Piece emits a piece of the input; all is the input so far.
func (c *Call) Piece(piece, all string, s *cliagent.Sink) {
	if c.begun && !c.MCP && piece != "" {
		c.emit(execution.ToolInputDelta{ToolCallID: c.ID, Delta: piece, InputAccumulated: all}, s)
	}
}

// Called emits the call with its whole input. Only the first report counts.
func (c *Call) Called(input json.RawMessage, s *cliagent.Sink) {
	if c.Ready {
		return
	}
	c.Ready = true
	if c.MCP {
		c.emit(execution.MCPToolCallStart{ToolCallID: c.ID, Server: c.Server, ToolName: c.Short, Input: input}, s)
		return
	}
	c.Start(s)
	c.emit(execution.ToolCallReady{ToolCallID: c.ID, ToolName: c.Name, Input: input}, s)
}

// Spawn emits the start of a sub-agent.
func (c *Call) Spawn(prompt string, s *cliagent.Sink) {
	c.emit(execution.SubagentSpawn{SubagentID: c.ID, AgentName: c.Agent, Prompt: prompt}, s)
}

// AgentEnd emits the end of the sub-agent: its answer or its failure.
func (c *Call) AgentEnd(failed bool, text string, s *cliagent.Sink) {
	if failed {
		c.emit(execution.SubagentError{SubagentID: c.ID, AgentName: c.Agent, Error: text}, s)
		return
	}
	c.emit(execution.SubagentResult{SubagentID: c.ID, AgentName: c.Agent, Summary: text}, s)
}

// Run emits once that the call's command runs.
func (c *Call) Run(s *cliagent.Sink) {
	if !c.running {
		c.running = true
		c.emit(execution.ShellStart{Command: c.Command, Cwd: c.Cwd, ToolCallID: c.ID}, s)
	}
}

// Stdout emits what the command wrote since the last call.
func (c *Call) Stdout(text string, s *cliagent.Sink) {
	if text != "" {
		c.heard = true
		c.emit(execution.ShellStdoutDelta{Delta: text, ToolCallID: c.ID}, s)
	}
}

// Stderr is Stdout for standard error.
func (c *Call) Stderr(text string, s *cliagent.Sink) {
	if text != "" {
		c.heard = true
		c.emit(execution.ShellStderrDelta{Delta: text, ToolCallID: c.ID}, s)
	}
}

// Exit is how a command ended.
type Exit struct {
	Stdout, Stderr string // output, unless it was already emitted
	Code           int
	Exited         bool // the code is known; false if the command still runs or its end is unknown
}

func (c *Call) exit(e *Exit, ms int64, s *cliagent.Sink) {
	c.Run(s)
	if !c.heard {
		c.Stdout(e.Stdout, s)
		c.Stderr(e.Stderr, s)
	}
	if e.Exited {
		c.Exit(e.Code, ms, s)
	}
}

// Exit emits the exit code of the call's command.
func (c *Call) Exit(code int, ms int64, s *cliagent.Sink) {
	c.emit(execution.ShellExit{ExitCode: code, DurationMs: ms, ToolCallID: c.ID}, s)
}

// End is what an agent reports about the end of a call.
type End struct {
	Output  json.RawMessage // the tool's output, nil for none
	Failed  bool
	Error   string // why it failed
	Command *Exit  // of a command that ran
	Async   bool   // the sub-agent continues after its call returned
	Summary string // the sub-agent's answer
	Created bool   // the written file is new
	Diff    string // diff of the changed file
	At      time.Time
}

// end emits the end of the call, its command, its sub-agent and its file. apart leaves out the sub-agent and the
// file.
func (c *Call) end(e End, apart bool, s *cliagent.Sink) {
	ms := elapsed(c.At, e.At)
	if e.Command != nil {
		c.exit(e.Command, ms, s)
	}
	if c.Kind == Agent && !apart {
		switch failed := e.Failed || c.Failure != ""; {
		case failed:
			c.AgentEnd(true, cmp.Or(c.Failure, e.Error), s)
		case !c.Async:
			c.AgentEnd(false, e.Summary, s)
		}
	}
	if e.Failed {
		c.Fail(e.Error, s)
		return
	}
	c.Done(e.Output, ms, s)
	if c.Skill != "" {
		c.emit(execution.SkillInvoked{SkillName: c.Skill}, s)
	}
	if !apart {
		c.file(e, s)
	}
}

// Done emits the end of a successful call.
func (c *Call) Done(output json.RawMessage, ms int64, s *cliagent.Sink) {
	if output == nil {
		output = json.RawMessage("null")
	}
	if c.MCP {
		c.emit(execution.MCPToolResult{ToolCallID: c.ID, Server: c.Server, ToolName: c.Short, Output: output}, s)
		return
	}
	c.emit(execution.ToolResultEvent{ToolCallID: c.ID, ToolName: c.Name, Output: output, DurationMs: ms}, s)
}

// Fail emits the end of a call that failed, was refused or was interrupted.
func (c *Call) Fail(why string, s *cliagent.Sink) {
	if c.MCP {
		c.emit(execution.MCPToolError{ToolCallID: c.ID, Server: c.Server, ToolName: c.Short, Error: why}, s)
		return
	}
	c.emit(execution.ToolError{ToolCallID: c.ID, ToolName: c.Name, Error: why}, s)
}

// file emits the event of the file that the call read or changed.
func (c *Call) file(e End, s *cliagent.Sink) {
	switch {
	case c.Kind == Read:
		c.File(execution.FileRead{Path: c.Path}, s)
	case c.Kind == Write && e.Created:
		c.File(execution.FileCreate{Path: c.Path, ByteCount: c.Bytes}, s)
	case c.Kind == Write:
		c.File(execution.FileWrite{Path: c.Path, ByteCount: c.Bytes}, s)
	case c.Kind == Edit && c.Creates:
		c.File(execution.FileCreate{Path: c.Path}, s)
	case c.Kind == Edit:
		c.File(execution.FilePatch{Path: c.Path, Diff: e.Diff}, s)
	}
}

// File emits a file event of the call, unless it has no path.
func (c *Call) File(b execution.Body, s *cliagent.Sink) {
	path := ""
	switch f := b.(type) {
	case execution.FileRead:
		path, f.ToolCallID = f.Path, c.ID
		b = f
	case execution.FileCreate:
		path, f.ToolCallID = f.Path, c.ID
		b = f
	case execution.FileWrite:
		path, f.ToolCallID = f.Path, c.ID
		b = f
	case execution.FilePatch:
		path, f.ToolCallID = f.Path, c.ID
		b = f
	case execution.FileDelete:
		path, f.ToolCallID = f.Path, c.ID
		b = f
	}
	if path != "" {
		c.emit(b, s)
	}
}

// Raw returns a copy of a value as JSON, or none if it does not exist.
func Raw(v jsonscan.Value, none string) json.RawMessage {
	if !v.Exists() {
		return json.RawMessage(none)
	}
	return bytes.Clone(v.Raw())
}

// elapsed returns the milliseconds between two times, 0 if one is missing.
func elapsed(from, to time.Time) int64 {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from).Milliseconds()
}
