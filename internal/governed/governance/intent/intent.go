// Package intent has the rules of intake: the states of an intent and their transitions, which intent the next turn
// gets, and whether a result covers its intent. It reads and writes no file.
package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Priorities of intents, the most urgent first.
func Priorities() []string { return []string{"p0", "p1", "p2", "p3"} }

// New is the intent of a newly recorded event.
func New(id, event string, now protocol.Time) protocol.Intent {
	i := protocol.Intent{SchemaVersion: "1.0", IntentID: id, EventID: event, AcceptanceContract: []string{}, RequiresHumanStart: true, CreatedAt: now}
	i.History = []protocol.IntentStep{}
	move(&i, protocol.IntentStep{To: protocol.IntentDetected, At: now, Reason: "event ingested"})
	i.History[0].From = nil
	return i
}

// move changes the state of the intent.
func move(i *protocol.Intent, to protocol.IntentStep) {
	from := i.Status
	to.From = &from
	i.Status, i.UpdatedAt = to.To, to.At
	i.History = append(slices.Clip(i.History), to)
}

// Over reports whether the intent is closed.
func Over(i protocol.Intent) bool {
	return slices.Contains([]string{protocol.IntentCompleted, protocol.IntentSatisfied, protocol.IntentSuppressed, protocol.IntentRejected, protocol.IntentFailed,
		protocol.IntentSuperseded, protocol.IntentArchived}, i.Status)
}

// Waits reports whether the intent waits for a turn.
func Waits(i protocol.Intent) bool {
	return i.Status == protocol.IntentApproved || i.Status == protocol.IntentPlanned
}

// Text is what the intent asks for, and Priority its urgency.
func Text(i protocol.Intent) string { return protocol.Deref(i.Charter) }

// Priority is the urgency of the intent; p0 if it states none.
func Priority(i protocol.Intent) string { return cmp.Or(protocol.Deref(i.Priority), "p0") }

// WrongStateError says that the intent is not in a state in which the step is allowed.
type WrongStateError struct {
	ID, Status, Step string
	From             []string
}

func (e *WrongStateError) Error() string {
	return fmt.Sprintf("intent %s is %s and cannot be %s: it must be %s", e.ID, e.Status, e.Step, strings.Join(e.From, " or "))
}

func must(i *protocol.Intent, step string, from ...string) error {
	if slices.Contains(from, i.Status) {
		return nil
	}
	return &WrongStateError{ID: i.IntentID, Status: i.Status, Step: step, From: from}
}

// Assessment is the outcome of a triage.
type Assessment struct {
	Priority, Template, Charter, PreferredRole, PhaseScope string
	Acceptance                                             []string
}

// Triage records the urgency of a detected intent, the task, and its acceptance criteria. Without a given scope, a
// phase that the text names by its gate becomes the scope.
func Triage(i *protocol.Intent, a Assessment, c *protocol.Config, now protocol.Time) error {
	if err := must(i, "triaged", protocol.IntentDetected); err != nil {
		return err
	}
	i.Priority, i.Template, i.Charter, i.AcceptanceContract, i.PreferredRole = &a.Priority, &a.Template, &a.Charter, a.Acceptance, a.PreferredRole
	if scope := cmp.Or(a.PhaseScope, scopeOf(c, append([]string{a.Charter}, a.Acceptance...)...)); scope != "" {
		i.PhaseScope = &scope
	}
	move(i, protocol.IntentStep{To: protocol.IntentTriaged, At: now, Reason: "triage completed"})
	return nil
}

// Suppress ends a detected intent, Reject a triaged one.
func Suppress(i *protocol.Intent, reason string, now protocol.Time) error {
	return end(i, protocol.IntentDetected, protocol.IntentSuppressed, reason, now)
}

// Reject ends a triaged intent.
func Reject(i *protocol.Intent, reason string, now protocol.Time) error {
	return end(i, protocol.IntentTriaged, protocol.IntentRejected, reason, now)
}

func end(i *protocol.Intent, from, to, reason string, now protocol.Time) error {
	if err := must(i, to, from); err != nil {
		return err
	}
	move(i, protocol.IntentStep{To: to, At: now, Reason: reason})
	return nil
}

// Approve makes a triaged or blocked intent eligible for a turn of the run; without a run, or after a completed one, of
// the next.
func Approve(i *protocol.Intent, by, reason string, st *protocol.State, now protocol.Time) error {
	if err := must(i, "approved", protocol.IntentTriaged, protocol.IntentBlocked); err != nil {
		return err
	}
	if reason == "" {
		reason = "approved for planning"
		if i.Status == protocol.IntentBlocked {
			reason = "re-approved after block resolution"
		}
	}
	if i.ApprovedRunID == "" {
		if st.ID() != "" && st.Status != protocol.RunCompleted {
			i.ApprovedRunID = st.ID()
		} else {
			i.CrossRunDurable = true
		}
	}
	i.ApprovedBy = by
	move(i, protocol.IntentStep{To: protocol.IntentApproved, At: now, Reason: reason, Approver: by})
	return nil
}

