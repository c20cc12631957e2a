// Package gate decides whether a phase may be left and a run may end: files with their content, owners, verification,
// human approval and the approval policy. It is pure: callers read the files that Paths names, and every decision
// depends on their current content.
package gate

import (
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Actions of a Decision.
const (
	NoRequest             = "no_request"
	UnknownPhase          = "unknown_phase"
	GateFailed            = "gate_failed"
	Advance               = "advance"
	AwaitingHumanApproval = "awaiting_human_approval"
	Complete              = "complete"
	NotFinalPhase         = "not_final_phase"
)

// Input is what a gate decision depends on.
type Input struct {
	Config  *protocol.Config
	Phase   string // the current one
	Request string // the requested phase; unused by Completion
	// Files holds the content of those files of Paths that exist.
	Files map[string]string
	// Verification is the status that the asking turn reports, or the normalized one.
	Verification string
	// History are the accepted turns of this run, with or without the asking turn.
	History []protocol.HistoryEntry
	// Role is that of the asking turn, which counts as a turn of its role in Phase. An empty role counts for no role.
	Role string
	// Prior are the digests of sign-offs that existed when the run began: they belong to an earlier run.
	Prior protocol.Ordered[string]
	// Objections are the open blocking ones.
	Objections []protocol.OpenObjection
}

// Decision is the outcome of a request to leave a phase or to end the run.
type Decision struct {
	Action string
	GateID string // the evaluated gate; empty if there is none
	From   string
	To     string // the requested phase; empty for the end of the run
	// Reasons say what fails, one per fault. A passed gate that is not declared is mentioned here as well.
	Reasons             []string
	MissingFiles        []string
	MissingVerification bool
	// AutoApproved says that the gate requires a person and the approval policy passed it instead.
	AutoApproved bool
	// PolicyRule names the part of approval_policy that decided, PolicyReason why; empty if it was not applied.
	PolicyRule   string
	PolicyReason string
}

// Passed reports whether everything except a person's approval is met.
func (d Decision) Passed() bool {
	return d.Action == Advance || d.Action == Complete || d.Action == AwaitingHumanApproval
}

// Reason is the one line that the protocol reports for a refusal: the predicate's name if a file or the verification is
// missing, else the first reason.
func (d Decision) Reason() string {
	switch {
	case len(d.MissingFiles) > 0:
		return "requires_files predicate failed"
	case d.MissingVerification:
		return "requires_verification_pass predicate failed"
	case len(d.Reasons) > 0:
		return d.Reasons[0]
	}
	return ""
}

// PhaseExit decides a request to move to another phase.
func PhaseExit(in Input) Decision {
	d := Decision{Action: NoRequest, From: in.Phase, To: in.Request}
	if in.Request == "" {
		return d
	}
	phases := in.Config.Phases()
	if !slices.Contains(phases, in.Request) {
		d.Action = UnknownPhase
		d.Reasons = []string{fmt.Sprintf("The requested phase %q is not in routing.", in.Request)}
		return d
	}
	if why := outOfOrder(phases, in.Phase, in.Request); why != "" {
		d.Action, d.Reasons = GateFailed, []string{why}
		return d
	}
	return decide(in, d, Advance)
}

// Completion decides a request to end the run.
func Completion(in Input) Decision {
	d := Decision{From: in.Phase}
	phases := in.Config.Phases()
	if len(phases) > 0 && phases[len(phases)-1] != in.Phase {
		d.Action = NotFinalPhase
		d.Reasons = []string{fmt.Sprintf("Run completion requested but current phase %q is not the final phase %q", in.Phase, phases[len(phases)-1])}
		return d
	}
	return decide(in, d, Complete)
}

// outOfOrder returns why the requested phase does not follow the current one; empty if it does.
func outOfOrder(phases []string, from, to string) string {
	i := slices.Index(phases, from)
	switch {
	case i < 0:
		return fmt.Sprintf("The current phase %q is not in routing, so no phase follows it.", from)
	case i == len(phases)-1:
		return fmt.Sprintf("Phase %q is the last one: ask for the end of the run with run_completion_request, not for phase %q.", from, to)
	case phases[i+1] != to:
		return fmt.Sprintf("Phase %q cannot be entered from %q: the next phase is %q.", to, from, phases[i+1])
	}
	return ""
}

// decide evaluates the exit gate of the current phase; pass is the action if the gate passes.
func decide(in Input, d Decision, pass string) Decision {
	d.Action = pass
	id, g, ok := exitGate(in.Config, in.Phase)
	d.GateID = id
	for _, o := range in.Objections {
		d.Reasons = append(d.Reasons, fmt.Sprintf("Objection %s of %s blocks and is %s: %s", o.ID, o.Role, o.Status, o.Statement))
	}
	if !ok && len(d.Reasons) > 0 {
		d.Action = GateFailed
		return d
	}
	if !ok {
		if id != "" {
			d.Reasons = []string{fmt.Sprintf("Gate %q is named in routing but not declared in gates: it is open.", id)}
		}
		return d
	}
	for _, f := range Inspect(in) {
		if f.Missing && f.Required {
			d.MissingFiles = append(d.MissingFiles, f.Path)
		}
		d.Reasons = append(d.Reasons, f.Problems...)
	}
	if g.RequiresVerificationPass && in.Verification != protocol.VerificationPass && in.Verification != protocol.VerificationAttestedPass {
		d.MissingVerification = true
		said := in.Verification
		if said == "" {
			said = "missing"
		}
		d.Reasons = append(d.Reasons, fmt.Sprintf("Verification is %q; gate %q needs \"pass\" or \"attested_pass\".", said, id))
	}
	if len(d.Reasons) > 0 {
		d.Action = GateFailed
		return d
	}
	if g.AsksPerson() {
		d.Action = AwaitingHumanApproval
		if approve(in, g, &d) {
			d.Action, d.AutoApproved = pass, true
		}
	}
	return d
}

// exitGate is the gate at the end of a phase; only its id if it is not declared.
func exitGate(c *protocol.Config, phase string) (string, protocol.Gate, bool) {
	p, _ := c.Phase(phase)
	if p.ExitGate == "" {
		return "", protocol.Gate{}, false
	}
	g, ok := c.Gate(p.ExitGate)
	return p.ExitGate, g, ok
}
