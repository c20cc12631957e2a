package protocol

import "encoding/json"

// IntakeDir holds the intake: work that waits for a turn.
const IntakeDir = Dir + "/intake"

// IntentFile is the file of an intent, IntakeEventFile that of its event.
func IntentFile(id string) string { return IntakeDir + "/intents/" + id + ".json" }

// IntakeEventFile is the file of an event.
func IntakeEventFile(id string) string { return IntakeDir + "/events/" + id + ".json" }

// PreemptionFile names the injected intent of priority p0 that precedes all others.
const PreemptionFile = IntakeDir + "/injected-priority.json"

// The states of an intent. A command changes them, or the turn to which the intent is bound.
const (
	IntentDetected   = "detected"
	IntentTriaged    = "triaged"
	IntentApproved   = "approved"
	IntentPlanned    = "planned"
	IntentExecuting  = "executing"
	IntentBlocked    = "blocked"
	IntentCompleted  = "completed"
	IntentSatisfied  = "satisfied"
	IntentSuppressed = "suppressed"
	IntentRejected   = "rejected"
	IntentFailed     = "failed"
	IntentSuperseded = "superseded"
	IntentArchived   = "archived_migration"
)

// Intent is a unit of intake work: the task and its acceptance criteria.
type Intent struct {
	SchemaVersion      string            `json:"schema_version" doc:"\"1.0\""`
	IntentID           string            `json:"intent_id" doc:"id, also the name of the file in intake/intents"`
	EventID            string            `json:"event_id" doc:"event that caused it"`
	Status             string            `json:"status" doc:"state of the intent, see \"Words\""`
	Priority           *string           `json:"priority" doc:"p0 (most urgent) to p3, set by triage (null: p0)"`
	Template           *string           `json:"template" doc:"template of its planning files, set by triage"`
	Charter            *string           `json:"charter" doc:"the task, set by triage"`
	AcceptanceContract []string          `json:"acceptance_contract" doc:"acceptance criteria"`
	PhaseScope         *string           `json:"phase_scope" doc:"the only phase whose turns get it (null: any)"`
	RequiresHumanStart bool              `json:"requires_human_start" doc:"true for every new intent; ignored, other tools read it"`
	TargetRun          *string           `json:"target_run" doc:"run that it is bound to (null: none yet)"`
	CreatedAt          Time              `json:"created_at" doc:"when its event was recorded"`
	UpdatedAt          Time              `json:"updated_at" doc:"when its status last changed"`
	History            []IntentStep      `json:"history" doc:"every change of status, oldest first"`
	PreferredRole      string            `json:"preferred_role,omitempty" doc:"only a turn of this role gets it (absent: any role)"`
	ApprovedRunID      string            `json:"approved_run_id,omitempty" doc:"run for which it is approved (absent: see cross_run_durable)"`
	CrossRunDurable    bool              `json:"cross_run_durable,omitempty" doc:"approved without a run; bound to the next one"`
	ApprovedBy         string            `json:"approved_by,omitempty" doc:"who approved it"`
	PlanningArtifacts  []string          `json:"planning_artifacts,omitempty" doc:"planning files generated for it, relative to the project"`
	TargetTurn         *string           `json:"target_turn,omitempty" doc:"turn that it is bound to"`
	StartedAt          Time              `json:"started_at,omitzero" doc:"when it was bound to that turn"`
	CompletedAt        Time              `json:"completed_at,omitzero" doc:"when its turn was accepted, or a person completed it"`
	RunCompletedAt     Time              `json:"run_completed_at,omitzero" doc:"when the run completed, or the satisfying turn was accepted"`
	RunFinalTurn       *string           `json:"run_final_turn,omitempty" doc:"last accepted turn of the run at that time"`
	SatisfyingTurn     string            `json:"satisfying_turn,omitempty" doc:"accepted turn that satisfied it"`
	SatisfiedAt        Time              `json:"satisfied_at,omitzero" doc:"when the run left phase_scope and the intent became unnecessary"`
	SatisfiedReason    string            `json:"satisfied_reason,omitempty" doc:"why it became unnecessary"`
	ArchivedReason     string            `json:"archived_reason,omitempty" doc:"why a new run archived or suppressed it"`
	RunBlockedOn       *string           `json:"run_blocked_on,omitempty" doc:"blocked_on of its run, if that blocked it"`
	RunBlockedReason   *string           `json:"run_blocked_reason,omitempty" doc:"category of the run's blocked reason"`
	TargetWorkstream   *TargetWorkstream `json:"target_workstream,omitempty" doc:"workstream over several repositories that it was handed to"`
	RunFailedAt        Time              `json:"run_failed_at,omitzero" doc:"when that run ended without completing the workstream"`
	RunBlockedRecovery *string           `json:"run_blocked_recovery,omitempty" doc:"recovery action of the run's blocked reason"`
	Extra              Extra             `json:"-"`
}

