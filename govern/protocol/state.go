package protocol

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Time is a time as the protocol writes it: ISO 8601 in UTC with milliseconds. The zero value is null.
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

// State is state.json: the state of a governed run. Unknown keys are kept in Extra.
type State struct {
	SchemaVersion        string               `json:"schema_version" doc:"version of this file, \"1.1\"; absent is written as that"`
	RunID                *string              `json:"run_id" doc:"null before the first run"`
	ProjectID            string               `json:"project_id,omitempty" doc:"id of the configuration's project when the run started"`
	Status               RunStatus            `json:"status" doc:"idle, active, paused, blocked or completed; absent is idle"`
	Phase                string               `json:"phase" doc:"the current phase of the run"`
	AcceptedIntegration  *string              `json:"accepted_integration_ref" doc:"what was last accepted: git:<commit> or workspace:dirty"`
	ActiveTurns          Ordered[*Turn]       `json:"active_turns" doc:"the active turns, by turn id"`
	TurnSequence         int                  `json:"turn_sequence" doc:"counts assignments, reissues and acceptances of the run, from 0"`
	LastCompletedTurnID  *string              `json:"last_completed_turn_id" doc:"the turn accepted last; null if none was"`
	BlockedOn            *string              `json:"blocked_on" doc:"human_approval:<gate> while paused, else see \"Blocked reasons\""`
	BlockedReason        *BlockedReason       `json:"blocked_reason" doc:"the details of a block and how to clear it; null unless blocked"`
	Escalation           *Escalation          `json:"escalation" doc:"the open escalation of an operator or of exhausted retries, else null"`
	PendingTransition    *PendingPhase        `json:"pending_phase_transition" doc:"a transition that a person must approve, else null"`
	PendingCompletion    *PendingEnd          `json:"pending_run_completion" doc:"an end of the run that a person must approve, else null"`
	QueuedTransition     *PendingPhase        `json:"queued_phase_transition" doc:"a requested transition, kept until no turn or delegation is open"`
	QueuedCompletion     *PendingEnd          `json:"queued_run_completion" doc:"a requested end, kept until no turn or delegation is open"`
	LastGateFailure      *GateFailure         `json:"last_gate_failure" doc:"the gate that did not pass; null once one passes or is pending"`
	PhaseGateStatus      Ordered[string]      `json:"phase_gate_status" doc:"gate id to pending, passed or failed"`
	BudgetReservations   Ordered[Reservation] `json:"budget_reservations" doc:"by turn id; empty without budget.per_turn_max_usd"`
	BudgetStatus         BudgetStatus         `json:"budget_status" doc:"the spent and the remaining money"`
	CreatedAt            Time                 `json:"created_at" doc:"when the run started"`
	PhaseEnteredAt       Time                 `json:"phase_entered_at" doc:"start of the current phase; the phase timeout counts from here"`
	CompletedAt          Time                 `json:"completed_at" doc:"when the run ended; null until it is completed"`
	Provenance           json.RawMessage      `json:"provenance,omitempty" doc:"what started the run: trigger, created_by, parent_run_id"`
	InheritedContext     json.RawMessage      `json:"inherited_context,omitempty" doc:"what an earlier run left, for agents to read"`
	RepoDecisions        []RepoDecision       `json:"repo_decisions" doc:"the active decisions that outlive their runs"`
	DelegationQueue      []QueuedDelegation   `json:"delegation_queue,omitempty" doc:"the delegations of accepted turns, with their results"`
	PendingDelegation    *PendingReview       `json:"pending_delegation_review,omitempty" doc:"due once a turn's delegations have ended"`
	NextRecommendedRole  *string              `json:"next_recommended_role" doc:"role that was proposed last; null: the phase's entry_role"`
	NonProgressSignature *string              `json:"non_progress_signature,omitempty" doc:"digest of the gate failure that repeats"`
	NonProgressCount     int                  `json:"non_progress_count,omitempty" doc:"consecutive accepted turns that did not change it"`
	LastCompletedTurn    *CompletedTurn       `json:"last_completed_turn,omitempty" doc:"the turn accepted last, with its checkpoint commit"`
	Sessions             Ordered[string]      `json:"role_sessions,omitzero" doc:"Drawbar only: the agent's session of each role"`
	OpenHuman            []OpenEscalation     `json:"open_human_escalations,omitempty" doc:"Drawbar only: the open human queue, oldest first"`
	OpenObjections       []OpenObjection      `json:"open_objections,omitempty" doc:"Drawbar only: unresolved objections, oldest first"`
	LastDecline          *Decline             `json:"last_decline,omitempty" doc:"Drawbar only: the last decline of a gate; absent once it passes"`
	PriorSignOffs        Ordered[string]      `json:"prior_signoffs,omitzero" doc:"Drawbar only: digests of earlier runs' sign-offs, by path"`
	ObjectionsThrough    string               `json:"objections_through,omitempty" doc:"Drawbar only: last turn included in open_objections"`
	Extra                Extra                `json:"-"`
}

