package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// twoWay reports whether the run needs the Agent Client Protocol: somebody may say something, or only a session of
// that protocol supports the request. A single prompt would need MCP servers in the user's settings and attachments
// in the workspace; a session takes both directly.
//
// A long prompt also needs it. Gemini repeats the prompt of a single run on its standard output and exits without
// waiting for the reader: what exceeds a pipe's buffer is lost, the result first. A turn limit, which a session
// cannot enforce, takes precedence.
func twoWay(req execution.Request) bool {
	return req.Run.Interactive || req.Run.MaxTurns == 0 && len(message(req)) > maxEcho || len(req.Run.MCPServers) > 0 || len(req.Tools) > 0 || len(req.Message.Attachments) > 0 ||
		mode(req.Run) == execution.ApprovalPrompt && cliagent.WantsApprovals(req)
}

// maxEcho is the longest prompt whose JSON still fits into a pipe's buffer.
const maxEcho = 16 << 10

// protocol describes Gemini as an agent of the Agent Client Protocol. Mode and model are arguments: setting a
// session's mode would add a text of the agent. authenticate is never called, because it writes the user's settings.
var protocol = acpagent.Spec{
	Name:        name,
	LoginHint:   loginGuidance,
	ModelInArgs: true,
	InlineOnly:  true,
	ToolName:    toolName,
	Input:       callInput,
	MCPTool: func(c *acpagent.ToolCall, servers []string) (server, tool string, ok bool) {
		server, tool = tools.MCP.Split(toolName(c), slices.Values(servers))
		return server, tool, server != ""
	},
	Shell:    shellOf,
	Classify: classify,
}

// spawnConversation returns the command line of a conversation.
func (w world) spawnConversation(l *cliagent.Launch) (cliagent.Invocation, error) {
	if session := sessionOf(l.Request); session != "" {
		if !cliagent.IsUUID(session) {
			return cliagent.Invocation{}, noSession(session)
		}
		if err := w.protect(l.Request, session); err != nil {
			return cliagent.Invocation{}, err
		}
	}
	return cliagent.Invocation{Args: append([]string{"--acp"}, options(l)...), Env: environment(l), EnvOver: inherited(l)}, nil
}

// toolName extracts the tool's name from the id of its call: write_file__CALL.
func toolName(c *acpagent.ToolCall) string {
	if at := strings.LastIndex(c.ID, "__"); at > 0 {
		return c.ID[:at]
	}
	return ""
}

// callInput returns the visible part of a call's input: the arguments of an MCP server's tool, a command, a file
// change.
func callInput(c *acpagent.ToolCall) []byte {
	var in map[string]any
	switch tool := toolName(c); {
	case strings.HasPrefix(tool, tools.MCP.Prefix):
		if text := c.Text(); json.Valid([]byte(text)) {
			return []byte(text)
		}
	case tool == toolShell:
		in = map[string]any{"command": c.Title}
	case len(c.Content) == 1 && c.Content[0].Diff != nil:
		d := c.Content[0].Diff
		in = map[string]any{"file_path": d.Path, "content": d.New}
	}
	if in == nil {
		return nil
	}
	b, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return b
}

// shellOf reads the call of a command. Its exit code is only shown if it failed without output.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	if toolName(c) != toolShell {
		return acpagent.Shell{}, false
	}
	sh := acpagent.Shell{Command: c.Title, Output: c.Text()}
	if digits, ok := strings.CutPrefix(sh.Output, exitedWith); ok {
		if code, err := strconv.Atoi(strings.TrimSpace(digits)); err == nil {
			sh.ExitCode, sh.Output = &code, ""
		}
	}
	return sh, true
}

// classify returns the code of a protocol error, whose number is the status of the model API.
func classify(code int64, message string) execution.ErrorCode {
	if word := failures.Text(strings.ToLower(message)); word != "" {
		return word
	}
	return failures.Status(code)
}

// conversation is the kit's parser plus Gemini's standard error, the only trace of retried model calls; it arrives
// when Gemini exits.
type conversation struct {
	cliagent.Parser
	err stderr
}

var _ cliagent.Alarmed = (*conversation)(nil)

// newConversation returns the parser of a run over the Agent Client Protocol. A prompt that replaces Gemini's own is
// passed in a file, so the kit does not send it again.
func newConversation(req execution.Request) *conversation {
	req = req.Clone()
	req.Run.SessionID = sessionOf(req)
	if replace, _ := cliagent.Instructions(req); replace != "" {
		req.Instructions.SystemPrompt = ""
	}
	return &conversation{Parser: protocol.NewParser(req), err: stderr{late: true}}
}

// Line handles one line of Gemini's output.
func (c *conversation) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if src != process.Stderr {
		c.Parser.Line(src, line, s)
		return
	}
	if !c.err.session && s.SessionID() != "" {
		c.err.begun(s)
	}
	c.err.line(line, s)
}

// Alarm handles the end of the time for a reply.
func (c *conversation) Alarm(s *cliagent.Sink) {
	if a, ok := c.Parser.(cliagent.Alarmed); ok {
		a.Alarm(s)
	}
}

// Exit returns the outcome. A fatal error before there is a session is on standard error.
func (c *conversation) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := c.Parser.Exit(exit, s)
	res.Retries = c.err.retries
	if res.Status == "" && res.Error == nil && s.SessionID() == "" && !exit.Stopped && exit.Signal == "" {
		if f := c.err.failure(exit.Code); f != nil {
			o := outcomeOf("", f)
			o.Report(s)
			o.Fill(&res)
		}
	}
	return res
}
