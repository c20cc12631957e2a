package protocol

import "encoding/json"

// HistoryEntry is one line of history.jsonl: an accepted turn, or a reissued one (Status "reissued").
type HistoryEntry struct {
	TurnID                 string           `json:"turn_id" doc:"the accepted or reissued turn"`
	RunID                  string           `json:"run_id" doc:"the run that it belongs to"`
	Role                   string           `json:"role" doc:"the role of the turn"`
	Phase                  string           `json:"phase" doc:"the run's phase when the turn was accepted"`
	RuntimeID              string           `json:"runtime_id" doc:"its runtime, as in runtimes"`
	Status                 string           `json:"status" doc:"status of the result, or reissued"`
	Summary                string           `json:"summary" doc:"the result's summary, or the new turn and the reason of a reissue"`
	Decisions              []Decision       `json:"decisions" doc:"the result's decisions, renumbered if an id was taken"`
	Objections             []Objection      `json:"objections" doc:"the result's objections, renumbered if an id was taken"`
	FilesChanged           []string         `json:"files_changed" doc:"observed paths and kept outputs of verification"`
	ArtifactsCreated       []string         `json:"artifacts_created" doc:"as in the result; may be empty"`
	Verification           Verification     `json:"verification" doc:"the turn's own account of its checks"`
	NormalizedVerification NormalizedCheck  `json:"normalized_verification" doc:"classification of that account"`
	VerificationReplay     json.RawMessage  `json:"verification_replay,omitempty" doc:"outcome of running the evidence again, if a policy required it"`
	Artifact               ResultArtifact   `json:"artifact" doc:"what the turn delivers"`
	IntentID               *string          `json:"intent_id" doc:"the intake intent that the turn worked on, else null"`
	ObservedArtifact       *Observed        `json:"observed_artifact,omitempty" doc:"the observed changes; absent if they could not be observed"`
	ProposedNextRole       string           `json:"proposed_next_role" doc:"as in the result"`
	PhaseTransitionRequest *string          `json:"phase_transition_request" doc:"the phase that the result asks for, else null"`
	RunCompletionRequest   bool             `json:"run_completion_request" doc:"whether the result asks to end the run"`
	AssignedSequence       int              `json:"assigned_sequence" doc:"turn_sequence when the accepted attempt began"`
	AcceptedSequence       int              `json:"accepted_sequence" doc:"turn_sequence of this acceptance; 0 for a reissued turn"`
	Attempt                int              `json:"attempt,omitempty" doc:"the attempt that was accepted or abandoned, from 1"`
	ConcurrentWith         []string         `json:"concurrent_with" doc:"ids of the turns that were active at the same time"`
	ForwardRevision        json.RawMessage  `json:"forward_revision,omitempty" doc:"files: accepted paths that the role changed again"`
	ConflictResolution     json.RawMessage  `json:"conflict_resolution,omitempty" doc:"resolution, conflicting_files, accepted_since"`
	Cost                   *Cost            `json:"cost,omitempty" doc:"measured over all attempts, else as in the result; absent if unknown"`
	AdapterMeta            *AdapterMeta     `json:"adapter_meta,omitempty" doc:"model, tokens and timing; from the runtime, else the result"`
	StartedAt              Time             `json:"started_at" doc:"first dispatch, else the assignment"`
	AcceptedAt             Time             `json:"accepted_at" doc:"when the turn was accepted or reissued"`
	DurationMS             int64            `json:"duration_ms" doc:"milliseconds from started_at to accepted_at; 0 for a reissued turn"`
	DelegationsIssued      []Delegation     `json:"delegations_issued,omitempty" doc:"delegations of the turn"`
	DelegationContext      json.RawMessage  `json:"delegation_context,omitempty" doc:"the delegation that the turn worked on, if any"`
	DelegationReview       json.RawMessage  `json:"delegation_review,omitempty" doc:"the results of delegations that the turn reviewed, if any"`
	Coordinator            *CoordinatorLink `json:"coordinator,omitempty" doc:"Drawbar only: its place in a run over several repositories"`
	DerivedFiles           Ordered[string]  `json:"derived_files,omitzero" doc:"Drawbar only: digests of the review or proposal that was written for the turn, by path"`
	Normalized             []Change         `json:"normalized,omitempty" doc:"Drawbar only: each change that normalization made to the result"`
	CheckpointSHA          string           `json:"checkpoint_sha,omitempty" doc:"commit of the turn's files; absent until there is one"`
	CheckpointedAt         Time             `json:"checkpointed_at,omitzero" doc:"when that commit was made"`
	Extra                  Extra            `json:"-"`
}

