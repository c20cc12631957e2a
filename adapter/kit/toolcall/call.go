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

// Call is one tool call. Its methods emit each event of a call once and in the order of the contract; a vendor whose calls need no
// Calls to find them makes one of an id, a name and a parent.
type Call struct {
	ID, Name, Parent string
	MCP              bool   // the tool is that of an MCP server
	Server, Short    string // the server, and the tool's name there
	Kind             Kind
	At               time.Time // when it began, zero if unknown

	Path, Command, Cwd, Agent string
	Bytes                     int64 // of the file to write
	Creates                   bool  // an edit that makes a new file

	Ready   bool   // its input is known
	Async   bool   // a sub-agent that works on after its call returned
	Failure string // of the sub-agent, where it is known before the call's end
	Input   strings.Builder

	begun   bool // its first event is out
	running bool // shell_start is out
	heard   bool // its output came as it was written
}

// Label is the name of the tool without its server.
func (c *Call) Label() string { return cmp.Or(c.Short, c.Name) }

// Running reports whether the command of the call is known to run.
func (c *Call) Running() bool { return c.running }

// Of says that the call is one of an MCP server's tool.
func (c *Call) Of(server, tool string) { c.MCP, c.Server, c.Short, c.Kind = true, server, tool, Other }

func (c *Call) emit(b execution.Body, s *cliagent.Sink) { s.EmitFrom(c.Parent, b) }

// Start is the beginning of the call. That of an MCP server's tool has one event for its start and its input.
func (c *Call) Start(s *cliagent.Sink) {
	if !c.begun && !c.MCP {
		c.begun = true
		c.emit(execution.ToolCallStart{ToolCallID: c.ID, ToolName: c.Name}, s)
	}
}

// Piece is a piece of the call's input, and all of it so far.
func (c *Call) Piece(piece, all string, s *cliagent.Sink) {
	if c.begun && !c.MCP && piece != "" {
		c.emit(execution.ToolInputDelta{ToolCallID: c.ID, Delta: piece, InputAccumulated: all}, s)
	}
}

// Called is the call with its whole input. The first report counts.
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

// Spawn says that the call starts a sub-agent.
func (c *Call) Spawn(prompt string, s *cliagent.Sink) {
	c.emit(execution.SubagentSpawn{SubagentID: c.ID, AgentName: c.Agent, Prompt: prompt}, s)
}

// AgentEnd is the end of the sub-agent that the call started: its answer, or why it failed.
func (c *Call) AgentEnd(failed bool, text string, s *cliagent.Sink) {
	if failed {
		c.emit(execution.SubagentError{SubagentID: c.ID, AgentName: c.Agent, Error: text}, s)
		return
	}
	c.emit(execution.SubagentResult{SubagentID: c.ID, AgentName: c.Agent, Summary: text}, s)
}

// Run says once that the command of the call runs.
func (c *Call) Run(s *cliagent.Sink) {
	if !c.running {
		c.running = true
		c.emit(execution.ShellStart{Command: c.Command, Cwd: c.Cwd, ToolCallID: c.ID}, s)
	}
}

// Stdout is what a command has written since the last call.
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
	Stdout, Stderr string // what it wrote, unless that was told as it was written
	Code           int
	Exited         bool // the code is known; otherwise the command still runs or its end is unknown
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

// Exit is the exit code of the call's command.
func (c *Call) Exit(code int, ms int64, s *cliagent.Sink) {
	c.emit(execution.ShellExit{ExitCode: code, DurationMs: ms, ToolCallID: c.ID}, s)
}

// End is what an agent says of the end of a call.
type End struct {
	Output  json.RawMessage // what the tool gave back, nil for nothing
	Failed  bool
	Error   string // why it failed
	Command *Exit  // of a command that ran
	Async   bool   // the sub-agent works on after its call returned
	Summary string // the sub-agent's answer
	Created bool   // the file that was written is a new one
	Diff    string // of the file that was changed
	At      time.Time
}

// End is the end of the call: its command's, its sub-agent's, its own, and the file that it read or changed. apart leaves out the
// sub-agent and the file.
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
	if !apart {
		c.file(e, s)
	}
}

// Done is the end of a call that succeeded.
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

// Fail is the end of a call that failed, was refused or was interrupted.
func (c *Call) Fail(why string, s *cliagent.Sink) {
	if c.MCP {
		c.emit(execution.MCPToolError{ToolCallID: c.ID, Server: c.Server, ToolName: c.Short, Error: why}, s)
		return
	}
	c.emit(execution.ToolError{ToolCallID: c.ID, ToolName: c.Name, Error: why}, s)
}

// file is the event of the file that the call read or changed.
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

// Raw is a copy of a value as JSON, or what stands for none.
func Raw(v jsonscan.Value, none string) json.RawMessage {
	if !v.Exists() {
		return json.RawMessage(none)
	}
	return bytes.Clone(v.Raw())
}

// elapsed is the time between two stamps in milliseconds, 0 when one is missing.
func elapsed(from, to time.Time) int64 {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from).Milliseconds()
}
