package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// only returns the turn that a command means: the named one, or the only active one.
func (t *transaction) only(named, command string) (*protocol.Turn, error) {
	active := &t.state().ActiveTurns
	if named != "" {
		if turn := active.At(named); turn != nil {
			return turn, nil
		}
		if t.endedMeanwhile(named) == govern.OutcomeAccepted {
			return nil, execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is already accepted", named).WithHint("drawbar govern turn show %s", named)
		}
		return nil, execution.Errorf(execution.CodeValidation, "turn %s is not active", named).WithHint("%s", governance.NextStatus)
	}
	switch active.Len() {
	case 0:
		return nil, execution.Errorf(execution.CodeInvalidStateTransition, "no turn is active").WithHint("%s", governance.NextCommand(t.run))
	case 1:
		return active.At(active.Keys()[0]), nil
	}
	return nil, execution.Errorf(execution.CodeValidation, "%d turns are active: %s", active.Len(), strings.Join(active.Keys(), ", ")).
		WithHint("choose one: drawbar govern %s --turn %s", command, active.Keys()[0])
}

// free refuses to decide about a turn that an agent is working on. A person's turn may be decided while a command waits
// for it.
func (t *transaction) free(turn *protocol.Turn) error {
	c := leaseHolder(t.e.root, turn.TurnID)
	if c == nil {
		return nil
	}
	if _, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole); rt.Type == protocol.RuntimeManual {
		return nil
	}
	return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is being run by %s (process %d)", turn.TurnID, c.Owner, c.PID).
		WithHint("wait for it (drawbar govern events -f), or stop that command with Ctrl-C")
}

// Accept accepts the staged result of a turn. If it is invalid, its faults are reported and the turn stays active.
func (e *Local) Accept(ctx context.Context, o govern.AcceptOptions) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "accept", func(t *transaction) error {
		turn, err := t.only(o.Turn, "accept")
		if err != nil {
			return err
		}
		if err := t.free(turn); err != nil {
			return err
		}
		if o.HumanMerge && turn.Status != protocol.TurnConflicted {
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is %s and not in conflict: there is nothing to merge", turn.TurnID, turn.Status).
				WithHint("drawbar govern accept --turn %s", turn.TurnID)
		}
		if held, err := t.bound(ctx, turn, nil, true); held != nil || err != nil {
			rep = orEmpty(held)
			return err
		}
		data, where, err := project.ReadStaged(t.workRoot(turn.TurnID), turn.TurnID)
		if err != nil {
			return stagedError(turn.TurnID, err)
		}
		rep, err = t.judge(ctx, turn.TurnID, submission{data: data, where: where, started: turn.StartedAt.Time, merge: o.HumanMerge, person: true, normalize: o.NormalizeArtifact})
		return err
	})
	return rep, err
}

// Reject rejects the result of a turn: the turn is repeated while attempts remain, otherwise a person decides.
func (e *Local) Reject(ctx context.Context, o govern.RejectOptions) (rep govern.Report, err error) {
	err = e.locked(ctx, "reject", func(t *transaction) error {
		turn, err := t.only(o.Turn, "reject")
		if err != nil {
			return err
		}
		if err := t.free(turn); err != nil {
			return err
		}
		in := governance.RejectTurn{TurnID: turn.TurnID, Reason: o.Reason, Reassign: o.Reassign}
		if o.Reassign || turn.Status == protocol.TurnFailedAcceptance || turn.Status == protocol.TurnConflicted {
			in.Reason = cmp.Or(o.Reason, "rejected by the operator") // the record says what is wrong with it
		}
		if o.Reassign {
			base, err := t.freshBaseline(ctx, turn)
			if err != nil {
				return err
			}
			in.Baseline = &base
		}
		if err := t.do(in); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitReject, turn.TurnID, nil); err != nil {
			return err
		}
		rep = t.report(govern.OutcomeRejected)
		if t.state().Status == protocol.RunBlocked {
			rep.Outcome = govern.OutcomeBlocked
		}
		if now := t.state().ActiveTurns.At(turn.TurnID); now != nil {
			turn = now
		}
		about(&rep, turn)
		rep.Summary = "rejected: " + in.Reason
		return nil
	})
	return rep, err
}

// freshBaseline returns the baseline for a restart from the current files. It recreates the turn's worktree.
func (t *transaction) freshBaseline(ctx context.Context, turn *protocol.Turn) (base protocol.Baseline, err error) {
	if turn.Worktree == "" {
		return t.work.Baseline(ctx)
	}
	if err = t.work.Drop(ctx, turn.TurnID); err == nil {
		_, base, err = t.worktree(ctx, turn.TurnID)
	}
	return base, err
}

