package govern

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Outcome is how a command ended.
type Outcome string

const (
	OutcomeAccepted    Outcome = "accepted"    // the turn's result is recorded
	OutcomeRejected    Outcome = "rejected"    // the result was rejected and the turn will be repeated
	OutcomeFailed      Outcome = "failed"      // the result was rejected and a person decides
	OutcomeBlocked     Outcome = "blocked"     // the run is blocked until a person clears it
	OutcomePaused      Outcome = "paused"      // the run waits for a person's approval
	OutcomeCompleted   Outcome = "completed"   // the run has ended
	OutcomeAssigned    Outcome = "assigned"    // a turn is ready and not running
	OutcomeInterrupted Outcome = "interrupted" // the caller cancelled; the turn remains
	OutcomeDone        Outcome = "done"        // the command did what was asked
)

// Report says how a command ended and what to type next.
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
	Code     string            `json:"code,omitempty"`  // why the result was refused, or what failed after it was accepted
	Stage    protocol.Stage    `json:"stage,omitempty"` // of validation
	Errors   []string          `json:"errors,omitempty"`
	Hint     string            `json:"hint,omitempty"` // what to do first, before Next
	Warnings []string          `json:"warnings,omitempty"`
	Changes  []protocol.Change `json:"normalized,omitempty"`

	Files        []string              `json:"files_changed,omitempty"`
	Decisions    []protocol.Decision   `json:"decisions,omitempty"`
	Objections   []protocol.Objection  `json:"objections,omitempty"`
	Cost         *protocol.Cost        `json:"cost,omitempty"`
	Meta         *protocol.AdapterMeta `json:"adapter_meta,omitempty"`
	DurationMS   int64                 `json:"duration_ms,omitempty"`
	Commit       string                `json:"commit,omitempty"`
	Artifact     string                `json:"artifact,omitempty"` // the proposal's folder, or the review, written for the turn
	EnteredPhase string                `json:"entered_phase,omitempty"`

	BlockedOn string                  `json:"blocked_on,omitempty"`
	Reason    *protocol.BlockedReason `json:"blocked_reason,omitempty"`
	Gate      *protocol.GateFailure   `json:"gate_failure,omitempty"`
	Pending   string                  `json:"pending_gate,omitempty"`

	SpentUSD     float64  `json:"spent_usd"`
	RemainingUSD *float64 `json:"remaining_usd,omitempty"`

	Next string `json:"next,omitempty"` // the command to type
}

// RunReport says how a run of many turns ended.
type RunReport struct {
	Stop  Stop     `json:"stop_reason"`
	Turns []Report `json:"turns"`
	Last  Report   `json:"last"`
	// Permissions say, by role, how an agent's permission requests are answered; for a dry run.
	Permissions protocol.Ordered[string] `json:"permissions,omitzero"`
}

// Stop is the reason a run of many turns stopped.
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

// Rerun is the result of running a turn's evidence again.
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

// Replay is the result of running a turn's machine evidence again.
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

// TemplateChange lists what a new template changes in a project.
type TemplateChange struct {
	From    string   `json:"previous_template"`
	To      string   `json:"new_template"`
	Created []string `json:"files_created"`
	Kept    []string `json:"files_skipped"` // existing planning files
	Added   []string `json:"guidance_added"`
	Skipped []string `json:"guidance_skipped"` // files that are missing or already have guidance
}
