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
	SchemaVersion        string               `json:"schema_version" doc:"version of this file, \"1.1\"; absent is written as that"`
	RunID                *string              `json:"run_id" doc:"null before the first run"`
	ProjectID            string               `json:"project_id,omitempty" doc:"id of the configuration's project when the run started"`
	Status               RunStatus            `json:"status" doc:"idle, active, paused, blocked or completed; absent is idle"`
	Phase                string               `json:"phase" doc:"the phase of routing that the run is in"`
	AcceptedIntegration  *string              `json:"accepted_integration_ref" doc:"what was last accepted: git:<commit> or workspace:dirty"`
	ActiveTurns          Ordered[*Turn]       `json:"active_turns" doc:"the turns under way, by turn id"`
	TurnSequence         int                  `json:"turn_sequence" doc:"counts assignments, reissues and acceptances of the run, from 0"`
	LastCompletedTurnID  *string              `json:"last_completed_turn_id" doc:"the turn accepted last; null if none was"`
	BlockedOn            *string              `json:"blocked_on" doc:"human_approval:<gate> while paused, else see Blocked reasons"`
	BlockedReason        *BlockedReason       `json:"blocked_reason" doc:"the details of a block and the way out; null unless blocked"`
	Escalation           *Escalation          `json:"escalation" doc:"the open escalation of an operator or of exhausted retries, else null"`
	PendingTransition    *PendingPhase        `json:"pending_phase_transition" doc:"a transition that waits for a person, else null"`
	PendingCompletion    *PendingEnd          `json:"pending_run_completion" doc:"an end of the run that waits for a person, else null"`
	QueuedTransition     *PendingPhase        `json:"queued_phase_transition" doc:"a transition, kept until no turn or delegation is open"`
	QueuedCompletion     *PendingEnd          `json:"queued_run_completion" doc:"a requested end, kept until no turn or delegation is open"`
	LastGateFailure      *GateFailure         `json:"last_gate_failure" doc:"the gate that did not pass; null once one passes or waits"`
	PhaseGateStatus      Ordered[string]      `json:"phase_gate_status" doc:"gate id to pending, passed or failed"`
	BudgetReservations   Ordered[Reservation] `json:"budget_reservations" doc:"by turn id; empty without budget.per_turn_max_usd"`
	BudgetStatus         BudgetStatus         `json:"budget_status" doc:"the money the run has spent and has left"`
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
	NonProgressCount     int                  `json:"non_progress_count,omitempty" doc:"accepted turns in a row that left it untouched"`
	LastCompletedTurn    *CompletedTurn       `json:"last_completed_turn,omitempty" doc:"the turn accepted last, with its checkpoint commit"`
	Sessions             Ordered[string]      `json:"role_sessions,omitzero" doc:"Drawbar's own: the agent's session of each role"`
	OpenHuman            []OpenEscalation     `json:"open_human_escalations,omitempty" doc:"Drawbar's own: the open human queue, oldest first"`
	OpenObjections       []OpenObjection      `json:"open_objections,omitempty" doc:"Drawbar's own: unresolved objections, oldest first"`
	LastDecline          *Decline             `json:"last_decline,omitempty" doc:"Drawbar's own: the last no to a gate; absent once it passes"`
	PriorSignOffs        Ordered[string]      `json:"prior_signoffs,omitzero" doc:"Drawbar's own: digests of earlier runs' sign-offs, by path"`
	ObjectionsThrough    string               `json:"objections_through,omitempty" doc:"Drawbar's own: last turn included in open_objections"`
	Extra                Extra                `json:"-"`
}

