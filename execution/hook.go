package execution

import (
	"encoding/json"
	"slices"
	"time"
)

// HookEvent is a moment in a run at which a hook is called, named as in the agent-mux specification.
type HookEvent string

// The hook events. Hooks can deny the two pre-events; the others only notify.
const (
	HookPreToolUse       HookEvent = "preToolUse"
	HookPostToolUse      HookEvent = "postToolUse"
	HookUserPromptSubmit HookEvent = "userPromptSubmit"
	HookSessionStart     HookEvent = "sessionStart"
	HookSessionEnd       HookEvent = "sessionEnd"
	HookStop             HookEvent = "stop"
)

var hookEvents = []HookEvent{HookPreToolUse, HookPostToolUse, HookUserPromptSubmit, HookSessionStart, HookSessionEnd, HookStop}

// HookEvents returns the hook events; the caller owns the copy.
func HookEvents() []HookEvent { return slices.Clone(hookEvents) }

// HookCall is the input of a hook.
type HookCall struct {
	Agent    string    `json:"agent"`
	HookType string    `json:"hookType"`        // the agent's own name of the event, or Event if it has none
	Event    HookEvent `json:"event,omitempty"` // empty for an event that only this agent has
	RunID    RunID     `json:"runId,omitempty"`
	Correlation
	SessionID  string          `json:"sessionId,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"` // empty if the agent does not state it
	Time       time.Time       `json:"timestamp"`
	Data       HookData        `json:"data"`
	Use        ToolUse         `json:"use,omitzero"`  // what the tool call would do
	Raw        json.RawMessage `json:"raw,omitempty"` // the agent's input, unchanged
}

// HookData is the subject of a hook call. The names are those of the agent-mux specification.
type HookData struct {
	ToolName       string          `json:"tool_name,omitempty"`
	ToolInput      json.RawMessage `json:"tool_input,omitempty"`
	ToolOutput     json.RawMessage `json:"tool_output,omitempty"`
	Prompt         string          `json:"prompt,omitempty"`
	Message        string          `json:"message,omitempty"`
	Response       string          `json:"response,omitempty"`
	Cwd            string          `json:"cwd,omitempty"`
	TranscriptPath string          `json:"transcript_path,omitempty"`
}

// HookDecision is a hook's decision. The zero value is no decision, which denies a pre-event.
type HookDecision string

// The hook decisions. Modify allows the action with a changed input.
const (
	HookAllow  HookDecision = "allow"
	HookDeny   HookDecision = "deny"
	HookModify HookDecision = "modify"
)

var hookDecisions = []HookDecision{HookAllow, HookDeny, HookModify}

// HookResult is a hook's answer. ModifiedInput is an object: a tool's complete new input, or {"prompt": TEXT}.
type HookResult struct {
	Decision      HookDecision    `json:"decision"`
	Message       string          `json:"message,omitempty"` // the reason, for the model and the person
	ModifiedInput json.RawMessage `json:"modifiedInput,omitempty"`
	Stdout        string          `json:"stdout,omitempty"`
	ExitCode      int             `json:"exitCode,omitempty"`
}

// Validate checks the decision, and that a modification has an object as its input.
func (r HookResult) Validate() error {
	var f faults
	f.add(oneOf("decision", r.Decision, hookDecisions))
	if r.Decision == HookModify {
		var object map[string]json.RawMessage
		if json.Unmarshal(r.ModifiedInput, &object) != nil || object == nil {
			f.addf("modifiedInput", clip(string(r.ModifiedInput), 40), "a JSON object", "is not a valid input")
		}
	}
	return f.err("invalid hook answer")
}
