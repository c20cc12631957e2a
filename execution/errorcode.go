package execution

// ErrorCode is an error code of the agent contract (agent-mux specification, error codes). Error events and the
// metadata of results contain it.
type ErrorCode string

// The error codes.
const (
	CodeCapability             ErrorCode = "CAPABILITY_ERROR"
	CodeValidation             ErrorCode = "VALIDATION_ERROR"
	CodeAuth                   ErrorCode = "AUTH_ERROR"
	CodeAgentNotFound          ErrorCode = "AGENT_NOT_FOUND"
	CodeAgentNotInstalled      ErrorCode = "AGENT_NOT_INSTALLED"
	CodeAgentCrash             ErrorCode = "AGENT_CRASH"
	CodeSpawn                  ErrorCode = "SPAWN_ERROR"
	CodeTimeout                ErrorCode = "TIMEOUT"
	CodeInactivityTimeout      ErrorCode = "INACTIVITY_TIMEOUT"
	CodeParse                  ErrorCode = "PARSE_ERROR"
	CodeConfig                 ErrorCode = "CONFIG_ERROR"
	CodeConfigLock             ErrorCode = "CONFIG_LOCK_ERROR"
	CodeSessionNotFound        ErrorCode = "SESSION_NOT_FOUND"
	CodeProfileNotFound        ErrorCode = "PROFILE_NOT_FOUND"
	CodePlugin                 ErrorCode = "PLUGIN_ERROR"
	CodeRateLimited            ErrorCode = "RATE_LIMITED"
	CodeContextExceeded        ErrorCode = "CONTEXT_EXCEEDED"
	CodeAborted                ErrorCode = "ABORTED"
	CodeRunNotActive           ErrorCode = "RUN_NOT_ACTIVE"
	CodeStdinNotAvailable      ErrorCode = "STDIN_NOT_AVAILABLE"
	CodeNoPendingInteraction   ErrorCode = "NO_PENDING_INTERACTION"
	CodeInteractionNotFound    ErrorCode = "INTERACTION_NOT_FOUND"
	CodeInvalidStateTransition ErrorCode = "INVALID_STATE_TRANSITION"
	CodePTYNotAvailable        ErrorCode = "PTY_NOT_AVAILABLE"
	CodeUnknownAgent           ErrorCode = "UNKNOWN_AGENT"
	CodeInternal               ErrorCode = "INTERNAL"

	// The codes below are Drawbar's additions, for conditions without a code in the agent contract.
	CodeInterrupted    ErrorCode = "INTERRUPTED"
	CodeBudgetExceeded ErrorCode = "BUDGET_EXCEEDED"
	CodeTurnLimit      ErrorCode = "TURN_LIMIT"
	CodeProvider       ErrorCode = "PROVIDER_ERROR"  // the model API failed: 5xx, overload, network
	CodeModelNotFound  ErrorCode = "MODEL_NOT_FOUND" // the model API does not know the model
	CodeInvalidRequest ErrorCode = "INVALID_REQUEST" // the model API refused the request
	CodeInvalidOutput  ErrorCode = "INVALID_OUTPUT"  // the agent's output violates its own format or the requested schema
	CodeToolBridge     ErrorCode = "TOOL_BRIDGE_ERROR"
	CodeHookDenied     ErrorCode = "HOOK_DENIED"         // one of the caller's hooks refused the message
	CodeUntrusted      ErrorCode = "PROJECT_NOT_TRUSTED" // a project would run something that its user has not trusted
)

// FailureCode is the error code of an execution result (BYOH execution adapter specification), plus cancelled.
type FailureCode string

// The failure codes.
const (
	FailureUnsupportedCapability FailureCode = "unsupported_capability"
	FailureBackendExecution      FailureCode = "backend_execution_error"
	FailureInvalidBackendOutput  FailureCode = "invalid_backend_output"
	FailureToolBridge            FailureCode = "tool_bridge_error"
	FailureTimeout               FailureCode = "timeout"
	FailureBudgetExceeded        FailureCode = "budget_exceeded"
	FailureCancelled             FailureCode = "cancelled"
	FailureOther                 FailureCode = "other"
)