// Plan records the planning files that were generated for an approved intent.
func Plan(i *protocol.Intent, files []string, now protocol.Time) error {
	if err := must(i, "planned", protocol.IntentApproved); err != nil {
		return err
	}
	i.PlanningArtifacts = files
	move(i, protocol.IntentStep{To: protocol.IntentPlanned, At: now, Reason: fmt.Sprintf("generated %d planning artifact(s) from template %q", len(files), protocol.Deref(i.Template)),
		Artifacts: files})
	return nil
}

// Bind assigns the intent to a turn. An unplanned one has no planning files.
func Bind(i *protocol.Intent, run, turn, role string, now protocol.Time) error {
	if i.Status == protocol.IntentApproved {
		move(i, protocol.IntentStep{To: protocol.IntentPlanned, At: now, Reason: "bound to a turn without its own planning files"})
	}
	if err := must(i, "started", protocol.IntentPlanned); err != nil {
		return err
	}
	i.TargetRun, i.TargetTurn, i.StartedAt = &run, &turn, now
	if i.ApprovedRunID == "" {
		i.ApprovedRunID, i.CrossRunDurable = run, false
	}
	move(i, protocol.IntentStep{To: protocol.IntentExecuting, At: now, Reason: "governed execution started", RunID: run, TurnID: turn, Role: role})
	return nil
}

// Complete closes an intent whose turn was accepted.
func Complete(i *protocol.Intent, run, turn, role string, now protocol.Time) error {
	if err := must(i, "completed", protocol.IntentExecuting); err != nil {
		return err
	}
	i.CompletedAt, i.RunCompletedAt, i.RunFinalTurn, i.SatisfyingTurn = now, now, &turn, turn
	move(i, protocol.IntentStep{To: protocol.IntentCompleted, At: now, Reason: "turn accepted - acceptance contract satisfied", RunID: run, TurnID: turn, Role: role})
	return nil
}

// HandOff gives an intent to a workstream over several repositories. An unplanned one has no planning files.
func HandOff(i *protocol.Intent, to protocol.TargetWorkstream, now protocol.Time) error {
	if i.Status == protocol.IntentApproved {
		move(i, protocol.IntentStep{To: protocol.IntentPlanned, At: now, Reason: "handed off without its own planning files"})
	}
	if err := must(i, "handed off", protocol.IntentPlanned); err != nil {
		return err
	}
	i.TargetRun, i.TargetTurn, i.TargetWorkstream, i.StartedAt = nil, nil, &to, now
	move(i, protocol.IntentStep{To: protocol.IntentExecuting, At: now, Reason: fmt.Sprintf("handed off to coordinator workstream %q", to.WorkstreamID),
		SuperRunID: to.SuperRunID, WorkstreamID: to.WorkstreamID, Coordinator: to.CoordinatorRoot})
	return nil
}

// ResolveHandedOff is Resolve for an intent that was handed to a workstream, with the state of that run and its barriers.
func ResolveHandedOff(i *protocol.Intent, st *protocol.CoordinatorState, barriers *protocol.Ordered[protocol.Barrier], now protocol.Time) (bool, error) {
	if i.Status == protocol.IntentCompleted {
		return false, nil
	}
	if err := must(i, "resolved", protocol.IntentExecuting, protocol.IntentBlocked); err != nil {
		return false, err
	}
	to := i.TargetWorkstream
	if st == nil || st.SuperRunID != to.SuperRunID {
		return false, fmt.Errorf("intent %s belongs to run %s, but %s has a different run", i.IntentID, to.SuperRunID, to.CoordinatorRoot)
	}
	step := protocol.IntentStep{At: now, RunStatus: st.Status, SuperRunID: st.SuperRunID, WorkstreamID: to.WorkstreamID}
	switch b, ok := barriers.Get(protocol.BarrierID(to.WorkstreamID)); {
	case !ok:
		return false, fmt.Errorf("the workstream %s of intent %s no longer exists", to.WorkstreamID, i.IntentID)
	case b.Status == protocol.BarrierSatisfied:
		i.CompletedAt, i.RunCompletedAt = now, now
		step.To, step.Reason = protocol.IntentCompleted, fmt.Sprintf("coordinator workstream %s satisfied completion barrier", to.WorkstreamID)
	case st.Status == protocol.CoordinatorBlocked:
		on, recovery := "coordinator:"+to.WorkstreamID, "drawbar govern multi resume"
		i.RunBlockedOn, i.RunBlockedReason, i.RunBlockedRecovery = &on, &st.BlockedReason, &recovery
		step.To, step.Reason = protocol.IntentBlocked, fmt.Sprintf("coordinator run %s is blocked for workstream %s", st.SuperRunID, to.WorkstreamID)
	case st.Status == protocol.CoordinatorCompleted:
		i.RunFailedAt = now
		step.To, step.Reason = protocol.IntentFailed, fmt.Sprintf("coordinator run %s ended without satisfying workstream %s", st.SuperRunID, to.WorkstreamID)
	case i.Status == protocol.IntentBlocked: // the run goes on
		step.To, step.Reason = protocol.IntentExecuting, fmt.Sprintf("coordinator run %s was resumed", st.SuperRunID)
	default:
		return false, nil
	}
	if step.To == i.Status {
		return false, nil
	}
	move(i, step)
	return true, nil
}

