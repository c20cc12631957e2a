// Package govern has the words of governed runs: agents and people in roles who move a repository through phases and gates, on the
// record. drawbar.OpenProject gives the Engine of a project.
package govern

import (
	"context"

	"github.com/drawbar/drawbar/execution"
)

// Engine carries a governed run to its end. Every method reads the project anew, so that one engine may live as long as its
// caller. Each takes the project's lock for as long as it writes, and leaves a state that any other program goes on from. An
// error is an *execution.Error whose hint is what to type next; how a turn ended is in the report. It is safe for concurrent use.
type Engine interface {
	// Status is where the run stands. It takes no lock and starts nothing.
	Status(ctx context.Context) (Status, error)
	// Step carries one turn: the one that waits, or the next. It starts a run where there is none.
	Step(ctx context.Context, o StepOptions) (Report, error)
	// Run carries turns until a person is needed, a limit is reached or the run ends.
	Run(ctx context.Context, o RunOptions) (RunReport, error)
	// Resume clears a block and makes the next turn ready without carrying it.
	Resume(ctx context.Context, o StepOptions) (Report, error)
	// Restart begins a new run, or takes up one whose process died.
	Restart(ctx context.Context, o RestartOptions) (Report, error)
	// Accept takes the staged result of a turn.
	Accept(ctx context.Context, o AcceptOptions) (Report, error)
	// Submit stages the result of a person's turn, when it is valid.
	Submit(ctx context.Context, o SubmitOptions) (Report, error)
	// Reject refuses the result of a turn.
	Reject(ctx context.Context, o RejectOptions) (Report, error)
	// Reissue replaces a turn by a new one of the same role.
	Reissue(ctx context.Context, turn, reason string) (Report, error)
	// Checkpoint commits the files of the last accepted turn that are not committed.
	Checkpoint(ctx context.Context, turn string) (Report, error)
	// Approve lets a pending gate pass.
	Approve(ctx context.Context, o ApproveOptions) (Report, error)
	// Decline sends the turn behind a gate back, with the reason.
	Decline(ctx context.Context, o DeclineOptions) (Report, error)
	// RuleObjection brings a person's word on an objection into the record.
	RuleObjection(ctx context.Context, o ObjectionOptions) (Report, error)
	// Escalate hands the run to a person.
	Escalate(ctx context.Context, o EscalateOptions) (Report, error)
	// Unblock resolves an open entry of the human queue, and clears the block that it stands for.
	Unblock(ctx context.Context, escalation string) (Report, error)
	// StartRun begins a run and makes no turn ready.
	StartRun(ctx context.Context) (Report, error)
	// Assign makes the next turn ready, without clearing anything and without carrying it.
	Assign(ctx context.Context, o StepOptions) (Report, error)
	// CheckSubmission says what stands against one field of a submission that may be half filled in; empty where nothing does.
	CheckSubmission(ctx context.Context, o SubmitOptions, field string) (fault string, err error)
	// Rerun runs the commands again that a turn gives as its evidence, and compares exit codes. The record stays as it is.
	Rerun(ctx context.Context, o RerunOptions) (Rerun, error)
	// SetTemplate gives the project another template, and notes it in the record.
	SetTemplate(ctx context.Context, id string) (TemplateChange, error)
	// Outside is an error in a process that an agent started within its turn: it may not change what binds it.
	Outside() error
}

// Options are what a governed project is opened with. The zero value carries turns of people and of programs; turns of Drawbar's
// agents need Agents.
type Options struct {
	// Agents runs the agents of runtimes of type agent, see drawbar.Client.GovernedAgents; nil refuses such turns.
	Agents Agents
	// Owner names this process to others who find the project locked; empty is the name of the program.
	Owner string
	// Trust is asked before something of the project runs that the user of this machine has not trusted by "drawbar trust": programs
	// and agents of its runtimes, hooks, gate actions. True lets it run this time; nil refuses with PROJECT_NOT_TRUSTED.
	Trust func(root string, items []TrustItem) bool
	// Notice hears what happens while a method works; calls come one at a time. nil drops it.
	Notice func(Notice)
	// Approve and Answer are asked by agents in prompt mode; nil means that nobody is there.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)
}

// TrustItem is one thing of a project that would run.
type TrustItem struct {
	File  string   // that it stands in, relative to the project, with slashes
	Place string   // where it stands there
	Runs  string   // all that decides what runs, as lines for a person
	Files []string // of the project that it names, by path
}
