package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/claim"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// submission is a staged result that is being judged.
type submission struct {
	data      []byte
	where     string
	outcome   turnruntime.Outcome
	started   time.Time
	repair    bool // return it to the role with its faults
	merge     bool // a person has merged the conflict
	person    bool // a person did the work, or accepts it
	normalize bool // an empty workspace artifact is a review
}

// judge decides a staged result: it is decoded, normalized, validated, compared with the observed changes, and checked
// against the rules. Everything is decided before the record changes.
func (t *transaction) judge(ctx context.Context, id string, s submission) (govern.Report, error) {
	turn := t.state().ActiveTurns.At(id)
	t.withoutSecrets(id, &s)
	raw, changes, err := turnresult.Decode(s.data)
	if err != nil {
		return t.unacceptable(ctx, id, failure{code: "validation_failed", stage: protocol.StageSchema, errors: []string{s.where + ": " + err.Error()}}, s.repair)
	}
	if held, err := t.hook(ctx, protocol.HookBeforeValidation, id, map[string]any{"turn_id": id, "role": turn.AssignedRole, "turn_result": raw}); held != nil || err != nil {
		return orEmpty(held), err
	}
	in := turnresult.Input{Raw: raw, Config: t.run.Config, State: t.state(), Turn: turn, History: t.run.History, NormalizeArtifact: s.normalize}
	fixed, more := turnresult.Normalize(in)
	changes = append(changes, more...)
	in.Raw = fixed
	valid := turnresult.Validate(in)
	payload := map[string]any{"turn_id": id, "role": turn.AssignedRole, "validation": map[string]any{"ok": valid.Result != nil, "stage": valid.Failed, "errors": turnresult.Errors(valid)}, "turn_result": fixed}
	if held, err := t.hook(ctx, protocol.HookAfterValidation, id, payload); held != nil || err != nil {
		return orEmpty(held), err
	}
	if valid.Result == nil {
		return t.unacceptable(ctx, id, failure{code: "validation_failed", stage: valid.Failed, errors: turnresult.Errors(valid)}, s.repair)
	}
	return t.accept(ctx, turn, valid, changes, s)
}

func orEmpty(r *govern.Report) govern.Report {
	if r == nil {
		return govern.Report{}
	}
	return *r
}

// looked is what was observed of a turn's files, and what its result declares about them.
type looked struct {
	root     string // where the turn works
	base     protocol.Baseline
	seen     workspace.Observation
	compared claim.Report
	unsaid   []string // warnings about the turn's intent
}

// accept checks a valid result against the workspace and the rules, and commits it.
func (t *transaction) accept(ctx context.Context, turn *protocol.Turn, valid turnresult.Report, changes []protocol.Change, s submission) (govern.Report, error) {
	id := turn.TurnID
	l, held, err := t.look(ctx, turn, valid.Result, s)
	if held != nil || err != nil {
		return orEmpty(held), err
	}
	if l, held, err = t.commitHooked(ctx, turn, valid.Result, l, s); held != nil || err != nil {
		return orEmpty(held), err
	}
	now := t.e.now()
	in, err := t.acceptance(ctx, turn, valid, l, s)
	if err != nil {
		return govern.Report{}, err
	}
	in.Changes = changes
	merged, err := t.merge(ctx, turn, &in, l, s)
	if err != nil {
		return govern.Report{}, err
	}
	before, effects := t.run, t.effects
	if err := t.doAt(now, in); err != nil {
		return govern.Report{}, err
	}
	if not := notAccepted(t.effects); not != nil {
		return t.held(ctx, id, *not, s)
	}
	derived, err := t.derive(id, valid.Result)
	if err != nil {
		t.run, t.effects = before, effects
		return t.unacceptable(ctx, id, failure{code: claim.CodeMismatch, stage: protocol.StageArtifact, errors: []string{err.Error()}}, s.repair)
	}
	entry := t.entry(id)
	payload := map[string]any{"turn_id": id, "role": turn.AssignedRole, "history_entry": entry, "next_status": t.state().Status}
	out, err := t.runHooks(ctx, protocol.HookBeforeAcceptance, id, payload)
	if err != nil {
		return govern.Report{}, err
	}
	if !out.OK {
		t.run, t.effects = before, effects
		rep, err := t.objected(ctx, protocol.HookBeforeAcceptance, id, out)
		if err == nil {
			about(&rep, turn)
		}
		return rep, err
	}
	var cp *checkpoint
	if t.work.Kind() == workspace.Git {
		cp = &checkpoint{turn: *turn, phase: entry.Phase, files: entry.FilesChanged, at: now, sign: t.run.Config.Signs()}
	}
	if err := t.fulfil(turn); err != nil {
		return govern.Report{}, err
	}
	t.writes(derived)
	sha, err := t.commit(ctx, commitAccept, id, cp)
	if errors.Is(err, ledger.ErrUnfinished) {
		t.e.warn(err.Error())
	} else if err != nil {
		return govern.Report{}, err
	}
	if merged {
		if err := t.work.Drop(ctx, id); err != nil {
			t.e.warn(fmt.Sprintf("the worktree of turn %s is still there: %v", id, err))
		}
	}
	delete(payload, "next_status")
	t.afterwards(ctx, protocol.HookAfterAcceptance, id, payload)
	return t.acceptedReport(turn, entry, in, sha, s), nil
}

