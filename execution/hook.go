package execution

import (
	"encoding/json"
	"slices"
	"time"
)

// HookEvent is a moment in a run at which a hook is called, in the words of the agent-mux specification.
type HookEvent string

// The hook events. The two pre-events can be denied, the others are told.
const (
	HookPreToolUse       HookEvent = "preToolUse"
	HookPostToolUse      HookEvent = "postToolUse"
	HookUserPromptSubmit HookEvent = "userPromptSubmit"
	HookSessionStart     HookEvent = "sessionStart"
	HookSessionEnd       HookEvent = "sessionEnd"
	HookStop             HookEvent = "stop"
)

var hookEvents = []HookEvent{HookPreToolUse, HookPostToolUse, HookUserPromptSubmit, HookSessionStart, HookSessionEnd, HookStop}

// HookEvents lists the hook events; the caller owns the copy.
func HookEvents() []HookEvent { return slices.Clone(hookEvents) }

// Pre reports whether the event comes before what it is about, so that a hook can deny it.
func (e HookEvent) Pre() bool { return e == HookPreToolUse || e == HookUserPromptSubmit }

// HookCall is what a hook is told.
type HookCall struct {
	Agent      string          `json:"agent"`
	HookType   string          `json:"hookType"`        // the agent's own name of the event; that of Event where there is none
	Event      HookEvent       `json:"event,omitempty"` // empty for an event that only this agent has
	RunID      RunID           `json:"runId,omitempty"`
	SessionID  string          `json:"sessionId,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"` // empty where the agent does not say it
	Time       time.Time       `json:"timestamp"`
	Data       HookData        `json:"data"`
	Raw        json.RawMessage `json:"raw,omitempty"` // what the agent said, as it said it
}

// HookData is what a hook call is about. The names are those of the agent-mux specification.
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

// HookDecision is what a hook wants. The zero value is no decision: that of a pre-event is then a denial.
type HookDecision string

// The hook decisions. Modify allows, with another input.
const (
	HookAllow  HookDecision = "allow"
	HookDeny   HookDecision = "deny"
	HookModify HookDecision = "modify"
)

var hookDecisions = []HookDecision{HookAllow, HookDeny, HookModify}

// HookResult is a hook's answer. ModifiedInput is an object: the whole new input of a tool, or {"prompt": TEXT}.
type HookResult struct {
	Decision      HookDecision    `json:"decision"`
	Message       string          `json:"message,omitempty"` // why, for the model and the person
	ModifiedInput json.RawMessage `json:"modifiedInput,omitempty"`
	Stdout        string          `json:"stdout,omitempty"`
	ExitCode      int             `json:"exitCode,omitempty"`
}

// Validate checks the decision, and that a modification has an object to put in place.
func (r HookResult) Validate() error {
	var f faults
	f.add(oneOf("decision", r.Decision, hookDecisions))
	if r.Decision == HookModify {
		var object map[string]json.RawMessage
		if json.Unmarshal(r.ModifiedInput, &object) != nil || object == nil {
			f.addf("modifiedInput", clip(string(r.ModifiedInput), 40), "a JSON object", "is no input")
		}
	}
	return f.err("invalid answer of a hook")
}
