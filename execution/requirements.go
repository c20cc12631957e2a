package execution

import "strconv"

// Requirements state what the caller needs from the backend. The levels differ per field; an empty field
// requires nothing.
type Requirements struct {
	ToolUse             ToolUseLevel    `json:"toolUse,omitempty"`
	StructuredToolCalls PreferenceLevel `json:"structuredToolCalls,omitempty"`
	ContinuationSupport SupportLevel    `json:"continuationSupport,omitempty"`
	ApprovalInterrupts  SupportLevel    `json:"approvalInterrupts,omitempty"`
	TraceDepth          TraceDepth      `json:"traceDepth,omitempty"` // always a preference
	Attachments         AttachmentLevel `json:"attachments,omitempty"`
	MaxElapsedMs        int64           `json:"maxElapsedMs,omitempty"` // > 0: the turn fails with timeout after this time
}

// ToolUseLevel is a requirement on tool use.
type ToolUseLevel string

// The levels of tool use.
const (
	ToolUseForbidden ToolUseLevel = "forbidden"
	ToolUseAllowed   ToolUseLevel = "allowed"
	ToolUseRequired  ToolUseLevel = "required"
)

var toolUseLevels = []ToolUseLevel{ToolUseForbidden, ToolUseAllowed, ToolUseRequired}

// PreferenceLevel is a requirement on structured tool calls.
type PreferenceLevel string

// The levels of preference.
const (
	PreferenceForbidden PreferenceLevel = "forbidden"
	PreferencePreferred PreferenceLevel = "preferred"
	PreferenceRequired  PreferenceLevel = "required"
)

var preferenceLevels = []PreferenceLevel{PreferenceForbidden, PreferencePreferred, PreferenceRequired}

// SupportLevel is a requirement on continuations and on approval interrupts.
type SupportLevel string

// The levels of support.
const (
	SupportNone      SupportLevel = "none"
	SupportPreferred SupportLevel = "preferred"
	SupportRequired  SupportLevel = "required"
)

var supportLevels = []SupportLevel{SupportNone, SupportPreferred, SupportRequired}

// TraceDepth is how much of an execution can be observed. It is ordered: minimal, standard, detailed.
type TraceDepth string

// The trace depths.
const (
	TraceMinimal  TraceDepth = "minimal"
	TraceStandard TraceDepth = "standard"
	TraceDetailed TraceDepth = "detailed"
)

var traceDepths = []TraceDepth{TraceMinimal, TraceStandard, TraceDetailed}

// Rank orders trace depths: 1, 2, 3; 0 if invalid.
func (d TraceDepth) Rank() int {
	for i, v := range traceDepths {
		if v == d {
			return i + 1
		}
	}
	return 0
}

// AttachmentLevel is a requirement on attachments.
type AttachmentLevel string

// The levels of attachments.
const (
	AttachmentsForbidden AttachmentLevel = "forbidden"
	AttachmentsAllowed   AttachmentLevel = "allowed"
	AttachmentsRequired  AttachmentLevel = "required"
)

var attachmentLevels = []AttachmentLevel{AttachmentsForbidden, AttachmentsAllowed, AttachmentsRequired}

func (q Requirements) validate(f *faults) {
	f.add(optional("requirements.toolUse", q.ToolUse, toolUseLevels))
	f.add(optional("requirements.structuredToolCalls", q.StructuredToolCalls, preferenceLevels))
	f.add(optional("requirements.continuationSupport", q.ContinuationSupport, supportLevels))
	f.add(optional("requirements.approvalInterrupts", q.ApprovalInterrupts, supportLevels))
	f.add(optional("requirements.traceDepth", q.TraceDepth, traceDepths))
	f.add(optional("requirements.attachments", q.Attachments, attachmentLevels))
	if q.MaxElapsedMs < 0 {
		f.addf("requirements.maxElapsedMs", strconv.FormatInt(q.MaxElapsedMs, 10), "milliseconds >= 0", "is negative")
	}
}
