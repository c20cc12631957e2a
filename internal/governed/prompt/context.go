package prompt

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Context returns CONTEXT.md: the state of the run, what came before, and what the phase still needs. Its headings are
// fixed, because context compressors cut the document at them. A section without content is left out.
func Context(in Input) string {
	d := &doc{}
	d.para("# Execution Context")
	in.currentState(d)
	if goal := quote(in.Config.Project.Goal); goal != "" {
		d.para("## Project Goal")
		d.para("%s", goal)
	}
	in.intakeContext(d)
	in.coordinatorContext(d)
	in.delegationContext(d)
	in.delegationReview(d)
	in.capabilities(d)
	in.repoDecisions(d)
	in.inherited(d)
	in.openProposals(d)
	in.lastTurn(d)
	in.decisionHistory(d)
	in.blockers(d)
	in.workflowArtifacts(d)
	in.gateRequiredFiles(d)
	in.gateStatus(d)
	return d.b.String()
}

func (in *Input) currentState(d *doc) {
	s := &in.State
	d.para("## Current State")
	d.field("Run", s.ID())
	d.field("Status", string(s.Status))
	d.field("Phase", s.Phase)
	ref := "none"
	if s.AcceptedIntegration != nil && *s.AcceptedIntegration != "" {
		ref = *s.AcceptedIntegration
	}
	d.field("Integration ref", ref)
	d.linef("- **Budget spent:** $%.2f", s.BudgetStatus.SpentUSD)
	if left := s.BudgetStatus.RemainingUSD; left != nil {
		d.linef("- **Budget remaining:** $%.2f", *left)
	}
	d.gap()
}

func (in *Input) intakeContext(d *doc) {
	var i intake
	if !read(in.turn().IntakeContext, &i) {
		return
	}
	d.para("## Intake Intent")
	d.field("Intent", i.IntentID)
	d.field("Event", i.EventID)
	d.field("Source", i.Source)
	d.field("Category", i.Category)
	d.field("Charter", i.Charter)
	d.items("Acceptance Contract", i.AcceptanceContract)
	d.gap()
}

// items writes a field whose value is a list.
func (d *doc) items(name string, list []string) {
	if len(list) == 0 {
		return
	}
	d.linef("- **%s:**", name)
	for _, s := range list {
		d.linef("  - %s", inline(s))
	}
}

func (in *Input) delegationContext(d *doc) {
	var e errand
	if !read(in.turn().DelegationContext, &e) {
		return
	}
	d.para("## Delegation Context")
	if e.ParentRole != "" {
		d.linef("- **Delegated by:** %s (turn %s)", inline(e.ParentRole), code(e.ParentTurnID))
	}
	d.field("Charter", e.Charter)
	d.items("Acceptance contract", e.AcceptanceContract)
	d.field("Required decisions", strings.Join(e.RequiredDecisions, ", "))
	d.gap()
}

func (in *Input) delegationReview(d *doc) {
	var r protocol.DelegationReview
	if !read(in.turn().DelegationReview, &r) {
		return
	}
	d.para("## Delegation Review")
	for _, res := range r.Results {
		d.para("### %s → %s", inline(res.DelegationID), inline(res.ToRole))
		d.field("Status", res.Status)
		d.field("Turn", res.ChildTurnID)
		d.field("Summary", res.Summary)
		if len(res.FilesChanged) > 0 {
			d.linef("- **Files changed:** %s", codes(res.FilesChanged))
		}
		d.field("Satisfied decisions", strings.Join(res.SatisfiedDecisionIDs, ", "))
		d.field("Missing decisions", strings.Join(res.MissingDecisionIDs, ", "))
		d.gap()
	}
}

func (in *Input) capabilities(d *doc) {
	rt := in.runtime()
	d.para("## Runtime Capability Contract")
	d.linef("- **Runtime:** %s (%s)", inline(in.runtimeID()), inline(rt.Type))
	d.field("Agent", rt.Agent)
	d.field("Can write files", in.Contract.CanWriteFiles)
	d.field("Proposal support", in.Contract.ProposalSupport)
	d.field("Workflow artifact ownership", in.Contract.WorkflowArtifactOwnership)
	d.field("Effective write path for this role", in.WritePath)
	d.gap()
}

func (in *Input) repoDecisions(d *doc) {
	var active []protocol.RepoDecision
	for _, r := range in.State.RepoDecisions {
		if r.Status == "" || r.Status == "active" {
			active = append(active, r)
		}
	}
	if len(active) == 0 {
		return
	}
	d.para("## Active Repo Decisions")
	d.para("Made in earlier runs and still active. Follow them, or replace one with your own decision that names it in `overrides`.")
	for _, r := range active {
		more := ""
		if r.Overrides != nil && *r.Overrides != "" {
			more = " (replaces " + inline(*r.Overrides) + ")"
		}
		d.linef("- **%s** (%s): %s%s", inline(r.ID), inline(r.Category), inline(r.Statement), more)
	}
	d.gap()
}

// openProposals lists the proposals that wait for a person, with their reviews.
func (in *Input) openProposals(d *doc) {
	if len(in.Proposals) == 0 {
		return
	}
	d.para("## Open Proposals")
	d.para("Proposed and not applied: the files of the project do not contain them yet. A person decides on each.")
	for _, p := range in.Proposals[max(0, len(in.Proposals)-maxProposals):] {
		d.linef("- **%s** by %s: %s", code(p.Ref), inline(p.Role), inline(p.Summary))
		files, more := p.Files, ""
		if len(files) > maxFilesListed {
			files, more = files[:maxFilesListed], " and more"
		}
		d.linef("  - Files: %s%s", codes(files), more)
		for _, r := range p.Reviews {
			at := ""
			if r.Ref != "" {
				at = " (" + code(r.Ref) + ")"
			}
			d.linef("  - Reviewed by %s: %s%s", inline(r.Role), inline(r.Summary), at)
		}
	}
	d.gap()
}

