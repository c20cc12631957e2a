package schema

import (
	"reflect"

	e "github.com/drawbar/drawbar/execution"
)

// enumTypes returns the Go types of the names in execution.EnumValues; a test compares the two.
func enumTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[e.ToolUseLevel](), reflect.TypeFor[e.PreferenceLevel](), reflect.TypeFor[e.SupportLevel](), reflect.TypeFor[e.TraceDepth](),
		reflect.TypeFor[e.AttachmentLevel](), reflect.TypeFor[e.ToolUseSupport](), reflect.TypeFor[e.ContinuationSupport](),
		reflect.TypeFor[e.ApprovalSupport](), reflect.TypeFor[e.ContextStrategy](), reflect.TypeFor[e.ReasonCode](), reflect.TypeFor[e.Severity](),
		reflect.TypeFor[e.Status](), reflect.TypeFor[e.FailureCode](), reflect.TypeFor[e.ErrorCode](), reflect.TypeFor[e.ErrorClass](),
		reflect.TypeFor[e.ErrorCategory](), reflect.TypeFor[e.ExitReason](), reflect.TypeFor[e.TraceEventType](), reflect.TypeFor[e.SystemPromptMode](),
		reflect.TypeFor[e.ThinkingEffort](), reflect.TypeFor[e.ApprovalMode](), reflect.TypeFor[e.SandboxMode](), reflect.TypeFor[e.StreamMode](), reflect.TypeFor[e.OutputFormat](), reflect.TypeFor[e.ModelProtocol](),
		reflect.TypeFor[e.MCPTransport](), reflect.TypeFor[e.ContextCategory](), reflect.TypeFor[e.RiskLevel](),
		reflect.TypeFor[e.HookSupport](), reflect.TypeFor[e.SessionTransport](), reflect.TypeFor[e.Verb](), reflect.TypeFor[e.When](),
		reflect.TypeFor[e.TimeoutKind](), reflect.TypeFor[e.DebugLevel](), reflect.TypeFor[e.LogSource](), reflect.TypeFor[e.InputSource](),
		reflect.TypeFor[e.RunState](), reflect.TypeFor[e.EventType](), reflect.TypeFor[e.EnvironmentMode](), reflect.TypeFor[e.TurnEndReason](),
		reflect.TypeFor[e.CostSource](), reflect.TypeFor[e.HookEvent](), reflect.TypeFor[e.HookDecision](), reflect.TypeFor[e.ToolKind](),
	}
}
