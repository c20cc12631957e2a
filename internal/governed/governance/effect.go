package governance

import "github.com/drawbar/drawbar/govern/protocol"

// Effect is an action for the orchestrator to carry out.
type Effect interface{ effect() }

// AppendHistory adds a line to history.jsonl.
type AppendHistory struct{ Entry protocol.HistoryEntry }

// AppendDecision adds an agent's decision to decision-ledger.jsonl.
type AppendDecision struct{ Decision protocol.LedgerDecision }

// AppendNote adds a system line to decision-ledger.jsonl.
type AppendNote struct{ Note protocol.LedgerNote }

// AppendRepoDecision adds a line to repo-decisions.jsonl.
type AppendRepoDecision struct{ Decision protocol.RepoDecision }

// OverrideRepoDecision marks a decision of repo-decisions.jsonl as overridden.
type OverrideRepoDecision struct{ ID, By string }

// Emit adds an event to events.jsonl; the ledger assigns its id. With AfterCheckpoint it follows the events that name
// the checkpoint of the same transaction.
type Emit struct {
	Event           protocol.Event
	AfterCheckpoint bool
}

// KeepRejected moves the turn's staged result to dispatch/rejected, under Name.
type KeepRejected struct{ TurnID, Name string }

// Archive moves the turn's bundle and staging folder to the archive.
type Archive struct{ TurnID string }

// RaiseHuman adds an entry to the human queue.
type RaiseHuman struct{ Entry HumanEntry }

// ResolveHuman closes an entry of the human queue.
type ResolveHuman struct{ Entry HumanEntry }

// HumanEntry is one line of human-escalations.jsonl.
type HumanEntry struct {
	Kind              string        `json:"kind"` // raised or resolved
	EscalationID      string        `json:"escalation_id"`
	CreatedAt         protocol.Time `json:"created_at,omitzero"`
	ResolvedAt        protocol.Time `json:"resolved_at,omitzero"`
	ResolvedVia       string        `json:"resolved_via,omitempty"`
	RunID             string        `json:"run_id"`
	Phase             string        `json:"phase"`
	BlockedOn         string        `json:"blocked_on"`
	Category          string        `json:"category,omitempty"`
	TypedReason       string        `json:"typed_reason,omitempty"`
	Type              string        `json:"type,omitempty"` // needs_decision, needs_credential, ...
	Service           *string       `json:"service,omitempty"`
	Action            string        `json:"action,omitempty"`
	RecoveryAction    string        `json:"recovery_action,omitempty"`
	ResolutionCommand string        `json:"resolution_command,omitempty"`
	Detail            string        `json:"detail,omitempty"`
	TurnID            string        `json:"turn_id,omitempty"`
	RoleID            string        `json:"role_id,omitempty"`
}

// Summarize adds a line to run-history.jsonl.
type Summarize struct{ Summary protocol.RunSummary }

// NotAccepted says why an AcceptTurn did not accept: the turn stays active, in the state that the run shows.
type NotAccepted struct {
	Code   string // policy_violation, policy_escalation, conflict, override_validation_failed, protocol_error
	Errors []string
}

// Warn is a message for the person who runs the command.
type Warn struct{ Code, Message string }

func (AppendHistory) effect()        {}
func (AppendDecision) effect()       {}
func (AppendNote) effect()           {}
func (AppendRepoDecision) effect()   {}
func (OverrideRepoDecision) effect() {}
func (Emit) effect()                 {}
func (KeepRejected) effect()         {}
func (Archive) effect()              {}
func (RaiseHuman) effect()           {}
func (ResolveHuman) effect()         {}
func (Summarize) effect()            {}
func (NotAccepted) effect()          {}
func (Warn) effect()                 {}
func (Refused) effect()              {}
