package team

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's name of a file
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// wish is what an exchange is for.
type wish struct {
	lease    bool // this clone has the lease afterwards
	push     bool // the record of this clone is the newer one; nothing is pulled
	only     bool // the lease only
	explicit bool // somebody asked for it
	sync     govern.SyncOptions
}

// tries is how often an exchange begins again because somebody else was faster.
const tries = 4

// exchange is one talk with the remote. Only one process of a clone is in it.
func (t *Team) exchange(ctx context.Context, o wish) (out govern.Synced, err error) {
	w, err := t.o.Workspace(ctx)
	if err != nil {
		return out, err
	}
	unlock, err := t.alone(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	r, err := w.OpenRemote(ctx, t.o.Remote, t.remoteDir(), t.o.Environ)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	x := &exchange{t: t, w: w, r: r, o: o}
	x.name, x.email = w.Identity(ctx)
	x.out.Remote = t.o.Remote
	for try := 1; ; try++ {
		x.now = nil
		err = x.once(ctx)
		if !errors.Is(err, workspace.ErrRefMoved) {
			break
		}
		if try == tries {
			err = execution.Errorf(execution.CodeConfigLock, "others move the record of run %s faster than this clone can: %w", x.out.Run, err).WithHint("run the command again")
			break
		}
	}
	return x.out, err
}

// remoteDir is the git directory of an exchange. Those that killed processes left are removed; a git that such a process started may still be
// writing to its own.
func (t *Team) remoteDir() string {
	dir := filepath.Join(t.o.Root, filepath.FromSlash(protocol.LocksDir))
	old, _ := filepath.Glob(filepath.Join(dir, "remote-*.git")) // the pattern is well formed
	for _, name := range old {
		_ = os.RemoveAll(name) // else the next exchange does
	}
	return filepath.Join(dir, fmt.Sprintf("remote-%d.git", os.Getpid()))
}

// alone waits for another process of this clone that is talking to the remote.
func (t *Team) alone(ctx context.Context) (func(), error) {
	for {
		unlock, taken, err := ledger.TryLock(t.o.Root, "team-remote")
		if err != nil || taken {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// exchange is one talk.
type exchange struct {
	t   *Team
	w   *workspace.Workspace
	r   *workspace.Remote
	o   wish
	out govern.Synced

	name, email string            // of the person here
	refs        map[string]string // of the remote, by run
	fetched     map[string]bool   // commits
	now         *here             // against the commit of the remote, until something is pulled
}

// snapshot is a commit of the record.
type snapshot struct {
	commit string
	meta   meta
	files  map[string]string // blobs, without metaFile
}

func (t *Team) load(ctx context.Context, w *workspace.Workspace, commit string) (s snapshot, err error) {
	s.commit = commit
	if s.files, err = w.Tree(ctx, commit); err != nil {
		return s, err
	}
	blob := s.files[metaFile]
	if blob == "" {
		return s, execution.Errorf(execution.CodeValidation, "the commit %s is no record of a run: it has no %s", commit, metaFile).WithHint("name the ref of a record: git for-each-ref %s", tracking)
	}
	content, err := w.Contents(ctx, []string{blob})
	if err == nil {
		if err = json.Unmarshal(content[0], &s.meta); err != nil {
			err = execution.Errorf(execution.CodeValidation, "%s of the commit %s: %w", metaFile, commit, err)
		}
	}
	delete(s.files, metaFile)
	switch m := s.meta; {
	case err != nil:
	case m.Format != metaFormat:
		err = execution.Errorf(execution.CodeConfig, "the record %s has format %d, this drawbar knows %d", commit, m.Format, metaFormat).WithHint("update drawbar")
	case m.Run == "" || s.files[protocol.StateFile] == "" || s.files[protocol.ChainFile] == "":
		err = execution.Errorf(execution.CodeValidation, "the commit %s names no run, or has no state or no chain", commit)
	case m.Code != "" && !workspace.IsObject(m.Code): // it becomes an argument of git
		err = execution.Errorf(execution.CodeValidation, "the record of the commit %s names the commit %q", commit, m.Code)
	}
	return s, err
}

// here is the record of this clone, against a snapshot.
type here struct {
	blobs   map[string]string
	changed map[string][]byte // contents of what the snapshot has otherwise or not; nil: the snapshot alone has it
}

func (h *here) differs() bool { return len(h.changed) > 0 }

func (t *Team) here(ctx context.Context, then snapshot) (here, error) {
	h := here{blobs: map[string]string{}, changed: map[string][]byte{}}
	known := t.readKnown(len(then.commit))
	err := ledger.Files(ctx, t.o.Root, func(f ledger.File) (err error) {
		var content []byte
		id := known.blob(f)
		if id == "" || then.files[f.Name] != id {
			if content, err = f.Read(); err != nil {
				return err
			}
			id = blobID(content, len(then.commit))
		}
		h.blobs[f.Name] = id
		known.add(f, id)
		if then.files[f.Name] != id {
			h.changed[f.Name] = content
		}
		return nil
	})
	known.save()
	for name := range then.files {
		if h.blobs[name] == "" {
			h.changed[name] = nil
		}
	}
	return h, err
}

// blobID is git's name for a content, with as many digits as the repository's.
func blobID(content []byte, digits int) string {
	b := append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)
	if digits == 2*sha256.Size {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(b) //nolint:gosec // git's name of a file
	return hex.EncodeToString(sum[:])
}

// once tries to bring both sides together.
func (x *exchange) once(ctx context.Context) error {
	v, err := ledger.Read(x.t.o.Root)
	if err != nil {
		return err
	}
	if x.o.only || x.o.push {
		return x.ahead(ctx, v.State)
	}
	if v.Pending != "" { // a command was killed; opening the record ends what it began
		if err := x.t.o.Record(ctx, func(*ledger.Ledger) error { return nil }); err != nil {
			return err
		}
	}
	if err := x.ask(ctx); err != nil {
		return err
	}
	run, err := x.choose(ctx, v.State)
	if err != nil || run == "" {
		return err // nothing to carry yet
	}
	x.about(run)
	tip, err := x.tip(ctx, run)
	if err != nil {
		return err
	}
	var then snapshot
	if tip != "" {
		if err := x.bring(ctx, []string{run}); err != nil {
			return err
		}
		if then, err = x.t.load(ctx, x.w, tip); err != nil {
			return err
		}
		if then.meta.Run != run {
			return execution.Errorf(execution.CodeValidation, "%s of %s holds run %s: somebody pushed another record there", x.out.Ref, x.t.o.Remote, then.meta.Run).
				WithHint("git push --force %s %s:%s, with the right commit", x.t.o.Remote, tracking+run, x.out.Ref)
		}
		if err := x.pull(ctx, then); err != nil {
			return err
		}
		if known, err := x.w.Ref(ctx, tracking+run); err != nil {
			return err
		} else if known != tip {
			if err := x.w.SetRef(ctx, tracking+run, tip); err != nil {
				return err
			}
		}
		x.out.Commit, x.out.Lease = tip, then.meta.Lease
	}
	return x.push(ctx, run, then)
}

func (x *exchange) about(run string) {
	x.out.Run, x.out.Ref = run, x.t.o.Refs+run
}

// ahead is an exchange in which this clone has the lease: the remote is where this clone left it, or the push is refused.
func (x *exchange) ahead(ctx context.Context, st protocol.State) error {
	run := st.ID()
	if run == "" {
		return nil
	}
	x.about(run)
	tip, err := x.w.Ref(ctx, tracking+run)
	if err != nil {
		return err
	}
	var then snapshot
	if tip != "" {
		if then, err = x.t.load(ctx, x.w, tip); err != nil {
			return err
		}
	}
	err = x.push(ctx, run, then)
	if errors.Is(err, workspace.ErrRefMoved) {
		return x.lost(ctx, run, err)
	}
	return err
}

// lost explains why this clone may not write.
func (x *exchange) lost(ctx context.Context, run string, cause error) error {
	who := "somebody else"
	if err := x.ask(ctx); err == nil && x.refs[run] != "" && x.bring(ctx, []string{run}) == nil {
		if s, err := x.t.load(ctx, x.w, x.refs[run]); err == nil && s.meta.Lease != nil {
			who = s.meta.Lease.Who()
		}
	}
	return execution.Errorf(execution.CodeConfigLock, "%s has continued run %s meanwhile, so this clone decides nothing: %s", who, run, strings.ReplaceAll(cause.Error(), "\n", " ")).
		WithHint("drawbar govern sync")
}

// ask lists the remote's runs.
func (x *exchange) ask(ctx context.Context) error {
	refs, err := x.r.Refs(ctx, x.t.o.Refs)
	x.refs = map[string]string{}
	for name, commit := range refs {
		x.refs[strings.TrimPrefix(name, x.t.o.Refs)] = commit
	}
	return err
}

// bring fetches runs that are not here.
func (x *exchange) bring(ctx context.Context, runs []string) error {
	var refs []string
	for _, run := range runs {
		if known, err := x.w.Ref(ctx, tracking+run); err != nil {
			return err
		} else if known != x.refs[run] && !x.fetched[x.refs[run]] {
			refs = append(refs, x.t.o.Refs+run)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	if err := x.r.Fetch(ctx, refs); err != nil {
		return err
	}
	if x.fetched == nil {
		x.fetched = map[string]bool{}
	}
	for _, run := range runs {
		x.fetched[x.refs[run]] = true
	}
	return nil
}

// tip is the remote's commit of a run. One that does not continue what this clone saw there is an error, unless the caller says which is
// right.
func (x *exchange) tip(ctx context.Context, run string) (string, error) {
	known, err := x.w.Ref(ctx, tracking+run)
	tip := x.refs[run]
	if err != nil || known == "" || known == tip {
		return tip, err
	}
	what := "deleted"
	if tip != "" {
		if err := x.bring(ctx, []string{run}); err != nil {
			return "", err
		}
		if ok, err := x.w.Contains(ctx, known, tip); ok || err != nil {
			return tip, err
		}
		what = "rewritten or moved back"
		if ok, err := x.w.Contains(ctx, tip, known); err == nil && ok {
			what = "moved back"
		}
	}
	if x.o.sync.Ours || x.o.sync.Theirs && tip != "" {
		return tip, nil
	}
	e := execution.Errorf(execution.CodeInvalidStateTransition, "the record of run %s was %s on %s: it was %.12s when this clone saw it last, and is %s", run, what, x.t.o.Remote, known, ifEmpty(tip, "gone"))
	if tip == "" {
		return "", e.WithHint("push it again: drawbar govern sync --ours")
	}
	return "", e.WithHint("continue with one of them: drawbar govern sync --ours, or drawbar govern sync --theirs; the other is kept")
}

func ifEmpty(commit, word string) string {
	if commit == "" {
		return word
	}
	return commit[:min(12, len(commit))]
}

// push brings the remote to where this clone is. then is what the remote has.
func (x *exchange) push(ctx context.Context, run string, then snapshot) error {
	v, err := ledger.Read(x.t.o.Root)
	if err != nil {
		return err
	}
	if v.State.ID() != run {
		return nil // the run is the remote's alone: it was only looked at
	}
	now := x.t.o.Now()
	lease, ours := then.meta.Lease, false
	if lease != nil {
		ours = lease.Clone == x.t.o.Clone
	}
	draft := workspace.Draft{From: then.commit, Time: now, Files: map[string][]byte{}}
	next := meta{Format: metaFormat, Run: run, Code: then.meta.Code, Branch: then.meta.Branch}
	if !x.o.only || then.commit == "" {
		h := x.now
		if h == nil {
			now, err := x.t.here(ctx, then)
			if err != nil {
				return err
			}
			h = &now
		}
		draft.Files = maps.Clone(h.changed)
		if next.Code, err = x.w.Head(ctx); err != nil {
			return err
		}
		next.Branch = x.w.Branch(ctx)
		if next.Code != then.meta.Code || then.commit == "" {
			draft.Also = []string{next.Code}
		}
	}
	more := len(draft.Files) > 0 || draft.Also != nil
	switch {
	case x.o.lease:
		next.Lease = x.lease(lease)
	case !ours && !x.o.sync.TakeOver:
		next.Lease = lease
	}
	if lease != nil && !ours && now.Before(lease.Until) && !x.o.sync.TakeOver && (more || x.o.lease) {
		return held(lease, run, now)
	}
	if next.Lease != nil && !x.o.lease && !now.Before(next.Lease.Until) {
		next.Lease = nil // its holder is gone
	}
	if !more && sameLease(next.Lease, lease) {
		return nil
	}
	content, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	draft.Files[metaFile] = append(content, '\n')
	draft.Name, draft.Email = x.name, x.email
	draft.Message = x.message(v.State, next, more)
	commit, err := x.r.Write(ctx, draft)
	if err != nil {
		return err
	}
	if err := x.r.Push(ctx, x.t.o.Refs+run, then.commit, commit); err != nil {
		return err
	}
	x.out.Commit, x.out.Lease, x.out.Pushed = commit, next.Lease, x.out.Pushed || more
	x.out.LeaseHere = next.Lease != nil && next.Lease.Clone == x.t.o.Clone
	return x.w.SetRef(ctx, tracking+run, commit)
}

func sameLease(a, b *govern.Lease) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func (x *exchange) message(st protocol.State, m meta, more bool) string {
	what := "lease"
	if more {
		what = "record"
		if id := st.LastCompletedTurnID; id != nil {
			what += " up to " + *id
		}
	}
	if m.Lease == nil && !more {
		what = "free"
	}
	return fmt.Sprintf("run %s: %s\n\n%s: %s\n", m.Run, what, workspace.RunTrailer, m.Run)
}
