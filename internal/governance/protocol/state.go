package protocol

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Time is a moment as the protocol writes it: ISO 8601 in UTC with milliseconds. The zero value is null.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At makes a Time.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// String is the form of the files; empty for the zero value.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// MarshalJSON writes the form of the files.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time; null and the empty string are zero.
func (t *Time) UnmarshalJSON(data []byte) error {
	*t = Time{}
	var s string
	if err := json.Unmarshal(data, &s); err != nil || s == "" {
		return err
	}
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return err
	}
	*t = Time{v.UTC()}
	return nil
}

// State is state.json: where a governed run stands. Keys that this version does not know are kept in Extra.
type State struct {
	SchemaVersion        string               `json:"schema_version"`
	RunID                *string              `json:"run_id"`
	ProjectID            string               `json:"project_id,omitempty"`
	Status               RunStatus            `json:"status"`
	Phase                string               `json:"phase"`
	AcceptedIntegration  *string              `json:"accepted_integration_ref"` // "git:<commit>" or "workspace:dirty"
	ActiveTurns          Ordered[*Turn]       `json:"active_turns"`
	TurnSequence         int                  `json:"turn_sequence"`
	LastCompletedTurnID  *string              `json:"last_completed_turn_id"`
	BlockedOn            *string              `json:"blocked_on"`
	BlockedReason        *BlockedReason       `json:"blocked_reason"`
	Escalation           *Escalation          `json:"escalation"`
	PendingTransition    *PendingPhase        `json:"pending_phase_transition"`
	PendingCompletion    *PendingEnd          `json:"pending_run_completion"`
	QueuedTransition     *PendingPhase        `json:"queued_phase_transition"`
	QueuedCompletion     *PendingEnd          `json:"queued_run_completion"`
	LastGateFailure      *GateFailure         `json:"last_gate_failure"`
	PhaseGateStatus      Ordered[string]      `json:"phase_gate_status"`
	BudgetReservations   Ordered[Reservation] `json:"budget_reservations"`
	BudgetStatus         BudgetStatus         `json:"budget_status"`
	CreatedAt            Time                 `json:"created_at"`
	PhaseEnteredAt       Time                 `json:"phase_entered_at"`
	CompletedAt          Time                 `json:"completed_at"`
	Provenance           json.RawMessage      `json:"provenance,omitempty"`
	InheritedContext     json.RawMessage      `json:"inherited_context,omitempty"`
	RepoDecisions        []RepoDecision       `json:"repo_decisions"`
	DelegationQueue      []QueuedDelegation   `json:"delegation_queue,omitempty"`
	PendingDelegation    *PendingReview       `json:"pending_delegation_review,omitempty"`
	NextRecommendedRole  *string              `json:"next_recommended_role"`
	NonProgressSignature *string              `json:"non_progress_signature,omitempty"`
	NonProgressCount     int                  `json:"non_progress_count,omitempty"`
	LastCompletedTurn    *CompletedTurn       `json:"last_completed_turn,omitempty"`
	Sessions             Ordered[string]      `json:"role_sessions,omitzero"`           // Drawbar's own: the agent's session of each role
	OpenHuman            []OpenEscalation     `json:"open_human_escalations,omitempty"` // Drawbar's own: what waits for a person
	OpenObjections       []OpenObjection      `json:"open_objections,omitempty"`        // Drawbar's own: what nobody has resolved
	LastDecline          *Decline             `json:"last_decline,omitempty"`           // Drawbar's own: a person's no to a gate
	PriorSignOffs        Ordered[string]      `json:"prior_signoffs,omitzero"`          // Drawbar's own: digests of what was signed before the run
	ObjectionsThrough    string               `json:"objections_through,omitempty"`     // Drawbar's own: the last turn that OpenObjections knows of
	Extra                Extra                `json:"-"`
}

// UnmarshalJSON reads a state of this or an older version: missing fields are tolerated, and the alias current_turn of old
// files becomes an active turn. It is never written.
func (s *State) UnmarshalJSON(data []byte) error {
	type plain State
	var p plain
	if err := unmarshalKeep(data, &p, &p.Extra); err != nil {
		return err
	}
	*s = State(p)
	if raw, ok := s.Extra.Get("current_turn"); ok {
		s.Extra.Delete("current_turn")
		var t Turn
		if Is(raw) {
			if err := json.Unmarshal(raw, &t); err != nil {
				return err
			}
			if t.TurnID != "" && !s.ActiveTurns.Has(t.TurnID) {
				s.ActiveTurns.Set(t.TurnID, &t)
			}
		}
	}
	if s.Status == "" {
		s.Status = RunIdle
	}
	return nil
}