// UnmarshalJSON reads a state of this or an older version: missing fields are tolerated, and the alias current_turn of old
// files becomes an active turn. It is never written.
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
	TurnID            string          `json:"turn_id" doc:"unique within the run"`
	RunID             string          `json:"run_id,omitempty" doc:"the run that the turn belongs to"`
	AssignedRole      string          `json:"assigned_role" doc:"the role of the configuration that does the turn"`
	Status            TurnStatus      `json:"status" doc:"see the states of a turn under \"Words\"; an accepted turn is removed"`
	Attempt           int             `json:"attempt" doc:"number of the attempt, from 1; a rejection or reissue adds 1"`
	AssignedAt        Time            `json:"assigned_at" doc:"when the turn was assigned or reissued"`
	StartedAt         Time            `json:"started_at" doc:"first dispatch; null before it"`
	DeadlineAt        Time            `json:"deadline_at" doc:"when the attempt times out; null without a limit"`
	RuntimeID         string          `json:"runtime_id" doc:"the entry of runtimes that does the work"`
	Baseline          *Baseline       `json:"baseline,omitempty" doc:"the workspace that the turn's changes are compared with"`
	AssignedSequence  int             `json:"assigned_sequence" doc:"turn_sequence when the attempt began; later acceptances can conflict"`
	ConcurrentWith    []string        `json:"concurrent_with,omitempty" doc:"ids of the turns that were active at the same time"`
	DispatchedAt      Time            `json:"dispatched_at,omitzero" doc:"when the attempt was handed to its runtime; absent before"`
	WorkerAttachedAt  Time            `json:"worker_attached_at,omitzero" doc:"when the worker's process or connection started; absent before"`
	WorkerPID         int             `json:"worker_pid,omitempty" doc:"process id of the worker; absent if it is no local process"`
	FirstOutputAt     Time            `json:"first_output_at,omitzero" doc:"the worker's first sign of life; absent before"`
	FirstOutputStream string          `json:"first_output_stream,omitempty" doc:"its kind: stdout, stderr, request, staged_result or event"`
	LastRejection     *Rejection      `json:"last_rejection,omitempty" doc:"why an attempt was refused last; absent if none was"`
	ConflictState     *ConflictState  `json:"conflict_state,omitempty" doc:"the last conflict with accepted turns; absent if none was found"`
	ConflictContext   json.RawMessage `json:"conflict_context,omitempty" doc:"of the rejected attempt: files, turns, guidance"`
	DelegationContext json.RawMessage `json:"delegation_context,omitempty" doc:"the delegation that this turn carries out; else absent"`
	DelegationReview  json.RawMessage `json:"delegation_review,omitempty" doc:"the delegations that this turn reviews; else absent"`
	IntakeContext     json.RawMessage `json:"intake_context,omitempty" doc:"the intake intent that the turn works on; absent without one"`
	ReissuedFrom      string          `json:"reissued_from,omitempty" doc:"id of the turn that this one replaces"`
	FailedAt          Time            `json:"failed_at,omitzero" doc:"when the attempt failed; absent while it has not"`
	FailureReason     string          `json:"failure_reason,omitempty" doc:"error code or blocked_on of that failure"`
	Cost              *Cost           `json:"cost,omitempty" doc:"Drawbar's own: sum of all attempts; absent while unknown"`
	Worktree          string          `json:"worktree,omitempty" doc:"Drawbar's own: the turn's worktree, relative to the root (absent: none)"`
	WaivedPolicies    []string        `json:"waived_policies,omitempty" doc:"Drawbar's own: policies that a person waived for this turn"`
	RuleFiles         Ordered[string] `json:"rule_files,omitzero" doc:"Drawbar's own: at dispatch: file to digest, git setting to value"`
	RulesTold         string          `json:"rules_told,omitempty" doc:"Drawbar's own: digest of the git changes that a person was told of"`
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
	Branch        string          `json:"branch,omitempty" doc:"Drawbar's own: checked-out branch; absent with a detached head"`
	Detail        *BaselineDetail `json:"drawbar,omitempty" doc:"Drawbar's own: absent in baselines of other programs"`
}

// BaselineDetail is what a baseline of Drawbar holds besides the fields of the protocol.
type BaselineDetail struct {
	Staged     Ordered[string] `json:"staged,omitzero" doc:"path to <mode> <object> of what a person has staged, or deleted"`
	Executable []string        `json:"executable,omitempty" doc:"the uncommitted files that are executable"`
	Walked     bool            `json:"walked,omitempty" doc:"without git: dirty_snapshot holds every file"`
}

// Rejection is why an attempt was refused: the agent gets it with its next one.
type Rejection struct {
	TurnID           string   `json:"turn_id" doc:"the turn that was refused"`
	Attempt          int      `json:"attempt" doc:"the attempt that was refused, from 1"`
	RejectedAt       Time     `json:"rejected_at" doc:"when it was refused"`
	Reason           string   `json:"reason" doc:"a person's words, an error code, or dispatch:<error class>"`
	ValidationErrors []string `json:"validation_errors" doc:"one line for each fault, in words for the agent; may be empty"`
	FailedStage      string   `json:"failed_stage,omitempty" doc:"a stage of validation, or dispatch; absent if neither refused it"`
}

