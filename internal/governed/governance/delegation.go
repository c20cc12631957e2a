package governance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// States of a queued delegation.
const (
	DelegationPending   = "pending"
	DelegationActive    = "active"
	DelegationCompleted = "completed"
	DelegationFailed    = "failed"
)

// delegationContext tells a child turn about its delegation.
type delegationContext struct {
	DelegationID        string   `json:"delegation_id"`
	ParentTurnID        string   `json:"parent_turn_id"`
	ParentRole          string   `json:"parent_role"`
	Charter             string   `json:"charter"`
	AcceptanceContract  []string `json:"acceptance_contract"`
	RequiredDecisionIDs []string `json:"required_decision_ids,omitempty"`
}

// nextDelegation is the first waiting delegation whose role has no active turn.
func nextDelegation(st *protocol.State) *protocol.QueuedDelegation {
	for i := range st.DelegationQueue {
		if d := &st.DelegationQueue[i]; d.Status == DelegationPending && len(activeWith(st, d.ToRole)) == 0 {
			return d
		}
	}
	return nil
}

// Delegated reports whether the next turn is a delegation, or a review of delegations.
func Delegated(run Run) bool {
	return run.State.PendingDelegation != nil || nextDelegation(&run.State) != nil
}

// openDelegations reports whether a delegation has not ended.
func openDelegations(st *protocol.State) bool {
	return slices.ContainsFunc(st.DelegationQueue, func(d protocol.QueuedDelegation) bool {
		return d.Status == DelegationPending || d.Status == DelegationActive
	})
}

// linkDelegation makes a new turn the review that is due, or the child of the first waiting delegation for its role.
func (s *step) linkDelegation(t *protocol.Turn) {
	if rev := s.st.PendingDelegation; rev != nil && rev.ParentRole == t.AssignedRole {
		t.DelegationReview = raw(protocol.DelegationReview{ParentTurnID: rev.ParentTurnID, ParentRole: rev.ParentRole, Results: rev.Results})
		return
	}
	for i := range s.st.DelegationQueue {
		d := &s.st.DelegationQueue[i]
		if d.Status != DelegationPending || d.ToRole != t.AssignedRole {
			continue
		}
		d.Status, d.ChildTurnID = DelegationActive, &t.TurnID
		t.DelegationContext = raw(delegationContext{d.ID, d.ParentTurnID, d.ParentRole, d.Charter, d.AcceptanceContract, d.RequiredDecisionIDs})
		return
	}
}

// relinkDelegation moves the delegation of a turn to the turn that replaces it.
func (s *step) relinkDelegation(from, to string) {
	for i := range s.st.DelegationQueue {
		if d := &s.st.DelegationQueue[i]; d.Child() == from {
			d.ChildTurnID = &to
		}
	}
}

// delegate processes the delegations of an accepted turn: what it delegates is queued, what was delegated to it ends,
// and when all delegations of a turn have ended its role reviews them.
func (s *step) delegate(a *acceptance) {
	if len(a.turn.DelegationReview) > 0 && s.st.PendingDelegation != nil {
		s.dequeue(s.st.PendingDelegation.ParentTurnID) // older records kept them until the review
		s.st.PendingDelegation = nil
	}
	for _, d := range a.result.Delegations {
		s.st.DelegationQueue = append(s.st.DelegationQueue, protocol.QueuedDelegation{ID: d.ID, ToRole: d.ToRole, Charter: d.Charter,
			AcceptanceContract: d.AcceptanceContract, RequiredDecisionIDs: d.RequiredDecisionIDs, ParentTurnID: a.TurnID,
			ParentRole: a.turn.AssignedRole, Status: DelegationPending, CreatedAt: s.now})
	}
	for i := range s.st.DelegationQueue {
		d := &s.st.DelegationQueue[i]
		if d.Child() != a.TurnID || d.Status != DelegationActive {
			continue
		}
		d.Status = DelegationFailed
		if a.result.Status == protocol.ResultCompleted {
			d.Status = DelegationCompleted
		}
		parent := d.ParentTurnID
		if s.st.PendingDelegation = s.dueReview(parent, d.ParentRole); s.st.PendingDelegation != nil {
			s.dequeue(parent)
		}
		break
	}
}

// dequeue removes the delegations of a parent: their review contains the outcomes.
func (s *step) dequeue(parent string) {
	s.st.DelegationQueue = slices.DeleteFunc(s.st.DelegationQueue, func(d protocol.QueuedDelegation) bool { return d.ParentTurnID == parent })
}

// dueReview is the review of a parent's delegations, nil until all of them have ended.
func (s *step) dueReview(parent, role string) *protocol.PendingReview {
	rev := &protocol.PendingReview{ParentTurnID: parent, ParentRole: role}
	for i := range s.st.DelegationQueue {
		d := &s.st.DelegationQueue[i]
		if d.ParentTurnID != parent {
			continue
		}
		if d.Status == DelegationPending || d.Status == DelegationActive {
			return nil
		}
		res := protocol.DelegationResult{DelegationID: d.ID, ChildTurnID: d.Child(), ToRole: d.ToRole, Charter: d.Charter,
			AcceptanceContract: d.AcceptanceContract, RequiredDecisionIDs: d.RequiredDecisionIDs, Status: d.Status,
			FilesChanged: []string{}, SatisfiedDecisionIDs: []string{}, MissingDecisionIDs: []string{}}
		made := map[string]bool{}
		for _, h := range s.run.History {
			if h.TurnID != d.Child() {
				continue
			}
			res.Summary, res.FilesChanged = h.Summary, h.FilesChanged
			for _, dec := range h.Decisions {
				made[dec.ID] = true
			}
			for _, c := range h.Normalized {
				// A renumbered decision still counts as the requested one.
				if strings.HasPrefix(c.Field, "decisions[") && strings.HasSuffix(c.Field, ".id") {
					var id string
					if json.Unmarshal(c.Original, &id) == nil {
						made[id] = true
					}
				}
			}
		}
		for _, id := range d.RequiredDecisionIDs {
			if made[id] {
				res.SatisfiedDecisionIDs = append(res.SatisfiedDecisionIDs, id)
			} else {
				res.MissingDecisionIDs = append(res.MissingDecisionIDs, id)
			}
		}
		rev.Results = append(rev.Results, res)
	}
	return rev
}

// reviewFaults lists what a turn with delegations must not do: a review does not advance the run while a required
// decision is missing, a child does not delegate further, and a delegating turn does not end the run.
func reviewFaults(t *protocol.Turn, r *protocol.TurnResult) []string {
	var faults []string
	if len(r.Delegations) > 0 && r.Completion() {
		faults = append(faults, "a turn that delegates cannot request the end of the run")
	}
	if len(r.Delegations) > 0 && len(t.DelegationContext) > 0 {
		faults = append(faults, "a delegated turn cannot delegate further")
	}
	if len(t.DelegationReview) == 0 || !r.Completion() && r.Transition() == "" {
		return faults
	}
	var rev protocol.DelegationReview
	if err := json.Unmarshal(t.DelegationReview, &rev); err != nil {
		return append(faults, "the review of the turn cannot be read: "+err.Error())
	}
	for _, d := range rev.Results {
		if len(d.MissingDecisionIDs) > 0 {
			faults = append(faults, "the delegation "+d.DelegationID+" lacks the decisions "+strings.Join(d.MissingDecisionIDs, ", ")+
				": the review does not advance the run")
		}
	}
	return faults
}