// Reissue replaces a turn by a new one of the same role, with a fresh baseline.
func (e *Local) Reissue(ctx context.Context, named, reason string) (govern.Report, error) {
	return e.reissue(ctx, named, cmp.Or(reason, "operator request"), nil)
}

func (e *Local) reissue(ctx context.Context, named, reason string, ghosts *governance.GhostCount) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "reissue", func(t *transaction) error {
		turn, err := t.only(named, "reissue")
		if err != nil {
			return err
		}
		if err := t.free(turn); err != nil {
			return err
		}
		in := governance.ReissueTurn{TurnID: turn.TurnID, NewTurnID: newID("turn"), Reason: reason, Ghosts: ghosts}
		if turn.Worktree != "" {
			dir, base, err := t.worktree(ctx, in.NewTurnID)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(e.root, dir)
			if err != nil {
				return err
			}
			in.Baseline, in.Worktree = base, filepath.ToSlash(rel)
		} else if in.Baseline, err = t.work.Baseline(ctx); err != nil {
			return err
		}
		if err := t.do(in); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitReissue, turn.TurnID, nil); err != nil {
			return err
		}
		if turn.Worktree != "" {
			if err := t.work.Drop(ctx, turn.TurnID); err != nil {
				t.e.warn(fmt.Sprintf("the worktree of turn %s is still there: %v", turn.TurnID, err))
			}
		}
		rep = t.report(govern.OutcomeAssigned)
		about(&rep, t.state().ActiveTurns.At(in.NewTurnID))
		return nil
	})
	return rep, err
}

// Checkpoint commits changes of an accepted turn that are not in any commit: after the branch moved during the
// acceptance, or in a project of the original.
func (e *Local) Checkpoint(ctx context.Context, named string) (rep govern.Report, err error) {
	err = e.locked(ctx, "checkpoint", func(t *transaction) error {
		var entry *protocol.HistoryEntry
		for i := len(t.run.History) - 1; i >= 0 && entry == nil; i-- {
			h := &t.run.History[i]
			if h.Status != "reissued" && (named == "" || h.TurnID == named) {
				entry = h
			}
		}
		if entry == nil {
			return execution.Errorf(execution.CodeInvalidStateTransition, "no accepted turn to commit").WithHint("%s", governance.NextCommand(t.run))
		}
		if t.work.Kind() != workspace.Git {
			return execution.Errorf(execution.CodeConfig, "%s is not a git repository, so nothing can be committed", e.root).WithHint("git init && git add -A && git commit -m start")
		}
		// Compare with the branch, whatever commit the record names: the branch may have left it.
		base, err := t.work.Baseline(ctx)
		if err != nil {
			return err
		}
		dirty := among(base.DirtySnapshot.Keys(), entry.FilesChanged)
		rep = t.report(govern.OutcomeDone)
		rep.TurnID, rep.Role, rep.Files = entry.TurnID, entry.Role, dirty
		if len(dirty) == 0 {
			rep.Summary = "nothing to commit: the files of turn " + entry.TurnID + " are committed"
			return nil
		}
		changed, refused, err := t.preCommit(ctx, e.root, dirty)
		if changed && refused == "" {
			refused = "git's pre-commit hook changed files"
		}
		if refused != "" && err == nil {
			err = execution.Errorf(execution.CodeConfig, "%s", refused).WithHint("correct the files, then: drawbar govern checkpoint")
		}
		if err != nil {
			return err
		}
		turn := protocol.Turn{TurnID: entry.TurnID, RunID: entry.RunID, AssignedRole: entry.Role, RuntimeID: entry.RuntimeID}
		rep.Commit, err = t.commit(ctx, commitCheckpoint, entry.TurnID, &checkpoint{turn: turn, phase: entry.Phase, files: dirty, sign: t.run.Config.Signs()})
		return err
	})
	return rep, err
}

func among(list, of []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return !slices.Contains(of, p) })
}

// head is the commit that the record lists as accepted.
func head(st *protocol.State) *string {
	sha, ok := strings.CutPrefix(protocol.Deref(st.AcceptedIntegration), "git:")
	if !ok {
		return nil
	}
	return &sha
}

// Escalate blocks the run until a person decides.
func (e *Local) Escalate(ctx context.Context, o govern.EscalateOptions) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "escalate", func(t *transaction) error {
		if o.Reason == "" {
			return execution.Errorf(execution.CodeValidation, "an escalation needs a reason").WithHint(`drawbar govern escalate --reason "..."`)
		}
		if err := t.do(governance.Escalate{Reason: o.Reason, Detail: o.Detail, Action: o.Action, TurnID: o.Turn}); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitBlock, o.Turn, nil); err != nil {
			return err
		}
		t.afterwards(ctx, protocol.HookOnEscalation, o.Turn, map[string]any{"reason": o.Reason, "detail": o.Detail, "blocked_on": protocol.Deref(t.state().BlockedOn)})
		rep = t.report(govern.OutcomeBlocked)
		rep.Summary = "the run waits for a person: " + o.Reason
		return nil
	})
	return rep, err
}

