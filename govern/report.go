package govern

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Outcome is how a step or another command ended.
type Outcome string

const (
	OutcomeAccepted    Outcome = "accepted"    // the turn's result is in the record
	OutcomeRejected    Outcome = "rejected"    // it is not, and the turn is to be done again
	OutcomeFailed      Outcome = "failed"      // it is not, and a person decides
	OutcomeBlocked     Outcome = "blocked"     // the run waits for a person to clear what blocks it
	OutcomePaused      Outcome = "paused"      // the run waits for a person's approval
	OutcomeCompleted   Outcome = "completed"   // the run has ended
	OutcomeAssigned    Outcome = "assigned"    // a turn is ready and nobody carries it
	OutcomeInterrupted Outcome = "interrupted" // the caller ended the command; the turn stays
	OutcomeDone        Outcome = "done"        // what was asked is done
)

// Report is how a command ended, and what to type next.
type Report struct {
	Outcome   Outcome            `json:"outcome"`
	RunID     string             `json:"run_id,omitempty"`
	Status    protocol.RunStatus `json:"status"`
	Phase     string             `json:"phase"`
	TurnID    string             `json:"turn_id,omitempty"`
	Role      string             `json:"role,omitempty"`
	RuntimeID string             `json:"runtime_id,omitempty"`
	Attempt   int                `json:"attempt,omitempty"`

	Summary  string            `json:"summary,omitempty"`
	Code     string            `json:"code,omitempty"`  // what kept the result out, or went wrong after it was accepted
	Stage    protocol.Stage    `json:"stage,omitempty"` // of validation
	Errors   []string          `json:"errors,omitempty"`
	Hint     string            `json:"hint,omitempty"` // what to do about it, before Next
	Warnings []string          `json:"warnings,omitempty"`
	Changes  []protocol.Change `json:"normalized,omitempty"`

	Files        []string              `json:"files_changed,omitempty"`
	Decisions    []protocol.Decision   `json:"decisions,omitempty"`
	Objections   []protocol.Objection  `json:"objections,omitempty"`
	Cost         *protocol.Cost        `json:"cost,omitempty"`
	Meta         *protocol.AdapterMeta `json:"adapter_meta,omitempty"`
	DurationMS   int64                 `json:"duration_ms,omitempty"`
	Commit       string                `json:"commit,omitempty"`
	EnteredPhase string                `json:"entered_phase,omitempty"`

	BlockedOn string                  `json:"blocked_on,omitempty"`
	Reason    *protocol.BlockedReason `json:"blocked_reason,omitempty"`
	Gate      *protocol.GateFailure   `json:"gate_failure,omitempty"`
	Pending   string                  `json:"pending_gate,omitempty"`

	SpentUSD     float64  `json:"spent_usd"`
	RemainingUSD *float64 `json:"remaining_usd,omitempty"`

	Next string `json:"next,omitempty"` // the command to type
}

// RunReport is how a run of many turns ended.
type RunReport struct {
	Stop  Stop     `json:"stop_reason"`
	Turns []Report `json:"turns"`
	Last  Report   `json:"last"`
	// Permissions are what happens when an agent asks for a permission, by role; of a dry run.
	Permissions protocol.Ordered[string] `json:"permissions,omitzero"`
}

// Stop is why a run of many turns stopped.
type Stop string

const (
	StopCompleted   Stop = "completed"
	StopBlocked     Stop = "blocked"
	StopGateHeld    Stop = "gate_held"
	StopHumanTurn   Stop = "human_turn"
	StopMaxTurns    Stop = "max_turns_reached"
	StopInterrupted Stop = "interrupted"
	StopPlan        Stop = "dry_run"
)

// Rerun is what became of the evidence of a turn.
type Rerun struct {
	TurnID     string              `json:"turn_id"`
	RunID      string              `json:"run_id"`
	Role       string              `json:"role"`
	RuntimeID  string              `json:"runtime_id"`
	Source     string              `json:"source"` // staged or history
	Declared   string              `json:"declared_status"`
	Normalized string              `json:"normalized_status"`
	Evidence   []protocol.Evidence `json:"machine_evidence"`
	Replay
}

// Replay is the outcome of running a turn's machine evidence again.
type Replay struct {
	Overall  string            `json:"overall"` // match, mismatch or not_reproducible
	Reason   string            `json:"reason,omitempty"`
	Commands []ReplayedCommand `json:"commands,omitempty"`
}

// ReplayedCommand is one command of a Replay.
type ReplayedCommand struct {
	Command      string `json:"command"`
	DeclaredExit int    `json:"declared_exit_code"`
	ActualExit   int    `json:"actual_exit_code"`
	Matched      bool   `json:"matched"`
}

// TemplateChange is what another template changes in a project.
type TemplateChange struct {
	From    string   `json:"previous_template"`
	To      string   `json:"new_template"`
	Created []string `json:"files_created"`
	Kept    []string `json:"files_skipped"` // planning files that are there
	Added   []string `json:"guidance_added"`
	Skipped []string `json:"guidance_skipped"` // what is not there, or has guidance already
}
