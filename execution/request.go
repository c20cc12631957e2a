package execution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/base/deepcopy"
)

// Request asks for one turn, or for a conversation of turns if Run.Interactive is set. It combines the request
// of the BYOH execution adapter specification with the run options of the agent-mux specification (Run).
//
// SessionID identifies the caller's own conversation; the agent's session to resume is Run.SessionID.
type Request struct {
	SchemaVersion string         `json:"schemaVersion"`
	AssistantID   string         `json:"assistantId"`
	TurnID        string         `json:"turnId"`
	SessionID     string         `json:"sessionId,omitempty"`
	UserID        string         `json:"userId,omitempty"`
	ThreadID      string         `json:"threadId,omitempty"`
	Message       Message        `json:"message"`
	Instructions  Instructions   `json:"instructions"`
	Context       *Context       `json:"context,omitempty"`
	Continuation  *Continuation  `json:"continuation,omitempty"`
	Tools         []Tool         `json:"tools,omitempty"`
	Requirements  *Requirements  `json:"requirements,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"`
	Run           RunOptions     `json:"run"`

	// SessionUsage is the earlier usage of the session that the run resumes or forks, nil if unknown. The
	// client fills it in for agents that state totals of a whole session (adapter.SessionSums).
	SessionUsage *Usage `json:"sessionUsage,omitempty"`
}

// Correlation are the caller's ids of a request. They stand in everything that a run leaves: events, hook calls, result and
// record (BYOH specification, lifecycle).
type Correlation struct {
	AssistantID   string `json:"assistantId,omitempty"`
	TurnID        string `json:"turnId,omitempty"`
	CorrelationID string `json:"correlationSessionId,omitempty"` // Request.SessionID: the caller's own conversation
}

// Correlation returns the ids of the request.
func (r Request) Correlation() Correlation {
	return Correlation{AssistantID: r.AssistantID, TurnID: r.TurnID, CorrelationID: r.SessionID}
}

// Message is the input of a person or program.
type Message struct {
	ID          string       `json:"id"`
	Text        Prompt       `json:"text"`
	ReceivedAt  time.Time    `json:"receivedAt"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Prompt is a prompt's text. JSON also accepts an array of strings, joined with newlines.
type Prompt string

// UnmarshalJSON reads a string or an array of strings.
func (p *Prompt) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []string
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		*p = Prompt(strings.Join(parts, "\n"))
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*p = Prompt(s)
	return nil
}

// Attachment is a file or an image of a message or a result. As input it has exactly one source: FilePath
// (absolute), URL or Base64 (which requires MimeType).
type Attachment struct {
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty"`
	Name     string         `json:"name,omitempty"`
	URL      string         `json:"url,omitempty"`
	FilePath string         `json:"filePath,omitempty"`
	Base64   string         `json:"base64,omitempty"`
	MimeType string         `json:"mimeType,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Instructions are composed by the caller; adapters pass them on unchanged.
type Instructions struct {
	SystemPrompt    string         `json:"systemPrompt"`
	DeveloperPrompt string         `json:"developerPrompt,omitempty"`
	ResponseStyle   *ResponseStyle `json:"responseStyle,omitempty"`
}

// ResponseStyle asks for a form of answer; backends follow it as far as they can.
type ResponseStyle struct {
	PreferMarkdown bool `json:"preferMarkdown,omitempty"`
	MaxAnswerChars int  `json:"maxAnswerChars,omitempty"`
}

// Context is background for the model besides the message.
type Context struct {
	Blocks     []ContextBlock `json:"blocks"`
	Structured map[string]any `json:"structured,omitempty"`
}

// ContextBlock is one labelled piece of context.
type ContextBlock struct {
	ID       string          `json:"id"`
	Label    string          `json:"label"`
	Text     string          `json:"text"`
	Category ContextCategory `json:"category,omitempty"`
	Metadata map[string]any  `json:"metadata,omitempty"`
}

// ContextCategory says where a context block comes from.
type ContextCategory string

// The context categories.
const (
	ContextMemory     ContextCategory = "memory"
	ContextWorkspace  ContextCategory = "workspace"
	ContextEnrichment ContextCategory = "enrichment"
	ContextGuardrail  ContextCategory = "guardrail"
	ContextOther      ContextCategory = "other"
)

var contextCategories = []ContextCategory{ContextMemory, ContextWorkspace, ContextEnrichment, ContextGuardrail, ContextOther}

// Continuation is what a later turn needs to continue an earlier one. In a result it has no ID: persistence
// belongs to the caller. Kind is clarification, approval, deferred, or any other word that the backend knows.
type Continuation struct {
	ContinuationID string         `json:"continuationId,omitempty"`
	Kind           string         `json:"kind,omitempty"`
	State          map[string]any `json:"state,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	// Decision is added by whoever continues a turn that waits for an approval. Without it, the agent asks again.
	Decision *ContinuationDecision `json:"decision,omitempty"`
}

// ContinuationDecision decides what an earlier turn asked permission for: it holds for exactly that call, once. A denied call is not made, and
// the agent hears the reason.
type ContinuationDecision struct {
	ApprovalID string `json:"approvalId"` // the approvalId in the continuation's state
	Approved   bool   `json:"approved"`
	By         string `json:"by,omitempty"` // who decided, for the record
	Reason     string `json:"reason,omitempty"`
}

