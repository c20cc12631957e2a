package governance

import (
	"encoding/json"

	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
)

// Input is something that happened, or that somebody asks for. All inputs are plain values with a JSON form.
type Input interface {
	input()
	moment() protocol.Time
}

// StartRun begins a run. A completed or blocked run is only replaced with Restart.
type StartRun struct {
	RunID            string                  `json:"run_id"`
	Now              protocol.Time           `json:"now"`
	Provenance       json.RawMessage         `json:"provenance,omitempty"`
	InheritedContext json.RawMessage         `json:"inherited_context,omitempty"`
	Restart          bool                    `json:"restart,omitempty"`
	RepoDecisions    []protocol.RepoDecision `json:"repo_decisions,omitempty"` // the active ones
	// SignOffs are the contents of those files of gate.SignOffs that exist. Where another run came before, they do not count for this one.
	SignOffs map[string]string `json:"sign_offs,omitempty"`
}

// AssignTurn gives a turn to a role. Next to do is its bundle, then Dispatched.
type AssignTurn struct {
	Role     string            `json:"role"`
	TurnID   string            `json:"turn_id"`
	Now      protocol.Time     `json:"now"`
	Baseline protocol.Baseline `json:"baseline"`
	// AllowDirty assigns in a dirty shared working tree: the caller tells the user's files from the turn's by their markers.
	AllowDirty    bool            `json:"allow_dirty,omitempty"`
	Worktree      string          `json:"worktree,omitempty"`
	IntakeContext json.RawMessage `json:"intake_context,omitempty"`
}

// Dispatched says that the turn was really handed to its runtime.
type Dispatched struct {
	TurnID string                   `json:"turn_id"`
	Now    protocol.Time            `json:"now"`
	Rules  protocol.Ordered[string] `json:"rules,omitzero"` // digests of the files that bind the turn
}

// Attempted is what an attempt was measured to cost, whatever became of it; an acceptance counts all attempts of its turn. The
// session, when given, is the one that the role's next attempt goes on with.
type Attempted struct {
	TurnID  string        `json:"turn_id"`
	Cost    protocol.Cost `json:"cost,omitzero"`
	Model   string        `json:"model,omitempty"` // for budget.cost_rates
	Session string        `json:"session,omitempty"`
	Now     protocol.Time `json:"now"`
}

// WorkerAttached says that the runtime's process or connection is there.
type WorkerAttached struct {
	TurnID string        `json:"turn_id"`
	PID    int           `json:"pid,omitempty"`
	Now    protocol.Time `json:"now"`
}

// FirstOutput says that the worker gave its first sign of life.
type FirstOutput struct {
	TurnID string        `json:"turn_id"`
	Stream string        `json:"stream"`
	Now    protocol.Time `json:"now"`
}

// AcceptTurn accepts a validated result. It may also end in a conflict, in a policy that forbids it or in an override that is
// not allowed: then the effects hold a NotAccepted and the turn stays.
type AcceptTurn struct {
	TurnID string        `json:"turn_id"`
	Now    protocol.Time `json:"now"`
	// Result is the proof that validation passed; the zero value is refused.
	Result Validated `json:"result"`
	// Changes are what normalization changed.
	Changes  []protocol.Change  `json:"changes,omitempty"`
	Observed *protocol.Observed `json:"observed,omitempty"`
	// Files are what the turn is credited with; nil means the files that the result lists.
	Files []string `json:"files,omitempty"`
	// GateFiles are the contents of those gate files that exist, by path (gate.Paths).
	GateFiles      map[string]string `json:"gate_files,omitempty"`
	IntegrationRef string            `json:"integration_ref,omitempty"`
	// Resolution "human_merge" accepts a turn in spite of its conflict.
	Resolution     string                `json:"resolution,omitempty"`
	MergeConflicts []string              `json:"merge_conflicts,omitempty"` // of a worktree that does not merge
	Replay         *Replay               `json:"replay,omitempty"`
	Warnings       []string              `json:"warnings,omitempty"`
	Cost           *protocol.Cost        `json:"cost,omitempty"` // measured; goes before what the result says
	AdapterMeta    *protocol.AdapterMeta `json:"adapter_meta,omitempty"`
	Session        string                `json:"session,omitempty"` // the agent's session, kept for the role
}

// FailAcceptance says that a staged result cannot be accepted, whoever collected it.
type FailAcceptance struct {
	TurnID string         `json:"turn_id"`
	Now    protocol.Time  `json:"now"`
	Code   string         `json:"code"`
	Stage  protocol.Stage `json:"stage,omitempty"`
	Errors []string       `json:"errors,omitempty"`
}

