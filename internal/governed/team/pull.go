package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// pull imports the remote's record if it continues the one of this clone.
func (x *exchange) pull(ctx context.Context, then snapshot) error {
	now, err := x.t.compare(ctx, then)
	if x.now = &now; err != nil || !now.differs() {
		return err
	}
	if x.o.sync.Ours {
		kept := fmt.Sprintf("refs/drawbar/kept/%s-%.12s", x.out.Run, then.commit)
		x.out.Kept = append(x.out.Kept, kept)
		return x.w.SetRef(ctx, kept, then.commit)
	}
	base, err := x.base(ctx)
	if err != nil {
		return err
	}
	copied := ledger.Copy{Names: slices.Sorted(maps.Keys(then.files)), Files: map[string][]byte{}}
	loose := x.mergeLoose(now, base, then)
	var names []string
	for name := range now.changed {
		if then.files[name] != "" && (loose.take[name] || !ledger.Loose(name) || x.o.sync.Theirs) {
			names = append(names, name)
		}
	}
	contents, err := x.w.Contents(ctx, blobsOf(then.files, names))
	if err != nil {
		return err
	}
	for i, name := range names {
		copied.Files[name] = contents[i]
	}
	copied.Names = slices.DeleteFunc(copied.Names, func(name string) bool { return copied.Files[name] == nil && now.blobs[name] == "" }) // removed here
	copied.Remove = loose.remove
	mine, theirs := now.changed[protocol.ChainFile], copied.Files[protocol.ChainFile]
	if now.blobs[protocol.ChainFile] != "" && (now.blobs[protocol.ChainFile] == then.files[protocol.ChainFile] || bytes.HasPrefix(mine, theirs)) && !x.o.sync.Theirs {
		return x.takeLoose(ctx, now, copied, loose) // the rest of this record is as new or newer
	}
	behind := now.blobs[protocol.ChainFile] == "" || bytes.HasPrefix(theirs, mine)
	if !behind && !x.o.sync.Theirs {
		return execution.Errorf(execution.CodeInvalidStateTransition, "this clone and %s have both continued run %s, independently of each other", x.t.o.Remote, x.out.Run).
			WithHint("continue with one of them: drawbar govern sync --theirs, or drawbar govern sync --ours; the other is kept")
	}
	verified := int64(0)
	if behind && !x.changesArchive(copied) {
		verified = int64(bytes.Count(mine, []byte{'\n'}))
	}
	if err := x.checkTurns(copied.Files[protocol.StateFile]); err != nil {
		return err
	}
	if err := x.verify(ctx, copied, verified); err != nil {
		return err
	}
	if err := x.moveBranch(ctx, then.meta); err != nil {
		return err
	}
	before := map[string]bool{}
	if v, err := ledger.Read(x.t.o.Root); err == nil {
		if list, err := v.History(""); err == nil {
			for _, h := range list {
				before[h.TurnID] = true
			}
		}
	}
	if err := x.t.o.Record(ctx, func(l *ledger.Ledger) error { return x.adopt(ctx, l, then, copied, behind) }); err != nil {
		return err
	}
	x.out.Pulled, x.now = true, nil
	v, err := ledger.Read(x.t.o.Root)
	if err != nil {
		return err
	}
	list, err := v.History("")
	for _, h := range list {
		if !before[h.TurnID] && h.Status != "reissued" {
			x.out.Turns = append(x.out.Turns, h.TurnID)
		}
	}
	return err
}

// base is the remote's commit that this clone saw last; the zero value if there is none.
func (x *exchange) base(ctx context.Context) (snapshot, error) {
	commit, err := x.w.Ref(ctx, seen+x.out.Run)
	if err != nil || commit == "" {
		return snapshot{}, err
	}
	return load(ctx, x.w, commit)
}

// looseChanges are the changes that the remote has made to files outside the hash chain.
type looseChanges struct {
	take   map[string]bool
	remove []string
}

// mergeLoose merges the files outside the chain by name: a file that only one side has changed since base is that side's, and the remote's if both
// have changed it.
func (x *exchange) mergeLoose(now comparison, base, then snapshot) looseChanges {
	c := looseChanges{take: map[string]bool{}}
	for name := range now.changed {
		was, there, here := base.files[name], then.files[name], now.blobs[name]
		switch {
		case !ledger.Loose(name) || there == was:
		case there != "":
			c.take[name] = true
		case here == was:
			c.remove = append(c.remove, name)
		}
	}
	slices.Sort(c.remove)
	return c
}

// takeLoose imports changes of files outside the chain into a record that is as far as the remote's, or further.
func (x *exchange) takeLoose(ctx context.Context, now comparison, copied ledger.Copy, loose looseChanges) error {
	if len(loose.take)+len(loose.remove) == 0 {
		return nil
	}
	maps.DeleteFunc(copied.Files, func(name string, _ []byte) bool { return !loose.take[name] })
	copied.Names = slices.Concat(slices.Collect(maps.Keys(now.blobs)), slices.Collect(maps.Keys(loose.take)))
	x.out.Pulled, x.now = true, nil
	return x.t.o.Record(ctx, func(l *ledger.Ledger) error { return l.Import(ctx, x.t.o.Now(), copied) })
}