// look observes what the turn changed and compares it with its result. The report says why the result is not
// acceptable.
func (t *transaction) look(ctx context.Context, turn *protocol.Turn, result *protocol.TurnResult, s submission) (l looked, held *govern.Report, err error) {
	l.root = t.workRoot(turn.TurnID)
	if turn.Baseline != nil {
		l.base = *turn.Baseline
	}
	in := ""
	if turn.Worktree != "" {
		in = l.root
	}
	if l.seen, err = t.work.Observe(ctx, l.base, in); err != nil {
		return l, nil, err
	}
	if held, err = t.moved(ctx, turn, l.seen, s.person); held != nil || err != nil {
		return l, held, err
	}
	_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
	l.compared = claim.Compare(claim.Input{
		Result: result, Authority: t.run.Config.Roles.At(turn.AssignedRole).WriteAuthority, RuntimeType: rt.Type, Phase: t.state().Phase,
		Observed: l.seen.Paths(), Created: l.seen.Created(), Renamed: l.seen.Renames(), Committed: l.seen.Committed,
		BaselineDirty: l.base.DirtySnapshot.Keys(), Available: l.seen.Available,
	})
	var wrong *failure
	if faults := l.compared.Errors; len(faults) > 0 {
		wrong = &failure{code: faults[0].Code, stage: protocol.StageArtifact}
		for _, e := range faults {
			wrong.errors = append(wrong.errors, e.Message)
		}
	} else {
		wrong, l.unsaid = t.covers(turn, result)
	}
	if wrong != nil {
		rep, err := t.unacceptable(ctx, turn.TurnID, *wrong, s.repair)
		return l, &rep, err
	}
	if own := ruleFilesOf(turn, l.compared.Files); len(own) > 0 {
		if held, err = t.refuseBound(ctx, turn.TurnID, codeRulesChanged, own, s.person); held != nil || err != nil {
			return l, held, err
		}
	}
	if len(l.compared.Ignored) > 0 {
		// Files that the verification produced and the turn does not keep.
		left, err := t.work.Discard(ctx, l.base, in, l.compared.Ignored)
		if err != nil {
			return l, nil, err
		}
		if len(left) > 0 {
			t.e.warn("the verification changed files that already had your changes; they were not reverted: " + strings.Join(left, ", "))
		}
	}
	return l, nil, nil
}

