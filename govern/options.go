package govern

import (
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// StepOptions choose the turn of a step.
type StepOptions struct {
	Role     string        // the role of the next turn; empty: the rules choose
	Turn     string        // the active turn to run; empty: the only one, or a new one
	Resume   bool          // clear a block first
	Timeout  time.Duration // time limit of the turn; 0: from the configuration
	Intent   string        // the intent to bind the new turn to; empty: the first pending one
	NoIntent bool          // bind no intent
	// Coordinator is what a new turn is told of the other repositories of a run over several.
	Coordinator *protocol.CoordinatorContext
	// Assigned is called when the turn is in the record, before it runs; nil for nothing.
	Assigned func(turn, role string)
	// NoRepair leaves an invalid result to a person instead of returning it to the agent.
	NoRepair bool
	// NoWait prepares a person's turn and returns at once.
	NoWait bool
	// Verbose reports the worker's output as notices of kind "log".
	Verbose bool
	// Poll is the interval of checks for a person's result, in addition to file system events; 0: from the
	// configuration.
	Poll time.Duration
}

// RunOptions limit a run of many turns.
type RunOptions struct {
	MaxTurns    int  // 0 is run_loop.max_turns, or 50
	AutoApprove bool // approve gates that ask for a person, except credentialed ones
	DryRun      bool // report what would happen next and change nothing
	Resume      bool
	Timeout     time.Duration // per turn
	Verbose     bool          // as in StepOptions
	Role        string        // of the first turn; empty: the rules choose
	RetryGhosts *bool         // replace turns whose workers give no sign of life; nil: as run_loop.continuous.auto_retry_on_ghost says
}

// ScheduleOptions select the schedules of agentxchain.json to look at.
type ScheduleOptions struct {
	ID      string // empty: all
	DryRun  bool   // say what is due and start nothing
	Verbose bool   // as in StepOptions
}

// RestartOptions say how to continue a run.
type RestartOptions struct {
	New bool // end the blocked run and begin a new one
	// AdoptState continues from the existing state: from a state.json that the last transaction did not write
	// and that cannot be restored, with a new hash chain if the old one is gone, and without accepted work that
	// is no longer below HEAD.
	AdoptState bool
}

// AcceptOptions select what to accept.
type AcceptOptions struct {
	Turn              string
	HumanMerge        bool // accept despite a conflict: a person has merged it
	NormalizeArtifact bool // treat an empty workspace artifact as a review
}

// RejectOptions say what to reject and why.
type RejectOptions struct {
	Turn     string
	Reason   string
	Reassign bool // for a conflict: repeat the turn on top of what was accepted meanwhile
}

// ApproveOptions select the gate.
type ApproveOptions struct {
	Completion bool // the completion gate; else the phase gate
	Either     bool // whichever gate is pending
	DryRun     bool
	By         protocol.Person // empty: git's user
	Comment    string
}

// DeclineOptions decline a gate.
type DeclineOptions struct {
	Gate   string // empty: the pending one
	Reason string
	Role   string // the role to continue with; empty: the role that asked
	Phase  string // the phase to continue in; empty: the phase that the gate ends
	By     protocol.Person
}

// ObjectionOptions state a person's decision on an objection.
type ObjectionOptions struct {
	ID     string
	Status string // acknowledged, resolved_by_human, or raised to reopen it
	Reason string
	By     protocol.Person
}

// ProposalOptions state a person's decision on a proposal.
type ProposalOptions struct {
	Turn   string   // empty: the only undecided one
	Files  []string // apply only these; empty: all that are not applied
	Force  bool     // apply also over files that changed since the proposal was accepted
	Reject bool
	Reason string // of a rejection
	By     protocol.Person
}

// EscalateOptions say what a person has to do.
type EscalateOptions struct {
	Turn, Reason, Detail, Action string
}

// Submission is a person's result of their turn. Ids, and the files that changed according to git, are filled
// in.
type Submission struct {
	Status       protocol.ResultStatus // empty: completed
	Summary      string
	NeedsHuman   string // why a person has to decide
	Objections   []protocol.Objection
	Decisions    []protocol.Decision
	Files        []string // nil: the changes that git reports
	Verification protocol.Verification
	Proposes     []protocol.ProposedChange // of a role that proposes; without content a file is deleted, and Action is filled in
	NextRole     string                    // empty: human
	Phase        string                    // requested
	Complete     bool
}

// SubmitOptions select the turn to submit.
type SubmitOptions struct {
	Turn    string
	Form    Submission
	Replace bool // replace an existing draft; it is kept in the evidence
	DryRun  bool // validate without staging
}

// RerunOptions select the evidence to run again.
type RerunOptions struct {
	Turn     string        // empty: the only active turn, or the last accepted one
	Accepted bool          // use the record, not a staged result
	Execute  bool          // run the commands; without it they are only listed, because a turn wrote them
	Timeout  time.Duration // per command
}