// RejectTurn refuses a turn's work: the next attempt gets the reason, or the run escalates when no attempt is left. Reassign
// resolves a conflict: the next attempt gets what it conflicted with. Without a conflict it changes nothing.
type RejectTurn struct {
	TurnID   string             `json:"turn_id"`
	Now      protocol.Time      `json:"now"`
	Reason   string             `json:"reason"`
	Stage    protocol.Stage     `json:"stage,omitempty"`
	Errors   []string           `json:"errors,omitempty"`
	Baseline *protocol.Baseline `json:"baseline,omitempty"`
	Reassign bool               `json:"reassign,omitempty"`
}

// ReissueTurn replaces a turn by a new one of the same role, from a fresh baseline.
type ReissueTurn struct {
	TurnID    string            `json:"turn_id"`
	NewTurnID string            `json:"new_turn_id"`
	Now       protocol.Time     `json:"now"`
	Reason    string            `json:"reason"`
	Baseline  protocol.Baseline `json:"baseline"`
	Worktree  string            `json:"worktree,omitempty"`
}

// TakeUp makes a turn that was given up in between ready to be handed to its runtime once more: a deadline that has passed is
// renewed. Baseline, when given, takes the place of the turn's: what a person changed between two attempts is not the turn's.
type TakeUp struct {
	TurnID   string             `json:"turn_id"`
	Now      protocol.Time      `json:"now"`
	Baseline *protocol.Baseline `json:"baseline,omitempty"`
}

// DispatchFailed says that the runtime ended without a result. A transient fault uses up an attempt and is tried again while
// attempts remain; any other blocks the run.
type DispatchFailed struct {
	TurnID    string             `json:"turn_id"`
	Now       protocol.Time      `json:"now"`
	Class     string             `json:"class"`
	Detail    string             `json:"detail,omitempty"`
	ExitCode  int                `json:"exit_code,omitempty"` // counts for the classes exit and ""
	Transient bool               `json:"transient,omitempty"`
	Baseline  *protocol.Baseline `json:"baseline,omitempty"`
}

// StartFailed says that a dispatched turn never showed a sign of life.
type StartFailed struct {
	TurnID string        `json:"turn_id"`
	Now    protocol.Time `json:"now"`
	Detail string        `json:"detail,omitempty"`
}

// Stalled says that a running turn went silent for too long.
type Stalled struct {
	TurnID string        `json:"turn_id"`
	Now    protocol.Time `json:"now"`
	Detail string        `json:"detail,omitempty"`
}

// Approve is a person's yes to what is pending: a phase transition, or with Completion the end of the run.
type Approve struct {
	Completion bool              `json:"completion,omitempty"`
	Now        protocol.Time     `json:"now"`
	By         protocol.Person   `json:"by,omitzero"`
	Comment    string            `json:"comment,omitempty"`
	GateFiles  map[string]string `json:"gate_files,omitempty"` // as they are now: what has gone since keeps the gate shut
}

// Decline is a person's no to the gate that waits, or to one that was passed before: work goes on in its phase, or an earlier one.
type Decline struct {
	Gate   string          `json:"gate,omitempty"` // empty is the one that waits
	Reason string          `json:"reason"`
	Role   string          `json:"role,omitempty"`  // who goes on; empty is who asked
	Phase  string          `json:"phase,omitempty"` // where; empty is the phase that the gate ends
	Now    protocol.Time   `json:"now"`
	By     protocol.Person `json:"by,omitzero"`
}

// GateActionFailed says that an action of an approved gate failed: the approval stays pending.
type GateActionFailed struct {
	Now    protocol.Time `json:"now"`
	Gate   string        `json:"gate"`
	Label  string        `json:"label"`
	Detail string        `json:"detail,omitempty"`
}

// HookBlocked says that a hook stopped what was to happen, or with Tamper that it changed a protected file.
type HookBlocked struct {
	Phase  string        `json:"phase"`
	Hook   string        `json:"hook"`
	TurnID string        `json:"turn_id,omitempty"`
	Now    protocol.Time `json:"now"`
	Tamper bool          `json:"tamper,omitempty"`
	Detail string        `json:"detail,omitempty"`
}

// PolicyEscalated hands a violated policy to a person.
type PolicyEscalated struct {
	PolicyID string        `json:"policy_id"`
	Rule     string        `json:"rule"`
	TurnID   string        `json:"turn_id,omitempty"`
	Now      protocol.Time `json:"now"`
	Detail   string        `json:"detail,omitempty"`
}

// Escalate is an operator's stop.
type Escalate struct {
	Now    protocol.Time `json:"now"`
	Reason string        `json:"reason"`
	Detail string        `json:"detail,omitempty"`
	Action string        `json:"action,omitempty"` // what the operator says is to be done
	TurnID string        `json:"turn_id,omitempty"`
	// RulesTold goes into the turn: what Detail says of git's settings.
	RulesTold string `json:"rules_told,omitempty"`
}

