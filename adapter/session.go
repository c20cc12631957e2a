package adapter

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// SessionStore is an adapter whose agent keeps its conversations on disk (agent-mux specification, sessionDir,
// listSessionFiles, parseSessionFile). Stores are read in place and never written: a Host cannot write.
//
// Bad input is data: a corrupt, truncated, empty or unreadable file is listed and read as far as possible, and
// a SessionProblem names it and the problem. All methods are safe for concurrent use.
type SessionStore interface {
	// SessionRoots returns the absolute directories in which the agent keeps its sessions on this host, whether
	// they exist or not.
	SessionRoots(h Host) []string

	// ListSessions finds the sessions without opening their files. An entry that looks like a session but
	// cannot be one (a directory, a link out of the store) is listed with its Problem. A missing store is an
	// empty one.
	ListSessions(ctx context.Context, h Host) ([]SessionFile, []SessionProblem)

	// SummarizeSession reads the head and the tail of a session. Counts are nil if the file is too large to
	// count. The error is for a file that cannot be read at all.
	SummarizeSession(ctx context.Context, h Host, f SessionFile) (SessionSummary, error)

	// ReadSession reads a whole session, line by line. The error is for a file that cannot be read at all, or
	// from ctx.
	ReadSession(ctx context.Context, h Host, f SessionFile) (Session, error)

	// OpenSession returns the bytes that ReadSession reads: all files of a session, concatenated and
	// decompressed. It may contain texts that are in no message; a text of a message appears as JSON writes it.
	OpenSession(ctx context.Context, h Host, f SessionFile) (io.ReadCloser, error)

	// FollowSession converts the lines of a session to events as they arrive. It fails if the format of this
	// file cannot be followed.
	FollowSession(h Host, f SessionFile) (SessionFollower, error)
}

// SessionFollower reads one session from its first line. It must be used by one goroutine.
type SessionFollower interface {
	// Line parses the next complete line and returns its events. If the agent's own records state the end of
	// the session, that is an execution.SessionEnd.
	Line(line []byte) []execution.Event
}

// SessionFile is a session as found in a directory.
type SessionFile struct {
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

// SessionProblem is something in a store that could not be read completely.
type SessionProblem struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // counted from 1
	Message string `json:"message"`
}

// String returns the problem on one line, starting with the path.
func (p SessionProblem) String() string {
	if p.Line > 0 {
		return p.Path + ": line " + strconv.Itoa(p.Line) + ": " + p.Message
	}
	return p.Path + ": " + p.Message
}

// SessionSummary is a session as shown in a list (agent-mux specification, SessionSummary). Counts are those of
// the main conversation, without sub-agents.
type SessionSummary struct {
	Agent        string           `json:"agent"`
	SessionID    string           `json:"sessionId"`
	UnifiedID    string           `json:"unifiedId"` // agent:sessionId
	Title        string           `json:"title"`
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
	Problems     []SessionProblem `json:"problems,omitempty"`
}

// Session is a whole conversation (agent-mux specification, Session).
type Session struct {
	SessionSummary
	Messages  []SessionMessage `json:"messages"`
	Subagents []Subagent       `json:"subagents,omitempty"`
	// UnknownRecords counts records whose type the adapter does not know, by type.
	UnknownRecords map[string]int `json:"unknownRecords,omitempty"`
}

// Subagent is the conversation of a sub-agent within a session.
type Subagent struct {
	ID          string           `json:"id"`
	Name        string           `json:"name,omitempty"`
	Description string           `json:"description,omitempty"`
	ToolCallID  string           `json:"toolCallId,omitempty"` // the tool call that started it
	Path        string           `json:"path,omitempty"`       // empty if it is in the session's own file
	Messages    []SessionMessage `json:"messages"`
}

// MessageRole is the speaker of a message.
type MessageRole string

// The roles. A system message is the agent's note about the conversation, such as the summary of a compaction;
// the agent's instructions to its model are not messages.
const (
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
	RoleSystem    MessageRole = "system"
	RoleTool      MessageRole = "tool"
)

// SessionMessage is one message. An assistant's answer to one model call is one message, however many records
// the agent writes for it. The result of a tool call is a message of its own.
type SessionMessage struct {
	ID         string             `json:"id,omitempty"`
	Role       MessageRole        `json:"role"`
	Content    string             `json:"content"`
	Timestamp  time.Time          `json:"timestamp,omitzero"`
	Thinking   string             `json:"thinking,omitempty"`
	ToolCalls  []SessionToolCall  `json:"toolCalls,omitempty"`
	ToolResult *SessionToolResult `json:"toolResult,omitempty"`
	TokenUsage *execution.Usage   `json:"tokenUsage,omitempty"` // of the model call, once
	Model      string             `json:"model,omitempty"`
	Inactive   bool               `json:"inactive,omitempty"` // rewound, or on an abandoned branch of the conversation
}

// SessionToolCall is a tool call in an assistant's message.
type SessionToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input,omitempty"`
}

// SessionToolResult is the result of a tool call.
type SessionToolResult struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName,omitempty"`
	Output     string `json:"output"`
	IsError    bool   `json:"isError,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
}