// acceptance is the input that asks the rules to accept a result.
func (t *transaction) acceptance(ctx context.Context, turn *protocol.Turn, valid turnresult.Report, l looked, s submission) (in governance.AcceptTurn, err error) {
	in = governance.AcceptTurn{
		TurnID: turn.TurnID, Files: l.compared.Files, AdapterMeta: s.outcome.Meta, Session: s.outcome.Session, Observed: observed(l.base, l.seen),
		Warnings: slices.Concat(valid.Warnings, l.compared.Warnings, l.unsaid, l.seen.Warnings, t.noted),
	}
	if s.merge {
		in.Resolution = governance.ResolutionHumanMerge
	}
	if in.Result, err = governance.Prove(valid.Passed, valid.Result); err != nil {
		return in, err
	}
	if in.GateFiles, err = t.gateFiles(l.root, t.state().Phase); err != nil {
		return in, err
	}
	if err = t.knowIDs(); err != nil {
		return in, err
	}
	in.Replay, err = t.replay(ctx, l.root, valid.Result)
	return in, err
}

// merge merges the turn's worktree into the project, or lists the conflicts in the input. It reports whether the
// worktree can be removed.
func (t *transaction) merge(ctx context.Context, turn *protocol.Turn, in *governance.AcceptTurn, l looked, s submission) (merged bool, err error) {
	if turn.Worktree == "" {
		return false, nil
	}
	if in.MergeConflicts, err = t.work.Merge(ctx, turn.TurnID, in.Files); err != nil {
		return false, err
	}
	if known := t.mergedBefore(turn, l.root, in.MergeConflicts); len(known) > 0 {
		in.Files = slices.DeleteFunc(slices.Clone(in.Files), func(p string) bool { return slices.Contains(known, p) })
		if in.MergeConflicts, err = t.work.Merge(ctx, turn.TurnID, in.Files); err != nil {
			return false, err
		}
	}
	merged = len(in.MergeConflicts) == 0
	if !merged && s.merge {
		if in.Files, err = t.mergedByHand(ctx, turn, l.root, in.Files, in.MergeConflicts); err != nil {
			return false, err
		}
		merged = true
	}
	if err := keepEvidence(l.root, t.e.root, turn.TurnID); err != nil {
		t.e.warn(fmt.Sprintf("cannot keep the evidence of turn %s: %v", turn.TurnID, err))
	}
	return merged, nil
}

func (t *transaction) acceptedReport(turn *protocol.Turn, entry *protocol.HistoryEntry, in governance.AcceptTurn, sha string, s submission) govern.Report {
	rep := t.report(govern.OutcomeAccepted)
	about(&rep, turn)
	rep.Code = t.tampered
	rep.Summary, rep.Warnings, rep.Changes = entry.Summary, in.Warnings, in.Changes
	rep.Files, rep.Decisions, rep.Objections = entry.FilesChanged, entry.Decisions, entry.Objections
	rep.Cost, rep.Meta, rep.DurationMS, rep.Commit = entry.Cost, entry.AdapterMeta, entry.DurationMS, sha
	if s.started.IsZero() {
		rep.DurationMS = 0
	}
	if t.state().Phase != entry.Phase {
		rep.EnteredPhase = t.state().Phase
	}
	if entry.DerivedFiles.Len() > 0 {
		rep.Artifact = protocol.Deref(entry.Artifact.Ref)
	}
	return rep
}

// held reports a result that is valid but refused by the rules.
func (t *transaction) held(ctx context.Context, id string, not governance.NotAccepted, s submission) (govern.Report, error) {
	if s.repair && t.state().Status == protocol.RunActive && not.Code != governance.CodeConflict && t.state().ActiveTurns.At(id) != nil {
		if err := t.do(governance.RejectTurn{TurnID: id, Reason: not.Code, Stage: protocol.StageProtocol, Errors: not.Errors}); err != nil {
			return govern.Report{}, err
		}
	}
	if _, err := t.commit(ctx, commitFail, id, nil); err != nil {
		return govern.Report{}, err
	}
	rep := t.report(govern.OutcomeFailed)
	if t.state().Status == protocol.RunBlocked {
		rep.Outcome = govern.OutcomeBlocked
	}
	rep.Code, rep.Errors = not.Code, not.Errors
	if turn := t.state().ActiveTurns.At(id); turn != nil {
		about(&rep, turn)
		if t.repeats(s.repair && turn.Status == protocol.TurnRetrying); t.repeat != nil {
			rep.Outcome = govern.OutcomeRejected
			t.e.note(govern.Notice{Kind: govern.NoticeRejected, TurnID: id, Role: rep.Role, Text: not.Code + ": " + joined(not.Errors)})
		}
	}
	return rep, nil
}

