package protocol

import (
	"slices"

	"github.com/drawbar/drawbar/internal/base/lazy"
)

// Versions of the files.
const (
	ConfigVersion   = "1.0" // agentxchain.json; the number 4 is read as this
	ResultVersion   = "1.0" // turn results and first-edition assignments
	StateVersion    = "1.1" // state.json
	ManifestVersion = "1.0" // MANIFEST.json
	ProtocolVersion = "v7"
)

// Human is the role of a person, which no configuration declares.
const Human = "human"

// Authority is what a role may write.
type Authority string

// The authorities, strongest first.
const (
	Authoritative Authority = "authoritative"
	Proposed      Authority = "proposed"
	ReviewOnly    Authority = "review_only"
)

// Runtime types. Agent is Drawbar's own: any of its adapters.
const (
	RuntimeManual      = "manual"
	RuntimeLocalCLI    = "local_cli"
	RuntimeAPIProxy    = "api_proxy"
	RuntimeMCP         = "mcp"
	RuntimeRemoteAgent = "remote_agent"
	RuntimeAgent       = "agent"
)

// Prompt transports of local_cli. File and Arg belong to roles of the first edition.
const (
	TransportArgv       = "argv"
	TransportStdin      = "stdin"
	TransportBundleOnly = "dispatch_bundle_only"
	TransportFile       = "file"
	TransportArg        = "arg"
)

// RunStatus is the state of a governed run.
type RunStatus string

// The states of a run. Nothing leaves RunCompleted but a new run.
const (
	RunIdle      RunStatus = "idle"
	RunActive    RunStatus = "active"
	RunPaused    RunStatus = "paused"
	RunBlocked   RunStatus = "blocked"
	RunCompleted RunStatus = "completed"
)

// TurnStatus is the state of an active turn. An accepted turn is no longer active.
type TurnStatus string

// The states of a turn.
const (
	TurnAssigned         TurnStatus = "assigned"
	TurnDispatched       TurnStatus = "dispatched"
	TurnStarting         TurnStatus = "starting"
	TurnRunning          TurnStatus = "running"
	TurnRetrying         TurnStatus = "retrying"
	TurnFailed           TurnStatus = "failed"
	TurnFailedAcceptance TurnStatus = "failed_acceptance"
	TurnConflicted       TurnStatus = "conflicted"
	TurnFailedStart      TurnStatus = "failed_start"
	TurnStalled          TurnStatus = "stalled"
)

// ResultStatus is the status that a turn reports for itself.
type ResultStatus string

// The values of a turn result's status.
const (
	ResultCompleted  ResultStatus = "completed"
	ResultBlocked    ResultStatus = "blocked"
	ResultNeedsHuman ResultStatus = "needs_human"
	ResultFailed     ResultStatus = "failed"
)

// Verification states. AttestedPass and NotReproducible are normalized ones, which an agent must not report.
const (
	VerificationPass            = "pass"
	VerificationFail            = "fail"
	VerificationSkipped         = "skipped"
	VerificationAttestedPass    = "attested_pass"
	VerificationNotReproducible = "not_reproducible"
)

// Artifact types.
const (
	ArtifactWorkspace = "workspace"
	ArtifactPatch     = "patch"
	ArtifactCommit    = "commit"
	ArtifactReview    = "review"
)

// Gate states in phase_gate_status.
const (
	GatePending = "pending"
	GatePassed  = "passed"
	GateFailed  = "failed"
)

// Stage is one of the five stages of validation.
type Stage string

// The stages, in their order.
const (
	StageSchema       Stage = "schema"
	StageAssignment   Stage = "assignment"
	StageArtifact     Stage = "artifact"
	StageVerification Stage = "verification"
	StageProtocol     Stage = "protocol"
)

// Class is the protocol's error class of a stage, such as schema_error.
func (s Stage) Class() string { return string(s) + "_error" }

