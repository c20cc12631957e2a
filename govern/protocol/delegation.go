package protocol

import (
	"cmp"
	"encoding/json"
)

// QueuedDelegation is work that one role delegated to another.
type QueuedDelegation struct {
	ID                  string   `json:"delegation_id" doc:"id chosen by the delegating turn; older files call the key id"`
	ToRole              string   `json:"to_role" doc:"role that gets a turn for it"`
	Charter             string   `json:"charter" doc:"the task"`
	AcceptanceContract  []string `json:"acceptance_contract" doc:"conditions that the work has to meet"`
	RequiredDecisionIDs []string `json:"required_decision_ids" doc:"decisions that the turn must make; the review lists missing ones"`
	ParentTurnID        string   `json:"parent_turn_id" doc:"turn that delegated"`
	ParentRole          string   `json:"parent_role" doc:"role of that turn; it reviews the results"`
	Status              string   `json:"status" doc:"pending, active, completed or failed"`
	ChildTurnID         *string  `json:"child_turn_id" doc:"turn that works on it (null: none yet)"`
	CreatedAt           Time     `json:"created_at,omitzero" doc:"when the delegating turn was accepted"`
	Extra               Extra    `json:"-"`
}

// UnmarshalJSON keeps unknown keys, and reads the name that older versions gave the id.
func (q *QueuedDelegation) UnmarshalJSON(data []byte) error {
	if err := readKeep(data, q); err != nil {
		return err
	}
	q.ID = cmp.Or(q.ID, formerID(&q.Extra))
	return nil
}

// MarshalJSON writes unknown keys back.
func (q QueuedDelegation) MarshalJSON() ([]byte, error) {
	if q.RequiredDecisionIDs == nil {
		q.RequiredDecisionIDs = []string{}
	}
	return writeKeep(q)
}

func formerID(x *Extra) (id string) {
	if raw, ok := x.Get("id"); ok && json.Unmarshal(raw, &id) == nil {
		x.Delete("id")
	}
	return id
}

// Child is the turn that works on the delegation; empty if there is none yet.
func (q *QueuedDelegation) Child() string { return Deref(q.ChildTurnID) }

// PendingReview is due when all delegations of a turn have ended: the parent's role gets a turn alone.
type PendingReview struct {
	ParentTurnID string             `json:"parent_turn_id" doc:"turn whose delegations have all ended"`
	ParentRole   string             `json:"parent_role" doc:"role that gets the next turn, to review them"`
	Results      []DelegationResult `json:"delegation_results" doc:"one for each delegation; older files call the key results"`
	Extra        Extra              `json:"-"`
}

// UnmarshalJSON keeps unknown keys, and reads the name that older versions gave the results.
func (p *PendingReview) UnmarshalJSON(data []byte) error {
	if err := readKeep(data, p); err != nil {
		return err
	}
	if raw, ok := p.Extra.Get("results"); ok && p.Results == nil {
		p.Extra.Delete("results")
		return json.Unmarshal(raw, &p.Results)
	}
	return nil
}

func (p PendingReview) MarshalJSON() ([]byte, error) { return writeKeep(p) }

// DelegationReview is the input of the turn that reviews delegations.
type DelegationReview struct {
	ParentTurnID string             `json:"parent_turn_id" doc:"turn that delegated"`
	ParentRole   string             `json:"parent_role,omitempty" doc:"role of that turn, which reviews"`
	Results      []DelegationResult `json:"results" doc:"how each delegation ended"`
}

// DelegationResult is how one delegation ended.
type DelegationResult struct {
	DelegationID         string   `json:"delegation_id" doc:"delegation that ended"`
	ChildTurnID          string   `json:"child_turn_id" doc:"turn that did the work"`
	ToRole               string   `json:"to_role" doc:"role of that turn"`
	Charter              string   `json:"charter,omitempty" doc:"the task"`
	AcceptanceContract   []string `json:"acceptance_contract,omitempty" doc:"conditions for the work"`
	RequiredDecisionIDs  []string `json:"required_decision_ids,omitempty" doc:"decisions that the turn had to make"`
	Status               string   `json:"status" doc:"completed, or failed if the turn's result has another status"`
	Summary              string   `json:"summary" doc:"the summary of the turn's result"`
	FilesChanged         []string `json:"files_changed" doc:"files that the turn changed, relative to the project"`
	SatisfiedDecisionIDs []string `json:"satisfied_decision_ids" doc:"required decisions that the turn made"`
	MissingDecisionIDs   []string `json:"missing_decision_ids" doc:"required decisions that it did not make; any keeps the phase from ending"`
	Extra                Extra    `json:"-"`
}

func (r *DelegationResult) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r DelegationResult) MarshalJSON() ([]byte, error)     { return writeKeep(r) }
