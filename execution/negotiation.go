package execution

// Negotiation answers "could this backend run that request": what is missing, and what the request would really
// get. Supported and Degraded are independent: a request may be both refused and degraded.
type Negotiation struct {
	SchemaVersion         string       `json:"schemaVersion"`
	Supported             bool         `json:"supported"`
	Degraded              bool         `json:"degraded"`
	Reasons               []Reason     `json:"reasons"`
	EffectiveCapabilities Capabilities `json:"effectiveCapabilities"`
}

// Reason is one finding of a negotiation.
type Reason struct {
	Code       ReasonCode `json:"code"`
	Message    string     `json:"message"`
	Severity   Severity   `json:"severity"`
	Capability string     `json:"capability,omitempty"` // the option or ability concerned, by its wire name
}

// ReasonCode classifies a reason.
type ReasonCode string

// The reason codes.
const (
	ReasonToolUseUnsupported             ReasonCode = "tool_use_unsupported"
	ReasonStructuredToolCallsUnsupported ReasonCode = "structured_tool_calls_unsupported"
	ReasonContinuationUnsupported        ReasonCode = "continuation_unsupported"
	ReasonApprovalInterruptUnsupported   ReasonCode = "approval_interrupt_unsupported"
	ReasonAttachmentsUnsupported         ReasonCode = "attachments_unsupported"
	ReasonTraceDepthReduced              ReasonCode = "trace_depth_reduced"
	ReasonContextPressureExpected        ReasonCode = "context_pressure_expected"
	ReasonOther                          ReasonCode = "other"
)

var reasonCodes = []ReasonCode{ReasonToolUseUnsupported, ReasonStructuredToolCallsUnsupported, ReasonContinuationUnsupported,
	ReasonApprovalInterruptUnsupported, ReasonAttachmentsUnsupported, ReasonTraceDepthReduced, ReasonContextPressureExpected, ReasonOther}

// Severity is the weight of a reason. Only blocking refuses the request; the others degrade it.
type Severity string

// The severities.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityBlocking Severity = "blocking"
)

var severities = []Severity{SeverityInfo, SeverityWarning, SeverityBlocking}

// Validate checks the reason's enums.
func (r Reason) Validate() error {
	var f faults
	f.add(oneOf("code", r.Code, reasonCodes))
	f.add(oneOf("severity", r.Severity, severities))
	return f.err("invalid reason")
}
