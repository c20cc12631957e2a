package orchestrator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// Submit stages the result of a person's turn if it is valid. A command that waits for the turn accepts it; otherwise
// the next step does.
func (e *Local) Submit(ctx context.Context, o govern.SubmitOptions) (rep govern.Report, err error) {
	err = e.locked(ctx, "submit", func(t *transaction) error {
		turn, err := t.persons(o.Turn)
		if err != nil {
			return err
		}
		data, changes, valid, err := t.judgeSubmission(ctx, turn, o.Form)
		if err != nil {
			return err
		}
		rep = t.report(govern.OutcomeDone)
		about(&rep, turn)
		rep.Changes = changes
		if valid.Result == nil {
			rep.Outcome, rep.Code, rep.Stage, rep.Errors = govern.OutcomeFailed, "validation_failed", valid.Failed, turnresult.Errors(valid)
			rep.Hint = "repeat the command: nothing was staged"
			if t.work.Kind() != workspace.Git && valid.Failed == protocol.StageArtifact {
				rep.Hint += "; without a git repository it has to name each file that changed: --file PATH"
			}
			return nil
		}
		rep.Summary, rep.Files, rep.Objections, rep.Decisions = valid.Result.Summary, valid.Result.FilesChanged, valid.Result.Objections, valid.Result.Decisions
		if o.DryRun {
			rep.Warnings = append(rep.Warnings, "checked, not submitted")
			return nil
		}
		err = t.stage(turn, data, o.Replace)
		rep.Next = t.e.next(t.run)
		return err
	})
	return rep, err
}

// CheckSubmission checks one field of a partly filled-in submission. It returns a fault, or what the value would be
// changed to; empty if the field is valid. It fails if there is no active turn of a person.
func (e *Local) CheckSubmission(ctx context.Context, o govern.SubmitOptions, field string) (fault string, err error) {
	err = e.locked(ctx, "submit", func(t *transaction) error {
		turn, err := t.persons(o.Turn)
		if err != nil || field == "" {
			return err
		}
		_, changes, valid, err := t.judgeSubmission(ctx, turn, o.Form)
		for _, f := range valid.Faults {
			if f.Field == field {
				fault = f.Error()
			}
		}
		for _, c := range changes {
			if c.Field == field {
				fault = fmt.Sprintf("%s is not allowed here; it would be read as %s", c.Original, c.Normalized)
			}
		}
		return err
	})
	return fault, err
}

// persons returns the active turn that a person submits.
func (t *transaction) persons(named string) (*protocol.Turn, error) {
	turn, err := t.only(named, "submit")
	if err != nil {
		return nil, err
	}
	if _, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole); rt.Type != protocol.RuntimeManual {
		return nil, execution.Errorf(execution.CodeValidation, "turn %s is done by the runtime %s of type %s, not by a person", turn.TurnID, turn.RuntimeID, rt.Type).
			WithHint("%s", governance.NextCommand(t.run))
	}
	return turn, nil
}

// judgeSubmission builds and validates the turn result of a submission.
func (t *transaction) judgeSubmission(ctx context.Context, turn *protocol.Turn, s govern.Submission) (data []byte, changes []protocol.Change,
	valid turnresult.Report, err error) {
	if data, err = t.result(ctx, turn, s); err != nil {
		return nil, nil, valid, err
	}
	valid, changes, err = turnresult.Check(data, turnresult.Input{Config: t.run.Config, State: t.state(), Turn: turn, History: t.run.History})
	return data, changes, valid, err
}

