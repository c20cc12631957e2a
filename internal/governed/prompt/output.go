package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// output states where the turn result goes and shows a template of it.
func (in *Input) output(d *doc) {
	d.para("## Required Output")
	if in.answers() {
		d.para("When the work is done, answer with this JSON object, and nothing after it:")
	} else {
		d.para("When the work is done, write your turn result to")
		d.fenced("", protocol.StagedFile(in.TurnID))
		d.gap()
		d.para("as one JSON object of this form:")
	}
	d.fenced("json", in.template())
	d.gap()
	d.para("Replace everything in angle brackets. A result that still contains a placeholder is refused.")
}

// template is a turn result with the assignment's values filled in. Ids continue those of the record.
func (in *Input) template() string {
	a := in.role().WriteAuthority
	review := a == protocol.ReviewOnly
	r := protocol.TurnResult{
		SchemaVersion: protocol.ResultVersion, RunID: in.State.ID(), TurnID: in.TurnID, Role: in.roleID(), RuntimeID: in.runtimeID(),
		Status: protocol.ResultCompleted, Summary: "<what you did, in one line>",
		Decisions: []protocol.Decision{{ID: in.nextDecision(), Category: "implementation", Statement: "<what you decided>",
			Rationale: "<why>"}},
		Objections: []protocol.Objection{}, FilesChanged: []string{},
		Verification:     protocol.Verification{Status: protocol.VerificationSkipped, EvidenceSummary: "<what you checked, and how>"},
		Artifact:         protocol.ResultArtifact{Type: protocol.ArtifactReview},
		ProposedNextRole: in.nextRole(),
	}
	if in.challenge() {
		against := "<turn_id of the turn concerned>"
		if h := in.last(); h != nil {
			against = h.TurnID
		}
		r.Objections = append(r.Objections, protocol.Objection{ID: in.nextObjection(), Severity: "medium", AgainstTurnID: against,
			Statement: "<what is wrong or doubtful>", Status: "raised"})
	}
	if review {
		stay := false // otherwise a completed review would advance the run
		r.RunCompletionRequest = &stay
	} else {
		r.FilesChanged = []string{"<path/of/a/changed/file>"}
		r.Verification.Status = protocol.VerificationPass
		r.Verification.Commands = []string{"<command that you ran>"}
		r.Verification.MachineEvidence = []protocol.Evidence{{Command: "<command that you ran>"}}
		r.Artifact.Type = protocol.ArtifactPatch
	}
	if a == protocol.Authoritative {
		ref := "git:dirty"
		r.Artifact = protocol.ResultArtifact{Type: protocol.ArtifactWorkspace, Ref: &ref}
	}
	if a == protocol.Proposed {
		content := "<complete content of the file>"
		r.ProposedChanges = []protocol.ProposedChange{{Path: "<path/of/a/changed/file>", Action: "modify", Content: &content}}
	}
	b, err := protocol.MarshalFile(r)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(b)
}

// nextRole is the most likely next role: an allowed role other than this one.
func (in *Input) nextRole() string {
	for _, r := range in.allowed() {
		if r != in.roleID() && r != protocol.Human {
			return r
		}
	}
	return protocol.Human
}

// nextDecision is the first free id after those of the record.
func (in *Input) nextDecision() string {
	n := 0
	for _, d := range in.Decisions {
		n = max(n, number(d.ID, "DEC-"))
	}
	for _, d := range in.State.RepoDecisions {
		n = max(n, number(d.ID, "DEC-"))
	}
	for _, h := range in.History {
		for _, d := range h.Decisions {
			n = max(n, number(d.ID, "DEC-"))
		}
	}
	return fmt.Sprintf("DEC-%03d", n+1)
}

func (in *Input) nextObjection() string {
	n := 0
	for _, h := range in.History {
		for _, o := range h.Objections {
			n = max(n, number(o.ID, "OBJ-"))
		}
	}
	return fmt.Sprintf("OBJ-%03d", n+1)
}

// number is the number of an id; 0 if it has none, or an absurd one.
func number(id, prefix string) int {
	s, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1_000_000 {
		return 0
	}
	return n
}

