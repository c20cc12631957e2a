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

// leftFile is where an attempt that gave no acceptance notes how it left the files, in the evidence of its bundle.
const leftFile = "workspace-left.json"

// leaveMark notes how an attempt left the files, so that what a person changes before the next one is not taken for the turn's.
// Without the note everything that changed is the turn's.
func (t *transaction) leaveMark(ctx context.Context, id string) {
	turn := t.state().ActiveTurns.At(id)
	if turn == nil || turn.Baseline == nil || turn.Worktree != "" || t.work.Kind() != workspace.Git {
		return
	}
	if rt := t.run.Config.Runtimes.At(turn.RuntimeID); rt.Type == protocol.RuntimeManual {
		return // a person's turn: what people change is the turn's, whether or not a command waits for it
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

// takeUp makes an active turn ready for another attempt: with a deadline that lies ahead, and without what a person changed in
// files that the turn has not touched.
func (t *transaction) takeUp(ctx context.Context, turn *protocol.Turn) error {
	in := governance.TakeUp{TurnID: turn.TurnID}
	path := filepath.Join(t.e.root, filepath.FromSlash(protocol.BundleDir(turn.TurnID)), project.EvidenceDir, leftFile)
	if b, err := os.ReadFile(path); err == nil && turn.Baseline != nil {
		var left protocol.Baseline
		if err := os.Remove(path); err != nil { // it does not hold for the attempt after this one
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
	return t.do(in)
}

// between is the baseline with the state of now of those files that were left as the baseline has them and differ since; nil when
// there are none.
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
			continue // the turn has touched it, or nobody has since
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
