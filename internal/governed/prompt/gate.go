package prompt

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// exit is the exit gate of the phase as the evaluator sees it.
type exit struct {
	id   string
	gate protocol.Gate
	// files are its requirements and their current faults.
	files []gate.Finding
	// now is the decision on a turn of this role that requests the exit with a passed verification, and then the
	// decision with all files as required: who approves.
	now, then gate.Decision
}

// exit evaluates the gate; false if the phase has no declared exit gate.
func (in *Input) exit() (exit, bool) {
	e := exit{id: in.phase().ExitGate}
	var ok bool
	if e.gate, ok = in.Config.Gate(e.id); e.id == "" || !ok {
		return e, false
	}
	ask := gate.Input{Config: in.Config, Phase: in.State.Phase, Request: in.next(), Files: in.GateFiles,
		Verification: protocol.VerificationPass, History: in.History, Role: in.roleID(),
		Prior: in.State.PriorSignOffs, Objections: in.State.Blocking()}
	e.files = gate.Inspect(ask)
	e.now = decide(ask)
	bare := *in.Config
	gates := in.Config.Gates.Clone()
	g := e.gate
	g.RequiresFiles, g.RequiresVerificationPass = nil, false
	gates.Set(e.id, g)
	bare.Gates, bare.WorkflowKit = &gates, &protocol.WorkflowKit{}
	ask.Config, ask.Objections = &bare, nil
	e.then = decide(ask)
	return e, true
}

func decide(in gate.Input) gate.Decision {
	if in.Request == "" {
		return gate.Completion(in)
	}
	return gate.PhaseExit(in)
}

// exitGate describes what the phase's gate requires, and who approves.
func (in *Input) exitGate(d *doc) {
	e, ok := in.exit()
	if !ok {
		return
	}
	d.para("## Phase Exit Gate")
	if to := in.next(); to != "" {
		d.para("Gate %s is between phase %s and phase %s.", code(e.id), code(in.State.Phase), code(to))
	} else {
		d.para("Gate %s is between phase %s and the end of the run.", code(e.id), code(in.State.Phase))
	}
	if slices.ContainsFunc(e.files, func(f gate.Finding) bool { return f.Required }) {
		d.para("It requires these files:")
		for _, f := range e.files {
			if !f.Required {
				continue
			}
			owner := ""
			if f.Owner != "" {
				owner = "; and an accepted turn of " + code(f.Owner) + " in this phase"
			}
			d.linef("- %s: %s%s%s", code(f.Path), presence(!f.Missing), semantics(f.Semantics, f.Sections), owner)
		}
		d.gap()
	}
	if e.gate.RequiresVerificationPass {
		d.para("It requires a passed verification: `verification.status` is `pass`.")
	}
	if len(e.now.Reasons) > 0 {
		d.para("It would not pass now:")
		for _, r := range e.now.Reasons {
			d.linef("- %s", inline(r))
		}
		d.gap()
	}
	d.para("%s", in.approval(e))
}

// approval states who approves once the gate's requirements are met, as decided by the evaluator.
func (in *Input) approval(e exit) string {
	ask := "`phase_transition_request`"
	if in.next() == "" {
		ask = "`run_completion_request`"
	}
	switch {
	case e.then.AutoApproved:
		return "It requires a person's approval, which approval_policy (" + inline(e.then.PolicyRule) + ") grants when all requirements are met. Request it with " +
			ask + " and status `completed`; `needs_human` is for actual obstacles, not for this approval."
	case e.then.Action == gate.AwaitingHumanApproval:
		why := ""
		if e.then.PolicyReason != "" {
			why = " (" + inline(e.then.PolicyReason) + ")"
		}
		return "A person has to approve" + why + ". Request it with " + ask + " and status `completed`: the run then waits for that person. " +
			"`needs_human` is for actual obstacles, not for this approval."
	}
	return "No approval is needed: request it with " + ask + " when all requirements are met."
}

// gateFiles are the paths that the exit gate requires.
func (in *Input) gateFiles() []string {
	if _, ok := in.Config.Gate(in.phase().ExitGate); !ok {
		return nil
	}
	var files []string
	for _, r := range gate.Requirements(in.Config, in.State.Phase) {
		if r.Required {
			files = append(files, r.Path)
		}
	}
	return files
}

// semantics describes the content rules of a file; empty if it only has to exist.
func semantics(rules, sections []string) string {
	var b strings.Builder
	for _, name := range rules {
		switch name {
		case gate.PMSignoff:
			b.WriteString("; needs a line `Approved: YES`")
		case gate.SystemSpec:
			b.WriteString("; needs the sections Purpose, Interface and Acceptance Tests, each with its own text")
		case gate.ImplementationNotes:
			b.WriteString("; needs the sections Changes and Verification, each with its own text")
		case gate.AcceptanceMatrix:
			b.WriteString("; needs a table that begins with `| Req # |` and has rows, each ending in PASS, PASSED, OK or YES")
		case gate.ShipVerdict:
			b.WriteString("; needs a line `## Verdict: YES`, `SHIP` or `SHIP IT`")
		case gate.ReleaseNotes:
			b.WriteString("; needs the sections User Impact and Verification Summary, each with its own text")
		case gate.SectionCheck:
			if len(sections) > 0 {
				b.WriteString("; needs the sections " + codes(sections) + ", each with its own text")
			}
		}
	}
	return b.String()
}
