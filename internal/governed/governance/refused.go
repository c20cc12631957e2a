package governance

import (
	"fmt"
)

// Codes of Refused and NotAccepted.
const (
	CodeInvalidTransition = "invalid_state_transition"
	CodeInvalidConfig     = "invalid_config"
	CodeInvalidInput      = "invalid_input"
	CodeImmutableField    = "immutable_field"
	CodeRunBlocked        = "run_blocked"
	CodeApprovalPending   = "approval_pending"
	CodeUnknownRole       = "unknown_role"
	CodeUnknownRuntime    = "unknown_runtime"
	CodeTurnActive        = "turn_already_active"
	CodeConcurrency       = "concurrency_limit"
	CodeRoleActive        = "role_already_active"
	CodeReviewPending     = "delegation_review_pending"
	CodeBudgetExhausted   = "budget_exhausted"
	CodeReservation       = "budget_reservation_exceeded"
	CodeCheckpoint        = "checkpoint_required"
	CodeDirtyTree         = "clean_baseline_required"
	CodeDuplicateTurn     = "duplicate_turn_id"
	CodeAlreadyAccepted   = "turn_already_accepted"
	CodeTurnNotActive     = "turn_not_active"
	CodeNotValidated      = "result_not_validated"
	CodeForeignResult     = "turn_id_mismatch"
	CodeConflict          = "conflict"
	CodeOverride          = "override_validation_failed"
	CodePolicyViolation   = "policy_violation"
	CodePolicyEscalation  = "policy_escalation"
	CodeProtocolError     = "protocol_error"
	CodeUnknownEscalation = "unknown_escalation"
	CodeGateFailed        = "gate_failed"
	CodeNotApprover       = "not_an_approver"
	CodeUnknownObjection  = "unknown_objection"
	CodeEmptyField        = "empty_required_field"
	CodeInvalidEnum       = "invalid_enum_value"
	CodeDuplicateDecision = "duplicate_decision_id"
	CodeInvalidEvent      = "invalid_event"
	CodeOrdering          = "ordering_violation"
)

// Refused says that an input is not legal now, and what to type instead. The run is unchanged.
type Refused struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Next    string         `json:"next"` // a command
	Detail  map[string]any `json:"detail,omitempty"`
}

// Error is the message.
func (r Refused) Error() string { return r.Message }

func refuse(code, next, format string, args ...any) *Refused {
	return &Refused{Code: code, Next: next, Message: fmt.Sprintf(format, args...)}
}

// with adds a detail.
func (r *Refused) with(key string, value any) *Refused {
	if r.Detail == nil {
		r.Detail = map[string]any{}
	}
	r.Detail[key] = value
	return r
}