// StatusReissued marks the history line of a turn that was replaced by another.
const StatusReissued = "reissued"

func (h *HistoryEntry) UnmarshalJSON(data []byte) error { return readKeep(data, h) }
func (h HistoryEntry) MarshalJSON() ([]byte, error)     { return writeKeep(h) }

// NormalizedCheck is the orchestrator's classification of a turn's verification.
type NormalizedCheck struct {
	Status       string `json:"status" doc:"pass, fail, skipped, attested_pass or not_reproducible"`
	Reason       string `json:"reason" doc:"why, in one sentence"`
	Reproducible bool   `json:"reproducible" doc:"whether every command of the machine evidence exited with 0"`
}

// Change is one change that normalization made to a staged result.
type Change struct {
	Field      string          `json:"field" doc:"path in the result, such as decisions[0].id"`
	Original   json.RawMessage `json:"original_value" doc:"the value before; null if it was absent"`
	Normalized json.RawMessage `json:"normalized_value" doc:"the value now"`
	Rationale  string          `json:"rationale" doc:"why it was changed"`
}

// Observed is what changed in the workspace.
type Observed struct {
	DerivedBy    string          `json:"derived_by" doc:"always orchestrator"`
	BaselineRef  string          `json:"baseline_ref" doc:"git:<commit> of the baseline; workspace:dirty without one"`
	AcceptedRef  string          `json:"accepted_ref" doc:"git:<commit> of HEAD when the turn was collected"`
	FilesChanged []string        `json:"files_changed" doc:"paths that differ from the baseline, relative to the root"`
	FileMarkers  Ordered[string] `json:"file_markers" doc:"path to marker, as in dirty_snapshot of a baseline"`
	DiffSummary  string          `json:"diff_summary" doc:"summary of the changes, for people"`
	Siblings     []string        `json:"attributed_to_concurrent_siblings,omitempty" doc:"changes of other turns; only other programs write it"`
}

// LedgerDecision is a decision in decision-ledger.jsonl.
type LedgerDecision struct {
	ID                string   `json:"id" doc:"DEC- and digits, unique in the ledger"`
	TurnID            string   `json:"turn_id" doc:"the turn that made it"`
	RunID             string   `json:"run_id,omitempty" doc:"the run of that turn; absent in lines of other programs"`
	Role              string   `json:"role" doc:"the role that made it"`
	Phase             string   `json:"phase" doc:"the run's phase at that time"`
	RuntimeID         string   `json:"runtime_id" doc:"runtime of the turn, as in runtimes"`
	Category          string   `json:"category" doc:"implementation, architecture, scope, process, quality or release"`
	Statement         string   `json:"statement" doc:"the decision"`
	Rationale         string   `json:"rationale" doc:"why"`
	Durability        string   `json:"durability,omitempty" doc:"run or repo; absent is run"`
	Overrides         string   `json:"overrides,omitempty" doc:"id of the repository decision that this one replaces"`
	ObjectionsAgainst []string `json:"objections_against" doc:"always empty; written for other tools"`
	Status            string   `json:"status" doc:"always accepted"`
	OverriddenBy      *string  `json:"overridden_by" doc:"always null here; overrides are recorded in repo-decisions.jsonl"`
	CreatedAt         Time     `json:"created_at" doc:"when the turn was accepted"`
}

