package cliagent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// OneShot is the part of a parser whose agent gets its prompt at the start and no further input. It is for embedding;
// its value is the agent's name.
type OneShot string

// Open does nothing: the prompt is on standard input.
func (OneShot) Open(*Sink) {}

// Command refuses everything except the end of the input: the agent ends on its own. An interrupt then becomes a
// signal.
func (o OneShot) Command(cmd execution.Command, _ *Sink) error {
	if _, ok := cmd.(execution.EndInput); ok {
		return nil
	}
	return execution.Errorf(execution.CodeStdinNotAvailable, "%s runs in one-shot mode and accepts no input; make the request interactive", string(o))
}

// WantsApprovals reports whether the caller wants to be asked for approvals.
func WantsApprovals(req execution.Request) bool {
	q := req.Requirements
	return q != nil && (q.ApprovalInterrupts == execution.SupportPreferred || q.ApprovalInterrupts == execution.SupportRequired)
}

// Asks reports whether questions must reach the caller although the run is not a conversation: the approval mode is
// prompt, the run may be interrupted, or a tool needs approval.
func Asks(req execution.Request) bool {
	switch req.Run.ApprovalMode {
	case execution.ApprovalPrompt:
		return true
	case execution.ApprovalDeny:
		return false
	}
	return WantsApprovals(req) || slices.ContainsFunc(req.Tools, func(t execution.Tool) bool { return t.RequiresApproval })
}

// AllowedTools lists the request's tools that need no approval, as an agent names them that calls an MCP server's tool
// mcp__SERVER__TOOL. The caller chose its tools, so they need no permission unless it says so.
func AllowedTools(req execution.Request) string {
	var names []string
	for _, t := range req.Tools {
		if !t.RequiresApproval {
			names = append(names, "mcp__"+CallerTools+"__"+t.Name)
		}
	}
	return strings.Join(names, ",")
}

// OutputLimit returns the limit of output tokens; maxOutputTokens takes precedence over maxTokens.
func OutputLimit(run execution.RunOptions) int { return cmp.Or(run.MaxOutputTokens, run.MaxTokens) }

// Scripted returns the tool call of a scripted model. The input must be encodable as JSON.
func Scripted(tool string, input map[string]any) adapter.ScriptedCall {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return adapter.ScriptedCall{Name: tool, Input: b}
}

// MCPEntry is an MCP server in the format of agents' configuration files. Unsupported members stay empty.
type MCPEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	HTTPURL string            `json:"httpUrl,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
}

// MCPFile returns the file that adds servers to the user's. An entry has the type stdio, sse or http; adapt, which
// may be nil, converts it to the agent's format.
func MCPFile(servers []execution.MCPServer, adapt func(*MCPEntry)) []byte {
	types := map[execution.MCPTransport]string{execution.MCPStdio: "stdio", execution.MCPSSE: "sse", execution.MCPStreamableHTTP: "http"}
	m := map[string]*MCPEntry{}
	for _, s := range servers {
		e := &MCPEntry{Type: types[s.Transport], Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers}
		if adapt != nil {
			adapt(e)
		}
		m[s.Name] = e
	}
	b, err := json.Marshal(map[string]any{"mcpServers": m})
	if err != nil {
		panic("encode MCP servers: " + err.Error()) // strings always encode
	}
	return b
}
