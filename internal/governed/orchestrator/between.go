package orchestrator

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// leftFile is the evidence file in which a failed attempt records the state of the files at its end.
const leftFile = "workspace-left.json"

// leaveMark records the files at the end of an attempt, so that a person's changes before the next attempt are not
// attributed to the turn. Without it, everything that changed is the turn's.
func (t *transaction) leaveMark(ctx context.Context, id string) {
	turn := t.state().ActiveTurns.At(id)
	if turn == nil || turn.Baseline == nil || turn.Worktree != "" || t.work.Kind() != workspace.Git {
		return
	}
	if rt := t.run.Config.Runtimes.At(turn.RuntimeID); rt.Type == protocol.RuntimeManual {
		return // a person's turn: their changes are the turn's, whether or not a command waits for it
	}
	now, err := t.work.Baseline(ctx)
	if err != nil {
		return
	}
	dir, err := project.EvidencePath(t.e.root, id)
	if err != nil {
		return
	}
	if b, err := protocol.MarshalFile(now); err == nil {
		_ = os.WriteFile(filepath.Join(dir, leftFile), b, 0o644) //nolint:gosec // as readable as the rest of the bundle
	}
}

// takeUp prepares an active turn for another attempt: with a deadline in the future, and a baseline that includes what
// a person changed in files that the turn has not touched.
func (t *transaction) takeUp(ctx context.Context, turn *protocol.Turn) error {
	in := governance.TakeUp{TurnID: turn.TurnID}
	path := filepath.Join(t.e.root, filepath.FromSlash(protocol.BundleDir(turn.TurnID)), project.EvidenceDir, leftFile)
	if b, err := os.ReadFile(path); err == nil && turn.Baseline != nil {
		var left protocol.Baseline
		if err := os.Remove(path); err != nil { // it applies to the next attempt only
			return err
		}
		if json.Unmarshal(b, &left) == nil {
			now, err := t.work.Baseline(ctx)
			if err != nil {
				return err
			}
			in.Baseline = between(turn.Baseline, &left, &now)
		}
	}
	if turn.Baseline != nil && t.e.dispatchedElsewhere(turn) {
		in.Baseline = turn.Baseline
		if turn.Worktree == "" && !t.byPerson(turn) { // it starts from the current files
			now, err := t.work.Baseline(ctx)
			if err != nil {
				return err
			}
			in.Baseline = &now
		}
	}
	return t.do(in)
}

func (t *transaction) byPerson(turn *protocol.Turn) bool {
	_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
	return rt.Type == protocol.RuntimeManual
}

// adaptElsewhere adapts active turns that another clone dispatched: it creates their worktrees, and removes files from a person's baseline that
// were modified there and are not here.
func (t *transaction) adaptElsewhere(ctx context.Context) error {
	for id, turn := range t.state().ActiveTurns.All() {
		if turn.Baseline == nil || !t.e.dispatchedElsewhere(turn) {
			continue
		}
		own := *turn
		if turn.Worktree != "" {
			_, base, err := t.worktree(ctx, id)
			if err != nil {
				return err
			}
			own.Baseline = &base
			t.run.State.ActiveTurns.Set(id, &own)
			continue
		}
		if turn.Baseline.DirtySnapshot.Len() == 0 || !t.byPerson(turn) {
			continue
		}
		now, err := t.work.Baseline(ctx)
		if err != nil {
			return err
		}
		b := *turn.Baseline
		b.DirtySnapshot = b.DirtySnapshot.Clone()
		for _, p := range turn.Baseline.DirtySnapshot.Keys() {
			if !now.DirtySnapshot.Has(p) {
				b.DirtySnapshot.Delete(p)
			}
		}
		own.Baseline = &b
		t.run.State.ActiveTurns.Set(id, &own)
	}
	return nil
}

// between returns the baseline, refreshed for files that changed after the attempt although the attempt had not touched
// them; nil if there are none.
func between(base, left, now *protocol.Baseline) *protocol.Baseline {
	b := *base
	b.DirtySnapshot = base.DirtySnapshot.Clone()
	paths := append(now.DirtySnapshot.Keys(), base.DirtySnapshot.Keys()...)
	changed := false
	for _, p := range paths {
		was, wasDirty := base.DirtySnapshot.Get(p)
		then, thenDirty := left.DirtySnapshot.Get(p)
		is, isDirty := now.DirtySnapshot.Get(p)
		if wasDirty != thenDirty || was != then || isDirty == thenDirty && is == then {
			continue // the turn has touched it, or it has not changed since
		}
		changed = true
		if isDirty {
			b.DirtySnapshot.Set(p, is)
		} else {
			b.DirtySnapshot.Delete(p)
		}
	}
	if !changed {
		return nil
	}
	return &b
}