var failureCodes = []FailureCode{FailureUnsupportedCapability, FailureBackendExecution, FailureInvalidBackendOutput,
	FailureToolBridge, FailureTimeout, FailureBudgetExceeded, FailureCancelled, FailureOther}

// ErrorClass is the error class of the governed record (AgentXchain adapters, current edition).
type ErrorClass string

// The error classes.
const (
	ClassAuthFailure          ErrorClass = "auth_failure"
	ClassModelNotFound        ErrorClass = "model_not_found"
	ClassInvalidRequest       ErrorClass = "invalid_request"
	ClassContextOverflow      ErrorClass = "context_overflow"
	ClassRateLimited          ErrorClass = "rate_limited"
	ClassProviderOverloaded   ErrorClass = "provider_overloaded"
	ClassNetworkFailure       ErrorClass = "network_failure"
	ClassTimeout              ErrorClass = "timeout"
	ClassResponseParseFailure ErrorClass = "response_parse_failure"
	ClassExtractionFailure    ErrorClass = "turn_result_extraction_failure"
	ClassUnknownAPIError      ErrorClass = "unknown_api_error"
)

var errorClasses = []ErrorClass{ClassAuthFailure, ClassModelNotFound, ClassInvalidRequest, ClassContextOverflow,
	ClassRateLimited, ClassProviderOverloaded, ClassNetworkFailure, ClassTimeout, ClassResponseParseFailure,
	ClassExtractionFailure, ClassUnknownAPIError}

// ErrorCategory is the coarse error category of the first edition of the AgentXchain adapters.
type ErrorCategory string

// The error categories.
const (
	CategoryTransient ErrorCategory = "transient"
	CategoryPermanent ErrorCategory = "permanent"
	CategoryParse     ErrorCategory = "parse"
)

var errorCategories = []ErrorCategory{CategoryTransient, CategoryPermanent, CategoryParse}

// ErrorRow is one row of the error table: the names of one condition in every vocabulary.
type ErrorRow struct {
	Code      ErrorCode
	Failure   FailureCode
	Class     ErrorClass
	Category  ErrorCategory
	Retryable bool // worth repeating unchanged
	Exit      int  // exit code of the command line
}

// The exit codes of the command line that errors map to. 0 is success, 130 an interrupt from the keyboard.
const (
	ExitOK             = 0
	ExitGeneral        = 1
	ExitUsage          = 2
	ExitAgentNotFound  = 3
	ExitNotInstalled   = 4
	ExitAuth           = 5
	ExitCapability     = 6
	ExitConfig         = 7
	ExitSession        = 8
	ExitProfile        = 9
	ExitPlugin         = 10
	ExitTimeout        = 11
	ExitCrashed        = 12
	ExitAborted        = 13
	ExitRateLimited    = 14
	ExitContext        = 15
	ExitUntrusted      = 16
	ExitWaiting        = 20
	ExitBudget         = 21
	ExitLimit          = 22
	ExitInvalidOutput  = 23
	ExitDenied         = 24
	ExitInterruptedKey = 130
)