// UnmarshalJSON reads a state of this or an older version: missing fields are allowed, and the alias current_turn of
// old files becomes an active turn. The alias is never written.
func (s *State) UnmarshalJSON(data []byte) error {
	var p State
	if err := readKeep(data, &p); err != nil {
		return err
	}
	*s = p
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
	if s.SchemaVersion == "" {
		s.SchemaVersion = StateVersion
	}
	if s.RepoDecisions == nil {
		s.RepoDecisions = []RepoDecision{}
	}
	return writeKeep(s)
}

// Clone copies the state deeply, so that a refused transition has no effect on it.
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

// Blocking are the open objections that keep gates from passing.
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
	TurnID            string          `json:"turn_id" doc:"unique within the run"`
	RunID             string          `json:"run_id,omitempty" doc:"the run that the turn belongs to"`
	AssignedRole      string          `json:"assigned_role" doc:"the role of the turn"`
	Status            TurnStatus      `json:"status" doc:"see the states of a turn under \"Words\"; an accepted turn is removed"`
	Attempt           int             `json:"attempt" doc:"number of the attempt, from 1; a rejection or reissue adds 1"`
	AssignedAt        Time            `json:"assigned_at" doc:"when the turn was assigned or reissued"`
	StartedAt         Time            `json:"started_at" doc:"first dispatch; null before it"`
	DeadlineAt        Time            `json:"deadline_at" doc:"when the attempt times out; null without a limit"`
	RuntimeID         string          `json:"runtime_id" doc:"its runtime, as in runtimes"`
	Baseline          *Baseline       `json:"baseline,omitempty" doc:"the workspace that the turn's changes are compared with"`
	AssignedSequence  int             `json:"assigned_sequence" doc:"turn_sequence when the attempt began; later acceptances can conflict"`
	ConcurrentWith    []string        `json:"concurrent_with,omitempty" doc:"ids of the turns that were active at the same time"`
	DispatchedAt      Time            `json:"dispatched_at,omitzero" doc:"when the attempt was given to its runtime; absent before"`
	WorkerAttachedAt  Time            `json:"worker_attached_at,omitzero" doc:"when the worker's process or connection started; absent before"`
	WorkerPID         int             `json:"worker_pid,omitempty" doc:"process id of the worker; absent if it is not a local process"`
	FirstOutputAt     Time            `json:"first_output_at,omitzero" doc:"the worker's first sign of life; absent before"`
	FirstOutputStream string          `json:"first_output_stream,omitempty" doc:"its kind: stdout, stderr, request, staged_result or event"`
	LastRejection     *Rejection      `json:"last_rejection,omitempty" doc:"the last rejection of an attempt; absent if none"`
	ConflictState     *ConflictState  `json:"conflict_state,omitempty" doc:"the last conflict with accepted turns; absent if none"`
	ConflictContext   json.RawMessage `json:"conflict_context,omitempty" doc:"of the rejected attempt: files, turns, guidance"`
	DelegationContext json.RawMessage `json:"delegation_context,omitempty" doc:"the delegation that this turn works on; else absent"`
	DelegationReview  json.RawMessage `json:"delegation_review,omitempty" doc:"the delegations that this turn reviews; else absent"`
	IntakeContext     json.RawMessage `json:"intake_context,omitempty" doc:"the intake intent that the turn works on; absent without one"`
	Coordinator       json.RawMessage `json:"coordinator_context,omitempty" doc:"what the turn is told of other repositories; absent outside a run over several"`
	ReissuedFrom      string          `json:"reissued_from,omitempty" doc:"id of the turn that this one replaces"`
	FailedAt          Time            `json:"failed_at,omitzero" doc:"when the attempt failed; else absent"`
	FailureReason     string          `json:"failure_reason,omitempty" doc:"error code or blocked_on of that failure"`
	Cost              *Cost           `json:"cost,omitempty" doc:"Drawbar only: sum of all attempts; absent while unknown"`
	Worktree          string          `json:"worktree,omitempty" doc:"Drawbar only: the turn's worktree, relative to the root (absent: none)"`
	WaivedPolicies    []string        `json:"waived_policies,omitempty" doc:"Drawbar only: policies that a person waived for this turn"`
	RuleFiles         Ordered[string] `json:"rule_files,omitzero" doc:"Drawbar only: at dispatch: file to digest, git setting to value"`
	RulesTold         string          `json:"rules_told,omitempty" doc:"Drawbar only: digest of the git changes that a person was told of"`
	Extra             Extra           `json:"-"`
}

