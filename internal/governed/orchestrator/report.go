package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
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

	retry      bool          // the same turn is to be carried again
	retryAfter time.Duration // but not before
}

// line is the report of a turn in one line.
func (r *Report) line() string {
	text := fmt.Sprintf("turn %s of %s", r.TurnID, r.Role)
	if r.DurationMS > 0 {
		text += ", " + Took(r.DurationMS)
	}
	if r.Cost != nil && r.Cost.USD > 0 {
		text += fmt.Sprintf(", $%.4f", r.Cost.USD)
	}
	switch {
	case r.Summary != "":
		text += ": " + strings.Join(strings.Fields(r.Summary), " ")
	case len(r.Errors) > 0:
		text += ": " + joined(r.Errors)
	}
	if r.EnteredPhase != "" {
		text += "; phase " + r.EnteredPhase + " begins"
	}
	return text
}

// Took is a time for people, in whole seconds from a second on.
func Took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(time.Second).String()
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