// MarshalJSON writes unknown keys back.
func (s State) MarshalJSON() ([]byte, error) {
	type plain State
	if s.SchemaVersion == "" {
		s.SchemaVersion = StateVersion
	}
	if s.RepoDecisions == nil {
		s.RepoDecisions = []RepoDecision{}
	}
	return marshalKeep(plain(s), s.Extra)
}

// Clone copies the state deeply, so that a refused transition leaves nothing behind.
func (s *State) Clone() State {
	b, err := Marshal(*s)
	if err != nil {
		panic(err) // all fields are JSON values
	}
	var c State
	if err := json.Unmarshal(b, &c); err != nil {
		panic(err)
	}
	return c
}

// Blocking are the open objections that no gate passes.
func (s *State) Blocking() []OpenObjection {
	return slices.DeleteFunc(slices.Clone(s.OpenObjections), func(o OpenObjection) bool { return o.Severity != SeverityBlocking })
}

// ID is the run's id; empty before the first run.
func (s *State) ID() string {
	if s.RunID == nil {
		return ""
	}
	return *s.RunID
}

// Turn is an active turn.
type Turn struct {
	TurnID            string          `json:"turn_id"`
	RunID             string          `json:"run_id,omitempty"`
	AssignedRole      string          `json:"assigned_role"`
	Status            TurnStatus      `json:"status"`
	Attempt           int             `json:"attempt"`
	AssignedAt        Time            `json:"assigned_at"`
	StartedAt         Time            `json:"started_at"`
	DeadlineAt        Time            `json:"deadline_at"`
	RuntimeID         string          `json:"runtime_id"`
	Baseline          *Baseline       `json:"baseline,omitempty"`
	AssignedSequence  int             `json:"assigned_sequence"`
	ConcurrentWith    []string        `json:"concurrent_with,omitempty"`
	DispatchedAt      Time            `json:"dispatched_at,omitzero"`
	WorkerAttachedAt  Time            `json:"worker_attached_at,omitzero"`
	WorkerPID         int             `json:"worker_pid,omitempty"`
	FirstOutputAt     Time            `json:"first_output_at,omitzero"`
	FirstOutputStream string          `json:"first_output_stream,omitempty"` // stdout, stderr, request, staged_result, event
	LastRejection     *Rejection      `json:"last_rejection,omitempty"`
	ConflictState     *ConflictState  `json:"conflict_state,omitempty"`
	ConflictContext   json.RawMessage `json:"conflict_context,omitempty"`
	DelegationContext json.RawMessage `json:"delegation_context,omitempty"`
	DelegationReview  json.RawMessage `json:"delegation_review,omitempty"`
	IntakeContext     json.RawMessage `json:"intake_context,omitempty"`
	ReissuedFrom      string          `json:"reissued_from,omitempty"`
	FailedAt          Time            `json:"failed_at,omitzero"`
	FailureReason     string          `json:"failure_reason,omitempty"`
	Cost              *Cost           `json:"cost,omitempty"`            // Drawbar's own: of all attempts so far, where it is known
	Worktree          string          `json:"worktree,omitempty"`        // Drawbar's own: path of the turn's worktree, relative to the root
	WaivedPolicies    []string        `json:"waived_policies,omitempty"` // Drawbar's own: policies that a person let pass for this turn
	RuleFiles         Ordered[string] `json:"rule_files,omitzero"`       // Drawbar's own: what binds the turn as it was dispatched: digests of files, git's settings, the repository
	RulesTold         string          `json:"rules_told,omitempty"`      // Drawbar's own: digest of the changes of git's settings that a person was told
	Extra             Extra           `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (t *Turn) UnmarshalJSON(data []byte) error {
	type plain Turn
	return unmarshalKeep(data, (*plain)(t), &t.Extra)
}

// MarshalJSON writes unknown keys back.
func (t Turn) MarshalJSON() ([]byte, error) {
	type plain Turn
	return marshalKeep(plain(t), t.Extra)
}

// Baseline is the state of the workspace when a turn was assigned.
type Baseline struct {
	Kind          string          `json:"kind"` // git_worktree or no_git
	HeadRef       *string         `json:"head_ref"`
	Clean         bool            `json:"clean"`
	CapturedAt    Time            `json:"captured_at"`
	DirtySnapshot Ordered[string] `json:"dirty_snapshot"`    // path to marker: "sha256:<hex>", "deleted"
	Branch        string          `json:"branch,omitempty"`  // Drawbar's own; empty with a detached head
	Detail        *BaselineDetail `json:"drawbar,omitempty"` // Drawbar's own; absent in baselines of others
}

// BaselineDetail is what a baseline of Drawbar holds besides the fields of the protocol.
type BaselineDetail struct {
	Staged     Ordered[string] `json:"staged,omitzero"`      // path to "<mode> <object>" of what a person has staged, "deleted"
	Executable []string        `json:"executable,omitempty"` // the dirty files that may be executed
	Walked     bool            `json:"walked,omitempty"`     // without git: dirty_snapshot holds every file
}

// Rejection is why an attempt was refused: the agent gets it with its next one.
type Rejection struct {
	TurnID           string   `json:"turn_id"`
	Attempt          int      `json:"attempt"`
	RejectedAt       Time     `json:"rejected_at"`
	Reason           string   `json:"reason"`
	ValidationErrors []string `json:"validation_errors"`
	FailedStage      string   `json:"failed_stage,omitempty"`
}

// ConflictState is a conflict that was found at acceptance.
type ConflictState struct {
	DetectedAt     Time     `json:"detected_at"`
	DetectionCount int      `json:"detection_count"`
	Status         string   `json:"status"`
	Error          Conflict `json:"conflict_error"`
}

// Conflict is an overlap of a turn's files with those of turns accepted since it was assigned.
type Conflict struct {
	Type                 string                   `json:"type"` // file_conflict
	ConflictingTurn      Ordered[json.RawMessage] `json:"conflicting_turn,omitzero"`
	AcceptedSince        []string                 `json:"accepted_since"`
	ConflictingFiles     []string                 `json:"conflicting_files"`
	NonConflictingFiles  []string                 `json:"non_conflicting_files"`
	ForwardRevisionFiles []string                 `json:"forward_revision_files,omitempty"`
	OverlapRatio         float64                  `json:"overlap_ratio"`
	SuggestedResolution  string                   `json:"suggested_resolution"` // reject_and_reassign or human_merge
}

// BlockedReason says why a run is blocked and how it goes on.
type BlockedReason struct {
	Category  string   `json:"category"`
	Recovery  Recovery `json:"recovery"`
	BlockedAt Time     `json:"blocked_at"`
	TurnID    *string  `json:"turn_id"`
}

// UnmarshalJSON refuses what is no object in words of the protocol.
func (b *BlockedReason) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return errors.New("blocked_reason must be an object")
	}
	type plain BlockedReason
	return json.Unmarshal(data, (*plain)(b))
}

// Recovery is the way on.
type Recovery struct {
	TypedReason    string `json:"typed_reason"`
	Owner          string `json:"owner"`
	RecoveryAction string `json:"recovery_action"` // a command to type
	TurnRetained   bool   `json:"turn_retained"`
	Detail         string `json:"detail"`
}

// Escalation is what was handed to a person.
type Escalation struct {
	FromRole         string   `json:"from_role,omitempty"`
	FromTurnID       string   `json:"from_turn_id,omitempty"`
	Reason           string   `json:"reason"`
	ValidationErrors []string `json:"validation_errors,omitempty"`
	EscalatedAt      Time     `json:"escalated_at"`
	Extra            Extra    `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (e *Escalation) UnmarshalJSON(data []byte) error {
	type plain Escalation
	return unmarshalKeep(data, (*plain)(e), &e.Extra)
}

// MarshalJSON writes unknown keys back.
func (e Escalation) MarshalJSON() ([]byte, error) {
	type plain Escalation
	return marshalKeep(plain(e), e.Extra)
}

// OpenObjection is an objection that nobody has resolved yet.
type OpenObjection struct {
	Objection
	TurnID   string `json:"turn_id"` // that raised it
	Role     string `json:"role"`
	Phase    string `json:"phase"`
	RaisedAt Time   `json:"raised_at"`
}

// Person is somebody who decides, as git knows them, and the user of the system that typed it.
type Person struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	User  string `json:"user,omitempty"`
}

