package protocol

import "encoding/json"

// IntakeDir is where work that was taken in waits for a turn.
const IntakeDir = Dir + "/intake"

// IntentFile is the file of an intent, IntakeEventFile that of the event it comes from.
func IntentFile(id string) string { return IntakeDir + "/intents/" + id + ".json" }

// IntakeEventFile is the file of an event.
func IntakeEventFile(id string) string { return IntakeDir + "/events/" + id + ".json" }

// PreemptionFile names the injected intent of priority p0 that comes before everything else.
const PreemptionFile = IntakeDir + "/injected-priority.json"

// The states of an intent. It moves on to the next by a command, or with the turn that it is bound to.
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

// Intent is work that was taken in: what is to be done, and how one sees that it is done.
type Intent struct {
	SchemaVersion      string       `json:"schema_version" doc:"\"1.0\""`
	IntentID           string       `json:"intent_id" doc:"names the file in intake/intents"`
	EventID            string       `json:"event_id" doc:"event that it comes from"`
	Status             string       `json:"status" doc:"one of the states of an intent, from detected on"`
	Priority           *string      `json:"priority" doc:"p0 (most urgent) to p3, set by triage (null: p0)"`
	Template           *string      `json:"template" doc:"what kind of planning files belong to it, set by triage"`
	Charter            *string      `json:"charter" doc:"the task, set by triage"`
	AcceptanceContract []string     `json:"acceptance_contract" doc:"how one sees that it is done, item by item"`
	PhaseScope         *string      `json:"phase_scope" doc:"the only phase whose turns get it (null: every phase)"`
	RequiresHumanStart bool         `json:"requires_human_start" doc:"true for every new intent; kept for other tools"`
	TargetRun          *string      `json:"target_run" doc:"run that it is bound to (null: none yet)"`
	CreatedAt          Time         `json:"created_at" doc:"when its event was recorded"`
	UpdatedAt          Time         `json:"updated_at" doc:"when its status last changed"`
	History            []IntentStep `json:"history" doc:"every change of status, oldest first"`
	PreferredRole      string       `json:"preferred_role,omitempty" doc:"only a turn of this role gets it (absent: any role)"`
	ApprovedRunID      string       `json:"approved_run_id,omitempty" doc:"run for which it is approved (absent: see cross_run_durable)"`
	CrossRunDurable    bool         `json:"cross_run_durable,omitempty" doc:"approved while no run was there; the next one takes it"`
	ApprovedBy         string       `json:"approved_by,omitempty" doc:"who approved it"`
	PlanningArtifacts  []string     `json:"planning_artifacts,omitempty" doc:"planning files that were made for it, relative to the project"`
	TargetTurn         *string      `json:"target_turn,omitempty" doc:"turn that it is bound to"`
	StartedAt          Time         `json:"started_at,omitzero" doc:"when it was bound to that turn"`
	CompletedAt        Time         `json:"completed_at,omitzero" doc:"when its turn was accepted, or a person completed it"`
	RunCompletedAt     Time         `json:"run_completed_at,omitzero" doc:"when the run completed, or its satisfying turn was accepted"`
	RunFinalTurn       *string      `json:"run_final_turn,omitempty" doc:"last accepted turn of the run at that time"`
	SatisfyingTurn     string       `json:"satisfying_turn,omitempty" doc:"accepted turn that satisfied it"`
	SatisfiedAt        Time         `json:"satisfied_at,omitzero" doc:"when the run left phase_scope, which made it unnecessary"`
	SatisfiedReason    string       `json:"satisfied_reason,omitempty" doc:"why it became unnecessary, in words"`
	ArchivedReason     string       `json:"archived_reason,omitempty" doc:"why a new run archived or suppressed it, in words"`
	RunBlockedOn       *string      `json:"run_blocked_on,omitempty" doc:"blocked_on of its run, when that blocked it"`
	RunBlockedReason   *string      `json:"run_blocked_reason,omitempty" doc:"category of the run's blocked reason"`
	RunBlockedRecovery *string      `json:"run_blocked_recovery,omitempty" doc:"recovery action of the run's blocked reason"`
	Extra              Extra        `json:"-"`
}