// LedgerNote is a system line of decision-ledger.jsonl: it has no id, and either decision or type.
type LedgerNote struct {
	Decision  string `json:"decision,omitempty" doc:"kind of note, such as turn_reissued; absent if type is set"`
	Type      string `json:"type,omitempty" doc:"kind of note, such as gate_failure; absent if decision is set"`
	RunID     string `json:"run_id,omitempty" doc:"the run concerned"`
	TurnID    string `json:"turn_id,omitempty" doc:"the turn concerned; absent if none"`
	Role      string `json:"role,omitempty" doc:"role of that turn"`
	Phase     string `json:"phase,omitempty" doc:"the run's phase at that time"`
	Timestamp Time   `json:"timestamp" doc:"when it happened; further keys depend on the kind"`
	Extra     Extra  `json:"-"`
}

func (n *LedgerNote) UnmarshalJSON(data []byte) error { return readKeep(data, n) }
func (n LedgerNote) MarshalJSON() ([]byte, error)     { return writeKeep(n) }

// RepoDecision is a line of repo-decisions.jsonl: a decision that outlives its run.
type RepoDecision struct {
	ID           string  `json:"id" doc:"as in decision-ledger.jsonl; the last line with an id applies"`
	RunID        string  `json:"run_id" doc:"the run that made it"`
	TurnID       string  `json:"turn_id" doc:"the turn that made it"`
	Role         string  `json:"role" doc:"the role that made it, whose decision_authority protects it"`
	Phase        string  `json:"phase,omitempty" doc:"the run's phase at that time"`
	Category     string  `json:"category" doc:"implementation, architecture, scope, process, quality or release"`
	Statement    string  `json:"statement" doc:"the decision"`
	Rationale    string  `json:"rationale,omitempty" doc:"why"`
	Durability   string  `json:"durability" doc:"always repo"`
	Overrides    *string `json:"overrides,omitempty" doc:"id of the decision that this one replaces"`
	Status       string  `json:"status" doc:"active, or overridden once another replaces it"`
	OverriddenBy *string `json:"overridden_by,omitempty" doc:"id of the decision that replaces this one; absent while active"`
	CreatedAt    Time    `json:"created_at,omitzero" doc:"when the turn was accepted"`
}

// Event is one line of events.jsonl.
type Event struct {
	EventID   string          `json:"event_id" doc:"\"evt_\" and random hex digits, unique"`
	EventType string          `json:"event_type" doc:"see \"Event types\""`
	Timestamp Time            `json:"timestamp" doc:"when it happened"`
	RunID     string          `json:"run_id" doc:"the run concerned; empty before the first"`
	Phase     string          `json:"phase" doc:"the run's phase at that time"`
	Status    string          `json:"status" doc:"status of the run at that time"`
	Turn      *EventTurn      `json:"turn" doc:"null for events about the run as a whole"`
	IntentID  *string         `json:"intent_id" doc:"the intake intent of that turn, else null"`
	Payload   json.RawMessage `json:"payload" doc:"an object whose keys depend on the type"`
}

// EventTurn is the turn that an event concerns.
type EventTurn struct {
	TurnID           string `json:"turn_id" doc:"the turn concerned"`
	RoleID           string `json:"role_id,omitempty" doc:"its role; absent if the turn is unknown"`
	Attempt          int    `json:"attempt,omitempty" doc:"the current attempt, from 1"`
	AssignedSequence int    `json:"assigned_sequence,omitempty" doc:"turn_sequence when the attempt began"`
}