// Stages are the stages in their order.
func Stages() []Stage {
	return []Stage{StageSchema, StageAssignment, StageArtifact, StageVerification, StageProtocol}
}

// Categories are the categories of decisions, in the order the protocol lists them.
func Categories() []string {
	return []string{"implementation", "architecture", "scope", "process", "quality", "release"}
}

// Severities are the severities of objections.
func Severities() []string { return []string{"low", "medium", "high", "blocking"} }

// The states of an objection.
const (
	ObjectionRaised             = "raised"
	ObjectionAcknowledged       = "acknowledged"
	ObjectionResolved           = "resolved"
	ObjectionEscalated          = "escalated"
	ObjectionResolvedByHuman    = "resolved_by_human"
	ObjectionResolvedByDirector = "resolved_by_director"
)

// ObjectionStatuses are the states of an objection.
func ObjectionStatuses() []string {
	return []string{ObjectionRaised, ObjectionAcknowledged, ObjectionResolved, ObjectionEscalated, ObjectionResolvedByHuman, ObjectionResolvedByDirector}
}

// ObjectionSettled reports whether an objection with this status is closed.
func ObjectionSettled(status string) bool {
	return status == ObjectionResolved || status == ObjectionResolvedByHuman || status == ObjectionResolvedByDirector
}

// SeverityBlocking is the severity of an objection that keeps gates from passing.
const SeverityBlocking = "blocking"

// HookPhases are the points at which hooks run. after_acceptance and on_escalation can only advise.
func HookPhases() []string {
	return []string{HookBeforeAssignment, HookAfterDispatch, HookBeforeValidation, HookAfterValidation, HookBeforeAcceptance,
		HookAfterAcceptance, HookBeforeGate, HookOnEscalation}
}

// The hook phases.
const (
	HookBeforeAssignment = "before_assignment"
	HookAfterDispatch    = "after_dispatch"
	HookBeforeValidation = "before_validation"
	HookAfterValidation  = "after_validation"
	HookBeforeAcceptance = "before_acceptance"
	HookAfterAcceptance  = "after_acceptance"
	HookBeforeGate       = "before_gate"
	HookOnEscalation     = "on_escalation"
)

// Patterns of names and ids.
var (
	RolePattern       = lazy.Regexp(`^[a-z0-9_-]+$`)
	DecisionPattern   = lazy.Regexp(`^DEC-\d+$`)
	ObjectionPattern  = lazy.Regexp(`^OBJ-\d+$`)
	DelegationPattern = lazy.Regexp(`^del-\d{3}$`)
)

var eventTypes = []string{
	"run_started", "phase_entered", "intents_migrated", "intents_superseded", "intent_retired_by_phase_advance",
	"turn_dispatched", "turn_accepted", "turn_rejected", "turn_conflicted", "conflict_resolved", "acceptance_failed",
	"turn_reissued", "turn_stalled", "turn_start_failed", "runtime_spawn_failed", "stdout_attach_failed", "turn_checkpointed",
	"coordinator_retry", "coordinator_retry_projection_warning", "run_blocked", "run_completed", "escalation_raised",
	"escalation_resolved", "gate_pending", "gate_approved", "gate_failed", "phase_cleanup", "budget_exceeded_warn",
	"human_escalation_raised", "human_escalation_resolved", "dispatch_progress", "session_continuation", "auto_retried_ghost",
	"ghost_retry_exhausted", "auto_retried_productive_timeout", "productive_timeout_retry_exhausted",
	"retained_claude_auth_escalation_reclassified", "state_reconciled_operator_commits", "operator_commit_reconcile_refused",
	"charter_materialization_required", "artifact_type_auto_normalized", "staged_result_auto_normalized",
	"objection_updated", "gate_declined", "gate_approval", // Drawbar's own
}

// EventTypes are the types an event may have.
func EventTypes() []string { return slices.Clone(eventTypes) }