// errorTable is the error table. Every ErrorCode has exactly one row.
var errorTable = []ErrorRow{
	{CodeCapability, FailureUnsupportedCapability, ClassInvalidRequest, CategoryPermanent, false, ExitCapability},
	{CodeValidation, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitUsage},
	{CodeAuth, FailureBackendExecution, ClassAuthFailure, CategoryPermanent, false, ExitAuth},
	{CodeAgentNotFound, FailureBackendExecution, ClassInvalidRequest, CategoryPermanent, false, ExitAgentNotFound},
	{CodeAgentNotInstalled, FailureBackendExecution, ClassInvalidRequest, CategoryPermanent, false, ExitNotInstalled},
	{CodeAgentCrash, FailureBackendExecution, ClassUnknownAPIError, CategoryTransient, true, ExitCrashed},
	{CodeSpawn, FailureBackendExecution, ClassUnknownAPIError, CategoryPermanent, false, ExitGeneral},
	{CodeTimeout, FailureTimeout, ClassTimeout, CategoryTransient, true, ExitTimeout},
	{CodeInactivityTimeout, FailureTimeout, ClassTimeout, CategoryTransient, true, ExitTimeout},
	{CodeParse, FailureInvalidBackendOutput, ClassResponseParseFailure, CategoryParse, true, ExitGeneral},
	{CodeConfig, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitConfig},
	{CodeConfigLock, FailureOther, ClassUnknownAPIError, CategoryTransient, true, ExitConfig},
	{CodeSessionNotFound, FailureBackendExecution, ClassInvalidRequest, CategoryPermanent, false, ExitSession},
	{CodeProfileNotFound, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitProfile},
	{CodePlugin, FailureOther, ClassUnknownAPIError, CategoryPermanent, false, ExitPlugin},
	{CodeRateLimited, FailureBackendExecution, ClassRateLimited, CategoryTransient, true, ExitRateLimited},
	{CodeContextExceeded, FailureBackendExecution, ClassContextOverflow, CategoryPermanent, false, ExitContext},
	{CodeAborted, FailureCancelled, ClassUnknownAPIError, CategoryPermanent, false, ExitAborted},
	{CodeRunNotActive, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeStdinNotAvailable, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeNoPendingInteraction, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeInteractionNotFound, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeInvalidStateTransition, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodePTYNotAvailable, FailureBackendExecution, ClassUnknownAPIError, CategoryPermanent, false, ExitGeneral},
	{CodeUnknownAgent, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitAgentNotFound},
	{CodeInternal, FailureOther, ClassUnknownAPIError, CategoryPermanent, false, ExitGeneral},
	{CodeInterrupted, FailureCancelled, ClassUnknownAPIError, CategoryPermanent, false, ExitInterruptedKey},
	{CodeBudgetExceeded, FailureBudgetExceeded, ClassInvalidRequest, CategoryPermanent, false, ExitBudget},
	{CodeTurnLimit, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitLimit},
	{CodeProvider, FailureBackendExecution, ClassProviderOverloaded, CategoryTransient, true, ExitGeneral},
	{CodeModelNotFound, FailureBackendExecution, ClassModelNotFound, CategoryPermanent, false, ExitGeneral},
	{CodeInvalidRequest, FailureBackendExecution, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeInvalidOutput, FailureInvalidBackendOutput, ClassExtractionFailure, CategoryParse, true, ExitInvalidOutput},
	{CodeToolBridge, FailureToolBridge, ClassUnknownAPIError, CategoryPermanent, false, ExitGeneral},
	{CodeHookDenied, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitGeneral},
	{CodeUntrusted, FailureOther, ClassInvalidRequest, CategoryPermanent, false, ExitUntrusted},
}

var errorCodes = func() []ErrorCode {
	codes := make([]ErrorCode, len(errorTable))
	for i, row := range errorTable {
		codes[i] = row.Code
	}
	return codes
}()

// ErrorRows returns a copy of the error table, in the order of the documentation.
func ErrorRows() []ErrorRow { return append([]ErrorRow(nil), errorTable...) }

// Row returns the row of c in the error table; an unknown code has the row of INTERNAL.
func (c ErrorCode) Row() ErrorRow {
	var internal ErrorRow
	for _, row := range errorTable {
		if row.Code == c {
			return row
		}
		if row.Code == CodeInternal {
			internal = row
		}
	}
	return internal
}

// Crash reports whether c means that the agent's program, or Drawbar's own code, broke down. Every other
// failure was stated.
func (c ErrorCode) Crash() bool {
	return c == CodeAgentCrash || c == CodeSpawn || c == CodeInternal
}

// Valid reports whether c is in the error table.
func (c ErrorCode) Valid() bool { return oneOf("code", c, errorCodes) == nil }
