// Package govern defines governed runs: agents and people in roles take a repository through phases and gates,
// on the record. drawbar.OpenProject returns the Engine of a project.
package govern

import (
	"context"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Engine runs a governed project. Every method reads the project afresh, so one engine may live as long as its
// caller. Methods that write hold the project's lock meanwhile and leave a state that any other program can
// continue from. An error is an *execution.Error whose hint says what to type next; the outcome of a turn is in
// the report. An Engine is safe for concurrent use.
type Engine interface {
	// Status returns the state of the run. It changes nothing and connects to nothing.
	Status(ctx context.Context) (Status, error)
	// Step runs one turn: the pending one, or the next. It starts a run if there is none.
	Step(ctx context.Context, o StepOptions) (Report, error)
	// Run runs turns until a person is needed, a limit is reached or the run ends.
	Run(ctx context.Context, o RunOptions) (RunReport, error)
	// Resume clears a block and prepares the next turn without running it.
	Resume(ctx context.Context, o StepOptions) (Report, error)
	// Restart begins a new run, or continues one whose process died.
	Restart(ctx context.Context, o RestartOptions) (Report, error)
	// Accept accepts the staged result of a turn.
	Accept(ctx context.Context, o AcceptOptions) (Report, error)
	// Submit stages the result of a person's turn if it is valid.
	Submit(ctx context.Context, o SubmitOptions) (Report, error)
	// Reject rejects the result of a turn.
	Reject(ctx context.Context, o RejectOptions) (Report, error)
	// Reissue replaces a turn with a new one of the same role.
	Reissue(ctx context.Context, turn, reason string) (Report, error)
	// Checkpoint commits the uncommitted files of the last accepted turn.
	Checkpoint(ctx context.Context, turn string) (Report, error)
	// Approve approves a pending gate.
	Approve(ctx context.Context, o ApproveOptions) (Report, error)
	// Decline sends the turn of a gate back, with the reason.
	Decline(ctx context.Context, o DeclineOptions) (Report, error)
	// RuleObjection records a person's decision on an objection.
	RuleObjection(ctx context.Context, o ObjectionOptions) (Report, error)
	// Proposals returns the proposals of the project and what was decided, oldest first. It takes no lock.
	Proposals(ctx context.Context) ([]Proposal, error)
	// DecideProposal applies a proposal's files to the work tree, or rejects it.
	DecideProposal(ctx context.Context, o ProposalOptions) (Report, error)
	// Escalate hands the run over to a person.
	Escalate(ctx context.Context, o EscalateOptions) (Report, error)
	// Unblock resolves an open entry of the human queue and clears the block behind it.
	Unblock(ctx context.Context, escalation string) (Report, error)
	// StartRun begins a run without preparing a turn.
	StartRun(ctx context.Context) (Report, error)
	// Assign prepares the next turn, without clearing anything and without running it.
	Assign(ctx context.Context, o StepOptions) (Report, error)
	// CheckSubmission validates one field of a possibly incomplete submission. It returns the problem, empty if
	// there is none.
	CheckSubmission(ctx context.Context, o SubmitOptions, field string) (fault string, err error)
	// Rerun runs the commands that a turn gives as evidence again and compares exit codes. The record is unchanged.
	Rerun(ctx context.Context, o RerunOptions) (Rerun, error)
	// RunDue starts the runs that the schedules of agentxchain.json say, one after another, and continues one that was cut off.
	RunDue(ctx context.Context, o ScheduleOptions) ([]Scheduled, error)
	// Sync pulls and pushes the record of a project with "record": "branch". Methods that write do both automatically.
	Sync(ctx context.Context, o SyncOptions) (Synced, error)
	// Import replaces the record with a copy that continues it, such as an export.
	Import(ctx context.Context, o ImportOptions) (Imported, error)
	// Notify tells the webhooks of agentxchain.json what is due: attempts that failed before, and reminders of approvals.
	Notify(ctx context.Context) (Notified, error)
	// SetTemplate changes the project's template and records the change.
	SetTemplate(ctx context.Context, id string) (TemplateChange, error)
	// Outside returns an error in a process that an agent started within its turn: such a process must not
	// change the rules that bind it.
	Outside() error
}

// Options configure a governed project. The zero value runs turns of people and programs; turns of Drawbar's
// agents need Agents.
type Options struct {
	// Agents runs the agents of runtimes of type agent, see drawbar.Client.GovernedAgents; nil refuses such
	// turns.
	Agents Agents
	// Owner identifies this process to others that find the project locked; empty is the program's name.
	Owner string
	// Trust is called before the project runs something that this machine's user has not trusted with "drawbar trust":
	// programs and agents of its runtimes, hooks, gate actions. True allows it this time; nil refuses with
	// PROJECT_NOT_TRUSTED.
	Trust func(root string, items []TrustItem) bool
	// Notice receives what happens while a method works, one call at a time. nil discards it.
	Notice func(Notice)
	// Approve and Answer answer agents in prompt mode; nil means that there is no person to ask.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)
}

// TrustItem is a part of a project that would run a program.
type TrustItem struct {
	File  string   // its file, relative to the project, with slashes
	Place string   // its place in the file
	Runs  string   // everything that decides what runs, as lines for people
	Files []string // project files that it names, by path
}

// Notified is what Notify did.
type Notified struct {
	Tries []NotifyTry `json:"tries"`
	Left  int         `json:"left"` // events that are tried again later
}

// NotifyTry is an attempt to tell a webhook of an event.
type NotifyTry struct {
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Webhook   string `json:"webhook"`
	Attempt   int    `json:"attempt"`
	Delivered bool   `json:"delivered"`
	Error     string `json:"error,omitempty"`
}

// Scheduled is what became of a schedule.
type Scheduled struct {
	ID      string           `json:"id"`
	Outcome ScheduledOutcome `json:"outcome"`
	Reason  string           `json:"reason,omitempty"` // why it was skipped or failed
	Next    time.Time        `json:"next_due_at,omitzero"`
	Run     *RunReport       `json:"run,omitempty"` // if it ran
	ScheduleState
}

// ScheduleState is what is known of a schedule: an entry of schedule-state.json.
type ScheduleState struct {
	LastStarted  time.Time `json:"last_started_at,omitzero"`
	LastFinished time.Time `json:"last_finished_at,omitzero"`
	LastRun      string    `json:"last_run_id,omitempty"`
	LastStatus   string    `json:"last_status,omitempty"` // why the run stopped, or running
	LastSkip     time.Time `json:"last_skip_at,omitzero"`
	LastReason   string    `json:"last_skip_reason,omitempty"`
}

// ScheduledOutcome is what became of a schedule.
type ScheduledOutcome string

// The outcomes of a schedule.
const (
	ScheduleDisabled ScheduledOutcome = "disabled"
	ScheduleWaits    ScheduledOutcome = "not_due"
	ScheduleDue      ScheduledOutcome = "due" // in a dry run
	ScheduleSkipped  ScheduledOutcome = "skipped"
	ScheduleRan      ScheduledOutcome = "ran"
)
