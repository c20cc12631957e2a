package orchestrator

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/proposal"
)

// Status returns the current status of the run.
func (e *Local) Status(_ context.Context) (govern.Status, error) {
	p, err := project.Load(e.root)
	if err != nil {
		return govern.Status{}, err
	}
	v, err := ledger.Read(e.root)
	if err != nil {
		return govern.Status{}, err
	}
	st := &v.State
	s := govern.Status{
		Project: p.Config.Project, Root: e.root, RunID: st.ID(), Status: st.Status, Phase: st.Phase, Phases: p.Config.Phases(), Gates: st.PhaseGateStatus,
		Accepted: st.TurnSequence, BlockedOn: protocol.Deref(st.BlockedOn), Reason: st.BlockedReason, Gate: st.LastGateFailure,
		LastTurn: protocol.Deref(st.LastCompletedTurnID), Holder: v.Holder, Unfinished: v.Pending, StartedAt: st.CreatedAt, CompletedAt: st.CompletedAt,
		Pending: pending(st), Turns: []govern.TurnStatus{}, Permissions: p.Config.Permissions(),
	}
	if g, ok := p.Config.Gate(s.Pending); ok && s.Pending != "" {
		s.Approvers, s.Approvals, s.Needed = g.Approvers, approvals(st), g.Approvals()
	}
	s.Declined = st.LastDecline
	s.Status = cmp.Or(s.Status, protocol.RunIdle)
	if len(s.Phases) > 0 {
		s.Phase = cmp.Or(s.Phase, s.Phases[0])
	}
	if commit, ok := strings.CutPrefix(protocol.Deref(st.AcceptedIntegration), "git:"); ok {
		s.LastCommit = commit
	}
	for _, w := range slices.Concat(p.Warnings, p.Prompts()) {
		s.Warnings = append(s.Warnings, w.Field+": "+w.Message)
	}
	for _, note := range []string{v.Doubt, project.Waiting(project.Intents(e.root)), proposal.Waiting(e.root, v)} {
		if note != "" {
			s.Notes = append(s.Notes, note)
		}
	}
	run := governance.Run{Config: p.Config, State: *st}
	s.Budget = governance.Budget(run)
	run.State.Phase = s.Phase
	if st.ObjectionsThrough != protocol.Deref(st.LastCompletedTurnID) { // written by another program, or by a version that did not record them
		if run.History, err = e.history.Read(v, st.ID()); err != nil {
			return govern.Status{}, err
		}
	}
	s.Objections = governance.OpenObjections(run)
	e.turns(&s, st)
	if len(s.Turns) == 0 && s.Status != protocol.RunCompleted {
		s.NextRole, s.NextWhy = governance.NextRole(run)
	}
	s.Next = next(run, s.Turns)
	if err := e.trustedProject(p); err != nil {
		s.NotTrusted = err.Error()
	}
	return s, nil
}

// turns adds the active turns to a status.
func (e *Local) turns(s *govern.Status, st *protocol.State) {
	for id, turn := range st.ActiveTurns.All() {
		ts := govern.TurnStatus{Turn: *turn, Carrier: leaseHolder(e.root, id), Staged: e.staged(turn)}
		if ts.Carrier != nil {
			ts.Live = live(e.root, id)
		} else if text := livingWorker(turn); text != "" {
			s.Notes = append(s.Notes, text)
		}
		s.Turns = append(s.Turns, ts)
	}
}

// next is the next command to type, as status shows it, while no other process runs a turn.
func (e *Local) next(run governance.Run) string {
	var turns []govern.TurnStatus
	for id, turn := range run.State.ActiveTurns.All() {
		ts := govern.TurnStatus{Turn: *turn, Staged: e.staged(turn)}
		if c := leaseHolder(e.root, id); c != nil && c.PID != os.Getpid() {
			ts.Carrier = c
		}
		turns = append(turns, ts)
	}
	return next(run, turns)
}

// staged reports whether a turn has a staged result.
func (e *Local) staged(turn *protocol.Turn) bool {
	_, _, err := project.ReadStaged(turnRoot(e.root, turn), turn.TurnID)
	return err == nil
}

// next is the next command to type: for a turn that another terminal runs, to watch it or to submit a person's work.
func next(run governance.Run, turns []govern.TurnStatus) string {
	for _, t := range turns {
		_, rt, _ := run.Config.RuntimeOf(t.AssignedRole)
		if command := governance.NextCommand(run); t.Carrier == nil && t.Staged && strings.HasPrefix(command, governance.NextSubmit) {
			return governance.NextStep + strings.TrimPrefix(command, governance.NextSubmit)
		}
		if t.Carrier == nil {
			continue
		}
		switch {
		case rt.Type != protocol.RuntimeManual:
			return "drawbar govern events -f"
		case t.Staged:
			return "drawbar govern accept"
		}
		return "drawbar govern turn show " + t.TurnID + " --file PROMPT.md"
	}
	return governance.NextCommand(run)
}

// pending is the gate that waits for a person.
func pending(st *protocol.State) string {
	switch {
	case st.PendingCompletion != nil:
		return st.PendingCompletion.Gate
	case st.PendingTransition != nil:
		return st.PendingTransition.Gate
	}
	return ""
}

// report is the state of the run at the end of a command.
func (t *transaction) report(outcome govern.Outcome) govern.Report {
	st := t.state()
	return govern.Report{
		Outcome: outcome, RunID: st.ID(), Status: st.Status, Phase: st.Phase, BlockedOn: protocol.Deref(st.BlockedOn), Reason: st.BlockedReason, Gate: t.gateFailure(),
		Pending: pending(st), SpentUSD: st.BudgetStatus.SpentUSD, RemainingUSD: governance.Budget(t.run).RemainingUSD, Next: t.e.next(t.run),
	}
}

// gateFailure is a gate failure that this command caused.
func (t *transaction) gateFailure() *protocol.GateFailure {
	now, before := t.state().LastGateFailure, t.before.LastGateFailure
	if now == nil || before != nil && now.FailedAt == before.FailedAt && now.RequestedByTurn == before.RequestedByTurn {
		return nil
	}
	return now
}

// about adds the turn to a report.
func about(r *govern.Report, turn *protocol.Turn) {
	r.TurnID, r.Role, r.RuntimeID, r.Attempt = turn.TurnID, turn.AssignedRole, turn.RuntimeID, turn.Attempt
}

// outcomeOf is the outcome of a command that leaves the run in state st.
func outcomeOf(st *protocol.State) govern.Outcome {
	switch st.Status {
	case protocol.RunBlocked:
		return govern.OutcomeBlocked
	case protocol.RunPaused:
		return govern.OutcomePaused
	case protocol.RunCompleted:
		return govern.OutcomeCompleted
	}
	return govern.OutcomeDone
}
