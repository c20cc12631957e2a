package govern

import (
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// StepOptions choose the turn of a step.
type StepOptions struct {
	Role     string        // the role of the next turn; empty lets the rules choose
	Turn     string        // the active turn to carry; empty is the only one, or a new one
	Resume   bool          // clear a block first
	Timeout  time.Duration // how long the turn may take; 0 leaves it to the configuration
	Intent   string        // the intent that the new turn is bound to; empty takes the first that waits
	NoIntent bool          // bind none
	// NoRepair leaves a result that is not valid to a person instead of giving it back to the agent.
	NoRepair bool
	// NoWait makes a turn of a person ready and does not wait for it.
	NoWait bool
	// Verbose passes on what the worker prints, as notices of kind "log".
	Verbose bool
	// Poll is how often the result of a person's turn is looked for besides what the file system announces; 0 leaves it to the
	// configuration.
	Poll time.Duration
}

// RunOptions bound a run of many turns.
type RunOptions struct {
	MaxTurns    int  // 0 is run_loop.max_turns, or 50
	AutoApprove bool // let gates pass that ask for a person, but for credentialed ones
	DryRun      bool // say what would happen next and change nothing
	Resume      bool
	Timeout     time.Duration // of each turn
	Verbose     bool          // as of a step
}

// RestartOptions say how a run is taken up.
type RestartOptions struct {
	New    bool   // end what is blocked and begin a new run
	Reason string // why, for the record
	// AdoptState goes on with what is there: from state.json where it is not what the last transaction wrote and cannot be put back, with
	// a new hash chain where the old one is gone, and without accepted work that is not below HEAD any more.
	AdoptState bool
}

// AcceptOptions say what is accepted.
type AcceptOptions struct {
	Turn              string
	HumanMerge        bool // accept in spite of a conflict: a person has merged it
	NormalizeArtifact bool // an empty workspace artifact is taken for a review
}

// RejectOptions say what is rejected and why.
type RejectOptions struct {
	Turn     string
	Reason   string
	Reassign bool // of a conflict: the turn is done again on top of what was accepted meanwhile
}

// ApproveOptions choose the gate.
type ApproveOptions struct {
	Completion bool // the end of the run; else the phase
	Either     bool // whichever is pending
	DryRun     bool
	By         protocol.Person // empty is whom git knows
	Comment    string
}

// DeclineOptions are a person's no to a gate.
type DeclineOptions struct {
	Gate   string // empty is the one that waits
	Reason string
	Role   string // who goes on; empty is who asked
	Phase  string // where; empty is the phase that the gate ends
	By     protocol.Person
}

// ObjectionOptions are a person's word on an objection.
type ObjectionOptions struct {
	ID     string
	Status string // acknowledged, resolved_by_human, or raised: it is open again
	Reason string
	By     protocol.Person
}

// EscalateOptions say what a person has to do.
type EscalateOptions struct {
	Turn, Reason, Detail, Action string
}

// Submission is what a person says of their turn. Ids, and the files that git saw change, are filled in.
type Submission struct {
	Status       protocol.ResultStatus // empty is completed
	Summary      string
	NeedsHuman   string // why a person has to decide
	Objections   []protocol.Objection
	Decisions    []protocol.Decision
	Files        []string // nil is what git saw
	Verification protocol.Verification
	NextRole     string // empty is human
	Phase        string // requested
	Complete     bool
}

// SubmitOptions choose the turn that is handed in.
type SubmitOptions struct {
	Turn    string
	Form    Submission
	Replace bool // a draft that is there already; it is kept in the evidence
	DryRun  bool // check and stage nothing
}

// RerunOptions say whose evidence is run again.
type RerunOptions struct {
	Turn     string        // empty is the only active turn, or the last accepted one
	Accepted bool          // of the record, not of a staged result
	Execute  bool          // without it the commands are only listed: a turn wrote them
	Timeout  time.Duration // of one command
}