func (i *Intent) UnmarshalJSON(data []byte) error { return readKeep(data, i) }
func (i Intent) MarshalJSON() ([]byte, error)     { return writeKeep(i) }

// IntentStep is one change of an intent's status.
type IntentStep struct {
	From      *string  `json:"from" doc:"status before (null: the intent is new)"`
	To        string   `json:"to" doc:"status after"`
	At        Time     `json:"at" doc:"when it changed"`
	Reason    string   `json:"reason" doc:"why, in words"`
	Approver  string   `json:"approver,omitempty" doc:"approval: who approved"`
	Artifacts []string `json:"artifacts,omitempty" doc:"planned: planning files that were made"`
	RunID     string   `json:"run_id,omitempty" doc:"run that the change belongs to"`
	TurnID    string   `json:"turn_id,omitempty" doc:"turn that got or completed the intent"`
	Role      string   `json:"role,omitempty" doc:"role of that turn"`
	RunStatus string   `json:"run_status,omitempty" doc:"status of the run that decided it"`
	Extra     Extra    `json:"-"`
}

func (i *IntentStep) UnmarshalJSON(data []byte) error { return readKeep(data, i) }
func (i IntentStep) MarshalJSON() ([]byte, error)     { return writeKeep(i) }

// IntakeEvent is what an intent comes from: somebody's word, a failed check, a change of a branch, a time.
type IntakeEvent struct {
	SchemaVersion string          `json:"schema_version" doc:"\"1.0\""`
	EventID       string          `json:"event_id" doc:"names the file in intake/events"`
	Source        string          `json:"source" doc:"manual, vision_scan, ci_failure, git_ref_change or schedule"`
	Category      string          `json:"category" doc:"kind of event, such as operator_injection (default: <source>_signal)"`
	CreatedAt     Time            `json:"created_at" doc:"when the event was recorded"`
	Repo          *string         `json:"repo" doc:"repository that it concerns, as its reporter names it"`
	Ref           *string         `json:"ref" doc:"branch, tag or commit that it concerns"`
	Signal        json.RawMessage `json:"signal" doc:"what the source reported: an object that is not empty"`
	Evidence      []SignalProof   `json:"evidence" doc:"what shows that it happened, at least one"`
	DedupKey      string          `json:"dedup_key" doc:"hash of source and signal; an event with a known key is not recorded again"`
	Extra         Extra           `json:"-"`
}

func (e *IntakeEvent) UnmarshalJSON(data []byte) error { return readKeep(data, e) }
func (e IntakeEvent) MarshalJSON() ([]byte, error)     { return writeKeep(e) }

// SignalProof is what shows that an event happened.
type SignalProof struct {
	Type  string `json:"type" doc:"url, file or text"`
	Value string `json:"value" doc:"the address, the path or the text itself"`
}

// IntakeContext is what a turn knows of the intent that it is bound to.
type IntakeContext struct {
	IntentID           string   `json:"intent_id" doc:"the intent"`
	EventID            string   `json:"event_id" doc:"event that it comes from"`
	Source             *string  `json:"source" doc:"source of that event, such as ci_failure (null: the event is gone)"`
	Category           *string  `json:"category" doc:"category of that event (null: the event is gone)"`
	Charter            *string  `json:"charter" doc:"the task"`
	AcceptanceContract []string `json:"acceptance_contract" doc:"items that the result has to cover"`
	PhaseScope         *string  `json:"phase_scope" doc:"the only phase that it is for (null: every phase)"`
	Priority           string   `json:"priority,omitempty" doc:"p0 (most urgent) to p3"`
}

// Intent is the id of the intent that a turn is bound to; nil without one.
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
