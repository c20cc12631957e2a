package protocol

import "encoding/json"

// Assignment is ASSIGNMENT.json of a dispatch bundle. A role of the first edition gets its own fields besides.
type Assignment struct {
	// first edition: "1.0"
	SchemaVersion string `json:"schema_version,omitempty"`
	// run that the turn belongs to
	RunID string `json:"run_id"`
	// turn that is assigned; the result has to name the same
	TurnID string `json:"turn_id"`
	// phase in which the turn works
	Phase string `json:"phase"`
	// role that takes the turn
	Role string `json:"role"`
	// runtime that carries it out
	RuntimeID string `json:"runtime_id"`
	// what the role may write: authoritative, proposed or review_only
	WriteAuthority Authority `json:"write_authority"`
	// state that the turn builds on, `git:<commit>` or `workspace:dirty` (null: nothing is accepted yet)
	AcceptedIntegration *string `json:"accepted_integration_ref"`
	// file that the turn has to write its result to, relative to the project
	StagingResultPath string `json:"staging_result_path"`
	// files that no turn may touch
	ReservedPaths []string `json:"reserved_paths"`
	// roles that may be proposed as next
	AllowedNextRoles []string `json:"allowed_next_roles"`
	// number of this attempt, from 1
	Attempt int `json:"attempt"`
	// when the turn times out (null: no limit)
	DeadlineAt Time `json:"deadline_at"`
	// turn_sequence of the run at assignment; turns accepted later may conflict
	AssignedSequence int `json:"assigned_sequence"`
	// US dollars reserved for the turn (null: nothing is reserved)
	BudgetReservationUSD *float64 `json:"budget_reservation_usd"`
	// other active turns of the run
	ActiveSiblings []Sibling `json:"active_siblings,omitempty"`
	// intent that the turn is bound to, with its charter and acceptance_contract (absent: none)
	IntakeContext json.RawMessage `json:"intake_context,omitempty"`
	// after a conflict: what the rejected attempt collided with (absent: none)
	ConflictContext json.RawMessage `json:"conflict_context,omitempty"`
	// delegation that the turn carries out (absent: none)
	DelegationContext json.RawMessage `json:"delegation_context,omitempty"`
	// delegations that the turn reviews: parent_turn_id, parent_role, results (absent: none)
	DelegationReview json.RawMessage `json:"delegation_review,omitempty"`
	// warnings about the turn, such as overlapping file scopes
	AdvisoryWarnings []AdvisoryWarning `json:"advisory_warnings,omitempty"`

	// first edition: the role's adapter
	Adapter string `json:"adapter,omitempty"`
	// first edition: the adapter's settings; literal values of env and headers are empty
	AdapterConfig json.RawMessage `json:"adapter_config,omitempty"`
	// first edition: limit of the turn in ms: the adapter's, else what the deadline leaves, else 1200000
	TimeoutMS *int64 `json:"timeout_ms,omitempty"`
	// first edition: ./CONTEXT.md, the bundle's file with the state of the run
	ContextRef string `json:"context_ref,omitempty"`
	// first edition: ./PROMPT.md, the bundle's file with the prompt
	PromptRef string `json:"prompt_ref,omitempty"`
}

// Sibling is another active turn.
type Sibling struct {
	TurnID            string     `json:"turn_id"`                       // the other turn
	Role              string     `json:"role"`                          // its role
	Status            TurnStatus `json:"status"`                        // its status, such as assigned or running
	AssignedSequence  int        `json:"assigned_sequence"`             // turn_sequence of the run when it was assigned
	DeclaredFileScope []string   `json:"declared_file_scope,omitempty"` // paths its role means to touch
}

// AdvisoryWarning warns and does not stop.
type AdvisoryWarning struct {
	Code    string `json:"code"`    // kind of warning, such as advisory_scope_overlap
	Message string `json:"message"` // the warning in words, for people
}

// Manifest is MANIFEST.json: what the bundle held when it was sealed.
type Manifest struct {
	ManifestVersion string         `json:"manifest_version"` // "1.0"
	RunID           string         `json:"run_id"`           // run of the turn, as in the assignment
	TurnID          string         `json:"turn_id"`          // turn whose bundle this is
	Role            string         `json:"role"`             // role of the turn, as in the assignment
	FinalizedAt     Time           `json:"finalized_at"`     // when the bundle was sealed
	Files           []ManifestFile `json:"files"`            // every file of the bundle but the manifest itself
}

// ManifestFile is one file of a bundle: bare hex digest, size in bytes.
type ManifestFile struct {
	Path   string `json:"path"`   // name of the file in the bundle's folder
	SHA256 string `json:"sha256"` // SHA-256 of its content, 64 hex digits
	Size   int64  `json:"size"`   // its length in bytes
}

// ManifestError is one fault of a bundle: missing_manifest, invalid_manifest, missing_file, size_mismatch, digest_mismatch
// or unexpected_file.
type ManifestError struct {
	Type   string `json:"type"`           // kind of fault, such as missing_file
	Path   string `json:"path,omitempty"` // file of the bundle that it concerns (absent: the bundle as a whole)
	Detail string `json:"detail"`         // what is wrong, in words
}

// DispatchIndex is dispatch/index.json.
type DispatchIndex struct {
	RunID       string                 `json:"run_id"`       // run of these turns
	Phase       string                 `json:"phase"`        // the run's current phase
	UpdatedAt   Time                   `json:"updated_at"`   // when the index was written
	ActiveTurns Ordered[DispatchEntry] `json:"active_turns"` // active turns, by turn id
}

// DispatchEntry is one active turn of the index.
type DispatchEntry struct {
	TurnID     string     `json:"turn_id"`     // the turn, as its key says
	Role       string     `json:"role"`        // role that takes the turn
	RuntimeID  string     `json:"runtime_id"`  // runtime that carries it out
	Attempt    int        `json:"attempt"`     // number of the current attempt, from 1
	Status     TurnStatus `json:"status"`      // the turn's status, such as dispatched or running
	BundlePath string     `json:"bundle_path"` // folder of the turn's bundle, relative to the project
	// file that the turn has to write its result to, relative to the project
	StagingResultPath string            `json:"staging_result_path"`
	AssignedSequence  int               `json:"assigned_sequence"`           // turn_sequence of the run when the turn was assigned
	AdvisoryWarnings  []AdvisoryWarning `json:"advisory_warnings,omitempty"` // warnings that the turn was assigned with
}