// String is the person as git writes it, or what is known of them; a person where nothing is.
func (p Person) String() string {
	switch {
	case p.Name != "" && p.Email != "":
		return p.Name + " <" + p.Email + ">"
	case p.Name != "":
		return p.Name
	case p.Email != "":
		return p.Email
	case p.User != "":
		return p.User
	}
	return Human
}

// Same reports whether two are one person: by email, else by name, else by the system's user.
func (p Person) Same(q Person) bool {
	switch {
	case p.Email != "" && q.Email != "":
		return strings.EqualFold(p.Email, q.Email)
	case p.Name != "" && q.Name != "":
		return p.Name == q.Name
	}
	return p.User == q.User
}

// Approval is one person's yes to a gate that needs more than one.
type Approval struct {
	By      Person `json:"by"`
	Comment string `json:"comment,omitempty"`
	At      Time   `json:"at"`
}

// Decline is a person's last no to a gate, until that gate is passed.
type Decline struct {
	GateID          string `json:"gate_id"`
	GateType        string `json:"gate_type"` // phase_transition or run_completion
	From            string `json:"from"`      // the phase that the gate ends
	To              string `json:"to,omitempty"`
	RequestedByTurn string `json:"requested_by_turn"`
	Reason          string `json:"reason"`
	By              Person `json:"by"`
	At              Time   `json:"at"`
	Role            string `json:"role"`  // that goes on
	Phase           string `json:"phase"` // that it goes on in
}

