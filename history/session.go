// Package history defines the words for what agents left on disk: conversations and the usage in them. Package sessions
// has the queries about them.
package history

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// File is a session as found in a directory.
type File struct {
	Agent    string
	ID       string    // the agent's own id
	Path     string    // absolute
	Size     int64     // bytes of Path
	ModTime  time.Time // last change of anything in the summary
	Cwd      string    // the session's directory, if the file's location implies it
	Parent   string    // the session that started this sub-agent, if the file's location implies it
	Archived bool      // archived by the agent's own command
	Parts    []string  // other files, those of sub-agents, absolute
	Problem  string    // why it cannot be read; empty for a regular file
}

// Problem is something in a store that could not be read completely.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // counted from 1
	Message string `json:"message"`
}

// String returns the problem on one line, starting with the path.
func (p Problem) String() string {
	if p.Line > 0 {
		return p.Path + ": line " + strconv.Itoa(p.Line) + ": " + p.Message
	}
	return p.Path + ": " + p.Message
}

// Summary is a session as shown in a list (agent-mux specification, SessionSummary). Counts are those of
// the main conversation, without sub-agents.
type Summary struct {
	Agent        string           `json:"agent"`
	SessionID    string           `json:"sessionId"`
	UnifiedID    string           `json:"unifiedId"` // agent:sessionId
	Title        string           `json:"title"`
	Name         string           `json:"name,omitempty"` // given by a person, in Drawbar
	CreatedAt    time.Time        `json:"createdAt,omitzero"`
	UpdatedAt    time.Time        `json:"updatedAt,omitzero"`
	TurnCount    *int             `json:"turnCount,omitempty"`    // prompts of the user; nil if not counted
	MessageCount *int             `json:"messageCount,omitempty"` // nil if not counted
	Model        string           `json:"model,omitempty"`        // the last model used
	Cost         *execution.Cost  `json:"cost,omitempty"`         // nil if the agent states none
	Usage        *execution.Usage `json:"tokenUsage,omitempty"`   // of the main conversation; nil if not counted
	Tags         []string         `json:"tags"`
	Cwd          string           `json:"cwd,omitempty"`
	ForkedFrom   string           `json:"forkedFrom,omitempty"`      // the agent's own id of the session that this one was forked from
	Parent       string           `json:"parentSessionId,omitempty"` // the session that started this sub-agent
	Archived     bool             `json:"archived,omitempty"`
	Path         string           `json:"path"`
	Size         int64            `json:"sizeBytes"`
	Problems     []Problem        `json:"problems,omitempty"`
}

// Session is a whole conversation (agent-mux specification, Session).
type Session struct {
	Summary
	Messages  []Message  `json:"messages"`
	Subagents []Subagent `json:"subagents,omitempty"`
	// UnknownRecords counts records whose type the adapter does not know, by type.
	UnknownRecords map[string]int `json:"unknownRecords,omitempty"`
}

// Subagent is the conversation of a sub-agent within a session.
type Subagent struct {
	ID          string    `json:"id"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	ToolCallID  string    `json:"toolCallId,omitempty"` // the tool call that started it
	Path        string    `json:"path,omitempty"`       // empty if it is in the session's own file
	Messages    []Message `json:"messages"`
}

// Role is the speaker of a message.
type Role string

// The roles. A system message is the agent's note about the conversation, such as the summary of a compaction;
// the agent's instructions to its model are not messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Message is one message. An assistant's answer to one model call is one message, however many records
// the agent writes for it. The result of a tool call is a message of its own.
type Message struct {
	ID         string           `json:"id,omitempty"`
	Role       Role             `json:"role"`
	Content    string           `json:"content"`
	Timestamp  time.Time        `json:"timestamp,omitzero"`
	Thinking   string           `json:"thinking,omitempty"`
	ToolCalls  []ToolCall       `json:"toolCalls,omitempty"`
	ToolResult *ToolResult      `json:"toolResult,omitempty"`
	TokenUsage *execution.Usage `json:"tokenUsage,omitempty"` // of the model call, once
	Model      string           `json:"model,omitempty"`
	Inactive   bool             `json:"inactive,omitempty"` // rewound, or on an abandoned branch of the conversation
}

// ToolCall is a tool call in an assistant's message.
type ToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input,omitempty"`
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName,omitempty"`
	Output     string `json:"output"`
	IsError    bool   `json:"isError,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
}
