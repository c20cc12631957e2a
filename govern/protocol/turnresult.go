package protocol

import "encoding/json"

// TurnResult is a staged turn result after normalization and validation (specification 001, "Staged result schema").
// Before that it is raw JSON: see internal/governed/governance/turnresult.
type TurnResult struct {
	SchemaVersion          string           `json:"schema_version" doc:"the string \"1.0\""`
	RunID                  string           `json:"run_id" doc:"must be the id of the current run"`
	TurnID                 string           `json:"turn_id" doc:"must be the id of the active turn"`
	Role                   string           `json:"role" doc:"must be the turn's role"`
	RuntimeID              string           `json:"runtime_id" doc:"must be the turn's runtime"`
	Status                 ResultStatus     `json:"status" doc:"completed, blocked, needs_human or failed"`
	Summary                string           `json:"summary" doc:"what was done; not blank"`
	Decisions              []Decision       `json:"decisions" doc:"at most 1000; may be empty"`
	Objections             []Objection      `json:"objections" doc:"at most 1000; review_only needs one unless challenge_required is false"`
	FilesChanged           []string         `json:"files_changed" doc:"paths relative to the root; reserved ones are refused"`
	ArtifactsCreated       []string         `json:"artifacts_created,omitempty" doc:"paths of further created files, relative to the root"`
	Verification           Verification     `json:"verification" doc:"the turn's own account of its checks"`
	Artifact               ResultArtifact   `json:"artifact" doc:"the form in which the work is delivered"`
	ProposedNextRole       string           `json:"proposed_next_role" doc:"a role of this or the requested phase, or human"`
	PhaseTransitionRequest *string          `json:"phase_transition_request" doc:"the next phase of routing; null or absent: none"`
	RunCompletionRequest   *bool            `json:"run_completion_request" doc:"true requests the end of the run; not with a phase request"`
	NeedsHumanReason       *string          `json:"needs_human_reason,omitempty" doc:"why a person is needed, with status needs_human"`
	Cost                   *Cost            `json:"cost,omitempty" doc:"tokens and dollars; used unless the runtime reports them"`
	Delegations            []Delegation     `json:"delegations,omitempty" doc:"at most 5; not with a completion request or when delegated"`
	ProposedChanges        []ProposedChange `json:"proposed_changes,omitempty" doc:"for runtimes without a workspace"`
	IntentID               *string          `json:"intent_id,omitempty" doc:"the intake intent that the turn worked on"`
	AdapterMeta            *AdapterMeta     `json:"adapter_meta,omitempty" doc:"model, tokens, timing; used unless the runtime reports them"`
	Extra                  Extra            `json:"-"`
}

func (r *TurnResult) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r TurnResult) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// Transition is the requested phase; empty if there is none.
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
	ID         string `json:"id" doc:"DEC- and digits; renumbered if the record has it already"`
	Category   string `json:"category" doc:"implementation, architecture, scope, process, quality or release"`
	Statement  string `json:"statement" doc:"the decision; not blank"`
	Rationale  string `json:"rationale" doc:"the reason; not blank"`
	Durability string `json:"durability,omitempty" doc:"run, or repo if it outlives the run; absent is run"`
	Overrides  string `json:"overrides,omitempty" doc:"id of the active repository decision that this one replaces"`
}

// Objection is one objection of a turn.
type Objection struct {
	ID            string `json:"id" doc:"OBJ- and digits; an earlier objection's id gives that one a new status"`
	Severity      string `json:"severity" doc:"low, medium, high or blocking; blocking keeps gates from passing"`
	AgainstTurnID string `json:"against_turn_id,omitempty" doc:"the turn objected to, if any"`
	Statement     string `json:"statement" doc:"the objection; not blank"`
	Status        string `json:"status,omitempty" doc:"a state of an objection, see \"Words\"; absent is raised"`
}

// Verification is a turn's account of its checks.
type Verification struct {
	Status          string         `json:"status" doc:"pass, fail or skipped"`
	Commands        []string       `json:"commands,omitempty" doc:"the commands that ran, none blank"`
	EvidenceSummary string         `json:"evidence_summary,omitempty" doc:"what the checks showed; may explain a non-zero exit"`
	MachineEvidence []Evidence     `json:"machine_evidence,omitempty" doc:"the commands with their exit codes; a pass needs the expected ones"`
	ProducedFiles   []ProducedFile `json:"produced_files,omitempty" doc:"files that the checks created"`
	Extra           Extra          `json:"-"`
}

