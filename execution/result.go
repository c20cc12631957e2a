package execution

import (
	"encoding/json"
	"time"
)

// Result is the only result of a run: the execution result of the BYOH specification and the run result of the
// agent-mux specification in one value.
type Result struct {
	SchemaVersion   string           `json:"schemaVersion"`
	BackendID       string           `json:"backendId"`
	Status          Status           `json:"status"`
	Output          *Output          `json:"output,omitempty"`
	Continuation    *Continuation    `json:"continuation,omitempty"`
	ApprovalRequest *ApprovalRequest `json:"approvalRequest,omitempty"`
	Error           *ResultError     `json:"error,omitempty"`
	Trace           *Trace           `json:"trace,omitempty"`
	Degradation     []Reason         `json:"degradation,omitempty"`
	Metadata        map[string]any   `json:"metadata,omitempty"`

	Correlation             // SessionID, below, is the agent's own session
	RunID        RunID      `json:"runId,omitempty"`
	Agent        string     `json:"agent,omitempty"`
	Model        string     `json:"model,omitempty"`
	SessionID    string     `json:"sessionId,omitempty"`
	Text         string     `json:"text"` // all text deltas of the top-level agent, concatenated without separators; Output.Text is the last message
	Cost         *Cost      `json:"cost"`
	Usage        *Usage     `json:"tokenUsage"`
	DurationMs   int64      `json:"durationMs"`
	ExitReason   ExitReason `json:"exitReason,omitempty"`
	ExitCode     *int       `json:"exitCode"`
	Signal       string     `json:"signal,omitempty"`
	TurnCount    int        `json:"turnCount"`
	Attempts     int        `json:"attempts,omitempty"`
	DeniedCalls  int        `json:"deniedCalls,omitempty"`  // tool calls that were denied because nobody could be asked
	Retries      int        `json:"retries,omitempty"`      // number of the agent's own retries
	UnknownLines int        `json:"unknownLines,omitempty"` // lines of standard output that no parser recognized
	Tags         []string   `json:"tags,omitempty"`
	Events       []Event    `json:"events,omitempty"`
}

// Output is the backend's answer.
type Output struct {
	Text        string          `json:"text,omitempty"` // the final message
	Attachments []Attachment    `json:"attachments,omitempty"`
	Structured  json.RawMessage `json:"structured,omitempty"`
}

// Asks returns what a result that waits for a person asks, empty if it asks nothing.
func (r Result) Asks() string {
	switch {
	case r.Status == StatusAwaitingApproval && r.ApprovalRequest != nil:
		return r.ApprovalRequest.Reason
	case r.Status == StatusNeedsClarification && r.Output != nil:
		return r.Output.Text
	}
	return ""
}