// fieldRules describes what validation checks, field by field.
func (in *Input) fieldRules(d *doc) {
	d.para("### Field Rules")
	d.linef("- `schema_version` is `%q`. `run_id`, `turn_id`, `role` and `runtime_id` must stay as shown above.", protocol.ResultVersion)
	d.linef("- `status` is one of %s; `needs_human` requires `needs_human_reason`.", codes([]string{string(protocol.ResultCompleted),
		string(protocol.ResultBlocked), string(protocol.ResultNeedsHuman), string(protocol.ResultFailed)}))
	d.line("- `summary` is not empty.")
	d.linef("- `decisions` is an array, possibly empty. Each has an `id` of the form `DEC-` and digits (%s is the next free one), a `category` of %s, "+
		"a `statement` and a `rationale`.", code(in.nextDecision()), codes(protocol.Categories()))
	if len(in.State.RepoDecisions) > 0 {
		d.line("- A decision that replaces one of CONTEXT.md's repo decisions names it in `overrides`; with `durability: \"repo\"` it outlives the run.")
	} else {
		d.line("- A decision with `durability: \"repo\"` outlives the run; any other ends with it.")
	}
	d.linef("- `objections` is an array%s. Each has an `id` of the form `OBJ-` and digits (%s is the next free one), a `severity` of %s, and a `statement`; "+
		"`against_turn_id` names the turn concerned.", map[bool]string{true: " of at least one", false: ", possibly empty"}[in.challenge()],
		code(in.nextObjection()), codes(protocol.Severities()))
	if open := in.State.OpenObjections; len(open) > 0 {
		d.linef("- To change an open objection of CONTEXT.md, list it in the same array under its own id with a new `status`: `acknowledged`, `escalated`, "+
			"or `\"status\": \"resolved\"`, and a `statement` that says why, such as `{\"id\": %q, \"severity\": %q, \"status\": \"resolved\", \"statement\": \"...\"}`. "+
			"A blocking objection is resolved by the role that raised it, or by a person; until then no gate passes.", open[0].ID, open[0].Severity)
	}
	d.line("- `files_changed` is an array of paths relative to the project, as strings; files of the orchestrator are not listed.")
	d.line("- `verification.status` is `pass`, `fail` or `skipped`. `pass` requires exit code 0 of every command in `machine_evidence`, or an " +
		"`expected_exit_code` that states the other correct code.")
	d.line("- List a file that a check creates in `verification.produced_files` with a `disposition`: `ignore` if it may be removed, " +
		"`artifact` if it belongs to the result.")
	d.linef("- `artifact.type` is one of %s; `workspace` requires files in `files_changed`.", codes([]string{protocol.ArtifactWorkspace,
		protocol.ArtifactPatch, protocol.ArtifactCommit, protocol.ArtifactReview}))
	roles := in.allowed()
	if !slices.Contains(roles, protocol.Human) {
		roles = append(roles, protocol.Human)
	}
	d.linef("- `proposed_next_role` is one of %s.", codes(roles))
	in.requestRules(d)
	if !protocol.Is(in.turn().DelegationContext) {
		d.line("- `delegations` may delegate up to five tasks to other allowed roles: `id` (`del-` and three digits), `to_role`, `charter`, " +
			"`acceptance_contract`, optionally `required_decision_ids`. Not together with a request for the end of the run.")
	}
	d.gap()
}

// requestRules describes what may be requested in this phase.
func (in *Input) requestRules(d *doc) {
	if protocol.Is(in.turn().DelegationContext) {
		d.line("- `phase_transition_request` and `run_completion_request` stay `null`: they belong to the role that delegated to you.")
		return
	}
	review := in.role().WriteAuthority == protocol.ReviewOnly
	switch to := in.next(); {
	case to != "":
		d.linef("- `phase_transition_request` is `null`, or `%q` when this phase is done: the name of a phase, not of a gate.", to)
		if review {
			d.line("- `run_completion_request` stays `false`: this is not the last phase. A completed review with `null` in both requests counts as a request for the next phase.")
		} else {
			d.line("- `run_completion_request` stays `null`: this is not the last phase.")
		}
	case in.final() && review:
		d.line("- `run_completion_request` is `false`, or `true` if nothing prevents the end of the run; `null` after a completed review " +
			"counts as `true`. This is the last phase: `phase_transition_request` stays `null`.")
	case in.final():
		d.line("- `run_completion_request` is `null`, or `true` if nothing prevents the end of the run. This is the last phase: " +
			"`phase_transition_request` stays `null`.")
	default:
		d.line("- `phase_transition_request` and `run_completion_request` stay `null`.")
	}
}
