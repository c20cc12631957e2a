package protocol

import "encoding/json"

// Assignment is ASSIGNMENT.json of a dispatch bundle. A role of the first edition gets its own fields besides.
type Assignment struct {
	SchemaVersion        string            `json:"schema_version,omitempty"` // first edition
	RunID                string            `json:"run_id"`
	TurnID               string            `json:"turn_id"`
	Phase                string            `json:"phase"`
	Role                 string            `json:"role"`
	RuntimeID            string            `json:"runtime_id"`
	WriteAuthority       Authority         `json:"write_authority"`
	AcceptedIntegration  *string           `json:"accepted_integration_ref"`
	StagingResultPath    string            `json:"staging_result_path"`
	ReservedPaths        []string          `json:"reserved_paths"`
	AllowedNextRoles     []string          `json:"allowed_next_roles"`
	Attempt              int               `json:"attempt"`
	DeadlineAt           Time              `json:"deadline_at"`
	AssignedSequence     int               `json:"assigned_sequence"`
	BudgetReservationUSD *float64          `json:"budget_reservation_usd"`
	ActiveSiblings       []Sibling         `json:"active_siblings,omitempty"`
	IntakeContext        json.RawMessage   `json:"intake_context,omitempty"`
	ConflictContext      json.RawMessage   `json:"conflict_context,omitempty"`
	DelegationContext    json.RawMessage   `json:"delegation_context,omitempty"`
	DelegationReview     json.RawMessage   `json:"delegation_review,omitempty"`
	AdvisoryWarnings     []AdvisoryWarning `json:"advisory_warnings,omitempty"`

	// First edition: the role's adapter, its settings without the values of env, and references to the bundle's files.
	Adapter       string          `json:"adapter,omitempty"`
	AdapterConfig json.RawMessage `json:"adapter_config,omitempty"`
	TimeoutMS     *int64          `json:"timeout_ms,omitempty"`
	ContextRef    string          `json:"context_ref,omitempty"`
	PromptRef     string          `json:"prompt_ref,omitempty"`
}

// Sibling is another active turn.
type Sibling struct {
	TurnID            string     `json:"turn_id"`
	Role              string     `json:"role"`
	Status            TurnStatus `json:"status"`
	AssignedSequence  int        `json:"assigned_sequence"`
	DeclaredFileScope []string   `json:"declared_file_scope,omitempty"`
}

// AdvisoryWarning warns and does not stop.
type AdvisoryWarning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Manifest is MANIFEST.json: what the bundle held when it was sealed.
type Manifest struct {
	ManifestVersion string         `json:"manifest_version"`
	RunID           string         `json:"run_id"`
	TurnID          string         `json:"turn_id"`
	Role            string         `json:"role"`
	FinalizedAt     Time           `json:"finalized_at"`
	Files           []ManifestFile `json:"files"`
}

// ManifestFile is one file of a bundle: bare hex digest, size in bytes.
type ManifestFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// ManifestError is one fault of a bundle: missing_manifest, invalid_manifest, missing_file, size_mismatch, digest_mismatch
// or unexpected_file.
type ManifestError struct {
	Type   string `json:"type"`
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail"`
}

// DispatchIndex is dispatch/index.json.
type DispatchIndex struct {
	RunID       string                 `json:"run_id"`
	Phase       string                 `json:"phase"`
	UpdatedAt   Time                   `json:"updated_at"`
	ActiveTurns Ordered[DispatchEntry] `json:"active_turns"`
}

// DispatchEntry is one active turn of the index.
type DispatchEntry struct {
	TurnID            string            `json:"turn_id"`
	Role              string            `json:"role"`
	RuntimeID         string            `json:"runtime_id"`
	Attempt           int               `json:"attempt"`
	Status            TurnStatus        `json:"status"`
	BundlePath        string            `json:"bundle_path"`
	StagingResultPath string            `json:"staging_result_path"`
	AssignedSequence  int               `json:"assigned_sequence"`
	AdvisoryWarnings  []AdvisoryWarning `json:"advisory_warnings,omitempty"`
}