// Session is session.json: the starting point of a restart. state.json is authoritative.
type Session struct {
	SessionID            string          `json:"session_id" doc:"stays the same for the whole run"`
	RunID                string          `json:"run_id" doc:"a session of another run is replaced"`
	StartedAt            Time            `json:"started_at" doc:"when the session was first written"`
	LastCheckpointAt     Time            `json:"last_checkpoint_at" doc:"when it was last written"`
	CheckpointReason     string          `json:"checkpoint_reason" doc:"what wrote it, such as turn_assigned, turn_accepted or blocked"`
	RunStatus            RunStatus       `json:"run_status" doc:"status of state.json"`
	Phase                string          `json:"phase" doc:"phase of state.json"`
	LastPhase            string          `json:"last_phase,omitempty" doc:"the same as phase"`
	LastTurnID           *string         `json:"last_turn_id" doc:"the turn assigned last; null before the first"`
	LastCompletedTurnID  *string         `json:"last_completed_turn_id" doc:"the turn accepted last; null if none was"`
	ActiveTurnIDs        []string        `json:"active_turn_ids" doc:"the active turns"`
	LastRole             *string         `json:"last_role" doc:"role of last_turn_id; null before the first turn"`
	PendingGate          *string         `json:"pending_gate" doc:"the gate at which a phase transition is pending, else null"`
	PendingRunCompletion bool            `json:"pending_run_completion" doc:"whether the end of the run is pending"`
	Blocked              bool            `json:"blocked" doc:"whether the run is blocked"`
	BaselineRef          SessionBaseline `json:"baseline_ref" doc:"git as the last turn found it, with later checkpoint commits"`
	AgentContext         json.RawMessage `json:"agent_context,omitempty" doc:"adapter (a runtime id) and dispatch_dir of the last turn"`
	Extra                Extra           `json:"-"`
}

func (s *Session) UnmarshalJSON(data []byte) error { return readKeep(data, s) }
func (s Session) MarshalJSON() ([]byte, error)     { return writeKeep(s) }

// SessionBaseline is the repository at the last checkpoint.
type SessionBaseline struct {
	GitHead        *string `json:"git_head" doc:"commit of HEAD, or of the last checkpoint; null without git"`
	GitBranch      *string `json:"git_branch" doc:"checked-out branch; null with a detached head"`
	WorkspaceDirty *bool   `json:"workspace_dirty" doc:"whether files were uncommitted; null before the first turn"`
}

// RunSummary is one line of run-history.jsonl: a run that ended or was blocked.
type RunSummary struct {
	SchemaVersion   string          `json:"schema_version" doc:"version of this line, \"0.1\""`
	RunID           string          `json:"run_id" doc:"the run that ended or was replaced"`
	ProjectID       string          `json:"project_id" doc:"id of the configuration's project"`
	ProjectName     string          `json:"project_name" doc:"name of the configuration's project"`
	Template        string          `json:"template" doc:"template of the configuration; generic if it names none"`
	Status          RunStatus       `json:"status" doc:"completed, or the status in which another run replaced it: blocked or paused"`
	StartedAt       Time            `json:"started_at" doc:"when the run started"`
	CompletedAt     Time            `json:"completed_at" doc:"when it was completed or replaced"`
	DurationMS      int64           `json:"duration_ms" doc:"milliseconds from started_at to completed_at"`
	PhasesCompleted []string        `json:"phases_completed" doc:"phases that the run completed, in the order of routing"`
	TotalTurns      int             `json:"total_turns" doc:"number of accepted turns"`
	RolesUsed       []string        `json:"roles_used" doc:"roles of accepted turns, each once, in order of first use"`
	DecisionsCount  int             `json:"decisions_count" doc:"number of decisions of accepted turns"`
	TotalCostUSD    float64         `json:"total_cost_usd" doc:"US dollars of all attempts"`
	BudgetLimitUSD  *float64        `json:"budget_limit_usd" doc:"budget.per_run_max_usd; null without a limit"`
	BlockedReason   *string         `json:"blocked_reason" doc:"blocked_on of the state; null for a completed run"`
	GateResults     Ordered[string] `json:"gate_results" doc:"gate id to pending, passed or failed"`
	ConnectorUsed   *string         `json:"connector_used" doc:"runtime type of the last accepted turn; null without one"`
	ModelUsed       *string         `json:"model_used" doc:"the last model named by an accepted turn; null if none"`
	Provenance      json.RawMessage `json:"provenance,omitempty" doc:"who or what started the run, as in the state"`
	RecordedAt      Time            `json:"recorded_at" doc:"when this line was written"`
}
