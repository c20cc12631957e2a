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
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// pull brings this clone to where the remote is, if that is further.
func (x *exchange) pull(ctx context.Context, then snapshot) error {
	now, err := x.t.here(ctx, then)
	if x.now = &now; err != nil || !now.differs() {
		return err
	}
	if x.o.sync.Ours {
		kept := fmt.Sprintf("refs/drawbar/kept/%s-%.12s", x.out.Run, then.commit)
		x.out.Kept = append(x.out.Kept, kept)
		return x.w.SetRef(ctx, kept, then.commit)
	}
	var names, blobs []string
	for name := range now.changed {
		if then.files[name] != "" {
			names, blobs = append(names, name), append(blobs, then.files[name])
		}
	}
	contents, err := x.w.Contents(ctx, blobs)
	if err != nil {
		return err
	}
	copied := ledger.Copy{Names: slices.Sorted(maps.Keys(then.files)), Files: map[string][]byte{}}
	for i, name := range names {
		copied.Files[name] = contents[i]
	}
	mine, theirs := now.changed[protocol.ChainFile], copied.Files[protocol.ChainFile]
	if now.blobs[protocol.ChainFile] != "" && (now.blobs[protocol.ChainFile] == then.files[protocol.ChainFile] || bytes.HasPrefix(mine, theirs)) && !x.o.sync.Theirs {
		return nil // this clone has more
	}
	behind := now.blobs[protocol.ChainFile] == "" || bytes.HasPrefix(theirs, mine)
	if !behind && !x.o.sync.Theirs {
		return execution.Errorf(execution.CodeInvalidStateTransition, "the record of this clone and the one of %s have both continued run %s since they were the same", x.t.o.Remote, x.out.Run).
			WithHint("continue with one of them: drawbar govern sync --theirs, or drawbar govern sync --ours; the other is kept")
	}
	verified := int64(0)
	if behind && !x.archivedAgain(copied) {
		verified = int64(bytes.Count(mine, []byte{'\n'}))
	}
	if err := x.sane(copied.Files[protocol.StateFile]); err != nil {
		return err
	}
	if err := x.verify(ctx, copied, verified); err != nil {
		return err
	}
	if err := x.follow(ctx, then.meta); err != nil {
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

// adopt writes the remote's record here.
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
		return execution.Errorf(execution.CodeInvalidStateTransition, "another program wrote lines to the record of this clone that no transaction covers: %w", err).
			WithHint("drawbar govern verify shows them; to continue without them: drawbar govern sync --theirs")
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

// turnPattern is a turn id, which becomes the name of folders.
var turnPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// sane refuses a state whose turns would be at work outside the project. nil is the state of this clone.
func (x *exchange) sane(state []byte) error {
	if state == nil {
		return nil
	}
	var st protocol.State
	if err := json.Unmarshal(state, &st); err != nil {
		return execution.Errorf(execution.CodeValidation, "the state of run %s on %s: %w", x.out.Run, x.t.o.Remote, err)
	}
	for id, turn := range st.ActiveTurns.All() {
		if turn == nil || turn.TurnID != id || !turnPattern().MatchString(id) || turn.Worktree != "" && turn.Worktree != protocol.WorktreesDir+"/"+id {
			return execution.Errorf(execution.CodeValidation, "the state of run %s on %s has the turn %q, which no drawbar wrote", x.out.Run, x.t.o.Remote, id).
				WithHint("if this clone's record is right: drawbar govern sync --ours")
		}
	}
	return nil
}

// archivedAgain reports whether a copy has other files of a turn that this clone has archived.
func (x *exchange) archivedAgain(c ledger.Copy) bool {
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

// verify checks a copy against its chain before anything of it is used. What this clone archived with its own first entries is not read again.
func (x *exchange) verify(ctx context.Context, c ledger.Copy, verified int64) error {
	dir := filepath.Join(x.t.o.Root, filepath.FromSlash(protocol.LocksDir), "incoming")
	err := os.RemoveAll(dir) // a process that was killed left it
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "check the record of %s: %w", x.t.o.Remote, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next one removes it
	for _, name := range c.Names {
		if !ledger.Copied(name) {
			return strange(name, x.t.o.Remote)
		}
		to, from := filepath.Join(dir, filepath.FromSlash(name)), filepath.Join(x.t.o.Root, filepath.FromSlash(name))
		content, differs := c.Files[name]
		if !differs && verified > 0 && strings.HasPrefix(name, protocol.ArchiveDir+"/") {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if !differs {
			if os.Link(from, to) == nil { // it is read only
				continue
			}
			if content, err = os.ReadFile(from); err != nil {
				return err
			}
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			return err
		}
	}
	rep, err := ledger.VerifyGrown(ctx, dir, nil, verified)
	if err != nil {
		return fmt.Errorf("the record of %s: %w", x.t.o.Remote, err)
	}
	if b := rep.Broken; b != nil {
		return execution.Errorf(execution.CodeValidation, "the record of %s is broken: %s line %d: %s (%s)", x.t.o.Remote, b.File, b.Line, b.Message, b.Kind).
			WithHint("if this clone's record is right: drawbar govern sync --ours")
	}
	return nil
}

// follow brings the branch to the commit that the run has reached.
func (x *exchange) follow(ctx context.Context, m meta) error {
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
		err = w.FastForward(ctx, m.Code)
	case x.o.sync.Theirs:
		kept := fmt.Sprintf("refs/drawbar/kept/%s-%.12s", x.out.Run, head)
		if err = x.w.SetRef(ctx, kept, head); err == nil {
			x.out.Kept = append(x.out.Kept, kept)
			err = w.MoveTo(ctx, m.Code)
		}
	default:
		return execution.Errorf(execution.CodeInvalidStateTransition, "this branch and the run have both moved: HEAD is %.12s, and the run has reached %.12s", head, m.Code).
			WithHint("bring them together: git merge %.12s (or git rebase %.12s)", m.Code, m.Code)
	}
	if err == nil {
		x.out.Moved = m.Code
	}
	return err
}