func (i *Intent) UnmarshalJSON(data []byte) error { return readKeep(data, i) }
func (i Intent) MarshalJSON() ([]byte, error)     { return writeKeep(i) }

// TargetWorkstream is the workstream to which an intent was handed.
type TargetWorkstream struct {
	CoordinatorRoot string `json:"coordinator_root" doc:"folder of agentxchain-multi.json"`
	WorkstreamID    string `json:"workstream_id" doc:"the workstream"`
	SuperRunID      string `json:"super_run_id" doc:"the run over all repositories"`
}

// IntentStep is one change of an intent's status.
type IntentStep struct {
	From         *string  `json:"from" doc:"status before (null: the intent is new)"`
	To           string   `json:"to" doc:"status after"`
	At           Time     `json:"at" doc:"when it changed"`
	Reason       string   `json:"reason" doc:"reason"`
	Approver     string   `json:"approver,omitempty" doc:"approval: who approved"`
	Artifacts    []string `json:"artifacts,omitempty" doc:"planned: generated planning files"`
	RunID        string   `json:"run_id,omitempty" doc:"run that the change belongs to"`
	TurnID       string   `json:"turn_id,omitempty" doc:"turn that got or completed the intent"`
	Role         string   `json:"role,omitempty" doc:"role of that turn"`
	RunStatus    string   `json:"run_status,omitempty" doc:"status of the run that decided it"`
	Extra        Extra    `json:"-"`
	SuperRunID   string   `json:"super_run_id,omitempty" doc:"handed to a workstream: the run over all repositories"`
	WorkstreamID string   `json:"workstream_id,omitempty" doc:"handed to a workstream: which one"`
	Coordinator  string   `json:"coordinator_root,omitempty" doc:"handed to a workstream: folder of agentxchain-multi.json"`
}

func (i *IntentStep) UnmarshalJSON(data []byte) error { return readKeep(data, i) }
func (i IntentStep) MarshalJSON() ([]byte, error)     { return writeKeep(i) }

// IntakeEvent is the cause of an intent: a person's request, a failed check, a change of a branch, a schedule.
type IntakeEvent struct {
	SchemaVersion string          `json:"schema_version" doc:"\"1.0\""`
	EventID       string          `json:"event_id" doc:"id, also the name of the file in intake/events"`
	Source        string          `json:"source" doc:"manual, vision_scan, ci_failure, git_ref_change or schedule"`
	Category      string          `json:"category" doc:"kind of event, such as operator_injection (default: <source>_signal)"`
	CreatedAt     Time            `json:"created_at" doc:"when the event was recorded"`
	Repo          *string         `json:"repo" doc:"repository concerned, as the reporter names it"`
	Ref           *string         `json:"ref" doc:"branch, tag or commit concerned"`
	Signal        json.RawMessage `json:"signal" doc:"what the source reported: a non-empty object"`
	Evidence      []SignalProof   `json:"evidence" doc:"evidence, at least one"`
	DedupKey      string          `json:"dedup_key" doc:"hash of source and signal; an event with a known key is not recorded again"`
	Extra         Extra           `json:"-"`
}

func (e *IntakeEvent) UnmarshalJSON(data []byte) error { return readKeep(data, e) }
func (e IntakeEvent) MarshalJSON() ([]byte, error)     { return writeKeep(e) }

// SignalProof is evidence of an event.
type SignalProof struct {
	Type  string `json:"type" doc:"url, file or text"`
	Value string `json:"value" doc:"the URL, the path or the text itself"`
}

// IntakeContext is the intent of a turn, as given to the turn.
type IntakeContext struct {
	IntentID           string   `json:"intent_id" doc:"the intent"`
	EventID            string   `json:"event_id" doc:"event that caused it"`
	Source             *string  `json:"source" doc:"source of that event, such as ci_failure (null: the event is gone)"`
	Category           *string  `json:"category" doc:"category of that event (null: the event is gone)"`
	Charter            *string  `json:"charter" doc:"the task"`
	AcceptanceContract []string `json:"acceptance_contract" doc:"items that the result must cover"`
	PhaseScope         *string  `json:"phase_scope" doc:"the only phase for which it is meant (null: any)"`
	Priority           string   `json:"priority,omitempty" doc:"p0 (most urgent) to p3"`
}

// Intent is the id of the intent to which a turn is bound; nil without one.
func (t *Turn) Intent() *string {
	if t == nil || !Is(t.IntakeContext) {
		return nil
	}
	var c IntakeContext
	if json.Unmarshal(t.IntakeContext, &c) != nil || c.IntentID == "" {
		return nil
	}
	return &c.IntentID
}