// ConflictState is a conflict that was found at acceptance.
type ConflictState struct {
	DetectedAt     Time     `json:"detected_at" doc:"when it was last found"`
	DetectionCount int      `json:"detection_count" doc:"how often, from 1; the third blocks the run"`
	Status         string   `json:"status" doc:"detected, or rejected when the turn is done again"`
	Error          Conflict `json:"conflict_error" doc:"the conflict itself: its files and turns"`
}

// Conflict is an overlap of a turn's files with those of turns accepted since it was assigned.
type Conflict struct {
	Type                 string                   `json:"type" doc:"always file_conflict"`
	ConflictingTurn      Ordered[json.RawMessage] `json:"conflicting_turn,omitzero" doc:"turn_id, role and attempt of the refused turn"`
	AcceptedSince        []string                 `json:"accepted_since" doc:"ids of the accepted turns that changed the same files"`
	ConflictingFiles     []string                 `json:"conflicting_files" doc:"paths that both changed"`
	NonConflictingFiles  []string                 `json:"non_conflicting_files" doc:"the turn's other paths"`
	ForwardRevisionFiles []string                 `json:"forward_revision_files,omitempty" doc:"paths that the role changed itself before"`
	OverlapRatio         float64                  `json:"overlap_ratio" doc:"conflicting files to all files of the turn, above 0 to 1"`
	SuggestedResolution  string                   `json:"suggested_resolution" doc:"reject_and_reassign, or human_merge from a ratio of 0.5"`
}

// BlockedReason says why a run is blocked and how it goes on.
type BlockedReason struct {
	Category  string   `json:"category" doc:"kind of the block; see \"Blocked reasons\""`
	Recovery  Recovery `json:"recovery" doc:"who has to do what for the run to go on"`
	BlockedAt Time     `json:"blocked_at" doc:"when the run stopped"`
	TurnID    *string  `json:"turn_id" doc:"the turn that caused it; null if none did"`
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
	TypedReason    string `json:"typed_reason" doc:"the same word as category"`
	Owner          string `json:"owner" doc:"who has to act; always human"`
	RecoveryAction string `json:"recovery_action" doc:"a command to type"`
	TurnRetained   bool   `json:"turn_retained" doc:"whether the turn is still active and can be resumed"`
	Detail         string `json:"detail" doc:"what happened, in one or a few sentences"`
}

// Escalation is what was handed to a person.
type Escalation struct {
	FromRole         string   `json:"from_role,omitempty" doc:"role of the turn it is about; absent if none"`
	FromTurnID       string   `json:"from_turn_id,omitempty" doc:"the turn it is about; absent if none"`
	Reason           string   `json:"reason" doc:"the operator's words, or why the last attempt was refused"`
	ValidationErrors []string `json:"validation_errors,omitempty" doc:"the faults of the last attempt, if it was refused for them"`
	EscalatedAt      Time     `json:"escalated_at" doc:"when it was raised"`
	Extra            Extra    `json:"-"`
}

func (e *Escalation) UnmarshalJSON(data []byte) error { return readKeep(data, e) }
func (e Escalation) MarshalJSON() ([]byte, error)     { return writeKeep(e) }

// OpenObjection is an objection that nobody has resolved yet.
type OpenObjection struct {
	Objection
	TurnID   string `json:"turn_id" doc:"the turn that raised it"`
	Role     string `json:"role" doc:"the role that raised it"`
	Phase    string `json:"phase" doc:"the phase that it was raised in"`
	RaisedAt Time   `json:"raised_at" doc:"when that turn was accepted"`
}

// Person is somebody who decides, as git knows them, and the user of the system that typed it.
type Person struct {
	Name  string `json:"name,omitempty" doc:"user.name of git; absent if not set"`
	Email string `json:"email,omitempty" doc:"user.email of git, compared without case; absent if not set"`
	User  string `json:"user,omitempty" doc:"login name on the operating system"`
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
	By      Person `json:"by" doc:"who approved; nobody counts twice"`
	Comment string `json:"comment,omitempty" doc:"the person's own words, if any"`
	At      Time   `json:"at" doc:"when they approved"`
}

// Decline is a person's last no to a gate, until that gate is passed.
type Decline struct {
	GateID          string `json:"gate_id" doc:"the gate that was declined"`
	GateType        string `json:"gate_type" doc:"phase_transition or run_completion"`
	From            string `json:"from" doc:"the phase that the gate ends"`
	To              string `json:"to,omitempty" doc:"the phase that was asked for; absent at the end of the run"`
	RequestedByTurn string `json:"requested_by_turn" doc:"the turn that asked for it"`
	Reason          string `json:"reason" doc:"the person's words, which the next turn reads"`
	By              Person `json:"by" doc:"who declined"`
	At              Time   `json:"at" doc:"when they declined"`
	Role            string `json:"role" doc:"the role that goes on"`
	Phase           string `json:"phase" doc:"the phase that work goes on in: from or an earlier one"`
}