// result builds the turn result of a submission.
func (t *transaction) result(ctx context.Context, turn *protocol.Turn, s govern.Submission) ([]byte, error) {
	if err := t.knowIDs(); err != nil {
		return nil, err
	}
	if s.Files == nil && turn.Baseline != nil && t.work.Kind() == workspace.Git {
		in := ""
		if turn.Worktree != "" {
			in = t.workRoot(turn.TurnID)
		}
		seen, err := t.work.Observe(ctx, *turn.Baseline, in)
		if err != nil {
			return nil, err
		}
		s.Files = seen.Paths()
	}
	t.number(&s)
	artifact := protocol.ArtifactReview
	authority := t.run.Config.Roles.At(turn.AssignedRole).WriteAuthority
	if err := t.proposes(turn, authority, s.Proposes); err != nil {
		return nil, err
	}
	if len(s.Files)+len(s.Proposes) > 0 && authority == protocol.Proposed {
		artifact = protocol.ArtifactPatch
	} else if len(s.Files) > 0 && authority != protocol.ReviewOnly {
		artifact = protocol.ArtifactWorkspace
	}
	s.Verification.Status = cmp.Or(s.Verification.Status, protocol.VerificationSkipped)
	r := map[string]any{"schema_version": protocol.ResultVersion, "run_id": t.state().ID(), "turn_id": turn.TurnID, "role": turn.AssignedRole,
		"runtime_id": turn.RuntimeID, "status": cmp.Or(s.Status, protocol.ResultCompleted), "summary": s.Summary, "decisions": orNone(s.Decisions),
		"objections": orNone(s.Objections), "files_changed": orNone(s.Files), "verification": s.Verification,
		"artifact": map[string]any{"type": artifact, "ref": nil}, "proposed_next_role": cmp.Or(s.NextRole, protocol.Human)}
	if len(s.Proposes) > 0 {
		r["proposed_changes"] = s.Proposes
	}
	if s.NeedsHuman != "" {
		r["status"], r["needs_human_reason"] = protocol.ResultNeedsHuman, s.NeedsHuman
	}
	if s.Phase != "" {
		r["phase_transition_request"] = s.Phase
	}
	if s.Complete {
		r["run_completion_request"] = true
	}
	return protocol.MarshalFile(r)
}

// number fills in missing ids of objections and decisions, and what is known of the objections.
func (t *transaction) number(s *govern.Submission) {
	next := 0
	for i := range s.Objections {
		x := &s.Objections[i]
		if x.ID == "" {
			x.ID, next = freeID("OBJ-", t.run.ObjectionIDs, next)
		}
		for _, known := range t.state().OpenObjections {
			if known.ID == x.ID {
				x.Severity = cmp.Or(x.Severity, known.Severity)
			}
		}
		x.Status = cmp.Or(x.Status, protocol.ObjectionRaised)
	}
	next = 0
	for i := range s.Decisions {
		if s.Decisions[i].ID == "" {
			s.Decisions[i].ID, next = freeID("DEC-", t.run.DecisionIDs, next)
		}
	}
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// freeID is the first unused id after the number last.
func freeID(prefix string, used map[string]bool, last int) (string, int) {
	for id := range used {
		if n, err := strconv.Atoi(strings.TrimPrefix(id, prefix)); err == nil && n < 1_000_000 {
			last = max(last, n)
		}
	}
	return fmt.Sprintf("%s%03d", prefix, last+1), last + 1
}

// stage writes a staged result atomically. An existing draft is kept, unless replace is set.
func (t *transaction) stage(turn *protocol.Turn, data []byte, replace bool) error {
	path := filepath.Join(t.workRoot(turn.TurnID), filepath.FromSlash(protocol.StagedFile(turn.TurnID)))
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return execution.Errorf(execution.CodeConfig, "%s is not a regular file", path).WithHint("remove it, then: drawbar govern submit")
	case err == nil && info.Size() > 0:
		old, _, err := project.ReadStaged(t.workRoot(turn.TurnID), turn.TurnID)
		if err == nil && bytes.Equal(old, data) {
			return nil
		}
		if !replace {
			return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s already has a draft: %s", turn.TurnID, protocol.StagedFile(turn.TurnID)).
				WithHint("finish it (drawbar govern accept), or replace it (the draft is kept): drawbar govern submit --replace ...")
		}
		dir, err := project.EvidencePath(t.e.root, turn.TurnID)
		if err != nil {
			return err
		}
		if err := os.Rename(path, filepath.Join(dir, fmt.Sprintf("draft-%d.json", t.e.now().UnixMilli()))); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return project.WriteStaged(t.workRoot(turn.TurnID), turn.TurnID, data)
}
