package govern

import (
	"context"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Coordinator carries one piece of work through several governed repositories, as agentxchain-multi.json of a workspace says.
// drawbar.OpenCoordinator returns it. The record of each repository is authoritative: methods that write first record what happened there.
// Methods that write hold the workspace's lock, but not while a turn runs. An error is an *execution.Error whose hint says what to type
// next. A Coordinator is safe for concurrent use.
type Coordinator interface {
	// Status returns the state of the run. It changes nothing.
	Status(ctx context.Context) (MultiStatus, error)
	// Init starts a run: it includes the active runs of the repositories and starts runs in the others. After an error, no run over
	// several repositories has started.
	Init(ctx context.Context) (MultiStatus, error)
	// Step runs the next turn, in the repository that is next, or requests the next gate.
	Step(ctx context.Context, o MultiStepOptions) (MultiReport, error)
	// Run repeats Step until a person is needed, a limit is reached or the run ends.
	Run(ctx context.Context, o MultiRunOptions) (MultiReport, error)
	// ApproveGate approves the pending gate if its conditions still hold.
	ApproveGate(ctx context.Context, o MultiApproveOptions) (MultiReport, error)
	// Resync records what happened in the repositories.
	Resync(ctx context.Context, o MultiResyncOptions) (MultiResync, error)
	// HandOff gives an intent of the repository at root to a workstream, whose turns then learn of it. It fills in the repository, the run
	// and the time.
	HandOff(ctx context.Context, root string, h protocol.IntakeHandoff) (protocol.IntakeHandoff, error)
	// Resume continues a blocked run, with the repositories' current runs.
	Resume(ctx context.Context, by protocol.Person, comment string) (MultiReport, error)
}

// MultiStepOptions configure a step over several repositories.
type MultiStepOptions struct {
	AssignOnly bool          // prepare the turn in its repository and do not run it
	NoWait     bool          // prepare a person's turn and return at once
	Timeout    time.Duration // time limit of the turn; 0: from the repository's configuration
	Verbose    bool          // report the worker's output as notices of kind "log"
}

// MultiRunOptions limit a run over several repositories.
type MultiRunOptions struct {
	MaxTurns int // 0 is 50
	Timeout  time.Duration
	Verbose  bool
}

// MultiApproveOptions say who approves.
type MultiApproveOptions struct {
	By      protocol.Person // empty: git's user
	Comment string
}

// MultiResyncOptions configure Resync.
type MultiResyncOptions struct {
	DryRun bool // report the differences and change nothing
}

// MultiAction is what a command over several repositories did.
type MultiAction string

// The actions.
const (
	MultiTurn      MultiAction = "turn"     // a turn ran; MultiReport.Turn says how it ended
	MultiAssigned  MultiAction = "assigned" // a turn is ready and not running
	MultiGate      MultiAction = "gate"     // a gate waits for a person
	MultiApproved  MultiAction = "approved" // a gate passed
	MultiWaiting   MultiAction = "waiting"  // Blockers have to be resolved first
	MultiBlocked   MultiAction = "blocked"  // the run is blocked until a person resumes it
	MultiResumed   MultiAction = "resumed"
	MultiCompleted MultiAction = "completed"
)

// MultiReport says how a command over several repositories ended.
type MultiReport struct {
	Action        MultiAction               `json:"action"`
	SuperRunID    string                    `json:"super_run_id"`
	Status        string                    `json:"status"`
	Phase         string                    `json:"phase"`
	RepoID        string                    `json:"repo_id,omitempty"`
	WorkstreamID  string                    `json:"workstream_id,omitempty"`
	TurnID        string                    `json:"turn_id,omitempty"`
	Role          string                    `json:"role,omitempty"`
	BundlePath    string                    `json:"bundle_path,omitempty"` // of an assigned turn
	ContextRef    string                    `json:"context_ref,omitempty"`
	Preparing     bool                      `json:"preparing,omitempty"` // the repository is in an earlier phase than the workstream
	Turn          *Report                   `json:"turn,omitempty"`
	Turns         int                       `json:"turns,omitempty"` // of Run
	Projected     []string                  `json:"projected,omitempty"`
	Effects       []BarrierEffect           `json:"barrier_effects,omitempty"`
	Gate          *protocol.CoordinatorGate `json:"pending_gate,omitempty"`
	Blockers      []MultiBlocker            `json:"blockers,omitempty"`
	BlockedReason string                    `json:"blocked_reason,omitempty"`
	Next          string                    `json:"next,omitempty"`
}

// BarrierEffect is a change of a barrier.
type BarrierEffect struct {
	BarrierID string                 `json:"barrier_id"`
	Previous  protocol.BarrierStatus `json:"previous_status"`
	New       protocol.BarrierStatus `json:"new_status"`
}

// MultiBlocker is why a repository, a workstream or a gate cannot go on.
type MultiBlocker struct {
	Code         string `json:"code"`
	RepoID       string `json:"repo_id,omitempty"`
	WorkstreamID string `json:"workstream_id,omitempty"`
	BarrierID    string `json:"barrier_id,omitempty"`
	Message      string `json:"message"`
	Next         string `json:"next,omitempty"` // the command that resolves it
}

// MultiStatus is the state of a run over several repositories.
type MultiStatus struct {
	Root     string                             `json:"root"`
	Project  protocol.Project                   `json:"project"`
	Begun    bool                               `json:"begun"` // the fields below are empty before
	State    *protocol.CoordinatorState         `json:"state"`
	Barriers protocol.Ordered[protocol.Barrier] `json:"barriers"`
	Repos    []MultiRepo                        `json:"repos"`
	Blockers []MultiBlocker                     `json:"blockers,omitempty"`
	Next     string                             `json:"next"`
}

// MultiRepo is a repository of a run over several.
type MultiRepo struct {
	ID      string             `json:"id"`
	Path    string             `json:"path"`
	Root    string             `json:"root"`
	RunID   string             `json:"run_id,omitempty"`
	Status  protocol.RunStatus `json:"status"`
	Phase   string             `json:"phase,omitempty"`
	Turns   []string           `json:"active_turns,omitempty"`
	Gate    string             `json:"pending_gate,omitempty"`
	Fault   string             `json:"fault,omitempty"` // why its record cannot be read
	Started bool               `json:"initialized_by_coordinator"`
}

// MultiResync is what differed between the coordinator and the repositories.
type MultiResync struct {
	Diverged      bool            `json:"diverged"`
	Mismatches    []MultiMismatch `json:"mismatches"`
	Effects       []BarrierEffect `json:"barrier_effects,omitempty"`
	BlockedReason string          `json:"blocked_reason,omitempty"`
}

// MultiMismatch is one difference.
type MultiMismatch struct {
	Type   string `json:"type"` // turn_accepted_unprojected, turn_unrecorded, run_id_mismatch, repo_state_missing or cross_repo_write
	RepoID string `json:"repo_id"`
	TurnID string `json:"turn_id,omitempty"`
	Detail string `json:"detail"`
}