// parent is the part of an inherited context that is shown.
type parent struct {
	RunID     string   `json:"parent_run_id"`
	Status    string   `json:"parent_status"`
	Completed string   `json:"parent_completed_at"`
	Blocked   string   `json:"parent_blocked_reason"`
	Phases    []string `json:"parent_phases_completed"`
	Roles     []string `json:"parent_roles_used"`
	Decisions []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
	} `json:"recent_decisions"`
	Turns []struct {
		TurnID  string `json:"turn_id"`
		Role    string `json:"role"`
		Summary string `json:"summary"`
	} `json:"recent_accepted_turns"`
}

// inherited shows the run that preceded this one: in full for the first turn, only its heading later.
func (in *Input) inherited(d *doc) {
	var p parent
	if !read(in.State.InheritedContext, &p) {
		return
	}
	d.para("## Inherited Run Context")
	d.para("This is a new run. The following is from an earlier run, for information only.")
	d.field("Parent run", p.RunID)
	d.field("Parent status", p.Status)
	d.field("Completed at", p.Completed)
	d.field("Blocked reason", p.Blocked)
	d.field("Phases completed", strings.Join(p.Phases, ", "))
	d.field("Roles used", strings.Join(p.Roles, ", "))
	d.gap()
	if in.last() != nil {
		return
	}
	if len(p.Decisions) > 0 {
		d.para("### Recent Decisions")
		for _, x := range p.Decisions {
			d.linef("- **%s:** %s", inline(x.ID), inline(x.Statement))
		}
		d.gap()
	}
	if len(p.Turns) > 0 {
		d.para("### Recent Accepted Turns")
		for _, x := range p.Turns {
			d.linef("- **%s** (%s): %s", inline(x.Role), inline(x.TurnID), inline(x.Summary))
		}
		d.gap()
	}
}

func (in *Input) blockers(d *doc) {
	s := &in.State
	if s.BlockedOn != nil && *s.BlockedOn != "" {
		d.para("## Blockers")
		d.field("Blocked on", *s.BlockedOn)
		if b := s.BlockedReason; b != nil {
			d.field("Detail", b.Recovery.Detail)
		}
		d.gap()
	}
	if e := s.Escalation; e != nil {
		d.para("## Escalation")
		d.field("From", e.FromRole)
		d.field("Turn", e.FromTurnID)
		d.field("Reason", e.Reason)
		d.items("Errors", e.ValidationErrors)
		d.gap()
	}
}

func (in *Input) workflowArtifacts(d *doc) {
	arts := in.artifacts()
	if len(arts) == 0 {
		return
	}
	d.para("## Workflow Artifacts")
	rows := make([][]string, 0, len(arts))
	for _, a := range arts {
		need, sem, owner := "yes", "—", in.owner(a)
		if !required(a) {
			need = "no"
		}
		if a.Semantics != "" {
			sem = code(a.Semantics)
		}
		if a.OwnedBy == "" && owner != "" {
			owner += " (entry role)"
		}
		rows = append(rows, []string{code(a.Path), need, sem, owner, presence(in.Files[a.Path].Present)})
	}
	d.table([]string{"Artifact", "Required", "Semantics", "Owner", "Status"}, rows)
	d.gap()
	if !in.reads() {
		return
	}
	gated := in.gateFiles() // shown in their own section
	for _, a := range arts {
		if slices.Contains(gated, a.Path) {
			continue
		}
		if f := in.Files[a.Path]; f.Present {
			d.para("### %s", code(a.Path))
			d.preview(f, MaxGateLines)
		}
	}
}

func (in *Input) gateRequiredFiles(d *doc) {
	e, ok := in.exit()
	files := in.gateFiles()
	if !ok || len(files) == 0 {
		return
	}
	d.para("## Gate Required Files")
	for _, p := range files {
		f := in.Files[p]
		if !in.reads() {
			d.linef("- %s — %s", code(p), presence(f.Present))
			continue
		}
		d.para("### %s — %s", code(p), presence(f.Present))
		if f.Present {
			d.preview(f, MaxGateLines)
		}
	}
	if !in.reads() {
		d.gap()
	}
	if len(e.now.Reasons) > 0 {
		d.items("Not satisfied yet", e.now.Reasons)
		d.gap()
	}
}

// preview shows the beginning of a file.
func (d *doc) preview(f File, lines int) {
	if f.Binary {
		d.para("_Not a text file; not shown._")
		return
	}
	if f.Withheld {
		d.para("_Not shown: files of this name contain secrets._")
		return
	}
	text, cutOff := head(f.Text, lines)
	d.fenced("", text)
	d.gap()
	if cutOff || f.Cut {
		d.para("_Only the beginning is shown: at most %d lines._", lines)
	}
}

func (in *Input) gateStatus(d *doc) {
	if in.State.PhaseGateStatus.Len() == 0 {
		return
	}
	d.para("## Phase Gate Status")
	for id, status := range in.State.PhaseGateStatus.All() {
		d.linef("- %s: %s", code(id), inline(status))
	}
	d.gap()
}
