package governance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func delegates(list ...protocol.Delegation) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.Delegations = list }
}

func child(id, role string, required ...string) protocol.Delegation {
	return protocol.Delegation{ID: id, ToRole: role, Charter: "do " + id, AcceptanceContract: []string{"done"}, RequiredDecisionIDs: required}
}

func TestDelegationsAreDoneAndReviewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.accept(pm, asksFor("implementation"), delegates(child("del-001", "dev", "DEC-100"), child("del-002", "qa", "DEC-200"), child("del-003", "dev")))
	w.status(protocol.RunActive)
	if w.run.State.QueuedTransition == nil || w.run.State.Phase != "planning" {
		t.Fatalf("the request does not wait for the delegations: %+v", w.run.State)
	}
	for _, step := range []struct {
		role string
		edit func(*protocol.TurnResult)
	}{
		{"dev", decides(decision("DEC-100"))},
		{"qa", decides(decision("DEC-201"))},
		{"dev", func(r *protocol.TurnResult) { r.Status = protocol.ResultFailed }},
	} {
		role, why := NextRole(w.run)
		if role != step.role || !strings.Contains(why, "delegation") {
			t.Fatalf("next is %s (%s), want %s", role, why, step.role)
		}
		turn := w.turn(role)
		var c delegationContext
		if err := json.Unmarshal(w.run.State.ActiveTurns.At(turn).DelegationContext, &c); err != nil || c.ParentTurnID != pm || !strings.HasPrefix(c.Charter, "do del-") {
			t.Errorf("the child knows %+v, %v", c, err)
		}
		w.accept(turn, changes(turn+".go"), step.edit)
	}
	rev := w.run.State.PendingDelegation
	if rev == nil || rev.ParentRole != "pm" || len(rev.Results) != 3 {
		t.Fatalf("the review is %+v", rev)
	}
	var got [][]string
	for _, r := range rev.Results {
		got = append(got, []string{r.DelegationID, r.Status, strings.Join(r.SatisfiedDecisionIDs, ","), strings.Join(r.MissingDecisionIDs, ",")})
	}
	if diff := cmp.Diff([][]string{{"del-001", "completed", "DEC-100", ""}, {"del-002", "completed", "", "DEC-200"}, {"del-003", "failed", "", ""}}, got); diff != "" {
		t.Error(diff)
	}
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x", Baseline: clean()}, CodeReviewPending)
	review := w.turn("pm")
	if len(w.run.State.ActiveTurns.At(review).DelegationReview) == 0 {
		t.Error("the review is not told of the results")
	}
	w.refused(AssignTurn{Role: "dev", TurnID: "turn_x", Baseline: clean()}, CodeReviewPending)
	// A required decision is missing: the review does not advance the run.
	w.accept(review, asksFor("implementation"))
	n, failed := find[NotAccepted](w.effects)
	if !failed || n.Code != CodeProtocolError || !strings.Contains(n.Errors[0], "DEC-200") {
		t.Fatalf("got %+v", n)
	}
	w.accept(review)
	if w.run.State.PendingDelegation != nil || len(w.run.State.DelegationQueue) != 0 {
		t.Errorf("left over: %+v", w.run.State)
	}
	// The request that waited is followed now.
	w.status(protocol.RunPaused)
	w.checkEvents()
}

func TestARenumberedDecisionSatisfiesItsDelegation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.run.DecisionIDs = map[string]bool{"DEC-100": true}
	w.accept(w.turn("pm"), delegates(child("del-001", "dev", "DEC-100"), child("del-002", "qa", "DEC-100")))
	w.accept(w.turn("dev"), decides(decision("DEC-100")))
	w.accept(w.turn("qa"), decides(decision("DEC-101")))
	rev := w.run.State.PendingDelegation
	if rev == nil || len(rev.Results[0].MissingDecisionIDs) != 0 || len(rev.Results[1].MissingDecisionIDs) != 1 || w.run.History[1].Decisions[0].ID != "DEC-101" {
		t.Errorf("the review is %+v, the decisions are %+v", rev, w.run.History[1].Decisions)
	}
}

func TestAReissuedChildKeepsItsDelegation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), delegates(child("del-001", "dev")))
	dev := w.turn("dev")
	w.must(ReissueTurn{TurnID: dev, NewTurnID: "turn_new", Reason: "stale", Baseline: clean()})
	w.must(Dispatched{TurnID: "turn_new"})
	w.accept("turn_new")
	if rev := w.run.State.PendingDelegation; rev == nil || rev.Results[0].ChildTurnID != "turn_new" {
		t.Errorf("the review is %+v", rev)
	}
}

func TestWhatATurnWithDelegationsMayNotDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		turn protocol.Turn
		r    protocol.TurnResult
		want string
	}{
		{"nothing", protocol.Turn{}, protocol.TurnResult{}, ""},
		{"delegates and ends the run", protocol.Turn{}, protocol.TurnResult{Delegations: []protocol.Delegation{{}}, RunCompletionRequest: new(true)}, "end of the run"},
		{"a child delegates on", protocol.Turn{DelegationContext: json.RawMessage(`{}`)}, protocol.TurnResult{Delegations: []protocol.Delegation{{}}}, "delegate further"},
		{"a review that cannot be read", protocol.Turn{DelegationReview: json.RawMessage(`[]`)}, protocol.TurnResult{RunCompletionRequest: new(true)}, "cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(reviewFaults(&tc.turn, &tc.r), " ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}
