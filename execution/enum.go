package execution

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// oneOf reports a value outside its set. The zero value of an enum is never in its set.
func oneOf[T ~string](field string, v T, set []T) error {
	if slices.Contains(set, v) {
		return nil
	}
	names := make([]string, len(set))
	for i, s := range set {
		names[i] = string(s)
	}
	return FieldError{Field: field, Message: "is not one of the allowed values", Received: fmt.Sprintf("%q", string(v)), Expected: strings.Join(names, ", ")}
}

// optional is oneOf for a field that may be omitted.
func optional[T ~string](field string, v T, set []T) error {
	if v == "" {
		return nil
	}
	return oneOf(field, v, set)
}

// EnumValues lists, by Go type name, the values of every enum of this package, for schema generation and
// exhaustive tests. The caller owns the copy.
func EnumValues() map[string][]string {
	m := map[string][]string{}
	add(m, "ToolUseLevel", toolUseLevels)
	add(m, "PreferenceLevel", preferenceLevels)
	add(m, "SupportLevel", supportLevels)
	add(m, "TraceDepth", traceDepths)
	add(m, "AttachmentLevel", attachmentLevels)
	add(m, "ToolUseSupport", toolUseSupports)
	add(m, "ContinuationSupport", continuationSupports)
	add(m, "ApprovalSupport", approvalSupports)
	add(m, "ContextStrategy", contextStrategies)
	add(m, "ReasonCode", reasonCodes)
	add(m, "Severity", severities)
	add(m, "Status", statuses)
	add(m, "FailureCode", failureCodes)
	add(m, "ErrorCode", errorCodes)
	add(m, "ErrorClass", errorClasses)
	add(m, "ErrorCategory", errorCategories)
	add(m, "ExitReason", exitReasons)
	add(m, "TraceEventType", traceEventTypes)
	add(m, "SystemPromptMode", systemPromptModes)
	add(m, "ThinkingEffort", thinkingEfforts)
	add(m, "ApprovalMode", approvalModes)
	add(m, "SandboxMode", sandboxModes)
	add(m, "ToolKind", toolKinds)
	add(m, "StreamMode", streamModes)
	add(m, "OutputFormat", outputFormats)
	add(m, "ModelProtocol", modelProtocols)
	add(m, "MCPTransport", mcpTransports)
	add(m, "ContextCategory", contextCategories)
	add(m, "RiskLevel", riskLevels)
	add(m, "HookSupport", hookSupports)
	add(m, "HookEvent", hookEvents)
	add(m, "HookDecision", hookDecisions)
	add(m, "SessionTransport", sessionTransports)
	add(m, "Verb", verbs)
	add(m, "When", whens)
	add(m, "TimeoutKind", timeoutKinds)
	add(m, "DebugLevel", debugLevels)
	add(m, "LogSource", logSources)
	add(m, "InputSource", inputSources)
	add(m, "RunState", runStates)
	add(m, "TurnEndReason", turnEndReasons)
	add(m, "CostSource", costSources)
	add(m, "EventType", EventTypes())
	add(m, "EnvironmentMode", environmentModes)
	return m
}

var enumValues = sync.OnceValue(EnumValues)

func add[T ~string](m map[string][]string, name string, set []T) {
	for _, v := range set {
		m[name] = append(m[name], string(v))
	}
}
