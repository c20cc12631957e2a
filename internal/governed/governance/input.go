package governance

import (
	"encoding/json"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Input is something that happened, or that somebody asks for. All inputs are plain values.
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
	// SignOffs are the contents of those files of gate.SignOffs that exist. Where another run came before, they do not count for this one.
	SignOffs map[string]string
}

// AssignTurn gives a turn to a role. Next to do is its bundle, then Dispatched.
type AssignTurn struct {
	Role     string
	TurnID   string
	Baseline protocol.Baseline
	// AllowDirty assigns in a dirty shared working tree: the caller tells the user's files from the turn's by their markers.
	AllowDirty    bool
	Worktree      string
	IntakeContext json.RawMessage
}

// Dispatched says that the turn was really handed to its runtime.
type Dispatched struct {
	TurnID string
	Rules  protocol.Ordered[string] // digests of the files that bind the turn
}

// Attempted is what an attempt was measured to cost, whatever became of it; an acceptance counts all attempts of its turn. The
// session, when given, is the one that the role's next attempt goes on with.
type Attempted struct {
	TurnID  string
	Cost    protocol.Cost
	Model   string // for budget.cost_rates
	Session string
}

// WorkerAttached says that the runtime's process or connection is there.
type WorkerAttached struct {
	TurnID string
	PID    int
}

// FirstOutput says that the worker gave its first sign of life.
type FirstOutput struct {
	TurnID string
	Stream string
}

// AcceptTurn accepts a validated result. It may also end in a conflict, in a policy that forbids it or in an override that is
// not allowed: then the effects hold a NotAccepted and the turn stays.
type AcceptTurn struct {
	TurnID string
	// Result is the proof that validation passed; the zero value is refused.
	Result Validated
	// Changes are what normalization changed.
	Changes  []protocol.Change
	Observed *protocol.Observed
	// Files are what the turn is credited with; nil means the files that the result lists.
	Files []string
	// GateFiles are the contents of those gate files that exist, by path (gate.Paths).
	GateFiles      map[string]string
	IntegrationRef string
	// Resolution "human_merge" accepts a turn in spite of its conflict.
	Resolution     string
	MergeConflicts []string // of a worktree that does not merge
	Replay         *govern.Replay
	Warnings       []string
	Cost           *protocol.Cost // measured; goes before what the result says
	AdapterMeta    *protocol.AdapterMeta
	Session        string // the agent's session, kept for the role
}

// FailAcceptance says that a staged result cannot be accepted, whoever collected it.
type FailAcceptance struct {
	TurnID string
	Code   string
	Stage  protocol.Stage
	Errors []string
}

// RejectTurn refuses a turn's work: the next attempt gets the reason, or the run escalates when no attempt is left. Reassign
// resolves a conflict: the next attempt gets what it conflicted with. Without a conflict it changes nothing.
type RejectTurn struct {
	TurnID   string
	Reason   string
	Stage    protocol.Stage
	Errors   []string
	Baseline *protocol.Baseline
	Reassign bool
}

// ReissueTurn replaces a turn by a new one of the same role, from a fresh baseline.
type ReissueTurn struct {
	TurnID    string
	NewTurnID string
	Reason    string
	Baseline  protocol.Baseline
	Worktree  string
}

// TakeUp makes a turn that was given up in between ready to be handed to its runtime once more: a deadline that has passed is
// renewed. Baseline, when given, takes the place of the turn's: what a person changed between two attempts is not the turn's.
type TakeUp struct {
	TurnID   string
	Baseline *protocol.Baseline
}

// DispatchFailed says that the runtime ended without a result. A transient fault uses up an attempt and is tried again while
// attempts remain; any other blocks the run.
type DispatchFailed struct {
	TurnID    string
	Class     string
	Detail    string
	ExitCode  int // counts for the classes exit and ""
	Transient bool
	Baseline  *protocol.Baseline
}

// StartFailed says that a dispatched turn never showed a sign of life.
type StartFailed struct {
	TurnID string
	Detail string
}

// Stalled says that a running turn went silent for too long.
type Stalled struct {
	TurnID string
	Detail string
}

// Approve is a person's yes to what is pending: a phase transition, or with Completion the end of the run.
type Approve struct {
	Completion bool
	By         protocol.Person
	Comment    string
	GateFiles  map[string]string // as they are now: what has gone since keeps the gate shut
}

// Decline is a person's no to the gate that waits, or to one that was passed before: work goes on in its phase, or an earlier one.
type Decline struct {
	Gate   string // empty is the one that waits
	Reason string
	Role   string // who goes on; empty is who asked
	Phase  string // where; empty is the phase that the gate ends
	By     protocol.Person
}

// GateActionFailed says that an action of an approved gate failed: the approval stays pending.
type GateActionFailed struct {
	Gate   string
	Label  string
	Detail string
}

// HookBlocked says that a hook stopped what was to happen, or with Tamper that it changed a protected file.
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
	Action string // what the operator says is to be done
	TurnID string
	// RulesTold goes into the turn: what Detail says of git's settings.
	RulesTold string
}

// Unblock clears what blocks the run. It never clears a pending approval.
type Unblock struct {
	By string
	// EscalationID, when given, must be an open entry of the human queue.
	EscalationID string
	GateFiles    map[string]string // for a request that was queued behind the block
	// Baseline is the workspace now. A turn whose worker never started begins from it: what changed since is a person's.
	Baseline *protocol.Baseline
}

// TimedOut says that a limit of the configuration has passed. An empty Action is the configured one.
type TimedOut struct {
	Scope     string // turn, phase or run
	TurnID    string
	Action    string
	GateFiles map[string]string // for skip_phase
}

// Checkpointed says that the accepted files of a turn are committed. InAcceptance means in the acceptance's own transaction.
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
	// Released are accepted turns whose commits are gone or changed, and without which a person goes on.
	Released []string
}

// RuleObjection is a person's word on an objection: acknowledged, resolved_by_human, or raised to open it again.
type RuleObjection struct {
	ID        string
	Status    string
	Reason    string
	By        protocol.Person
	GateFiles map[string]string // for the request that the objection stopped
}