func (t *Turn) UnmarshalJSON(data []byte) error { return readKeep(data, t) }
func (t Turn) MarshalJSON() ([]byte, error)     { return writeKeep(t) }

// Baseline is the state of the workspace when a turn was assigned.
type Baseline struct {
	Kind          string          `json:"kind" doc:"git_worktree or no_git"`
	HeadRef       *string         `json:"head_ref" doc:"commit of HEAD; null without git or without a commit"`
	Clean         bool            `json:"clean" doc:"no uncommitted files, apart from the orchestrator's own and exempt ones"`
	CapturedAt    Time            `json:"captured_at" doc:"when it was taken"`
	DirtySnapshot Ordered[string] `json:"dirty_snapshot" doc:"path to marker of uncommitted files: sha256:<hex> or deleted"`
	Branch        string          `json:"branch,omitempty" doc:"Drawbar only: checked-out branch; absent with a detached head"`
	Detail        *BaselineDetail `json:"drawbar,omitempty" doc:"Drawbar only: absent in baselines of other programs"`
}

// BaselineDetail has the fields of a baseline that the protocol does not define.
type BaselineDetail struct {
	Staged     Ordered[string] `json:"staged,omitzero" doc:"path to <mode> <object> or deleted, for files that a person has staged"`
	Executable []string        `json:"executable,omitempty" doc:"the executable uncommitted files"`
	Walked     bool            `json:"walked,omitempty" doc:"without git: dirty_snapshot holds every file"`
}

// Rejection is why an attempt was rejected: the agent gets it with its next one.
type Rejection struct {
	TurnID           string   `json:"turn_id" doc:"the rejected turn"`
	Attempt          int      `json:"attempt" doc:"the rejected attempt, from 1"`
	RejectedAt       Time     `json:"rejected_at" doc:"when it was rejected"`
	Reason           string   `json:"reason" doc:"a person's reason, an error code, or dispatch:<error class>"`
	ValidationErrors []string `json:"validation_errors" doc:"one line for each fault, for the agent; may be empty"`
	FailedStage      string   `json:"failed_stage,omitempty" doc:"a stage of validation, or dispatch; absent if neither rejected it"`
}

// ConflictState is a conflict that was found at acceptance.
type ConflictState struct {
	DetectedAt     Time     `json:"detected_at" doc:"when it was last found"`
	DetectionCount int      `json:"detection_count" doc:"how often, from 1; the third blocks the run"`
	Status         string   `json:"status" doc:"detected, or rejected when the turn is repeated"`
	Error          Conflict `json:"conflict_error" doc:"the conflict itself: its files and turns"`
}

// Conflict is an overlap of a turn's files with those of turns accepted since it was assigned.
type Conflict struct {
	Type                 string                   `json:"type" doc:"always file_conflict"`
	ConflictingTurn      Ordered[json.RawMessage] `json:"conflicting_turn,omitzero" doc:"turn_id, role and attempt of the refused turn"`
	AcceptedSince        []string                 `json:"accepted_since" doc:"ids of the accepted turns that changed the same files"`
	ConflictingFiles     []string                 `json:"conflicting_files" doc:"paths that both changed"`
	NonConflictingFiles  []string                 `json:"non_conflicting_files" doc:"the turn's other paths"`
	ForwardRevisionFiles []string                 `json:"forward_revision_files,omitempty" doc:"paths that the same role had changed before"`
	OverlapRatio         float64                  `json:"overlap_ratio" doc:"conflicting files to all files of the turn, above 0 to 1"`
	SuggestedResolution  string                   `json:"suggested_resolution" doc:"reject_and_reassign, or human_merge from a ratio of 0.5"`
}