// Unblock clears what blocks the run. It never clears a pending approval.
type Unblock struct {
	Now protocol.Time `json:"now"`
	By  string        `json:"by,omitempty"`
	// EscalationID, when given, must be an open entry of the human queue.
	EscalationID string            `json:"escalation_id,omitempty"`
	GateFiles    map[string]string `json:"gate_files,omitempty"` // for a request that was queued behind the block
	// Baseline is the workspace now. A turn whose worker never started begins from it: what changed since is a person's.
	Baseline *protocol.Baseline `json:"baseline,omitempty"`
}

// TimedOut says that a limit of the configuration has passed. An empty Action is the configured one.
type TimedOut struct {
	Scope     string            `json:"scope"` // turn, phase or run
	TurnID    string            `json:"turn_id,omitempty"`
	Now       protocol.Time     `json:"now"`
	Action    string            `json:"action,omitempty"`
	GateFiles map[string]string `json:"gate_files,omitempty"` // for skip_phase
}

// SkipPhase leaves a phase that took too long, if its gate lets it.
type SkipPhase struct {
	Now       protocol.Time     `json:"now"`
	Reason    string            `json:"reason,omitempty"`
	GateFiles map[string]string `json:"gate_files,omitempty"`
}

// Checkpointed says that the accepted files of a turn are committed. InAcceptance means in the acceptance's own transaction.
type Checkpointed struct {
	TurnID       string        `json:"turn_id"`
	SHA          string        `json:"sha"`
	Now          protocol.Time `json:"now"`
	InAcceptance bool          `json:"in_acceptance,omitempty"`
}

// OperatorCommits says that a person committed since the last checkpoint. It never blocks.
type OperatorCommits struct {
	From string        `json:"from"`
	To   string        `json:"to"`
	Now  protocol.Time `json:"now"`
	SHAs []string      `json:"shas,omitempty"`
	// Released are accepted turns whose commits are gone or changed, and without which a person goes on.
	Released []string `json:"released,omitempty"`
}

// RuleObjection is a person's word on an objection: acknowledged, resolved_by_human, or raised to open it again.
type RuleObjection struct {
	ID        string            `json:"id"`
	Status    string            `json:"status"`
	Reason    string            `json:"reason"`
	Now       protocol.Time     `json:"now"`
	By        protocol.Person   `json:"by,omitzero"`
	GateFiles map[string]string `json:"gate_files,omitempty"` // for the request that the objection stopped
}

func (StartRun) input()         {}
func (AssignTurn) input()       {}
func (TakeUp) input()           {}
func (Dispatched) input()       {}
func (WorkerAttached) input()   {}
func (Attempted) input()        {}
func (FirstOutput) input()      {}
func (AcceptTurn) input()       {}
func (FailAcceptance) input()   {}
func (RejectTurn) input()       {}
func (ReissueTurn) input()      {}
func (DispatchFailed) input()   {}
func (StartFailed) input()      {}
func (Stalled) input()          {}
func (Approve) input()          {}
func (GateActionFailed) input() {}
func (HookBlocked) input()      {}
func (PolicyEscalated) input()  {}
func (Escalate) input()         {}
func (Unblock) input()          {}
func (TimedOut) input()         {}
func (SkipPhase) input()        {}
func (Checkpointed) input()     {}
func (OperatorCommits) input()  {}
func (RuleObjection) input()    {}
func (Decline) input()          {}

func (i StartRun) moment() protocol.Time         { return i.Now }
func (i AssignTurn) moment() protocol.Time       { return i.Now }
func (i TakeUp) moment() protocol.Time           { return i.Now }
func (i Dispatched) moment() protocol.Time       { return i.Now }
func (i WorkerAttached) moment() protocol.Time   { return i.Now }
func (i Attempted) moment() protocol.Time        { return i.Now }
func (i FirstOutput) moment() protocol.Time      { return i.Now }
func (i AcceptTurn) moment() protocol.Time       { return i.Now }
func (i FailAcceptance) moment() protocol.Time   { return i.Now }
func (i RejectTurn) moment() protocol.Time       { return i.Now }
func (i ReissueTurn) moment() protocol.Time      { return i.Now }
func (i DispatchFailed) moment() protocol.Time   { return i.Now }
func (i StartFailed) moment() protocol.Time      { return i.Now }
func (i Stalled) moment() protocol.Time          { return i.Now }
func (i Approve) moment() protocol.Time          { return i.Now }
func (i GateActionFailed) moment() protocol.Time { return i.Now }
func (i HookBlocked) moment() protocol.Time      { return i.Now }
func (i PolicyEscalated) moment() protocol.Time  { return i.Now }
func (i Escalate) moment() protocol.Time         { return i.Now }
func (i Unblock) moment() protocol.Time          { return i.Now }
func (i TimedOut) moment() protocol.Time         { return i.Now }
func (i SkipPhase) moment() protocol.Time        { return i.Now }
func (i Checkpointed) moment() protocol.Time     { return i.Now }
func (i OperatorCommits) moment() protocol.Time  { return i.Now }
func (i RuleObjection) moment() protocol.Time    { return i.Now }
func (i Decline) moment() protocol.Time          { return i.Now }