// OpenEscalation is an entry of the human queue that is not resolved yet.
type OpenEscalation struct {
	EscalationID string `json:"escalation_id"`
	BlockedOn    string `json:"blocked_on"`
	TurnID       string `json:"turn_id,omitempty"`
	RaisedAt     Time   `json:"raised_at"`
	// Reason is the block that goes with it: it holds again when a newer one is cleared.
	Reason *BlockedReason `json:"reason,omitempty"`
}

// PendingPhase is a phase transition that waits: for a person, or for the other turns to end.
type PendingPhase struct {
	From            string `json:"from"`
	To              string `json:"to"`
	Gate            string `json:"gate,omitempty"`
	RequestedByTurn string `json:"requested_by_turn,omitempty"`
	RequestedAt     Time   `json:"requested_at,omitzero"`

	Approvals []Approval `json:"approvals,omitempty"` // Drawbar's own: of a gate that needs several
}

// PendingEnd is the end of the run that waits.
type PendingEnd struct {
	Gate            string `json:"gate,omitempty"`
	RequestedByTurn string `json:"requested_by_turn,omitempty"`
	RequestedAt     Time   `json:"requested_at,omitzero"`

	Approvals []Approval `json:"approvals,omitempty"` // Drawbar's own: of a gate that needs several
}

// GateFailure is the last time a gate did not pass.
type GateFailure struct {
	GateType            string   `json:"gate_type"` // phase_transition or run_completion
	GateID              string   `json:"gate_id"`
	Phase               string   `json:"phase"`
	FromPhase           string   `json:"from_phase,omitempty"`
	ToPhase             string   `json:"to_phase,omitempty"`
	RequestedByTurn     string   `json:"requested_by_turn"`
	FailedAt            Time     `json:"failed_at"`
	QueuedRequest       bool     `json:"queued_request"`
	Reasons             []string `json:"reasons"`
	MissingFiles        []string `json:"missing_files"`
	MissingVerification bool     `json:"missing_verification"`
}

// Reservation is what an active turn may cost.
type Reservation struct {
	ReservedUSD float64 `json:"reserved_usd"`
	RoleID      string  `json:"role_id"`
	CreatedAt   Time    `json:"created_at"`
}

// BudgetStatus is what the run has cost. RemainingUSD is nil without a limit.
type BudgetStatus struct {
	SpentUSD           float64  `json:"spent_usd"`
	RemainingUSD       *float64 `json:"remaining_usd"`
	Exhausted          bool     `json:"exhausted,omitempty"`
	ExhaustedAt        Time     `json:"exhausted_at,omitzero"`
	ExhaustedAfterTurn string   `json:"exhausted_after_turn,omitempty"`
	WarnMode           bool     `json:"warn_mode,omitempty"`
}

// CompletedTurn is the last accepted turn with its checkpoint.
type CompletedTurn struct {
	TurnID         string `json:"turn_id"`
	Role           string `json:"role,omitempty"`
	Phase          string `json:"phase,omitempty"`
	CheckpointSHA  string `json:"checkpoint_sha,omitempty"`
	CheckpointedAt Time   `json:"checkpointed_at,omitzero"`
	Extra          Extra  `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (c *CompletedTurn) UnmarshalJSON(data []byte) error {
	type plain CompletedTurn
	return unmarshalKeep(data, (*plain)(c), &c.Extra)
}

// MarshalJSON writes unknown keys back.
func (c CompletedTurn) MarshalJSON() ([]byte, error) {
	type plain CompletedTurn
	return marshalKeep(plain(c), c.Extra)
}
