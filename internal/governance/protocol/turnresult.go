package protocol

import "encoding/json"

// TurnResult is a staged turn result after normalization and validation (specification 001, "Staged result schema"). Before
// that it is raw JSON: see internal/governance/turnresult.
type TurnResult struct {
	SchemaVersion          string           `json:"schema_version"`
	RunID                  string           `json:"run_id"`
	TurnID                 string           `json:"turn_id"`
	Role                   string           `json:"role"`
	RuntimeID              string           `json:"runtime_id"`
	Status                 ResultStatus     `json:"status"`
	Summary                string           `json:"summary"`
	Decisions              []Decision       `json:"decisions"`
	Objections             []Objection      `json:"objections"`
	FilesChanged           []string         `json:"files_changed"`
	ArtifactsCreated       []string         `json:"artifacts_created,omitempty"`
	Verification           Verification     `json:"verification"`
	Artifact               ResultArtifact   `json:"artifact"`
	ProposedNextRole       string           `json:"proposed_next_role"`
	PhaseTransitionRequest *string          `json:"phase_transition_request"`
	RunCompletionRequest   *bool            `json:"run_completion_request"`
	NeedsHumanReason       *string          `json:"needs_human_reason,omitempty"`
	Cost                   *Cost            `json:"cost,omitempty"`
	Delegations            []Delegation     `json:"delegations,omitempty"`
	ProposedChanges        []ProposedChange `json:"proposed_changes,omitempty"`
	IntentID               *string          `json:"intent_id,omitempty"`
	AdapterMeta            *AdapterMeta     `json:"adapter_meta,omitempty"`
	Extra                  Extra            `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (r *TurnResult) UnmarshalJSON(data []byte) error {
	type plain TurnResult
	return unmarshalKeep(data, (*plain)(r), &r.Extra)
}

// MarshalJSON writes unknown keys back.
func (r TurnResult) MarshalJSON() ([]byte, error) {
	type plain TurnResult
	return marshalKeep(plain(r), r.Extra)
}

// Transition is the requested phase; empty when none is requested.
func (r *TurnResult) Transition() string {
	if r.PhaseTransitionRequest == nil {
		return ""
	}
	return *r.PhaseTransitionRequest
}

// Completion reports whether the end of the run is requested.
func (r *TurnResult) Completion() bool {
	return r.RunCompletionRequest != nil && *r.RunCompletionRequest
}

// Decision is one decision of a turn.
type Decision struct {
	ID         string `json:"id"`
	Category   string `json:"category"`
	Statement  string `json:"statement"`
	Rationale  string `json:"rationale"`
	Durability string `json:"durability,omitempty"` // run (default) or repo
	Overrides  string `json:"overrides,omitempty"`
}

// Objection is one objection of a turn.
type Objection struct {
	ID            string `json:"id"`
	Severity      string `json:"severity"`
	AgainstTurnID string `json:"against_turn_id,omitempty"`
	Statement     string `json:"statement"`
	Status        string `json:"status,omitempty"`
}

// Verification is what a turn says of its checks.
type Verification struct {
	Status          string         `json:"status"`
	Commands        []string       `json:"commands,omitempty"`
	EvidenceSummary string         `json:"evidence_summary,omitempty"`
	MachineEvidence []Evidence     `json:"machine_evidence,omitempty"`
	ProducedFiles   []ProducedFile `json:"produced_files,omitempty"`
	Extra           Extra          `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (v *Verification) UnmarshalJSON(data []byte) error {
	type plain Verification
	return unmarshalKeep(data, (*plain)(v), &v.Extra)
}

// MarshalJSON writes unknown keys back.
func (v Verification) MarshalJSON() ([]byte, error) {
	type plain Verification
	return marshalKeep(plain(v), v.Extra)
}

// Evidence is one command that was run.
type Evidence struct {
	Command          string   `json:"command"`
	ExitCode         int      `json:"exit_code"`
	ExpectedExitCode *int     `json:"expected_exit_code,omitempty"`
	StdoutTail       string   `json:"stdout_tail,omitempty"`
	Argv             []string `json:"argv,omitempty"`
}

// ProducedFile is a file that verification made.
type ProducedFile struct {
	Path        string `json:"path"`
	Disposition string `json:"disposition"` // artifact or ignore
}

// ResultArtifact is what a turn hands over.
type ResultArtifact struct {
	Type  string  `json:"type"`
	Ref   *string `json:"ref"`
	Extra Extra   `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (a *ResultArtifact) UnmarshalJSON(data []byte) error {
	type plain ResultArtifact
	return unmarshalKeep(data, (*plain)(a), &a.Extra)
}

// MarshalJSON writes unknown keys back.
func (a ResultArtifact) MarshalJSON() ([]byte, error) {
	type plain ResultArtifact
	return marshalKeep(plain(a), a.Extra)
}

// Cost is what a turn used.
type Cost struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	USD          float64 `json:"usd"`
}

// AdapterMeta is what a runtime knows of how the turn was carried out. Absent numbers are unknown.
type AdapterMeta struct {
	Model        string   `json:"model,omitempty"`
	Provider     string   `json:"provider,omitempty"`
	InputTokens  *int64   `json:"input_tokens,omitempty"`
	OutputTokens *int64   `json:"output_tokens,omitempty"`
	TotalTokens  *int64   `json:"total_tokens,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	LatencyMS    *int64   `json:"latency_ms,omitempty"`
	Retries      *int     `json:"retries,omitempty"`
	SessionID    string   `json:"session_id,omitempty"`
}

// Delegation is work that a turn hands to another role.
type Delegation struct {
	ID                  string   `json:"id"`
	ToRole              string   `json:"to_role"`
	Charter             string   `json:"charter"`
	AcceptanceContract  []string `json:"acceptance_contract"`
	RequiredDecisionIDs []string `json:"required_decision_ids,omitempty"`
}

// ProposedChange is a file of a proposal. Content is nil for a deletion.
type ProposedChange struct {
	Path    string  `json:"path"`
	Action  string  `json:"action"` // create, modify or delete
	Content *string `json:"content,omitempty"`
}

// RawResult is a staged result as it was read: a JSON object in its order.
type RawResult = Ordered[json.RawMessage]
