package prompt

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// exit is the exit gate of the phase as its evaluator sees it.
type exit struct {
	id   string
	gate protocol.Gate
	// files are its requirements with what is wrong now.
	files []gate.Finding
	// now is the decision on a turn of this role that asks with a verification that passed, and then the decision when the
	// files are as they must be: who approves.
	now, then gate.Decision
}

// exit asks the evaluator; false when no declared gate stands at the end of the phase.
func (in *Input) exit() (exit, bool) {
	e := exit{id: in.phase().ExitGate}
	var ok bool
	if e.gate, ok = in.Config.Gate(e.id); e.id == "" || !ok {
		return e, false
	}
	ask := gate.Input{Config: in.Config, Phase: in.State.Phase, Request: in.next(), Files: in.GateFiles,
		Verification: protocol.VerificationPass, History: in.History, Role: in.roleID(), TurnID: in.TurnID,
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

// exitGate says what the phase's gate needs, and who approves.
func (in *Input) exitGate(d *doc) {
	e, ok := in.exit()
	if !ok {
		return
	}
	d.para("## Phase Exit Gate")
	if to := in.next(); to != "" {
		d.para("Gate %s stands between phase %s and phase %s.", code(e.id), code(in.State.Phase), code(to))
	} else {
		d.para("Gate %s stands between phase %s and the end of the run.", code(e.id), code(in.State.Phase))
	}
	if slices.ContainsFunc(e.files, func(f gate.Finding) bool { return f.Required }) {
		d.para("It needs these files:")
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
		d.para("It needs a verification that passed: `verification.status` is `pass`.")
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

// approval says who approves once the gate has what it needs, as the evaluator decides it.
func (in *Input) approval(e exit) string {
	ask := "`phase_transition_request`"
	if in.next() == "" {
		ask = "`run_completion_request`"
	}
	switch {
	case e.then.AutoApproved:
		return "It asks for a person's approval, and approval_policy (" + inline(e.then.PolicyRule) + ") gives it when all of this is there. Ask with " +
			ask + " and status `completed`; `needs_human` is for what really blocks you, not for this approval."
	case e.then.Action == gate.AwaitingHumanApproval:
		why := ""
		if e.then.PolicyReason != "" {
			why = " (" + inline(e.then.PolicyReason) + ")"
		}
		return "A person has to approve" + why + ". Ask with " + ask + " and status `completed`: the run then waits for that person. " +
			"`needs_human` is for what really blocks you, not for this approval."
	}
	return "Nobody has to approve: ask with " + ask + " when all of this is there."
}

// gateFiles are the paths that the exit gate needs.
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

// semantics says in words what the content of a file must be; empty for existence alone.
func semantics(rules, sections []string) string {
	var b strings.Builder
	for _, name := range rules {
		switch name {
		case gate.PMSignoff:
			b.WriteString("; needs a line `Approved: YES`")
		case gate.SystemSpec:
			b.WriteString("; needs the sections Purpose, Interface and Acceptance Tests, each with text of its own")
		case gate.ImplementationNotes:
			b.WriteString("; needs the sections Changes and Verification, each with text of its own")
		case gate.AcceptanceMatrix:
			b.WriteString("; needs a table that begins with `| Req # |` and has rows, each ending in PASS, PASSED, OK or YES")
		case gate.ShipVerdict:
			b.WriteString("; needs a line `## Verdict: YES`, `SHIP` or `SHIP IT`")
		case gate.ReleaseNotes:
			b.WriteString("; needs the sections User Impact and Verification Summary, each with text of its own")
		case gate.SectionCheck:
			if len(sections) > 0 {
				b.WriteString("; needs the sections " + codes(sections) + ", each with text of its own")
			}
		}
	}
	return b.String()
}