func notAccepted(effects []governance.Effect) *governance.NotAccepted {
	for _, f := range effects {
		if n, ok := f.(governance.NotAccepted); ok {
			return &n
		}
	}
	return nil
}

// entry is the history entry that this transaction adds for a turn.
func (t *transaction) entry(id string) *protocol.HistoryEntry {
	for _, f := range t.effects {
		if h, ok := f.(governance.AppendHistory); ok && h.Entry.TurnID == id {
			return &h.Entry
		}
	}
	return &protocol.HistoryEntry{TurnID: id}
}

// observed is the recorded form of the observation.
func observed(base protocol.Baseline, seen workspace.Observation) *protocol.Observed {
	if !seen.Available {
		return nil
	}
	o := &protocol.Observed{DerivedBy: "orchestrator", BaselineRef: ref(base), AcceptedRef: "git:" + seen.HeadRef, FilesChanged: seen.Paths(), DiffSummary: seen.DiffSummary}
	o.FileMarkers = seen.Markers()
	return o
}

func ref(base protocol.Baseline) string {
	if base.HeadRef == nil {
		return "workspace:dirty"
	}
	return "git:" + *base.HeadRef
}

// checkpoint is the commit of an acceptance.
type checkpoint struct {
	turn  protocol.Turn
	phase string
	files []string
	at    protocol.Time // of the acceptance
	sign  *bool         // nil: as the user's git does
}

// moment is the commit's time.
func (c *checkpoint) moment(now protocol.Time) protocol.Time {
	if c.at.IsZero() {
		return now
	}
	return c.at
}

// prepare creates the commit's objects. A trailer names the head of the record's chain, so that a record that is
// rewritten later does not match its commits. The chain itself is not committed: it also changes between commits, and
// would leave every work tree dirty and make every commit larger than the one before.
func (c *checkpoint) prepare(ctx context.Context, w *workspace.Workspace, head string) (ledger.Checkpoint, error) {
	sign := c.sign != nil && *c.sign
	if c.sign == nil {
		var err error
		if sign, err = w.Signs(ctx); err != nil {
			return ledger.Checkpoint{}, err
		}
	}
	p, err := w.Prepare(ctx, workspace.CheckpointRequest{
		Sign:    sign,
		Paths:   c.files,
		Message: workspace.Subject(c.turn.TurnID, c.turn.AssignedRole, c.phase, c.turn.RuntimeID), Baseline: c.turn.Baseline,
		Trailers: [][2]string{{"AgentXchain-Run", c.turn.RunID}, {"AgentXchain-Turn", c.turn.TurnID}, {workspace.ChainTrailer, head}},
	})
	if err != nil {
		return ledger.Checkpoint{}, err
	}
	b, err := json.Marshal(p)
	return ledger.Checkpoint{Commit: p.Commit, Parent: p.Parent, Ref: p.Ref, Apply: b}, err
}

func applyCheckpoint(ctx context.Context, w *workspace.Workspace, cp ledger.Checkpoint) error {
	var p workspace.Prepared
	if err := json.Unmarshal(cp.Apply, &p); err != nil {
		return fmt.Errorf("the journal's checkpoint: %w", err)
	}
	err := w.Apply(ctx, p)
	if !errors.Is(err, workspace.ErrMoved) {
		return err
	}
	// Somebody committed in between. Their commit stays below the turn's, which names the original commit in a trailer.
	again, err := w.Rebase(ctx, p)
	if err == nil {
		err = w.Apply(ctx, again)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrCheckpointStale, err)
	}
	return nil
}
