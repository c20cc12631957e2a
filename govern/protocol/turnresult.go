package protocol

import "encoding/json"

// TurnResult is a staged turn result after normalization and validation (specification 001, "Staged result schema"). Before
// that it is raw JSON: see internal/governed/governance/turnresult.
type TurnResult struct {
	SchemaVersion string       `json:"schema_version"` // the string "1.0"
	RunID         string       `json:"run_id"`         // must be the id of the current run
	TurnID        string       `json:"turn_id"`        // must be the id of the active turn
	Role          string       `json:"role"`           // must be the turn's role
	RuntimeID     string       `json:"runtime_id"`     // must be the turn's runtime
	Status        ResultStatus `json:"status"`         // completed, blocked, needs_human or failed
	Summary       string       `json:"summary"`        // what was done; not blank
	Decisions     []Decision   `json:"decisions"`      // at most 1000; may be empty
	// at most 1000; a review_only role needs one unless challenge_required is false
	Objections       []Objection    `json:"objections"`
	FilesChanged     []string       `json:"files_changed"`               // paths relative to the root; reserved ones are refused
	ArtifactsCreated []string       `json:"artifacts_created,omitempty"` // paths of files made besides, relative to the root
	Verification     Verification   `json:"verification"`                // the turn's own account of its checks
	Artifact         ResultArtifact `json:"artifact"`                    // the form in which the work is handed over
	// a role that routing allows in this or the requested phase, or human
	ProposedNextRole       string  `json:"proposed_next_role"`
	PhaseTransitionRequest *string `json:"phase_transition_request"`     // the phase that follows this one in routing; null or absent: stay
	RunCompletionRequest   *bool   `json:"run_completion_request"`       // true asks to end the run; not with a phase request
	NeedsHumanReason       *string `json:"needs_human_reason,omitempty"` // what a person is needed for; belongs to the status needs_human
	// tokens and dollars of the turn; used unless the runtime reports its own
	Cost        *Cost        `json:"cost,omitempty"`
	Delegations []Delegation `json:"delegations,omitempty"` // at most 5; not with a completion request or in a delegated turn
	// for runtimes without access to the workspace; ignored for review_only
	ProposedChanges []ProposedChange `json:"proposed_changes,omitempty"`
	IntentID        *string          `json:"intent_id,omitempty"`    // the intake intent that the turn worked on
	AdapterMeta     *AdapterMeta     `json:"adapter_meta,omitempty"` // model, tokens and timing; used unless the runtime reports its own
	Extra           Extra            `json:"-"`
}

func (r *TurnResult) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r TurnResult) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

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
	ID         string `json:"id"`                   // DEC- and digits; renumbered if the record has it already
	Category   string `json:"category"`             // implementation, architecture, scope, process, quality or release
	Statement  string `json:"statement"`            // what was decided; not blank
	Rationale  string `json:"rationale"`            // why; not blank
	Durability string `json:"durability,omitempty"` // run, or repo if it outlives the run; absent is run
	Overrides  string `json:"overrides,omitempty"`  // id of the active repository decision that this one replaces
}

// Objection is one objection of a turn.
type Objection struct {
	ID            string `json:"id"`                        // OBJ- and digits; an earlier objection's id gives that one a new status
	Severity      string `json:"severity"`                  // low, medium, high or blocking; blocking keeps gates shut
	AgainstTurnID string `json:"against_turn_id,omitempty"` // the turn that is criticized, if there is one
	Statement     string `json:"statement"`                 // what is wrong; not blank
	Status        string `json:"status,omitempty"`          // a state of an objection, see "Words"; absent is raised
}

// Verification is what a turn says of its checks.
type Verification struct {
	Status          string         `json:"status"`                     // pass, fail or skipped
	Commands        []string       `json:"commands,omitempty"`         // the commands that were run, none blank
	EvidenceSummary string         `json:"evidence_summary,omitempty"` // what the checks showed, in words; may explain a non-zero exit
	MachineEvidence []Evidence     `json:"machine_evidence,omitempty"` // the commands with their exit codes; a pass needs the expected ones
	ProducedFiles   []ProducedFile `json:"produced_files,omitempty"`   // files that the checks left behind
	Extra           Extra          `json:"-"`
}