// Resolve updates an executing or blocked intent from the status of its run, or closes it at a person's request. It
// reports whether anything changed.
func Resolve(i *protocol.Intent, done bool, st *protocol.State, now protocol.Time) (bool, error) {
	if i.Status == protocol.IntentCompleted {
		return false, nil
	}
	if err := must(i, "resolved", protocol.IntentExecuting, protocol.IntentBlocked); err != nil {
		return false, err
	}
	step := protocol.IntentStep{At: now, RunID: protocol.Deref(i.TargetRun), RunStatus: string(st.Status)}
	if done && i.Status == protocol.IntentExecuting {
		i.CompletedAt = now
		step.To, step.Reason, step.RunStatus = protocol.IntentCompleted, "operator-resolved: intent marked completed via intake resolve --outcome completed", ""
		move(i, step)
		return true, nil
	}
	if st.ID() == "" || st.ID() != protocol.Deref(i.TargetRun) {
		return false, fmt.Errorf("intent %s belongs to run %s, and the current run is %s", i.IntentID, cmp.Or(protocol.Deref(i.TargetRun), "none"), cmp.Or(st.ID(), "none"))
	}
	step.Reason = fmt.Sprintf("governed run %s reached status %s", st.ID(), st.Status)
	switch st.Status {
	case protocol.RunBlocked:
		i.RunBlockedOn = st.BlockedOn
		if r := st.BlockedReason; r != nil {
			i.RunBlockedReason, i.RunBlockedRecovery = &r.Category, &r.Recovery.RecoveryAction
		}
		step.To = protocol.IntentBlocked
	case protocol.RunCompleted:
		i.RunCompletedAt, i.RunFinalTurn = cmp.Or(st.CompletedAt, now), st.LastCompletedTurnID
		step.To = protocol.IntentCompleted
	default:
		return false, nil
	}
	if step.To == i.Status {
		return false, nil
	}
	move(i, step)
	return true, nil
}

// Adopt updates a waiting intent when a run begins: one that waited for a run is bound to it, one of another run is
// suppressed, and one without a run is archived. It reports whether anything changed.
func Adopt(i *protocol.Intent, run string, now protocol.Time) bool {
	switch {
	case !Waits(*i) || i.ApprovedRunID == run:
		return false
	case i.ApprovedRunID == "" && i.CrossRunDurable:
		i.ApprovedRunID, i.CrossRunDurable = run, false
		move(i, protocol.IntentStep{To: i.Status, At: now, Reason: "pre-run durable approval bound to run " + run})
	case i.ApprovedRunID == "":
		i.ArchivedReason = "intent with no run scope; archived on run " + run
		move(i, protocol.IntentStep{To: protocol.IntentArchived, At: now, Reason: i.ArchivedReason})
	default:
		i.ArchivedReason = fmt.Sprintf("stale: approved under run %s, archived on run %s initialization", i.ApprovedRunID, run)
		move(i, protocol.IntentStep{To: protocol.IntentSuppressed, At: now, Reason: i.ArchivedReason})
	}
	return true
}

// Retire closes an approved intent of the run whose phase the run has left. It reports whether anything changed.
func Retire(i *protocol.Intent, run, left string, now protocol.Time) bool {
	if i.Status != protocol.IntentApproved || !ofRun(*i, run) || protocol.Deref(i.PhaseScope) != left {
		return false
	}
	i.SatisfiedAt, i.SatisfiedReason = now, fmt.Sprintf("phase %s exited; %s-scoped repair no longer required", left, left)
	move(i, protocol.IntentStep{To: protocol.IntentSatisfied, At: now, Reason: i.SatisfiedReason})
	return true
}

func ofRun(i protocol.Intent, run string) bool {
	return i.ApprovedRunID == run || i.ApprovedRunID == "" && i.CrossRunDurable
}

// Next is the intent that a turn of the role in the phase gets: approved before planned, then the most urgent, then the
// oldest. Without a run every waiting intent counts.
func Next(list []protocol.Intent, run, phase, role string) *protocol.Intent {
	var fit []protocol.Intent
	for _, i := range list {
		if Waits(i) && (run == "" || ofRun(i, run)) && (i.PhaseScope == nil || phase == "" || *i.PhaseScope == phase) &&
			(i.PreferredRole == "" || role == "" || i.PreferredRole == role) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	Sort(fit)
	return &fit[0]
}

// Sort orders intents by precedence.
func Sort(list []protocol.Intent) {
	rank := func(i protocol.Intent) int {
		if n := slices.Index(Priorities(), Priority(i)); n >= 0 {
			return n
		}
		return len(Priorities())
	}
	slices.SortStableFunc(list, func(a, b protocol.Intent) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), // approved, executing, planned
			cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt.Time), strings.Compare(a.IntentID, b.IntentID))
	})
}
