package governance

import (
	"encoding/json"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Input is an event or a request. All inputs are plain values.
type Input interface {
	apply(s *step) *Refused
}

// StartRun begins a run. A completed or blocked run is only replaced with Restart.
type StartRun struct {
	RunID            string
	Provenance       json.RawMessage
	InheritedContext json.RawMessage
	Restart          bool
	RepoDecisions    []protocol.RepoDecision // the active ones
	// SignOffs are the contents of the existing files of gate.SignOffs. If another run came before, they do not count
	// for this one.
	SignOffs map[string]string
}

// AssignTurn assigns a turn to a role. The next steps are writing its bundle and Dispatched.
type AssignTurn struct {
	Role     string
	TurnID   string
	Baseline protocol.Baseline
	// AllowDirty allows a dirty shared work tree: the caller distinguishes the user's files from the turn's by their
	// markers.
	AllowDirty    bool
	Worktree      string
	IntakeContext json.RawMessage
	Coordinator   json.RawMessage // protocol.CoordinatorContext
}

// Dispatched says that the turn was given to its runtime.
type Dispatched struct {
	TurnID string
	Rules  protocol.Ordered[string] // digests of the files that bind the turn
}

// Attempted is the measured usage of an attempt, whatever its outcome; an acceptance counts all attempts of its turn. A
// given session is used by the role's next attempt.
type Attempted struct {
	TurnID  string
	Cost    protocol.Cost
	Model   string // for budget.cost_rates
	Session string
}

// WorkerAttached says that the runtime's process or connection exists.
type WorkerAttached struct {
	TurnID string
	PID    int
}

// FirstOutput says that the worker gave its first sign of life.
type FirstOutput struct {
	TurnID string
	Stream string
}

// AcceptTurn accepts a validated result. If the result conflicts, violates a policy or overrides a decision without
// permission, the effects contain a NotAccepted and the turn stays active.
type AcceptTurn struct {
	TurnID string
	// Result proves that validation passed; the zero value is refused.
	Result Validated
	// Changes are what normalization changed.
	Changes  []protocol.Change
	Observed *protocol.Observed
	// Files are credited to the turn; nil means the files that the result lists.
	Files []string
	// GateFiles are the contents of the existing gate files, by path (gate.Paths).
	GateFiles      map[string]string
	IntegrationRef string
	// Resolution "human_merge" accepts a turn in spite of its conflict.
	Resolution     string
	MergeConflicts []string // of a worktree that cannot be merged
	Replay         *govern.Replay
	Warnings       []string
	Cost           *protocol.Cost // measured; takes precedence over the result's own
	AdapterMeta    *protocol.AdapterMeta
	Session        string // the agent's session, kept for the role
}

// FailAcceptance says that a staged result cannot be accepted.
type FailAcceptance struct {
	TurnID string
	Code   string
	Stage  protocol.Stage
	Errors []string
}

// RejectTurn rejects a turn's work: the next attempt gets the reason, or the run is escalated if no attempt is left.
// Reassign resolves a conflict: the next attempt gets the conflicting files. Without a conflict it changes nothing.
type RejectTurn struct {
	TurnID   string
	Reason   string
	Stage    protocol.Stage
	Errors   []string
	Baseline *protocol.Baseline
	Reassign bool
}

// ReissueTurn replaces a turn by a new one of the same role, with a new baseline.
type ReissueTurn struct {
	TurnID    string
	NewTurnID string
	Reason    string
	Baseline  protocol.Baseline
	Worktree  string
	Ghosts    *GhostCount // of an automatic retry
}

// GhostCount is which automatic retry of a run a reissued turn is.
type GhostCount struct{ Attempt, Most int }

// GhostsExhausted says that a turn without a sign of life is not retried: the run has had all its retries.
type GhostsExhausted struct {
	TurnID string
	Most   int
}

// TakeUp prepares an interrupted turn for another dispatch: an expired deadline is renewed. A given Baseline replaces
// the turn's, so that a person's changes between two attempts are not attributed to the turn.
type TakeUp struct {
	TurnID   string
	Baseline *protocol.Baseline
}

// DispatchFailed says that the runtime ended without a result. A transient failure uses up an attempt and is retried
// while attempts remain; any other blocks the run.
type DispatchFailed struct {
	TurnID    string
	Class     string
	Detail    string
	ExitCode  int // counts for the classes exit and ""
	Transient bool
	Baseline  *protocol.Baseline
}

// StartFailed says that a dispatched turn never gave a sign of life.
type StartFailed struct {
	TurnID string
	Detail string
}

// Stalled says that a running turn gave no sign of life for too long.
type Stalled struct {
	TurnID string
	Detail string
}

// Approve is a person's approval of what is pending: a phase transition, or with Completion the end of the run.
type Approve struct {
	Completion bool
	By         protocol.Person
	Comment    string
	GateFiles  map[string]string // as they are now: if one is missing by now, the gate does not pass
}

// Decline is a person's refusal of the pending gate, or of one that passed before: work continues in its phase, or an
// earlier one.
type Decline struct {
	Gate   string // empty is the pending one
	Reason string
	Role   string // the role that continues; empty is the requesting one
	Phase  string // empty is the phase that the gate ends
	By     protocol.Person
}

// GateActionFailed says that an action of an approved gate failed: the approval stays pending.
type GateActionFailed struct {
	Gate   string
	Label  string
	Detail string
}

// HookBlocked says that a hook denied, or with Tamper that it changed a protected file.
type HookBlocked struct {
	Phase  string
	Hook   string
	TurnID string
	Tamper bool
	Detail string
}

// Escalate is an operator's stop.
type Escalate struct {
	Reason string
	Detail string
	Action string // what the operator asks for
	TurnID string
	// RulesTold is recorded in the turn: what Detail says about git's settings.
	RulesTold string
}

// Unblock clears what blocks the run. It never clears a pending approval.
type Unblock struct {
	By string
	// EscalationID, if given, must be an open entry of the human queue.
	EscalationID string
	GateFiles    map[string]string // for a request that was queued behind the block
	// Baseline is the current workspace. A turn whose worker never started gets it: changes until now are a person's.
	Baseline *protocol.Baseline
}

// TimedOut says that a configured limit has expired. An empty Action is the configured one.
type TimedOut struct {
	Scope     string // turn, phase or run
	TurnID    string
	Action    string
	GateFiles map[string]string // for skip_phase
}

// Checkpointed says that the accepted files of a turn are committed. InAcceptance means in the acceptance's own
// transaction.
type Checkpointed struct {
	TurnID       string
	SHA          string
	InAcceptance bool
}

// OperatorCommits says that a person committed since the last checkpoint. It never blocks.
type OperatorCommits struct {
	From string
	To   string
	SHAs []string
	// Released are accepted turns whose commits are gone or changed; a person chose to continue without them.
	Released []string
}

// DecideProposal is a person's decision on a proposal: applied, with the files, or rejected, with a reason. It may come
// after the end of the run.
type DecideProposal struct {
	TurnID string
	Status string
	Files  []string
	Reason string
	Forced bool // although files had changed
	By     protocol.Person
}

// RuleObjection is a person's ruling on an objection: acknowledged, resolved_by_human, or raised to reopen it.
type RuleObjection struct {
	ID        string
	Status    string
	Reason    string
	By        protocol.Person
	GateFiles map[string]string // for the request that the objection stopped
}