func (v *Verification) UnmarshalJSON(data []byte) error { return readKeep(data, v) }
func (v Verification) MarshalJSON() ([]byte, error)     { return writeKeep(v) }

// Evidence is one command that was run.
type Evidence struct {
	Command          string   `json:"command"`                      // the command line as run; not blank
	ExitCode         int      `json:"exit_code"`                    // as the command ended
	ExpectedExitCode *int     `json:"expected_exit_code,omitempty"` // another code than 0 for a command that is meant to fail; absent is 0
	StdoutTail       string   `json:"stdout_tail,omitempty"`        // the end of its output
	Argv             []string `json:"argv,omitempty"`               // the command's words, to run it again without a shell
}

// ProducedFile is a file that verification made.
type ProducedFile struct {
	Path        string `json:"path"`        // relative to the root, each once
	Disposition string `json:"disposition"` // artifact keeps the file as the turn's, ignore removes it
}

// ResultArtifact is what a turn hands over.
type ResultArtifact struct {
	Type  string  `json:"type"` // workspace, patch, commit or review, as the role's authority allows
	Ref   *string `json:"ref"`  // path of the artifact, relative to the root; null if none
	Extra Extra   `json:"-"`
}

func (a *ResultArtifact) UnmarshalJSON(data []byte) error { return readKeep(data, a) }
func (a ResultArtifact) MarshalJSON() ([]byte, error)     { return writeKeep(a) }

// Cost is what a turn used.
type Cost struct {
	InputTokens  int64   `json:"input_tokens"`  // tokens that the model read, cached ones included; not negative
	OutputTokens int64   `json:"output_tokens"` // tokens that the model wrote; not negative
	USD          float64 `json:"usd"`           // US dollars, not negative; tokens at 0 dollars are priced by budget.cost_rates
}

// AdapterMeta is what a runtime knows of how the turn was carried out. Absent numbers are unknown.
type AdapterMeta struct {
	Model        string   `json:"model,omitempty"`         // as the runtime names it
	Provider     string   `json:"provider,omitempty"`      // the agent or service that answered, such as anthropic
	InputTokens  *int64   `json:"input_tokens,omitempty"`  // tokens that the model read, cached ones included
	OutputTokens *int64   `json:"output_tokens,omitempty"` // tokens that the model wrote
	TotalTokens  *int64   `json:"total_tokens,omitempty"`  // input and output together
	CostUSD      *float64 `json:"cost_usd,omitempty"`      // US dollars as the runtime states them
	LatencyMS    *int64   `json:"latency_ms,omitempty"`    // milliseconds that the attempt took
	Retries      *int     `json:"retries,omitempty"`       // requests that the runtime repeated
	SessionID    string   `json:"session_id,omitempty"`    // the agent's own session, which a later turn can resume
}

// Delegation is work that a turn hands to another role.
type Delegation struct {
	ID                  string   `json:"id"`                              // del- and three digits, unique in the result
	ToRole              string   `json:"to_role"`                         // another role of the configuration, as routing allows
	Charter             string   `json:"charter"`                         // the work to be done; not blank
	AcceptanceContract  []string `json:"acceptance_contract"`             // conditions that the work has to meet; at least one, none blank
	RequiredDecisionIDs []string `json:"required_decision_ids,omitempty"` // DEC ids that the work has to decide, each once; absent: none
}

// ProposedChange is a file of a proposal. Content is nil for a deletion.
type ProposedChange struct {
	Path    string  `json:"path"`              // relative to the root
	Action  string  `json:"action"`            // create, modify or delete
	Content *string `json:"content,omitempty"` // the whole new content; absent for a deletion
}

// RawResult is a staged result as it was read: a JSON object in its order.
type RawResult = Ordered[json.RawMessage]