// adopt imports the remote's record.
func (x *exchange) adopt(ctx context.Context, l *ledger.Ledger, then snapshot, copied ledger.Copy, behind bool) error {
	now := x.t.o.Now()
	err := l.Follows(copied)
	if errors.Is(err, ledger.ErrDiverged) && x.o.sync.Theirs {
		kept, err := l.SetAside(ctx, now)
		if err != nil {
			return err
		}
		x.out.Kept = append(x.out.Kept, kept)
		copied.Files = map[string][]byte{}
		contents, err := x.w.Contents(ctx, blobsOf(then.files, copied.Names))
		if err != nil {
			return err
		}
		for i, name := range copied.Names {
			copied.Files[name] = contents[i]
		}
		return l.Import(ctx, now, copied)
	}
	if errors.Is(err, ledger.ErrDiverged) && behind {
		return execution.Errorf(execution.CodeInvalidStateTransition, "another program added lines to this record: %w", err).
			WithHint("list them: drawbar govern verify; to continue without them: drawbar govern sync --theirs")
	}
	if err != nil {
		return err
	}
	return l.Import(ctx, now, copied)
}

func blobsOf(files map[string]string, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = files[name]
	}
	return all
}

// checkTurns refuses a state with turns whose folders are outside the project. A nil state is unchanged.
func (x *exchange) checkTurns(state []byte) error {
	if state == nil {
		return nil
	}
	var st protocol.State
	if err := json.Unmarshal(state, &st); err != nil {
		return execution.Errorf(execution.CodeValidation, "the state of run %s on %s: %w", x.out.Run, x.t.o.Remote, err)
	}
	for id, turn := range st.ActiveTurns.All() {
		if turn == nil || turn.TurnID != id || !ledger.ValidTurn(id) || turn.Worktree != "" && turn.Worktree != protocol.WorktreesDir+"/"+id {
			return execution.Errorf(execution.CodeValidation, "the state of run %s on %s contains the invalid turn %q", x.out.Run, x.t.o.Remote, id).
				WithHint("if this clone's record is right: drawbar govern sync --ours")
		}
	}
	return nil
}

// changesArchive reports whether a copy changes the archive of a turn that this clone has archived, too.
func (x *exchange) changesArchive(c ledger.Copy) bool {
	for name := range c.Files {
		if rest, ok := strings.CutPrefix(name, protocol.ArchiveDir+"/"); ok {
			turn, _, _ := strings.Cut(rest, "/")
			if _, err := os.Lstat(filepath.Join(x.t.o.Root, filepath.FromSlash(protocol.ArchiveDir), turn)); err == nil {
				return true
			}
		}
	}
	return false
}

// verify verifies a copy against its hash chain before it is used. The archives of the first entries, which this clone has, are not read again.
func (x *exchange) verify(ctx context.Context, c ledger.Copy, verified int64) error {
	for _, name := range c.Names {
		if !ledger.Copied(name) {
			return foreignFile(name, x.t.o.Remote)
		}
	}
	rep, err := ledger.VerifyCopy(ctx, x.t.o.Root, c, verified)
	if err != nil {
		return fmt.Errorf("the record of %s: %w", x.t.o.Remote, err)
	}
	if b := rep.Broken; b != nil {
		return execution.Errorf(execution.CodeValidation, "the record of %s is broken: %s line %d: %s (%s)", x.t.o.Remote, b.File, b.Line, b.Message, b.Kind).
			WithHint("if this clone's record is right: drawbar govern sync --ours")
	}
	return nil
}

// unhindered moves the branch, once more if what a killed process merged of a turn was in the way.
func unhindered(ctx context.Context, w *workspace.Workspace, move func() error) error {
	err := move()
	if err == nil {
		return nil
	}
	if undone, fault := w.UndoMerges(ctx); !undone || fault != nil {
		return err
	}
	return move()
}

// moveBranch moves the branch to the commit that the run has reached.
func (x *exchange) moveBranch(ctx context.Context, m meta) error {
	if m.Code == "" {
		return nil
	}
	head, err := x.w.Head(ctx)
	if err != nil {
		return err
	}
	if ok, err := x.w.Contains(ctx, m.Code, head); ok || err != nil {
		return err
	}
	w, err := x.w.WithFilters(ctx)
	if err != nil {
		return err
	}
	ahead, err := x.w.Contains(ctx, head, m.Code)
	switch {
	case err != nil:
		return err
	case ahead:
		err = unhindered(ctx, w, func() error { return w.FastForward(ctx, m.Code) })
	case x.o.sync.Theirs:
		kept := fmt.Sprintf("refs/drawbar/kept/%s-%.12s", x.out.Run, head)
		if err = x.w.SetRef(ctx, kept, head); err == nil {
			x.out.Kept = append(x.out.Kept, kept)
			err = unhindered(ctx, w, func() error { return w.MoveTo(ctx, m.Code) })
		}
	default:
		return execution.Errorf(execution.CodeInvalidStateTransition, "the branch and the run have diverged: HEAD is %.12s, the run has reached %.12s", head, m.Code).
			WithHint("git merge %.12s, or git rebase %.12s", m.Code, m.Code)
	}
	if err == nil {
		x.out.Moved = m.Code
	}
	return err
}
