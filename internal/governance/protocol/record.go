package protocol

import "encoding/json"

// HistoryEntry is one line of history.jsonl: an accepted turn, or a reissued one (Status "reissued").
type HistoryEntry struct {
	TurnID                 string          `json:"turn_id"`
	RunID                  string          `json:"run_id"`
	Role                   string          `json:"role"`
	Phase                  string          `json:"phase"`
	RuntimeID              string          `json:"runtime_id"`
	Status                 string          `json:"status"`
	Summary                string          `json:"summary"`
	Decisions              []Decision      `json:"decisions"`
	Objections             []Objection     `json:"objections"`
	FilesChanged           []string        `json:"files_changed"`
	ArtifactsCreated       []string        `json:"artifacts_created"`
	Verification           Verification    `json:"verification"`
	NormalizedVerification NormalizedCheck `json:"normalized_verification"`
	VerificationReplay     json.RawMessage `json:"verification_replay,omitempty"`
	Artifact               ResultArtifact  `json:"artifact"`
	IntentID               *string         `json:"intent_id"`
	ObservedArtifact       *Observed       `json:"observed_artifact,omitempty"`
	ProposedNextRole       string          `json:"proposed_next_role"`
	PhaseTransitionRequest *string         `json:"phase_transition_request"`
	RunCompletionRequest   bool            `json:"run_completion_request"`
	AssignedSequence       int             `json:"assigned_sequence"`
	AcceptedSequence       int             `json:"accepted_sequence"`
	Attempt                int             `json:"attempt,omitempty"`
	ConcurrentWith         []string        `json:"concurrent_with"`
	ForwardRevision        json.RawMessage `json:"forward_revision,omitempty"`
	ConflictResolution     json.RawMessage `json:"conflict_resolution,omitempty"`
	Cost                   *Cost           `json:"cost,omitempty"`
	AdapterMeta            *AdapterMeta    `json:"adapter_meta,omitempty"`
	StartedAt              Time            `json:"started_at"`
	AcceptedAt             Time            `json:"accepted_at"`
	DurationMS             int64           `json:"duration_ms"`
	DelegationsIssued      []Delegation    `json:"delegations_issued,omitempty"`
	DelegationContext      json.RawMessage `json:"delegation_context,omitempty"`
	DelegationReview       json.RawMessage `json:"delegation_review,omitempty"`
	Normalized             []Change        `json:"normalized,omitempty"` // Drawbar's own: what normalization changed
	CheckpointSHA          string          `json:"checkpoint_sha,omitempty"`
	CheckpointedAt         Time            `json:"checkpointed_at,omitzero"`
	Extra                  Extra           `json:"-"`
}

// StatusReissued marks the history line of a turn that another one replaced.
const StatusReissued = "reissued"

// UnmarshalJSON keeps unknown keys.
func (h *HistoryEntry) UnmarshalJSON(data []byte) error {
	type plain HistoryEntry
	return unmarshalKeep(data, (*plain)(h), &h.Extra)
}

// MarshalJSON writes unknown keys back.
func (h HistoryEntry) MarshalJSON() ([]byte, error) {
	type plain HistoryEntry
	return marshalKeep(plain(h), h.Extra)
}

// NormalizedCheck is what the orchestrator makes of a turn's verification.
type NormalizedCheck struct {
	Status       string `json:"status"`
	Reason       string `json:"reason"`
	Reproducible bool   `json:"reproducible"`
}

// Change is one change that normalization made to a staged result.
type Change struct {
	Field      string          `json:"field"`
	Original   json.RawMessage `json:"original_value"`
	Normalized json.RawMessage `json:"normalized_value"`
	Rationale  string          `json:"rationale"`
}

// Observed is what really changed in the workspace.
type Observed struct {
	DerivedBy    string          `json:"derived_by"` // "orchestrator"
	BaselineRef  string          `json:"baseline_ref"`
	AcceptedRef  string          `json:"accepted_ref"`
	FilesChanged []string        `json:"files_changed"`
	FileMarkers  Ordered[string] `json:"file_markers"`
	DiffSummary  string          `json:"diff_summary"`
	Siblings     []string        `json:"attributed_to_concurrent_siblings,omitempty"`
}

// LedgerDecision is a decision in decision-ledger.jsonl.
type LedgerDecision struct {
	ID                string   `json:"id"`
	TurnID            string   `json:"turn_id"`
	RunID             string   `json:"run_id,omitempty"`
	Role              string   `json:"role"`
	Phase             string   `json:"phase"`
	RuntimeID         string   `json:"runtime_id"`
	Category          string   `json:"category"`
	Statement         string   `json:"statement"`
	Rationale         string   `json:"rationale"`
	Durability        string   `json:"durability,omitempty"`
	Overrides         string   `json:"overrides,omitempty"`
	ObjectionsAgainst []string `json:"objections_against"`
	Status            string   `json:"status"`
	OverriddenBy      *string  `json:"overridden_by"`
	CreatedAt         Time     `json:"created_at"`
}