// Says words the decision: who decided, and why.
func (d ContinuationDecision) Says() string {
	text := "denied"
	if d.Approved {
		text = "approved"
	}
	text += " by " + cmp.Or(d.By, "a person")
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// StateApproval is the member of a continuation's state that names what it waits for, if its kind is approval.
const StateApproval = "approvalId"

// ApprovalID returns what a continuation waits for, empty if that is no approval.
func (c Continuation) ApprovalID() string {
	id, _ := c.State[StateApproval].(string)
	return id
}

// validate refuses a decision about something else than the continuation waits for.
func (c Continuation) validate(f *faults) {
	if c.Decision == nil {
		return
	}
	waits := c.ApprovalID()
	switch {
	case c.Kind != ContinuationApproval:
		f.addf("continuation.decision", "a decision", "", fmt.Sprintf("decides about a continuation of the kind %q, which waits for none", c.Kind))
	case waits == "":
		f.addf("continuation.decision", "a decision", "", "decides about a continuation whose state has no "+StateApproval)
	case c.Decision.ApprovalID != waits:
		f.addf("continuation.decision.approvalId", fmt.Sprintf("%.100q", c.Decision.ApprovalID), fmt.Sprintf("%.100q", waits), "is not what the continuation waits for")
	}
}

// The continuation kinds that this package defines.
const (
	ContinuationClarification = "clarification"
	ContinuationApproval      = "approval"
	ContinuationDeferred      = "deferred"
)

// Tool is a tool of the caller, offered to the backend for this turn. The caller's policy has already selected
// it.
type Tool struct {
	Name             string          `json:"name"`
	Description      string          `json:"description,omitempty"`
	InputSchema      json.RawMessage `json:"inputSchema,omitempty"` // a JSON Schema; empty means any object
	RequiresApproval bool            `json:"requiresApproval,omitempty"`
	Metadata         map[string]any  `json:"metadata,omitempty"`
}

// ToolCall is a backend's call of one of the caller's tools.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolResult answers a ToolCall. If Error is set, the tool failed; the backend receives its text.
type ToolResult struct {
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Clone returns a copy with its own slices and maps; nested free-form values are shared and must not be
// changed.
func (r Request) Clone() Request { return deepcopy.Of(r) }

// Validate checks the request without accessing files or the backend. It reports all problems at once, as an
// *Error with code VALIDATION_ERROR.
func (r Request) Validate() error {
	var f faults
	if err := CheckSchemaVersion(r.SchemaVersion); err != nil {
		f.addf("schemaVersion", fmt.Sprintf("%q", r.SchemaVersion), SchemaVersion, err.Error())
	}
	if strings.TrimSpace(r.AssistantID) == "" {
		f.addf("assistantId", "an empty string", "an id", "is required")
	}
	if strings.TrimSpace(r.TurnID) == "" {
		f.addf("turnId", "an empty string", "an id", "is required")
	}
	if strings.TrimSpace(string(r.Message.Text)) == "" {
		f.addf("message.text", "a blank prompt", "some text", "is required")
	}
	for i, a := range r.Message.Attachments {
		a.validate(fmt.Sprintf("message.attachments[%d]", i), &f)
	}
	if r.Context != nil {
		for i, b := range r.Context.Blocks {
			f.add(optional(fmt.Sprintf("context.blocks[%d].category", i), b.Category, contextCategories))
		}
	}
	if r.Continuation != nil {
		r.Continuation.validate(&f)
	}
	names := map[string]bool{}
	for i, t := range r.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case !validToolName(t.Name):
			f.addf(at+".name", fmt.Sprintf("%q", t.Name), "1 to 64 letters, digits, - or _", "is not a valid tool name")
		case names[t.Name]:
			f.addf(at+".name", fmt.Sprintf("%q", t.Name), "", "is used twice")
		}
		names[t.Name] = true
		if len(t.InputSchema) > 0 {
			var schema map[string]any
			if json.Unmarshal(t.InputSchema, &schema) != nil {
				f.addf(at+".inputSchema", clip(string(t.InputSchema), 40), "a JSON object", "is not a JSON Schema")
			}
		}
	}
	if r.Requirements != nil {
		r.Requirements.validate(&f)
	}
	r.Run.validate(&f)
	return f.err("invalid request")
}

func validToolName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

func (a Attachment) validate(at string, f *faults) {
	n := 0
	for _, s := range []string{a.URL, a.FilePath, a.Base64} {
		if s != "" {
			n++
		}
	}
	if n != 1 {
		f.addf(at, fmt.Sprintf("%d sources", n), "exactly one of filePath, url, base64", "needs one source")
	}
	if a.Base64 != "" && a.MimeType == "" {
		f.addf(at+".mimeType", "", "a media type", "is required with base64")
	}
	if a.FilePath != "" && !absolute(a.FilePath) {
		f.addf(at+".filePath", fmt.Sprintf("%q", a.FilePath), "an absolute path", "is relative")
	}
}

// absolute accepts absolute paths of every platform, because a request may be checked on a different one than
// it runs on.
func absolute(p string) bool {
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`) {
		return true
	}
	return len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}
