package protocol

import "encoding/json"

// Assignment is ASSIGNMENT.json of a dispatch bundle. A role of the first edition gets additional fields.
type Assignment struct {
	SchemaVersion        string            `json:"schema_version,omitempty" doc:"first edition: \"1.0\""`
	RunID                string            `json:"run_id" doc:"run that the turn belongs to"`
	TurnID               string            `json:"turn_id" doc:"the assigned turn; the result must name it"`
	Phase                string            `json:"phase" doc:"phase in which the turn works"`
	Role                 string            `json:"role" doc:"role that takes the turn"`
	RuntimeID            string            `json:"runtime_id" doc:"runtime that performs it"`
	WriteAuthority       Authority         `json:"write_authority" doc:"what the role may write: authoritative, proposed or review_only"`
	AcceptedIntegration  *string           `json:"accepted_integration_ref" doc:"what the turn builds on; null for the first"`
	StagingResultPath    string            `json:"staging_result_path" doc:"where the turn writes its result, relative to the project"`
	ReservedPaths        []string          `json:"reserved_paths" doc:"files that no turn may change"`
	AllowedNextRoles     []string          `json:"allowed_next_roles" doc:"roles that may be proposed as next"`
	Attempt              int               `json:"attempt" doc:"number of this attempt, from 1"`
	DeadlineAt           Time              `json:"deadline_at" doc:"when the turn times out (null: no limit)"`
	AssignedSequence     int               `json:"assigned_sequence" doc:"turn_sequence at assignment; later acceptances may conflict"`
	BudgetReservationUSD *float64          `json:"budget_reservation_usd" doc:"US dollars reserved for the turn (null: nothing is reserved)"`
	ActiveSiblings       []Sibling         `json:"active_siblings,omitempty" doc:"other active turns of the run"`
	IntakeContext        json.RawMessage   `json:"intake_context,omitempty" doc:"the turn's intent: charter, acceptance_contract"`
	ConflictContext      json.RawMessage   `json:"conflict_context,omitempty" doc:"after a conflict: what the attempt conflicted with"`
	DelegationContext    json.RawMessage   `json:"delegation_context,omitempty" doc:"delegation that the turn works on (absent: none)"`
	DelegationReview     json.RawMessage   `json:"delegation_review,omitempty" doc:"to review: parent_turn_id, parent_role, results"`
	Coordinator          json.RawMessage   `json:"coordinator_context,omitempty" doc:"the other repositories, in a run over several"`
	AdvisoryWarnings     []AdvisoryWarning `json:"advisory_warnings,omitempty" doc:"warnings about the turn, such as overlapping file scopes"`

	Adapter       string          `json:"adapter,omitempty" doc:"first edition: the role's adapter"`
	AdapterConfig json.RawMessage `json:"adapter_config,omitempty" doc:"first edition: its settings, without values of env and headers"`
	TimeoutMS     *int64          `json:"timeout_ms,omitempty" doc:"first edition: time limit of the turn in ms (absent: until the deadline)"`
	ContextRef    string          `json:"context_ref,omitempty" doc:"first edition: ./CONTEXT.md, the bundle's file with the state of the run"`
	PromptRef     string          `json:"prompt_ref,omitempty" doc:"first edition: ./PROMPT.md, the bundle's file with the prompt"`
}

// Sibling is another active turn.
type Sibling struct {
	TurnID            string     `json:"turn_id" doc:"the other turn"`
	Role              string     `json:"role" doc:"its role"`
	Status            TurnStatus `json:"status" doc:"its status, such as assigned or running"`
	AssignedSequence  int        `json:"assigned_sequence" doc:"turn_sequence of the run when it was assigned"`
	DeclaredFileScope []string   `json:"declared_file_scope,omitempty" doc:"paths that its role is expected to change"`
}

// AdvisoryWarning is a warning that stops nothing.
type AdvisoryWarning struct {
	Code    string `json:"code" doc:"kind of warning, such as advisory_scope_overlap"`
	Message string `json:"message" doc:"the warning, for people"`
}

// Manifest is MANIFEST.json: the content of the bundle when it was sealed.
type Manifest struct {
	ManifestVersion string         `json:"manifest_version" doc:"\"1.0\""`
	RunID           string         `json:"run_id" doc:"run of the turn, as in the assignment"`
	TurnID          string         `json:"turn_id" doc:"turn whose bundle this is"`
	Role            string         `json:"role" doc:"role of the turn, as in the assignment"`
	FinalizedAt     Time           `json:"finalized_at" doc:"when the bundle was sealed"`
	Files           []ManifestFile `json:"files" doc:"every file of the bundle except the manifest"`
}

// ManifestFile is one file of a bundle: bare hex digest, size in bytes.
type ManifestFile struct {
	Path   string `json:"path" doc:"name of the file in the bundle's folder"`
	SHA256 string `json:"sha256" doc:"SHA-256 of its content, 64 hex digits"`
	Size   int64  `json:"size" doc:"its length in bytes"`
}

// ManifestError is one fault of a bundle: missing_manifest, invalid_manifest, missing_file, size_mismatch,
// digest_mismatch or unexpected_file.
type ManifestError struct {
	Type   string `json:"type" doc:"kind of fault, such as missing_file"`
	Path   string `json:"path,omitempty" doc:"the affected file (absent: the bundle as a whole)"`
	Detail string `json:"detail" doc:"description of the fault"`
}

// DispatchIndex is dispatch/index.json.
type DispatchIndex struct {
	RunID       string                 `json:"run_id" doc:"run of these turns"`
	Phase       string                 `json:"phase" doc:"the run's current phase"`
	UpdatedAt   Time                   `json:"updated_at" doc:"when the index was written"`
	ActiveTurns Ordered[DispatchEntry] `json:"active_turns" doc:"active turns, by turn id"`
}

// DispatchEntry is one active turn of the index.
type DispatchEntry struct {
	TurnID            string            `json:"turn_id" doc:"id of the turn, as in the key"`
	Role              string            `json:"role" doc:"role that takes the turn"`
	RuntimeID         string            `json:"runtime_id" doc:"runtime that performs it"`
	Attempt           int               `json:"attempt" doc:"number of the current attempt, from 1"`
	Status            TurnStatus        `json:"status" doc:"the turn's status, such as dispatched or running"`
	BundlePath        string            `json:"bundle_path" doc:"folder of the turn's bundle, relative to the project"`
	StagingResultPath string            `json:"staging_result_path" doc:"where the turn writes its result, relative to the project"`
	AssignedSequence  int               `json:"assigned_sequence" doc:"turn_sequence of the run when the turn was assigned"`
	AdvisoryWarnings  []AdvisoryWarning `json:"advisory_warnings,omitempty" doc:"warnings at the assignment"`
}
