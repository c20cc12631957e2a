package protocol

import (
	"cmp"
	"encoding/json"
)

// QueuedDelegation is work that one role gave to another.
type QueuedDelegation struct {
	ID                  string   `json:"delegation_id"`
	ToRole              string   `json:"to_role"`
	Charter             string   `json:"charter"`
	AcceptanceContract  []string `json:"acceptance_contract"`
	RequiredDecisionIDs []string `json:"required_decision_ids"`
	ParentTurnID        string   `json:"parent_turn_id"`
	ParentRole          string   `json:"parent_role"`
	Status              string   `json:"status"` // pending, active, completed, failed
	ChildTurnID         *string  `json:"child_turn_id"`
	CreatedAt           Time     `json:"created_at,omitzero"`
	Extra               Extra    `json:"-"`
}

// UnmarshalJSON keeps unknown keys, and reads the name that older versions gave the id.
func (q *QueuedDelegation) UnmarshalJSON(data []byte) error {
	type plain QueuedDelegation
	if err := unmarshalKeep(data, (*plain)(q), &q.Extra); err != nil {
		return err
	}
	q.ID = cmp.Or(q.ID, formerID(&q.Extra))
	return nil
}

// MarshalJSON writes unknown keys back.
func (q QueuedDelegation) MarshalJSON() ([]byte, error) {
	type plain QueuedDelegation
	if q.RequiredDecisionIDs == nil {
		q.RequiredDecisionIDs = []string{}
	}
	return marshalKeep(plain(q), q.Extra)
}

func formerID(x *Extra) (id string) {
	if raw, ok := x.Get("id"); ok && json.Unmarshal(raw, &id) == nil {
		x.Delete("id")
	}
	return id
}

// Child is the turn that has the delegation; empty when none has it yet.
func (q *QueuedDelegation) Child() string {
	if q.ChildTurnID == nil {
		return ""
	}
	return *q.ChildTurnID
}

// PendingReview is due when all delegations of a turn have ended: the parent's role gets a turn alone.
type PendingReview struct {
	ParentTurnID string             `json:"parent_turn_id"`
	ParentRole   string             `json:"parent_role"`
	Results      []DelegationResult `json:"delegation_results"`
	Extra        Extra              `json:"-"`
}

// UnmarshalJSON keeps unknown keys, and reads the name that older versions gave the results.
func (p *PendingReview) UnmarshalJSON(data []byte) error {
	type plain PendingReview
	if err := unmarshalKeep(data, (*plain)(p), &p.Extra); err != nil {
		return err
	}
	if raw, ok := p.Extra.Get("results"); ok && p.Results == nil {
		p.Extra.Delete("results")
		return json.Unmarshal(raw, &p.Results)
	}
	return nil
}

// MarshalJSON writes unknown keys back.
func (p PendingReview) MarshalJSON() ([]byte, error) {
	type plain PendingReview
	return marshalKeep(plain(p), p.Extra)
}

// DelegationReview is what the turn that reviews delegations gets of them.
type DelegationReview struct {
	ParentTurnID string             `json:"parent_turn_id"`
	ParentRole   string             `json:"parent_role,omitempty"`
	Results      []DelegationResult `json:"results"`
}

// DelegationResult is how one delegation ended.
type DelegationResult struct {
	DelegationID         string   `json:"delegation_id"`
	ChildTurnID          string   `json:"child_turn_id"`
	ToRole               string   `json:"to_role"`
	Charter              string   `json:"charter,omitempty"`
	AcceptanceContract   []string `json:"acceptance_contract,omitempty"`
	RequiredDecisionIDs  []string `json:"required_decision_ids,omitempty"`
	Status               string   `json:"status"`
	Summary              string   `json:"summary"`
	FilesChanged         []string `json:"files_changed"`
	SatisfiedDecisionIDs []string `json:"satisfied_decision_ids"`
	MissingDecisionIDs   []string `json:"missing_decision_ids"`
	Extra                Extra    `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (r *DelegationResult) UnmarshalJSON(data []byte) error {
	type plain DelegationResult
	return unmarshalKeep(data, (*plain)(r), &r.Extra)
}

// MarshalJSON writes unknown keys back.
func (r DelegationResult) MarshalJSON() ([]byte, error) {
	type plain DelegationResult
	return marshalKeep(plain(r), r.Extra)
}