// BlockedReason says why a run is blocked and how to unblock it.
type BlockedReason struct {
	Category  string   `json:"category" doc:"kind of the block; see \"Blocked reasons\""`
	Recovery  Recovery `json:"recovery" doc:"who has to do what to unblock the run"`
	BlockedAt Time     `json:"blocked_at" doc:"when the run stopped"`
	TurnID    *string  `json:"turn_id" doc:"the turn that caused it; null if none did"`
}

// UnmarshalJSON refuses anything but an object, with an error in the protocol's terms.
func (b *BlockedReason) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return errors.New("blocked_reason must be an object")
	}
	type plain BlockedReason
	return json.Unmarshal(data, (*plain)(b))
}

// Recovery says how to unblock the run.
type Recovery struct {
	TypedReason    string `json:"typed_reason" doc:"the same value as category"`
	Owner          string `json:"owner" doc:"who has to act; always human"`
	RecoveryAction string `json:"recovery_action" doc:"a command to type"`
	TurnRetained   bool   `json:"turn_retained" doc:"whether the turn is still active and can be resumed"`
	Detail         string `json:"detail" doc:"what happened, in one or a few sentences"`
}

// Escalation is what a person was asked to decide.
type Escalation struct {
	FromRole         string   `json:"from_role,omitempty" doc:"role of the turn concerned; absent if none"`
	FromTurnID       string   `json:"from_turn_id,omitempty" doc:"the turn concerned; absent if none"`
	Reason           string   `json:"reason" doc:"the operator's reason, or why the last attempt was rejected"`
	ValidationErrors []string `json:"validation_errors,omitempty" doc:"the faults of the last attempt, if it was rejected for them"`
	EscalatedAt      Time     `json:"escalated_at" doc:"when it was raised"`
	Extra            Extra    `json:"-"`
}

func (e *Escalation) UnmarshalJSON(data []byte) error { return readKeep(data, e) }
func (e Escalation) MarshalJSON() ([]byte, error)     { return writeKeep(e) }

// OpenObjection is an unresolved objection.
type OpenObjection struct {
	Objection
	TurnID   string `json:"turn_id" doc:"the turn that raised it"`
	Role     string `json:"role" doc:"the role that raised it"`
	Phase    string `json:"phase" doc:"the phase that it was raised in"`
	RaisedAt Time   `json:"raised_at" doc:"when that turn was accepted"`
}

// Person is somebody who decides: the git identity, and the system user that ran the command.
type Person struct {
	Name  string `json:"name,omitempty" doc:"user.name of git; absent if not set"`
	Email string `json:"email,omitempty" doc:"user.email of git, compared without case; absent if not set"`
	User  string `json:"user,omitempty" doc:"login name on the operating system"`
}

// String is the person as git writes it, or what is known of them; "a person" if nothing is.
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

// Same reports whether two values are one person: by email, else by name, else by the system's user.
func (p Person) Same(q Person) bool {
	switch {
	case p.Email != "" && q.Email != "":
		return strings.EqualFold(p.Email, q.Email)
	case p.Name != "" && q.Name != "":
		return p.Name == q.Name
	}
	return p.User == q.User
}

// Approval is one person's approval of a gate that needs several.
type Approval struct {
	By      Person `json:"by" doc:"who approved; each person counts once"`
	Comment string `json:"comment,omitempty" doc:"the person's comment, if any"`
	At      Time   `json:"at" doc:"when they approved"`
}

// Decline is a person's last decline of a gate, until that gate passes.
type Decline struct {
	GateID          string `json:"gate_id" doc:"the gate that was declined"`
	GateType        string `json:"gate_type" doc:"phase_transition or run_completion"`
	From            string `json:"from" doc:"the phase that the gate ends"`
	To              string `json:"to,omitempty" doc:"the requested phase; absent at the end of the run"`
	RequestedByTurn string `json:"requested_by_turn" doc:"the turn that requested it"`
	Reason          string `json:"reason" doc:"the person's reason, which the next turn reads"`
	By              Person `json:"by" doc:"who declined"`
	At              Time   `json:"at" doc:"when they declined"`
	Role            string `json:"role" doc:"the role that continues"`
	Phase           string `json:"phase" doc:"the phase in which work continues: from or an earlier one"`
}

// OpenEscalation is an open entry of the human queue.
type OpenEscalation struct {
	EscalationID string         `json:"escalation_id" doc:"\"hesc_\" and 16 hex digits; the argument of govern unblock"`
	BlockedOn    string         `json:"blocked_on" doc:"blocked_on of the block that raised it"`
	TurnID       string         `json:"turn_id,omitempty" doc:"the turn concerned; absent if none"`
	RaisedAt     Time           `json:"raised_at" doc:"when it was raised"`
	Reason       *BlockedReason `json:"reason,omitempty" doc:"the block that it stands for, restored when a newer one is cleared"`
}