// ApprovalRequest describes the approval that a result waits for.
type ApprovalRequest struct {
	Reason      string         `json:"reason,omitempty"`
	ApprovalKey string         `json:"approvalKey,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// ResultError says why a result is not completed. Metadata has the agent-mux code under "code"; Stderr is the
// rest of standard error that is not in Message.
type ResultError struct {
	Code        FailureCode    `json:"code"`
	Message     string         `json:"message"`
	Retryable   bool           `json:"retryable"`
	Stderr      string         `json:"stderr,omitempty"`
	Recoverable bool           `json:"recoverable,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// NewResultError returns the error of a result for an agent-mux code, with the names from the error table.
func NewResultError(code ErrorCode, message string) *ResultError {
	row := code.Row()
	return &ResultError{Code: row.Failure, Message: message, Retryable: row.Retryable, Recoverable: row.Retryable,
		Metadata: map[string]any{"code": string(code), "class": string(row.Class), "category": string(row.Category)}}
}

// ErrorCode returns the agent-mux code of the error, INTERNAL if it states none.
func (e *ResultError) ErrorCode() ErrorCode {
	if e == nil {
		return ""
	}
	switch c := e.Metadata["code"].(type) {
	case string:
		return ErrorCode(c)
	case ErrorCode:
		return c
	}
	for _, row := range errorTable {
		if row.Failure == e.Code {
			return row.Code
		}
	}
	return CodeInternal
}

// Status is how an execution ended.
type Status string

// The statuses.
const (
	StatusCompleted          Status = "completed"
	StatusNeedsClarification Status = "needs_clarification"
	StatusAwaitingApproval   Status = "awaiting_approval"
	StatusDeferred           Status = "deferred"
	StatusFailed             Status = "failed"
	StatusUnsupported        Status = "unsupported"
)

var statuses = []Status{StatusCompleted, StatusNeedsClarification, StatusAwaitingApproval, StatusDeferred, StatusFailed, StatusUnsupported}

// ExitReason is how a run ended (agent-mux specification, exitReason).
type ExitReason string

// The exit reasons.
const (
	ExitCompleted   ExitReason = "completed"
	ExitReasonAbort ExitReason = "aborted"
	ExitInterrupted ExitReason = "interrupted"
	ExitByTimeout   ExitReason = "timeout"
	ExitInactivity  ExitReason = "inactivity"
	ExitTurnLimit   ExitReason = "turn_limit"
	ExitCrash       ExitReason = "crashed"
	ExitKilled      ExitReason = "killed"
)

var exitReasons = []ExitReason{ExitCompleted, ExitReasonAbort, ExitInterrupted, ExitByTimeout, ExitInactivity, ExitTurnLimit, ExitCrash, ExitKilled}

// Trace is what was observed of an execution.
type Trace struct {
	Summary TraceSummary `json:"summary"`
	Events  []TraceEvent `json:"events,omitempty"`
}

// TraceSummary is filled in for every status. StepCount counts model calls; nil means that there were some and
// the backend does not show them.
type TraceSummary struct {
	StartedAt     time.Time `json:"startedAt"`
	CompletedAt   time.Time `json:"completedAt"`
	StepCount     *int      `json:"stepCount,omitempty"`
	ToolCallCount int       `json:"toolCallCount"`
	Degraded      bool      `json:"degraded"`
}

// TraceEvent is one observed step, derived from the event stream.
type TraceEvent struct {
	Type TraceEventType `json:"type"`
	At   time.Time      `json:"at"`
	Data map[string]any `json:"data,omitempty"`
}

// TraceEventType classifies a trace event.
type TraceEventType string

// The trace event types.
const (
	TraceModelStarted   TraceEventType = "model_started"
	TraceModelCompleted TraceEventType = "model_completed"
	TraceToolRequested  TraceEventType = "tool_requested"
	TraceToolCompleted  TraceEventType = "tool_completed"
	TraceApprovalWait   TraceEventType = "approval_wait"
	TraceDeferred       TraceEventType = "deferred"
	TraceFailure        TraceEventType = "failure"
	TraceNote           TraceEventType = "note"
)

var traceEventTypes = []TraceEventType{TraceModelStarted, TraceModelCompleted, TraceToolRequested, TraceToolCompleted,
	TraceApprovalWait, TraceDeferred, TraceFailure, TraceNote}

// Validate checks the result's version, enums and trace: every status needs a trace with both times.
func (r Result) Validate() error {
	var f faults
	if err := CheckSchemaVersion(r.SchemaVersion); err != nil {
		f.addf("schemaVersion", r.SchemaVersion, SchemaVersion, err.Error())
	}
	if r.BackendID == "" {
		f.addf("backendId", "", "an id", "is required")
	}
	f.add(oneOf("status", r.Status, statuses))
	f.add(optional("exitReason", r.ExitReason, exitReasons))
	if r.Error != nil {
		f.add(oneOf("error.code", r.Error.Code, failureCodes))
	}
	if (r.Status == StatusFailed || r.Status == StatusUnsupported) && r.Error == nil {
		f.addf("error", "nothing", "an error", "is required with status "+string(r.Status))
	}
	switch {
	case r.Trace == nil:
		f.addf("trace", "nothing", "a trace", "is required")
	case r.Trace.Summary.StartedAt.IsZero() || r.Trace.Summary.CompletedAt.Before(r.Trace.Summary.StartedAt):
		f.addf("trace.summary", "", "startedAt <= completedAt", "has no valid times")
	}
	return f.err("invalid result")
}

// RunState is the state of a run handle (agent-mux specification, run handle).
type RunState string

// The run states; the last five are terminal.
const (
	StateSpawned     RunState = "spawned"
	StateRunning     RunState = "running"
	StatePaused      RunState = "paused"
	StateInterrupted RunState = "interrupted"
	StateAborted     RunState = "aborted"
	StateTimedOut    RunState = "timed-out"
	StateCompleted   RunState = "completed"
	StateCrashed     RunState = "crashed"
	StateKilled      RunState = "killed"
)

var runStates = []RunState{StateSpawned, StateRunning, StatePaused, StateInterrupted, StateAborted, StateTimedOut, StateCompleted, StateCrashed, StateKilled}

// Terminal reports whether no further transition is possible.
func (s RunState) Terminal() bool {
	switch s {
	case StateAborted, StateTimedOut, StateCompleted, StateCrashed, StateKilled:
		return true
	}
	return false
}