func (v *Verification) UnmarshalJSON(data []byte) error { return readKeep(data, v) }
func (v Verification) MarshalJSON() ([]byte, error)     { return writeKeep(v) }

// Evidence is one command that ran.
type Evidence struct {
	Command          string   `json:"command" doc:"the command line as run; not blank"`
	ExitCode         int      `json:"exit_code" doc:"exit code of the command"`
	ExpectedExitCode *int     `json:"expected_exit_code,omitempty" doc:"non-zero for a command that is meant to fail; absent is 0"`
	StdoutTail       string   `json:"stdout_tail,omitempty" doc:"the end of its output"`
	Argv             []string `json:"argv,omitempty" doc:"the command's words, to run it again without a shell"`
}

// ProducedFile is a file that verification made.
type ProducedFile struct {
	Path        string `json:"path" doc:"relative to the root, each once"`
	Disposition string `json:"disposition" doc:"artifact keeps the file as the turn's, ignore removes it"`
}

// ResultArtifact is what a turn delivers.
type ResultArtifact struct {
	Type  string  `json:"type" doc:"workspace, patch, commit or review, as the role's authority allows"`
	Ref   *string `json:"ref" doc:"path of the artifact, relative to the root; null if none"`
	Extra Extra   `json:"-"`
}

func (a *ResultArtifact) UnmarshalJSON(data []byte) error { return readKeep(data, a) }
func (a ResultArtifact) MarshalJSON() ([]byte, error)     { return writeKeep(a) }

// Cost is the usage of a turn.
type Cost struct {
	InputTokens  int64   `json:"input_tokens" doc:"tokens that the model read, cached ones included; not negative"`
	OutputTokens int64   `json:"output_tokens" doc:"tokens that the model wrote; not negative"`
	USD          float64 `json:"usd" doc:"US dollars, not negative; tokens at 0 dollars are priced by budget.cost_rates"`
}

// AdapterMeta is the runtime's metadata about a turn. Absent numbers are unknown.
type AdapterMeta struct {
	Model        string   `json:"model,omitempty" doc:"name of the model, as the runtime reports it"`
	Provider     string   `json:"provider,omitempty" doc:"the agent or service that answered, such as anthropic"`
	InputTokens  *int64   `json:"input_tokens,omitempty" doc:"tokens that the model read, cached ones included"`
	OutputTokens *int64   `json:"output_tokens,omitempty" doc:"tokens that the model wrote"`
	TotalTokens  *int64   `json:"total_tokens,omitempty" doc:"input and output together"`
	CostUSD      *float64 `json:"cost_usd,omitempty" doc:"US dollars as the runtime reports them"`
	LatencyMS    *int64   `json:"latency_ms,omitempty" doc:"milliseconds that the attempt took"`
	Retries      *int     `json:"retries,omitempty" doc:"requests that the runtime repeated"`
	SessionID    string   `json:"session_id,omitempty" doc:"the agent's own session, which a later turn can resume"`
}

// Delegation is work that a turn delegates to another role.
type Delegation struct {
	ID                  string   `json:"id" doc:"del- and three digits, unique in the result"`
	ToRole              string   `json:"to_role" doc:"another role of the configuration, as routing allows"`
	Charter             string   `json:"charter" doc:"the task; not blank"`
	AcceptanceContract  []string `json:"acceptance_contract" doc:"conditions for the work; at least one, none blank"`
	RequiredDecisionIDs []string `json:"required_decision_ids,omitempty" doc:"DEC ids of decisions to make, each once; absent: none"`
}

// ProposedChange is a file of a proposal. Content is nil for a deletion.
type ProposedChange struct {
	Path    string  `json:"path" doc:"relative to the root"`
	Action  string  `json:"action" doc:"create, modify or delete"`
	Content *string `json:"content,omitempty" doc:"the complete new content; absent for a deletion"`
}

// RawResult is a staged result as it was read: a JSON object with its key order.
type RawResult = Ordered[json.RawMessage]