// PendingPhase is a phase transition that waits for a person, or for other turns to end.
type PendingPhase struct {
	From            string `json:"from" doc:"the phase that ends"`
	To              string `json:"to" doc:"the phase that follows"`
	Gate            string `json:"gate,omitempty" doc:"the exit gate of from; absent while queued or if there is none"`
	RequestedByTurn string `json:"requested_by_turn,omitempty" doc:"the turn that requested it"`
	RequestedAt     Time   `json:"requested_at,omitzero" doc:"when it was requested, or when the wait for approval began"`

	Approvals []Approval `json:"approvals,omitempty" doc:"Drawbar only: those given so far, of a gate that needs several"`
}

// PendingEnd is a pending end of the run.
type PendingEnd struct {
	Gate            string `json:"gate,omitempty" doc:"the exit gate of the last phase; absent while queued or if there is none"`
	RequestedByTurn string `json:"requested_by_turn,omitempty" doc:"the turn that requested it"`
	RequestedAt     Time   `json:"requested_at,omitzero" doc:"when it was requested, or when the wait for approval began"`

	Approvals []Approval `json:"approvals,omitempty" doc:"Drawbar only: those given so far, of a gate that needs several"`
}

// GateFailure is the last time a gate did not pass.
type GateFailure struct {
	GateType            string   `json:"gate_type" doc:"phase_transition or run_completion"`
	GateID              string   `json:"gate_id" doc:"the gate that did not pass"`
	Phase               string   `json:"phase" doc:"the phase that was to end"`
	FromPhase           string   `json:"from_phase,omitempty" doc:"the same as phase"`
	ToPhase             string   `json:"to_phase,omitempty" doc:"the requested phase; absent at the end of the run"`
	RequestedByTurn     string   `json:"requested_by_turn" doc:"the turn that requested it"`
	FailedAt            Time     `json:"failed_at" doc:"when the gate was evaluated"`
	QueuedRequest       bool     `json:"queued_request" doc:"whether the request had waited for other turns first"`
	Reasons             []string `json:"reasons" doc:"why it did not pass, one sentence each"`
	MissingFiles        []string `json:"missing_files" doc:"paths of required files that do not exist"`
	MissingVerification bool     `json:"missing_verification" doc:"whether the turn's verification has not passed"`
}

// Reservation is the budget reserved for an active turn.
type Reservation struct {
	ReservedUSD float64 `json:"reserved_usd" doc:"at most budget.per_turn_max_usd, in US dollars"`
	RoleID      string  `json:"role_id" doc:"the role of the turn"`
	CreatedAt   Time    `json:"created_at" doc:"when the turn was assigned or restarted"`
}

// BudgetStatus is the cost of the run. RemainingUSD is nil without a limit.
type BudgetStatus struct {
	SpentUSD           float64  `json:"spent_usd" doc:"US dollars of all attempts of the run; never negative"`
	RemainingUSD       *float64 `json:"remaining_usd" doc:"budget.per_run_max_usd minus spent_usd, at least 0; null without a limit"`
	Exhausted          bool     `json:"exhausted,omitempty" doc:"whether nothing remains"`
	ExhaustedAt        Time     `json:"exhausted_at,omitzero" doc:"when that was first detected"`
	ExhaustedAfterTurn string   `json:"exhausted_after_turn,omitempty" doc:"the turn whose cost used it up"`
	WarnMode           bool     `json:"warn_mode,omitempty" doc:"the run continued beyond its budget, as on_exceed warn allows"`
}

// CompletedTurn is the last accepted turn with its checkpoint.
type CompletedTurn struct {
	TurnID         string `json:"turn_id" doc:"the accepted turn"`
	Role           string `json:"role,omitempty" doc:"its role"`
	Phase          string `json:"phase,omitempty" doc:"the phase that it was accepted in"`
	CheckpointSHA  string `json:"checkpoint_sha,omitempty" doc:"commit of its files; absent until there is one"`
	CheckpointedAt Time   `json:"checkpointed_at,omitzero" doc:"when that commit was made"`
	Extra          Extra  `json:"-"`
}

func (c *CompletedTurn) UnmarshalJSON(data []byte) error { return readKeep(data, c) }
func (c CompletedTurn) MarshalJSON() ([]byte, error)     { return writeKeep(c) }
