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
// listSessionFiles, parseSessionFile). Stores are read in place and never written: a Host has no way to write.
//
// Bad input is data: a file that is corrupt, cut, empty or unreadable is listed and read as far as it goes, and what is
// wrong with it is a SessionProblem that names it. All methods are safe for concurrent use.
type SessionStore interface {
	// SessionRoots are the directories in which the agent keeps its sessions on this host, absolute, whether they exist
	// or not.
	SessionRoots(h Host) []string

	// ListSessions finds the sessions without opening their files. What looks like a session and cannot be one (a
	// directory, a link out of the store) is listed with its Problem. A store that does not exist is an empty one.
	ListSessions(ctx context.Context, h Host) ([]SessionFile, []SessionProblem)

	// SummarizeSession reads the head and the tail of a session. Counts are nil where the file is too large to be read
	// for them. The error is for a file that cannot be read at all.
	SummarizeSession(ctx context.Context, h Host, f SessionFile) (SessionSummary, error)

	// ReadSession reads a whole session, line by line. The error is for a file that cannot be read at all, and for ctx.
	ReadSession(ctx context.Context, h Host, f SessionFile) (Session, error)

	// OpenSession gives the bytes that ReadSession reads, all files of a session one behind the other and decompressed.
	// A text that is in no message is allowed to be there; a text that is in a message is there as JSON writes it.
	OpenSession(ctx context.Context, h Host, f SessionFile) (io.ReadCloser, error)

	// FollowSession turns the lines of a session into events as they come. The error says that the format of this file
	// cannot be followed.
	FollowSession(h Host, f SessionFile) (SessionFollower, error)
}

// SessionFollower reads one session from its first line on. It is used by one goroutine.
type SessionFollower interface {
	// Line takes the next whole line and gives what happened in it. What the agent's own records say about the end of
	// the session is an execution.SessionEnd.
	Line(line []byte) []execution.Event
}

// SessionFile is a session as a directory listing shows it.
type SessionFile struct {
	Agent    string
	ID       string    // the agent's own id
	Path     string    // absolute
	Size     int64     // bytes of Path
	ModTime  time.Time // of the last change to what makes up the summary
	Cwd      string    // the directory the session belongs to, where the place of the file tells
	Parent   string    // the session that this one is a sub-agent of, where the place of the file tells
	Archived bool      // put away by the agent's own command
	Parts    []string  // further files, those of sub-agents, absolute
	Problem  string    // why it cannot be read; empty for a regular file
}

// SessionProblem is something in a store that could not be read, or only in part.
type SessionProblem struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // counted from 1
	Message string `json:"message"`
}

// String puts the problem in one line, the path first.
func (p SessionProblem) String() string {
	if p.Line > 0 {
		return p.Path + ": line " + strconv.Itoa(p.Line) + ": " + p.Message
	}
	return p.Path + ": " + p.Message
}

// SessionSummary is what a list shows of a session (agent-mux specification, SessionSummary). Counts are those of the
// main conversation: sub-agents are not in them.
type SessionSummary struct {
	Agent        string           `json:"agent"`
	SessionID    string           `json:"sessionId"`
	UnifiedID    string           `json:"unifiedId"` // agent:sessionId
	Title        string           `json:"title"`
	CreatedAt    time.Time        `json:"createdAt,omitzero"`
	UpdatedAt    time.Time        `json:"updatedAt,omitzero"`
	TurnCount    *int             `json:"turnCount,omitempty"`    // prompts of the user; nil when not counted
	MessageCount *int             `json:"messageCount,omitempty"` // nil when not counted
	Model        string           `json:"model,omitempty"`        // the last one used
	Cost         *execution.Cost  `json:"cost,omitempty"`         // nil when the agent states none
	Usage        *execution.Usage `json:"tokenUsage,omitempty"`   // of the main conversation; nil when not counted
	Tags         []string         `json:"tags"`
	Cwd          string           `json:"cwd,omitempty"`
	ForkedFrom   string           `json:"forkedFrom,omitempty"`      // the agent's own id of the session this one was forked off
	Parent       string           `json:"parentSessionId,omitempty"` // the session that this one is a sub-agent of
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
	ToolCallID  string           `json:"toolCallId,omitempty"` // the call that started it
	Path        string           `json:"path,omitempty"`       // empty when it is in the session's own file
	Messages    []SessionMessage `json:"messages"`
}

// MessageRole says who speaks in a session.
type MessageRole string

// The roles. A system message is a note of the agent about the conversation, as the summary of a compaction; the prompts
// with which an agent instructs its model are no messages.
const (
	RoleUser      MessageRole = "user"
	RoleAssistant MessageRole = "assistant"
	RoleSystem    MessageRole = "system"
	RoleTool      MessageRole = "tool"
)

// SessionMessage is one message. An assistant's answer to one model call is one message, whatever number of records the
// agent writes for it. The result of a tool call is a message of its own.
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
	Inactive   bool               `json:"inactive,omitempty"` // rewound, or on a branch that the conversation left
}

// SessionToolCall is a call that an assistant's message makes.
type SessionToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input,omitempty"`
}

// SessionToolResult is what a tool call gave.
type SessionToolResult struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName,omitempty"`
	Output     string `json:"output"`
	IsError    bool   `json:"isError,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
}
