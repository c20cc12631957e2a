package govern

import (
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Status is the state of a run.
type Status struct {
	Project     protocol.Project         `json:"project"`
	Root        string                   `json:"root"`
	RunID       string                   `json:"run_id,omitempty"`
	Status      protocol.RunStatus       `json:"status"`
	Phase       string                   `json:"phase"`
	Phases      []string                 `json:"phases"`
	Gates       protocol.Ordered[string] `json:"gates"`
	Turns       []TurnStatus             `json:"active_turns"`
	Accepted    int                      `json:"turn_sequence"`
	LastTurn    string                   `json:"last_completed_turn_id,omitempty"`
	LastCommit  string                   `json:"last_checkpoint,omitempty"`
	BlockedOn   string                   `json:"blocked_on,omitempty"`
	Reason      *protocol.BlockedReason  `json:"blocked_reason,omitempty"`
	Pending     string                   `json:"pending_gate,omitempty"`
	Approvers   []string                 `json:"approvers,omitempty"` // who decides on the pending gate; empty: anyone
	Approvals   []protocol.Approval      `json:"approvals,omitempty"` // given so far
	Needed      int                      `json:"approvals_needed,omitempty"`
	Declined    *protocol.Decline        `json:"last_decline,omitempty"`
	Gate        *protocol.GateFailure    `json:"last_gate_failure,omitempty"`
	Objections  []protocol.OpenObjection `json:"open_objections,omitempty"`
	Budget      protocol.BudgetStatus    `json:"budget"`
	NextRole    string                   `json:"next_role,omitempty"`
	NextWhy     string                   `json:"next_role_reason,omitempty"`
	Next        string                   `json:"next"`
	Holder      *Holder                  `json:"lock,omitempty"`        // the current writer of the record
	Unfinished  string                   `json:"unfinished,omitempty"`  // a transaction that the next command completes
	Warnings    []string                 `json:"warnings,omitempty"`    // about the configuration
	Notes       []string                 `json:"notes,omitempty"`       // left by another program: a state, a worker, intents
	Permissions protocol.Ordered[string] `json:"permissions,omitzero"`  // how an agent's permission requests are answered, by role
	Share       *Share                   `json:"share,omitempty"`       // with "record": "branch"
	NotTrusted  string                   `json:"not_trusted,omitempty"` // why nothing of the project may run
	StartedAt   protocol.Time            `json:"started_at"`
	CompletedAt protocol.Time            `json:"completed_at"`
}

// TurnStatus is one active turn.
type TurnStatus struct {
	protocol.Turn
	Carrier *Carrier `json:"carrier,omitempty"` // the process that runs it
	Live    *Live    `json:"live,omitempty"`
	Staged  bool     `json:"staged"` // a result is staged
}

// MarshalJSON writes the turn's fields and its live state.
func (s TurnStatus) MarshalJSON() ([]byte, error) {
	b, err := protocol.Marshal(s.Turn)
	if err != nil {
		return nil, err
	}
	more, err := protocol.Marshal(struct {
		Carrier *Carrier `json:"carrier,omitempty"`
		Live    *Live    `json:"live,omitempty"`
		Staged  bool     `json:"staged"`
	}{s.Carrier, s.Live, s.Staged})
	return append(append(b[:len(b)-1], ','), more[1:]...), err
}

// Carrier is the process that runs a turn.
type Carrier struct {
	PID   int       `json:"pid"`
	Owner string    `json:"owner"`
	Since time.Time `json:"since"`
}

// Live is the state of a turn that a process is running.
type Live struct {
	TurnID      string        `json:"turn_id"`
	Role        string        `json:"role"`
	Stage       string        `json:"stage"`
	Worker      string        `json:"worker"`
	PID         int           `json:"worker_pid,omitempty"`
	StartedAt   protocol.Time `json:"started_at"`
	UpdatedAt   protocol.Time `json:"updated_at"`
	FirstOutput protocol.Time `json:"first_output_at"`
	Stream      string        `json:"first_output_stream,omitempty"`
	LastSign    protocol.Time `json:"last_activity_at"`
	Deadline    protocol.Time `json:"deadline_at"`
	Lines       int64         `json:"output_lines"`
	Doing       string        `json:"doing,omitempty"`
	CostUSD     *float64      `json:"cost_usd"`
	Tokens      int64         `json:"tokens,omitempty"`
}

// Holder is the holder of a project's lock.
type Holder struct {
	PID   int       `json:"pid"`
	Owner string    `json:"owner"` // the command, or "agentxchain"
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // end of the lease unless renewed
}