// Unblock resolves an open entry of the human queue and clears the corresponding block.
func (e *Local) Unblock(ctx context.Context, escalation string) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.locked(ctx, "unblock", func(t *transaction) error {
		if err := t.unblock(ctx, escalation); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitUnblock, "", nil); err != nil {
			return err
		}
		rep = t.report(outcomeOf(t.state()))
		if rep.Outcome == govern.OutcomeDone {
			rep.Summary = "the run is no longer blocked"
		}
		return nil
	})
	return rep, err
}

// Resume clears a block and prepares the next turn without running it.
func (e *Local) Resume(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	o.Resume = true
	return e.prepare(ctx, o)
}

// Assign prepares the next turn, without clearing a block and without running it.
func (e *Local) Assign(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	o.Resume = false
	return e.prepare(ctx, o)
}

// prepare makes a turn ready without running it.
func (e *Local) prepare(ctx context.Context, o govern.StepOptions) (govern.Report, error) {
	j, rep, _, err := e.begin(ctx, o, false)
	if err != nil || rep != nil {
		return orEmpty(rep), err
	}
	return e.ready(ctx, j)
}

// Restart continues a run whose process died, or starts a new one if the last has ended.
func (e *Local) Restart(ctx context.Context, o govern.RestartOptions) (rep govern.Report, err error) {
	if err := e.mayStart(); err != nil {
		return govern.Report{}, err
	}
	err = e.lockedAs(ctx, "restart", o.AdoptState, func(t *transaction) error {
		st := t.state()
		if (st.Status == protocol.RunCompleted || o.New) && !(o.AdoptState && t.adopted && !o.New) {
			for id := range st.ActiveTurns.All() {
				if c := leaseHolder(e.root, id); c != nil {
					return t.free(st.ActiveTurns.At(id))
				}
			}
			if err := t.startRun(ctx, true); err != nil {
				return err
			}
			if _, err := t.commit(ctx, commitRestart, "", nil); err != nil {
				return err
			}
			rep = t.report(govern.OutcomeDone)
			rep.Summary = "run " + rep.RunID + " begins"
			return nil
		}
		if st.ID() == "" {
			return execution.Errorf(execution.CodeInvalidStateTransition, "there is no run to restart").WithHint("%s", governance.NextStep)
		}
		if o.AdoptState {
			if err := t.giveUp(ctx); err != nil {
				return err
			}
		}
		if err := t.drift(ctx); err != nil {
			return err
		}
		if s, err := t.ledger.View().Session(); err != nil || s == nil || s.RunID != st.ID() {
			t.e.warn(fmt.Sprintf("%s does not match run %s: state.json takes precedence, and the session is rewritten", protocol.SessionFile, st.ID()))
		}
		for id, turn := range st.ActiveTurns.All() {
			if leaseHolder(e.root, id) != nil {
				return t.free(turn)
			}
			t.e.note(govern.Notice{Kind: govern.NoticeOutput, TurnID: id, Role: turn.AssignedRole, Text: fmt.Sprintf("the next step resumes turn %s of role %s (%s)", id, turn.AssignedRole, turn.Status)})
		}
		if _, err := t.commit(ctx, commitRestart, "", nil); err != nil {
			return err
		}
		rep = t.report(outcomeOf(t.state()))
		return nil
	})
	return rep, err
}

// drift reports what changed in the repository since the last accepted turn.
func (t *transaction) drift(ctx context.Context) error {
	if t.work.Kind() != workspace.Git {
		return nil
	}
	base, err := t.work.Baseline(ctx)
	if err != nil {
		return err
	}
	if want := head(t.state()); want != nil && base.HeadRef != nil && *want != *base.HeadRef {
		t.e.warn(fmt.Sprintf("the branch is at %s, the last accepted turn left it at %s: the commits in between are yours and are kept", *base.HeadRef, *want))
	}
	if !base.Clean {
		t.e.warn(fmt.Sprintf("%d files have uncommitted changes: %s", base.DirtySnapshot.Len(), strings.Join(first(base.DirtySnapshot.Keys(), 5), ", ")))
	}
	return nil
}

func first(list []string, n int) []string {
	if len(list) > n {
		return append(list[:n:n], "...")
	}
	return list
}
