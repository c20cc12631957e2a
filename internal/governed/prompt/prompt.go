package prompt

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Prompt returns PROMPT.md: the role's task in this turn, its rules, and how to deliver the result.
func Prompt(in Input) string {
	d := &doc{}
	in.identity(d)
	in.rules(d)
	in.authority(d)
	in.responsibilities(d)
	in.exitGate(d)
	in.declined(d)
	in.previous(d)
	in.intent(d)
	in.conflict(d)
	in.coordinator(d)
	in.delegation(d)
	in.instructions(d)
	in.singleShot(d)
	in.output(d)
	in.fieldRules(d)
	return d.b.String()
}

func (in *Input) identity(d *doc) {
	t := in.turn()
	d.para("# Turn Assignment: %s (%s)", inline(in.title()), inline(in.roleID()))
	d.field("Run", in.State.ID())
	d.field("Turn", in.TurnID)
	d.field("Phase", in.State.Phase)
	d.linef("- **Attempt:** %d of %d", t.Attempt, in.Config.Rules.Attempts())
	d.field("Write Authority", string(in.role().WriteAuthority))
	d.field("Runtime", in.runtimeID())
	d.field("Deadline", t.DeadlineAt.String())
	if t.Worktree != "" {
		d.line("- **Workspace:** your own git worktree. All paths here are relative to it; it is merged when your turn is accepted.")
	}
	d.gap()
	if m := strings.TrimSpace(in.role().Mandate); m != "" {
		d.para("## Your Mandate")
		d.para("%s", inline(m))
	}
}

func (in *Input) rules(d *doc) {
	d.para("## Protocol Rules")
	if in.challenge() {
		d.line("1. **Challenge the work so far.** Raise at least one objection, even a small one. A turn without an objection is refused.")
	} else {
		d.line("1. **Challenge the work so far.** Raise every doubt as an objection with an id, a severity and a reason.")
	}
	d.line("2. **Report only checks that you ran.** List each command with its actual exit code.")
	d.line("3. **Do not change these files.** They belong to the orchestrator, and a turn that changes one is refused:")
	for _, p := range protocol.ReservedPaths() {
		d.linef("   - %s", code(p))
	}
	d.linef("   - everything else below %s except %s and the result that you write", code(protocol.Dir+"/"), code(protocol.ReviewsDir+"/"))
	if in.answers() {
		d.line("4. **End with one turn result** as the JSON object described below. The orchestrator stores it; do not write a file.")
	} else {
		d.linef("4. **Write one turn result** to %s, as described below. Without it the turn does not count.", code(protocol.StagedFile(in.TurnID)))
	}
	if roles := in.allowed(); len(roles) > 0 {
		d.linef("5. **Propose who acts next:** one of %s. Routing decides.", codes(roles))
		if next, roles := in.nextPhase(); next != "" && len(roles) > 0 {
			d.linef("   If you request the phase %s, it may be one of %s instead; without that request the proposal has no effect.", code(next), codes(roles))
		}
	} else {
		d.line("5. **Propose who acts next.** Routing decides.")
	}
	d.gap()
}

// declined shows a person's decline of a gate, until that gate passes.
func (in *Input) declined(d *doc) {
	no := in.State.LastDecline
	if no == nil {
		return
	}
	d.para("## Declined by a Person")
	d.para("%s declined the gate %s, which %s had requested:", inline(no.By.String()), code(no.GateID), code(no.RequestedByTurn))
	d.para("%s", quote(no.Reason))
	d.para("Address this before you request that gate again, and say in your summary how.")
}

func (in *Input) previous(d *doc) {
	t := in.turn()
	if t.ReissuedFrom != "" {
		d.para("## Reissued Turn")
		d.linef("This turn replaces %s, which was abandoned.", code(t.ReissuedFrom))
		d.field("Reason", t.FailureReason)
		d.line("- Inspect the current workspace before you begin.")
		d.gap()
	}
	r := t.LastRejection
	if r == nil {
		return
	}
	d.para("## Previous Attempt Failed")
	d.para("This is attempt %d of %d. Attempt %d was rejected:", t.Attempt, in.Config.Rules.Attempts(), r.Attempt)
	d.field("Reason", r.Reason)
	d.field("Failed stage", r.FailedStage)
	if len(r.ValidationErrors) > 0 {
		d.line("- **Errors:**")
		for _, e := range r.ValidationErrors {
			d.linef("  - %s", inline(e))
		}
	}
	d.gap()
	d.para("%s", advice(r.FailedStage))
	d.para("Your changes of that attempt may still be in the workspace. Keep what is right, fix the rest, and write a new turn result.")
}

// advice says what to do after a stage of validation has failed.
func advice(stage string) string {
	switch protocol.Stage(strings.TrimSuffix(stage, "_error")) {
	case protocol.StageSchema:
		return "What to do: write the turn result again so that every field named above follows the Field Rules."
	case protocol.StageAssignment:
		return "What to do: copy `run_id`, `turn_id`, `role` and `runtime_id` from this assignment, not from an earlier turn."
	case protocol.StageArtifact:
		return "What to do: make `files_changed` and `artifact` match your actual changes, and change only what your authority allows; " +
			"undo all else."
	case protocol.StageVerification:
		return "What to do: run the checks again and report each command with its own exit code; a failing check is reported as `fail`."
	case protocol.StageProtocol:
		return "What to do: follow the rules for objections, for the next role, and for requests for the next phase or the end of the run."
	}
	return "What to do: fix the cause of every error above before you submit again."
}

