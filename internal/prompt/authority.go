package prompt

import (
	"strings"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// authority says what the role may write, and how that is checked.
func (in *Input) authority(d *doc) {
	a := in.role().WriteAuthority
	if a == "" {
		return
	}
	d.para("### Write Authority: %s", a)
	switch a {
	case protocol.ReviewOnly:
		in.reviewer(d)
	case protocol.Proposed:
		in.proposer(d)
	case protocol.Authoritative:
		d.line("- You may change files of the project.")
		d.line("- List every file that you created, changed or deleted in `files_changed`. The orchestrator compares the list with what it sees.")
		d.line("- Set `artifact.type` to `workspace`, or to `commit` when you committed yourself.")
	}
	d.gap()
	if a == protocol.Authoritative && in.State.Phase == "implementation" {
		d.para("### Implementation Phase: Code Required")
		d.para("A completed turn of this phase changes the product: source, tests, configuration or scripts. A turn that only writes below "+
			"%s is refused, unless an earlier turn of this run has changed the product in this phase.", code(protocol.PlanningDir+"/"))
	}
}

func (in *Input) reviewer(d *doc) {
	d.line("- You must not change files of the product.")
	if in.remote() {
		d.linef("- You cannot write files at all. Your accepted review is stored as %s.", code(protocol.ReviewsDir+"/"+in.TurnID+"-"+in.roleID()+"-review.md"))
		d.line("- Leave `files_changed` empty; say what you found in `summary`, `decisions`, `objections` and `verification.evidence_summary`.")
	} else {
		d.linef("- You may write below %s and %s, and list those files in `files_changed`. Anything else that changes is held against the turn.",
			code(protocol.PlanningDir+"/"), code(protocol.ReviewsDir+"/"))
	}
	d.line("- Set `artifact.type` to `review`.")
}

func (in *Input) proposer(d *doc) {
	if !in.remote() {
		d.line("- You propose changes and do not commit them.")
		d.line("- Set `artifact.type` to `patch` and list the files that it touches in `files_changed`.")
		return
	}
	d.linef("- You cannot write files. Return every change in `proposed_changes`; it is stored below %s for review.", code(protocol.ProposedDir+"/"+in.TurnID+"/"))
	d.line("- Each entry has `path`, `action` (`create`, `modify` or `delete`) and, but for `delete`, the whole new `content`.")
	d.line("- Paths are relative to the project and stay inside it.")
	d.line("- Set `artifact.type` to `patch`, and list the same paths in `files_changed`.")
	d.line("- Only a turn that asks for the end of the run may come without `proposed_changes`; its `artifact.type` is `review`.")
}

// responsibilities are the artifacts of the phase that this role answers for.
func (in *Input) responsibilities(d *doc) {
	var own []protocol.Artifact
	for _, a := range in.artifacts() {
		if in.owner(a) == in.roleID() {
			own = append(own, a)
		}
	}
	if len(own) == 0 {
		return
	}
	attest := in.role().WriteAuthority == protocol.ReviewOnly
	d.para("## Workflow-Kit Responsibilities")
	if attest {
		d.para("You answer for reviewing and attesting to these artifacts of phase %s:", code(in.State.Phase))
	} else {
		d.para("You answer for producing these artifacts of phase %s:", code(in.State.Phase))
	}
	for _, a := range own {
		need := "required"
		if !required(a) {
			need = "optional"
		}
		d.linef("- %s: %s, %s%s", code(a.Path), need, in.presence(a.Path), semantics(a.Semantics, a.SemanticsConfig))
	}
	d.gap()
	if attest {
		d.para("Confirm that each one exists and is good enough. If a required one is missing, say so in an objection and propose the role that can " +
			"write it; do not ask for the next phase.")
	} else {
		d.para("Do not ask for the next phase or the end of the run while a required one is missing or incomplete.")
	}
}

// presence says whether a file is there.
func (in *Input) presence(path string) string {
	if in.Files[path].Present {
		return "exists"
	}
	return "MISSING"
}

// semantics says in words what the content of an artifact must be; empty for existence alone.
func semantics(name string, c *protocol.SemanticsConfig) string {
	switch name {
	case "pm_signoff":
		return "; needs a line `Approved: YES`"
	case "system_spec":
		return "; needs the sections Purpose, Interface and Acceptance Tests, each with text of its own"
	case "implementation_notes":
		return "; needs the sections Changes and Verification, each with text of its own"
	case "acceptance_matrix":
		return "; needs a table that begins with `| Req # |` and has rows, each ending in PASS, PASSED, OK or YES"
	case "ship_verdict":
		return "; needs a line `## Verdict: YES`, `SHIP` or `SHIP IT`"
	case "release_notes":
		return "; needs the sections User Impact and Verification Summary, each with text of its own"
	case "section_check":
		if c != nil && len(c.RequiredSections) > 0 {
			return "; needs the sections " + inline(strings.Join(c.RequiredSections, ", ")) + ", each with text of its own"
		}
	}
	return ""
}

// exitGate says what the phase's gate needs, and who approves.
func (in *Input) exitGate(d *doc) {
	g := in.Gate
	if g == nil {
		return
	}
	d.para("## Phase Exit Gate")
	if to := in.next(); to != "" {
		d.para("Gate %s stands between phase %s and phase %s.", code(g.ID), code(in.State.Phase), code(to))
	} else {
		d.para("Gate %s stands between phase %s and the end of the run.", code(g.ID), code(in.State.Phase))
	}
	if len(g.Requirements) > 0 {
		d.line("It needs these files:")
		for _, r := range g.Requirements {
			if r.Optional {
				continue
			}
			owner := ""
			if r.Owner != "" {
				owner = "; an accepted turn of " + code(r.Owner) + " in this phase"
			}
			d.linef("- %s: %s%s%s", code(r.Path), in.presence(r.Path), semantics(r.Semantics, in.sections(r.Path)), owner)
		}
		d.gap()
	}
	if g.Verification {
		d.para("It needs a verification that passed: `verification.status` is `pass`.")
	}
	if len(g.Open) > 0 {
		d.line("What it lacks now:")
		for _, r := range g.Open {
			d.linef("- %s", inline(r))
		}
		d.gap()
	}
	d.para("%s", in.approval())
}

// sections is the configuration of an artifact's section_check.
func (in *Input) sections(path string) *protocol.SemanticsConfig {
	for _, a := range in.artifacts() {
		if a.Path == path {
			return a.SemanticsConfig
		}
	}
	return nil
}

// approval says who approves once the gate has what it needs, as the evaluator decides it.
func (in *Input) approval() string {
	ask := "`phase_transition_request`"
	if in.next() == "" {
		ask = "`run_completion_request`"
	}
	g := in.Gate
	switch {
	case !g.Human:
		return "Nobody has to approve: ask with " + ask + " when all of this is there."
	case g.Auto:
		by := ""
		if g.Rule != "" {
			by = " (" + inline(g.Rule) + ")"
		}
		return "The approval policy approves it in a person's place" + by + " when all of this is there. Ask with " + ask +
			" and status `completed`; do not use `needs_human` for it."
	case g.Credentialed:
		return "A person has to approve, and no policy can do that here. Ask with " + ask + " and status `completed`: the run then waits for that person. " +
			"`needs_human` is for what really blocks you."
	}
	return "A person has to approve. Ask with " + ask + " and status `completed`: the run then waits for that person. " +
		"`needs_human` is for what really blocks you."
}
