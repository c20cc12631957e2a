package prompt

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// authority states what the role may write, and how that is checked.
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
		d.line("- You may change product files.")
		d.line("- List every file that you created, changed or deleted in `files_changed`. The orchestrator compares the list with the actual changes.")
		d.line("- Set `artifact.type` to `workspace`, or to `commit` if you committed yourself.")
	}
	d.gap()
	if a == protocol.Authoritative && in.State.Phase == "implementation" {
		d.para("### Implementation Phase: Code Required")
		d.para("A completed turn of this phase changes the product: source, tests, configuration or scripts. A turn that only writes below "+
			"%s is refused, unless an earlier turn of this run has changed the product in this phase.", code(protocol.PlanningDir+"/"))
	}
}

func (in *Input) reviewer(d *doc) {
	d.line("- You must not change product files.")
	if in.remote() {
		d.linef("- You cannot write files at all. Your accepted review is stored as %s.", code(protocol.ReviewFile(in.TurnID, in.roleID())))
		d.line("- Leave `files_changed` empty; report your findings in `summary`, `decisions`, `objections` and `verification.evidence_summary`.")
	} else {
		d.linef("- You may write below %s and %s, and list those files in `files_changed`. Any other change makes the turn invalid.",
			code(protocol.PlanningDir+"/"), code(protocol.ReviewsDir+"/"))
	}
	d.line("- Set `artifact.type` to `review`.")
}

func (in *Input) proposer(d *doc) {
	if in.remote() {
		d.line("- You cannot write files.")
	} else {
		d.line("- You must not change files of the project.")
	}
	d.linef("- Return every change in `proposed_changes`; it is stored below %s for review, and a person applies it.", code(protocol.ProposedDir+"/"+in.TurnID+"/"))
	d.line("- Each entry has `path`, `action` (`create`, `modify` or `delete`) and, except for `delete`, the complete new `content`.")
	d.line("- Paths are relative to the project and stay inside it.")
	d.line("- Set `artifact.type` to `patch`, and list the same paths in `files_changed`.")
	if !in.remote() {
		return
	}
	d.line("- Only a turn that requests the end of the run may omit `proposed_changes`; its `artifact.type` is `review`.")
}

// responsibilities lists the artifacts of the phase for which this role is responsible.
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
		d.para("You are responsible for reviewing and attesting to these artifacts of phase %s:", code(in.State.Phase))
	} else {
		d.para("You are responsible for producing these artifacts of phase %s:", code(in.State.Phase))
	}
	for _, a := range own {
		need := "required"
		if !required(a) {
			need = "optional"
		}
		d.linef("- %s: %s, %s%s", code(a.Path), need, presence(in.Files[a.Path].Present), rulesOf(a))
	}
	d.gap()
	if attest {
		d.line("Confirm that each one exists and is good enough. Do not request the next phase while a required one is missing or wrong:")
		if in.remote() {
			d.para("raise an objection, and propose the role that can write it.")
		} else {
			d.para("write it if your authority allows, else raise an objection and propose the role that can write it.")
		}
	} else {
		d.para("Do not request the next phase or the end of the run while a required one is missing or incomplete.")
	}
}

// presence states whether a file exists.
func presence(there bool) string {
	if there {
		return "exists"
	}
	return "MISSING"
}

// rulesOf describes the content rules of an artifact.
func rulesOf(a protocol.Artifact) string {
	var sections []string
	if a.SemanticsConfig != nil {
		sections = a.SemanticsConfig.RequiredSections
	}
	return semantics([]string{a.Semantics}, sections)
}
