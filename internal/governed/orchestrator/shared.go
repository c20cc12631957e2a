package orchestrator

import (
	"cmp"
	"context"
	"errors"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/team"
)

// Shared is the engine of a project whose record several clones may share. A method that writes pulls the record first, holds the run while it
// works, and pushes at the end. Without "record": "branch" it does what Local does. It is safe for concurrent use.
type Shared struct{ *Local }

// OpenShared is Open for a project that several clones may share.
func OpenShared(root string, o Options) (Shared, error) {
	e, err := Open(root, o)
	return Shared{e}, err
}

var _ govern.Engine = Shared{}

// team is the project's team; nil if the record stays on this machine.
func (e *Local) team() (*team.Team, error) {
	p, err := project.Load(e.root)
	if err != nil || p.Config.Record != protocol.RecordBranch {
		return nil, err
	}
	name, err := e.name()
	if err != nil {
		return nil, err
	}
	return team.New(team.Options{Root: e.root, Clone: name, Remote: cmp.Or(p.Config.RecordRemote, "origin"), Refs: p.Config.RecordRefs, Owner: e.o.Owner, Environ: e.o.Environ,
		Now: e.o.Now, Workspace: e.workspace, Record: e.record}), nil
}

// record calls fn with the record open for writing.
func (e *Local) record(ctx context.Context, fn func(*ledger.Ledger) error) (err error) {
	p, err := project.Load(e.root)
	if err != nil {
		return err
	}
	work, err := e.workspace(ctx)
	if err != nil {
		return err
	}
	l, err := e.open(ctx, "sync", false, p, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	err = fn(l)
	e.mended(l.Notes())
	return err
}

// publish pushes the record if this clone holds the run for longer: a turn starts, or more turns follow. Otherwise the end of the command does.
func (e *Local) publish(ctx context.Context, assigned bool) {
	if h := team.From(ctx); h != nil && (assigned || h.Long) {
		if err := h.Publish(context.WithoutCancel(ctx)); err != nil {
			e.warn("the last step was not pushed: " + err.Error())
		}
	}
}

// withRun calls a method of Local while this clone holds the run.
func withRun[O, T any](ctx context.Context, e Shared, o O, method func(context.Context, O) (T, error)) (out T, err error) {
	t, err := e.team()
	if err != nil {
		return out, err
	}
	if t == nil || team.From(ctx) != nil {
		return method(ctx, o)
	}
	if err := e.Outside(); err != nil {
		return out, err
	}
	h, err := t.Begin(ctx)
	if err != nil {
		return out, err
	}
	defer func() {
		if end := h.End(context.WithoutCancel(ctx)); end != nil {
			e.warn("the changes of this command were not pushed: " + end.Error() + "; retry: drawbar govern sync")
		}
	}()
	return method(h.With(ctx), o)
}

// Sync brings this clone and the remote to the same record.
func (e Shared) Sync(ctx context.Context, o govern.SyncOptions) (out govern.Synced, err error) {
	t, err := e.team()
	if err != nil {
		return out, err
	}
	if t == nil {
		return out, execution.Errorf(execution.CodeConfig, "the record of this project stays on this machine").
			WithHint("share it with other clones: drawbar govern config set record branch, then commit agentxchain.json")
	}
	if err := e.Outside(); err != nil {
		return out, err
	}
	return t.Sync(ctx, o)
}

// Status returns the state of the run, and what this clone knows of the team's record.
func (e Shared) Status(ctx context.Context) (govern.Status, error) {
	st, err := e.Local.Status(ctx)
	if err != nil {
		return st, err
	}
	t, err := e.team()
	if err != nil || t == nil {
		return st, err
	}
	share, err := t.Status(ctx)
	st.Share = &share
	return st, err
}

// The methods below are Local's, called while this clone holds the run.

func (e Shared) Step(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Step)
}

func (e Shared) Resume(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Resume)
}

func (e Shared) Assign(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Assign)
}

func (e Shared) Restart(ctx context.Context, o govern.RestartOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Restart)
}

func (e Shared) Accept(ctx context.Context, o govern.AcceptOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Accept)
}

func (e Shared) Submit(ctx context.Context, o govern.SubmitOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Submit)
}

func (e Shared) Reject(ctx context.Context, o govern.RejectOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Reject)
}

func (e Shared) Approve(ctx context.Context, o govern.ApproveOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Approve)
}

func (e Shared) Decline(ctx context.Context, o govern.DeclineOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Decline)
}

func (e Shared) RuleObjection(ctx context.Context, o govern.ObjectionOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.RuleObjection)
}

func (e Shared) DecideProposal(ctx context.Context, o govern.ProposalOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.DecideProposal)
}

func (e Shared) Escalate(ctx context.Context, o govern.EscalateOptions) (govern.Report, error) {
	return withRun(ctx, e, o, e.Local.Escalate)
}

func (e Shared) Import(ctx context.Context, o govern.ImportOptions) (govern.Imported, error) {
	return withRun(ctx, e, o, e.Local.Import)
}

func (e Shared) Checkpoint(ctx context.Context, turn string) (govern.Report, error) {
	return withRun(ctx, e, turn, e.Local.Checkpoint)
}

func (e Shared) Unblock(ctx context.Context, escalation string) (govern.Report, error) {
	return withRun(ctx, e, escalation, e.Local.Unblock)
}

func (e Shared) SetTemplate(ctx context.Context, id string) (govern.TemplateChange, error) {
	return withRun(ctx, e, id, e.Local.SetTemplate)
}

func (e Shared) Reissue(ctx context.Context, turn, reason string) (govern.Report, error) {
	return withRun(ctx, e, turn, func(ctx context.Context, turn string) (govern.Report, error) {
		return e.Local.Reissue(ctx, turn, reason)
	})
}

func (e Shared) StartRun(ctx context.Context) (govern.Report, error) {
	return withRun(ctx, e, struct{}{}, func(ctx context.Context, _ struct{}) (govern.Report, error) { return e.Local.StartRun(ctx) })
}

func (e Shared) Run(ctx context.Context, o govern.RunOptions) (govern.RunReport, error) {
	if o.DryRun {
		return e.Local.Run(ctx, o)
	}
	return withRun(ctx, e, o, e.Local.Run)
}

func (e Shared) RunDue(ctx context.Context, o govern.ScheduleOptions) ([]govern.Scheduled, error) {
	if o.DryRun {
		return e.Local.RunDue(ctx, o)
	}
	return withRun(ctx, e, o, e.Local.RunDue)
}

// RunWorker is Local's.
func (e Shared) RunWorker(ctx context.Context, x External, runtimeType string) (id string, out turnruntime.Outcome, err error) {
	id, err = withRun(ctx, e, x, func(ctx context.Context, x External) (id string, err error) {
		id, out, err = e.Local.RunWorker(ctx, x, runtimeType)
		return id, err
	})
	return id, out, err
}