// LedgerNote is a system line of decision-ledger.jsonl: it has no id and is keyed by decision or by type.
type LedgerNote struct {
	Decision  string `json:"decision,omitempty"`
	Type      string `json:"type,omitempty"`
	RunID     string `json:"run_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	Role      string `json:"role,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Timestamp Time   `json:"timestamp"`
	Extra     Extra  `json:"-"`
}

// UnmarshalJSON keeps further keys.
func (n *LedgerNote) UnmarshalJSON(data []byte) error {
	type plain LedgerNote
	return unmarshalKeep(data, (*plain)(n), &n.Extra)
}

// MarshalJSON writes further keys.
func (n LedgerNote) MarshalJSON() ([]byte, error) {
	type plain LedgerNote
	return marshalKeep(plain(n), n.Extra)
}

// RepoDecision is a line of repo-decisions.jsonl: a decision that outlives its run.
type RepoDecision struct {
	ID           string  `json:"id"`
	RunID        string  `json:"run_id"`
	TurnID       string  `json:"turn_id"`
	Role         string  `json:"role"`
	Phase        string  `json:"phase,omitempty"`
	Category     string  `json:"category"`
	Statement    string  `json:"statement"`
	Rationale    string  `json:"rationale,omitempty"`
	Durability   string  `json:"durability"`
	Overrides    *string `json:"overrides,omitempty"`
	Status       string  `json:"status"` // active or overridden
	OverriddenBy *string `json:"overridden_by,omitempty"`
	CreatedAt    Time    `json:"created_at,omitzero"`
}

// Event is one line of events.jsonl.
type Event struct {
	EventID   string          `json:"event_id"`
	EventType string          `json:"event_type"`
	Timestamp Time            `json:"timestamp"`
	RunID     string          `json:"run_id"`
	Phase     string          `json:"phase"`
	Status    string          `json:"status"`
	Turn      *EventTurn      `json:"turn"`
	IntentID  *string         `json:"intent_id"`
	Payload   json.RawMessage `json:"payload"`
}

// EventTurn is the turn that an event is about.
type EventTurn struct {
	TurnID           string `json:"turn_id"`
	RoleID           string `json:"role_id,omitempty"`
	Attempt          int    `json:"attempt,omitempty"`
	AssignedSequence int    `json:"assigned_sequence,omitempty"`
}

// Session is session.json: where a restart begins. state.json is authoritative.
type Session struct {
	SessionID            string          `json:"session_id"`
	RunID                string          `json:"run_id"`
	StartedAt            Time            `json:"started_at"`
	LastCheckpointAt     Time            `json:"last_checkpoint_at"`
	CheckpointReason     string          `json:"checkpoint_reason"`
	RunStatus            RunStatus       `json:"run_status"`
	Phase                string          `json:"phase"`
	LastPhase            string          `json:"last_phase,omitempty"`
	LastTurnID           *string         `json:"last_turn_id"`
	LastCompletedTurnID  *string         `json:"last_completed_turn_id"`
	ActiveTurnIDs        []string        `json:"active_turn_ids"`
	LastRole             *string         `json:"last_role"`
	PendingGate          *string         `json:"pending_gate"`
	PendingRunCompletion bool            `json:"pending_run_completion"`
	Blocked              bool            `json:"blocked"`
	BaselineRef          SessionBaseline `json:"baseline_ref"`
	AgentContext         json.RawMessage `json:"agent_context,omitempty"`
	Extra                Extra           `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (s *Session) UnmarshalJSON(data []byte) error {
	type plain Session
	return unmarshalKeep(data, (*plain)(s), &s.Extra)
}

// MarshalJSON writes unknown keys back.
func (s Session) MarshalJSON() ([]byte, error) {
	type plain Session
	return marshalKeep(plain(s), s.Extra)
}

// SessionBaseline is the repository at the last checkpoint.
type SessionBaseline struct {
	GitHead        *string `json:"git_head"`
	GitBranch      *string `json:"git_branch"`
	WorkspaceDirty *bool   `json:"workspace_dirty"`
}

// RunSummary is one line of run-history.jsonl: a run that ended or was blocked.
type RunSummary struct {
	SchemaVersion   string          `json:"schema_version"` // 0.1
	RunID           string          `json:"run_id"`
	ProjectID       string          `json:"project_id"`
	ProjectName     string          `json:"project_name"`
	Template        string          `json:"template"`
	Status          RunStatus       `json:"status"`
	StartedAt       Time            `json:"started_at"`
	CompletedAt     Time            `json:"completed_at"`
	DurationMS      int64           `json:"duration_ms"`
	PhasesCompleted []string        `json:"phases_completed"`
	TotalTurns      int             `json:"total_turns"`
	RolesUsed       []string        `json:"roles_used"`
	DecisionsCount  int             `json:"decisions_count"`
	TotalCostUSD    float64         `json:"total_cost_usd"`
	BudgetLimitUSD  *float64        `json:"budget_limit_usd"`
	BlockedReason   *string         `json:"blocked_reason"`
	GateResults     Ordered[string] `json:"gate_results"`
	ConnectorUsed   *string         `json:"connector_used"`
	ModelUsed       *string         `json:"model_used"`
	Provenance      json.RawMessage `json:"provenance,omitempty"`
	RecordedAt      Time            `json:"recorded_at"`
}