// intake is the part of an injected intent that is shown.
type intake struct {
	IntentID           string   `json:"intent_id"`
	EventID            string   `json:"event_id"`
	Source             string   `json:"source"`
	Category           string   `json:"category"`
	Charter            string   `json:"charter"`
	AcceptanceContract []string `json:"acceptance_contract"`
}

func (in *Input) intent(d *doc) {
	var i intake
	if !read(in.turn().IntakeContext, &i) {
		return
	}
	d.para("### Active Injected Intent")
	d.para("This has priority in this turn:")
	if q := quote(i.Charter); q != "" {
		d.para("%s", q)
	}
	for n, item := range i.AcceptanceContract {
		d.linef("%d. %s", n+1, inline(item))
	}
	if len(i.AcceptanceContract) > 0 {
		d.gap()
		d.para("Address every item in your summary, your files or your evidence.")
	}
}

// clash is the part of a conflict's context that is shown.
type clash struct {
	ConflictingFiles []string `json:"conflicting_files"`
	AcceptedSince    []struct {
		TurnID       string   `json:"turn_id"`
		Role         string   `json:"role"`
		FilesChanged []string `json:"files_changed"`
	} `json:"accepted_turns_since"`
	Forward  []string `json:"forward_revision_files"`
	Keep     []string `json:"non_conflicting_files_preserved"`
	Guidance string   `json:"guidance"`
}

func (in *Input) conflict(d *doc) {
	var c clash
	if !read(in.turn().ConflictContext, &c) {
		return
	}
	d.para("## File Conflict")
	d.para("Your earlier attempt changed files that were also changed by turns accepted since then.")
	if len(c.ConflictingFiles) > 0 {
		d.linef("- **In conflict:** %s", codes(c.ConflictingFiles))
	}
	for _, t := range c.AcceptedSince {
		d.linef("- **Accepted since:** %s (%s): %s", code(t.TurnID), inline(t.Role), codes(t.FilesChanged))
	}
	if len(c.Forward) > 0 {
		d.linef("- **Safe to keep:** %s", codes(c.Forward))
	}
	if len(c.Keep) > 0 {
		d.linef("- **Keep from your attempt:** %s", codes(c.Keep))
	}
	d.field("Guidance", c.Guidance)
	d.gap()
	d.para("Read the current version of these files and apply your changes to it. Do not restore the older content.")
}

// errand is the part of a delegation's context that is shown.
type errand struct {
	DelegationID       string   `json:"delegation_id"`
	ID                 string   `json:"id"`
	ParentTurnID       string   `json:"parent_turn_id"`
	ParentRole         string   `json:"parent_role"`
	Charter            string   `json:"charter"`
	AcceptanceContract []string `json:"acceptance_contract"`
	RequiredDecisions  []string `json:"required_decision_ids"`
}

func (in *Input) delegation(d *doc) {
	var e errand
	if read(in.turn().DelegationContext, &e) {
		d.para("## Delegated Work")
		d.para("%s delegated this to you in turn %s. Do this and nothing else; you cannot delegate further.", inline(e.ParentRole), code(e.ParentTurnID))
		if q := quote(e.Charter); q != "" {
			d.para("%s", q)
		}
		for n, item := range e.AcceptanceContract {
			d.linef("%d. %s", n+1, inline(item))
		}
		if len(e.AcceptanceContract) > 0 {
			d.gap()
		}
		if len(e.RequiredDecisions) > 0 {
			d.para("Your result must contain these decisions: %s.", codes(e.RequiredDecisions))
		}
	}
	if protocol.Is(in.turn().DelegationReview) {
		d.para("## Review of Delegated Work")
		d.para("The work that you delegated has ended; CONTEXT.md has the results under Delegation Review. Compare each with what you asked " +
			"for. While a required decision is missing, you cannot request the next phase or the end of the run.")
	}
}

// instructions returns the text of the role's own prompt file, with its variables replaced.
func (in *Input) instructions(d *doc) {
	text, _ := in.expand(strings.TrimSpace(clean(in.RolePrompt)))
	if text == "" {
		return
	}
	d.para("## Role-Specific Instructions")
	d.line(text)
	if f := openFence(text); f != "" {
		d.line(f)
	}
	d.gap()
}

func (in *Input) singleShot(d *doc) {
	if in.runtime().Type == protocol.RuntimeManual {
		return
	}
	d.para("## Unattended Turn")
	d.para("This turn runs once, and there is no person to ask. Do not end with a question or a plan: do the work, then deliver the result. " +
		"If you cannot decide something, report it in the result: status `blocked` or `needs_human` with the reason.")
}

// read decodes raw into v; false if it is empty or of another type.
func read(raw json.RawMessage, v any) bool {
	return protocol.Is(raw) && json.Unmarshal(raw, v) == nil
}
