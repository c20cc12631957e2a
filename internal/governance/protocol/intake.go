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
	SchemaVersion      string       `json:"schema_version"`
	IntentID           string       `json:"intent_id"`
	EventID            string       `json:"event_id"`
	Status             string       `json:"status"`
	Priority           *string      `json:"priority"`
	Template           *string      `json:"template"`
	Charter            *string      `json:"charter"`
	AcceptanceContract []string     `json:"acceptance_contract"`
	PhaseScope         *string      `json:"phase_scope"`
	RequiresHumanStart bool         `json:"requires_human_start"`
	TargetRun          *string      `json:"target_run"`
	CreatedAt          Time         `json:"created_at"`
	UpdatedAt          Time         `json:"updated_at"`
	History            []IntentStep `json:"history"`
	PreferredRole      string       `json:"preferred_role,omitempty"`
	ApprovedRunID      string       `json:"approved_run_id,omitempty"`
	CrossRunDurable    bool         `json:"cross_run_durable,omitempty"` // approved while no run was there; the next one takes it
	ApprovedBy         string       `json:"approved_by,omitempty"`
	PlanningArtifacts  []string     `json:"planning_artifacts,omitempty"`
	TargetTurn         *string      `json:"target_turn,omitempty"`
	StartedAt          Time         `json:"started_at,omitzero"`
	CompletedAt        Time         `json:"completed_at,omitzero"`
	RunCompletedAt     Time         `json:"run_completed_at,omitzero"`
	RunFinalTurn       *string      `json:"run_final_turn,omitempty"`
	SatisfyingTurn     string       `json:"satisfying_turn,omitempty"`
	SatisfiedAt        Time         `json:"satisfied_at,omitzero"`
	SatisfiedReason    string       `json:"satisfied_reason,omitempty"`
	ArchivedReason     string       `json:"archived_reason,omitempty"`
	RunBlockedOn       *string      `json:"run_blocked_on,omitempty"`
	RunBlockedReason   *string      `json:"run_blocked_reason,omitempty"`
	RunBlockedRecovery *string      `json:"run_blocked_recovery,omitempty"`
	Extra              Extra        `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (i *Intent) UnmarshalJSON(data []byte) error {
	type plain Intent
	return unmarshalKeep(data, (*plain)(i), &i.Extra)
}

// MarshalJSON writes unknown keys back.
func (i Intent) MarshalJSON() ([]byte, error) {
	type plain Intent
	return marshalKeep(plain(i), i.Extra)
}

// IntentStep is one change of an intent's status.
type IntentStep struct {
	From      *string  `json:"from"`
	To        string   `json:"to"`
	At        Time     `json:"at"`
	Reason    string   `json:"reason"`
	Approver  string   `json:"approver,omitempty"`
	Artifacts []string `json:"artifacts,omitempty"`
	RunID     string   `json:"run_id,omitempty"`
	TurnID    string   `json:"turn_id,omitempty"`
	Role      string   `json:"role,omitempty"`
	RunStatus string   `json:"run_status,omitempty"`
	Extra     Extra    `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (i *IntentStep) UnmarshalJSON(data []byte) error {
	type plain IntentStep
	return unmarshalKeep(data, (*plain)(i), &i.Extra)
}

// MarshalJSON writes unknown keys back.
func (i IntentStep) MarshalJSON() ([]byte, error) {
	type plain IntentStep
	return marshalKeep(plain(i), i.Extra)
}

// IntakeEvent is what an intent comes from: somebody's word, a failed check, a change of a branch, a time.
type IntakeEvent struct {
	SchemaVersion string          `json:"schema_version"`
	EventID       string          `json:"event_id"`
	Source        string          `json:"source"`
	Category      string          `json:"category"`
	CreatedAt     Time            `json:"created_at"`
	Repo          *string         `json:"repo"`
	Ref           *string         `json:"ref"`
	Signal        json.RawMessage `json:"signal"`
	Evidence      []SignalProof   `json:"evidence"`
	DedupKey      string          `json:"dedup_key"`
	Extra         Extra           `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (e *IntakeEvent) UnmarshalJSON(data []byte) error {
	type plain IntakeEvent
	return unmarshalKeep(data, (*plain)(e), &e.Extra)
}

// MarshalJSON writes unknown keys back.
func (e IntakeEvent) MarshalJSON() ([]byte, error) {
	type plain IntakeEvent
	return marshalKeep(plain(e), e.Extra)
}

// SignalProof is what shows that an event happened.
type SignalProof struct {
	Type  string `json:"type"` // url, file or text
	Value string `json:"value"`
}

// IntakeContext is what a turn knows of the intent that it is bound to.
type IntakeContext struct {
	IntentID           string   `json:"intent_id"`
	EventID            string   `json:"event_id"`
	Source             *string  `json:"source"`
	Category           *string  `json:"category"`
	Charter            *string  `json:"charter"`
	AcceptanceContract []string `json:"acceptance_contract"`
	PhaseScope         *string  `json:"phase_scope"`
	Priority           string   `json:"priority,omitempty"`
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