// OpenEscalation is an entry of the human queue that is not resolved yet.
type OpenEscalation struct {
	EscalationID string         `json:"escalation_id" doc:"\"hesc_\" and 16 hex digits; what govern unblock takes"`
	BlockedOn    string         `json:"blocked_on" doc:"blocked_on of the block that raised it"`
	TurnID       string         `json:"turn_id,omitempty" doc:"the turn it is about; absent if none"`
	RaisedAt     Time           `json:"raised_at" doc:"when it was raised"`
	Reason       *BlockedReason `json:"reason,omitempty" doc:"the block that goes with it, which holds again when a newer one is cleared"`
}

// PendingPhase is a phase transition that waits: for a person, or for the other turns to end.
type PendingPhase struct {
	From            string `json:"from" doc:"the phase that ends"`
	To              string `json:"to" doc:"the phase that follows"`
	Gate            string `json:"gate,omitempty" doc:"the exit gate of from; absent while queued or if there is none"`
	RequestedByTurn string `json:"requested_by_turn,omitempty" doc:"the turn that asked for it"`
	RequestedAt     Time   `json:"requested_at,omitzero" doc:"when it asked, or when the wait for approval began"`

	Approvals []Approval `json:"approvals,omitempty" doc:"Drawbar's own: those given so far, of a gate that needs several"`
}

// PendingEnd is the end of the run that waits.
type PendingEnd struct {
	Gate            string `json:"gate,omitempty" doc:"the exit gate of the last phase; absent while queued or if there is none"`
	RequestedByTurn string `json:"requested_by_turn,omitempty" doc:"the turn that asked for it"`
	RequestedAt     Time   `json:"requested_at,omitzero" doc:"when it asked, or when the wait for approval began"`

	Approvals []Approval `json:"approvals,omitempty" doc:"Drawbar's own: those given so far, of a gate that needs several"`
}

// GateFailure is the last time a gate did not pass.
type GateFailure struct {
	GateType            string   `json:"gate_type" doc:"phase_transition or run_completion"`
	GateID              string   `json:"gate_id" doc:"the gate that did not pass"`
	Phase               string   `json:"phase" doc:"the phase whose exit was asked for"`
	FromPhase           string   `json:"from_phase,omitempty" doc:"the same as phase"`
	ToPhase             string   `json:"to_phase,omitempty" doc:"the phase that was asked for; absent at the end of the run"`
	RequestedByTurn     string   `json:"requested_by_turn" doc:"the turn that asked for it"`
	FailedAt            Time     `json:"failed_at" doc:"when the gate was evaluated"`
	QueuedRequest       bool     `json:"queued_request" doc:"whether the request had waited for other turns first"`
	Reasons             []string `json:"reasons" doc:"why it did not pass, one sentence each"`
	MissingFiles        []string `json:"missing_files" doc:"paths of required files that do not exist"`
	MissingVerification bool     `json:"missing_verification" doc:"whether the turn's verification has not passed"`
}

// Reservation is what an active turn may cost.
type Reservation struct {
	ReservedUSD float64 `json:"reserved_usd" doc:"at most budget.per_turn_max_usd, in US dollars"`
	RoleID      string  `json:"role_id" doc:"the role of the turn"`
	CreatedAt   Time    `json:"created_at" doc:"when the turn was assigned or revived"`
}

// BudgetStatus is what the run has cost. RemainingUSD is nil without a limit.
type BudgetStatus struct {
	SpentUSD           float64  `json:"spent_usd" doc:"US dollars of all attempts of the run; never negative"`
	RemainingUSD       *float64 `json:"remaining_usd" doc:"budget.per_run_max_usd less what is spent, at least 0; null without a limit"`
	Exhausted          bool     `json:"exhausted,omitempty" doc:"whether nothing remains"`
	ExhaustedAt        Time     `json:"exhausted_at,omitzero" doc:"when that was first seen"`
	ExhaustedAfterTurn string   `json:"exhausted_after_turn,omitempty" doc:"the turn whose cost used it up"`
	WarnMode           bool     `json:"warn_mode,omitempty" doc:"the run went on past its budget, as on_exceed warn allows"`
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
