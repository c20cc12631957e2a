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

// request is the purpose of an exchange.
type request struct {
	lease     bool // acquire or renew the lease
	push      bool // push without pulling: this clone has the lease
	leaseOnly bool // push only the lease
	sync      govern.SyncOptions
}

// tries is the number of attempts while other clones move the ref.
const tries = 4

// exchange runs one exchange with the remote. Processes of one clone take turns.
func (t *Team) exchange(ctx context.Context, o request) (out govern.Synced, err error) {
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
			err = execution.Errorf(execution.CodeConfigLock, "other clones keep changing the record of run %s: %w", x.out.Run, err).WithHint("run the command again")
			break
		}
	}
	return x.out, err
}

// remoteDir returns the git directory of an exchange and removes those of killed processes. Each process has its own, because a git that a killed
// process started may still be writing.
func (t *Team) remoteDir() string {
	dir := filepath.Join(t.o.Root, filepath.FromSlash(protocol.LocksDir))
	old, _ := filepath.Glob(filepath.Join(dir, "remote-*.git")) // the pattern is well formed
	for _, name := range old {
		_ = os.RemoveAll(name) // otherwise the next exchange removes it
	}
	return filepath.Join(dir, fmt.Sprintf("remote-%d.git", os.Getpid()))
}

// alone waits until no other process of this clone is in an exchange.
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

// exchange is one exchange with the remote.
type exchange struct {
	t   *Team
	w   *workspace.Workspace
	r   *workspace.Remote
	o   request
	out govern.Synced

	name, email string            // of the person here
	refs        map[string]string // of the remote, by run
	now         *comparison       // against the commit of the remote, until something is pulled
}

// snapshot is a commit of the record.
type snapshot struct {
	commit string
	meta   meta
	files  map[string]string // blobs, without metaFile
}

func load(ctx context.Context, w *workspace.Workspace, commit string) (s snapshot, err error) {
	s.commit = commit
	if s.files, err = w.Tree(ctx, commit); err != nil {
		return s, err
	}
	blob := s.files[metaFile]
	if blob == "" {
		return s, execution.Errorf(execution.CodeValidation, "the commit %s is not the record of a run: it has no %s", commit, metaFile).WithHint("git for-each-ref %s", runRefs)
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
	case m.Code != "" && !workspace.IsObject(m.Code): // it is passed to git as an argument
		err = execution.Errorf(execution.CodeValidation, "the record of the commit %s names the commit %q", commit, m.Code)
	}
	return s, err
}

// comparison compares the record of this clone with a snapshot.
type comparison struct {
	blobs   map[string]string
	changed map[string][]byte // contents of files that differ from the snapshot; nil for a file that only the snapshot has
}

func (c *comparison) differs() bool { return len(c.changed) > 0 }

func (t *Team) compare(ctx context.Context, then snapshot) (comparison, error) {
	h := comparison{blobs: map[string]string{}, changed: map[string][]byte{}}
	cache := t.readBlobCache(len(then.commit))
	err := ledger.Files(ctx, t.o.Root, func(f ledger.File) (err error) {
		var content []byte
		id := cache.blob(f)
		if id == "" || then.files[f.Name] != id {
			if content, err = f.Read(); err != nil {
				return err
			}
			id = blobID(content, len(then.commit))
		}
		h.blobs[f.Name] = id
		cache.add(f, id)
		if then.files[f.Name] != id {
			h.changed[f.Name] = content
		}
		return nil
	})
	cache.save()
	for name := range then.files {
		if h.blobs[name] == "" {
			h.changed[name] = nil
		}
	}
	return h, err
}

// blobID returns the object id of a file's content, in the repository's format: 40 or 64 digits.
func blobID(content []byte, digits int) string {
	b := append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)
	if digits == 2*sha256.Size {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(b) //nolint:gosec // git's name of a file
	return hex.EncodeToString(sum[:])
}

// once pulls and pushes once.
func (x *exchange) once(ctx context.Context) error {
	v, err := ledger.Read(x.t.o.Root)
	if err != nil {
		return err
	}
	if x.o.leaseOnly || x.o.push {
		return x.pushOwn(ctx, v.State)
	}
	if v.Pending != "" { // opening the record completes the transaction of a killed command
		if err := x.t.o.Record(ctx, func(*ledger.Ledger) error { return nil }); err != nil {
			return err
		}
	}
	if err := x.listRuns(ctx); err != nil {
		return err
	}
	run, err := x.chooseRun(ctx, v.State)
	if err != nil || run == "" {
		return err // there is no run yet
	}
	x.about(run)
	tip, err := x.tip(ctx, run)
	if err != nil {
		return err
	}
	var then snapshot
	if tip != "" {
		if err := x.fetch(ctx, []string{run}); err != nil {
			return err
		}
		if then, err = load(ctx, x.w, tip); err != nil {
			return err
		}
		if then.meta.Run != run {
			return execution.Errorf(execution.CodeValidation, "%s of %s contains run %s: another record was pushed there", x.out.Ref, x.t.o.Remote, then.meta.Run).
				WithHint("git push --force %s %s:%s, with the right commit", x.t.o.Remote, seen+run, x.out.Ref)
		}
		if err := x.pull(ctx, then); err != nil {
			return err
		}
		if known, err := x.w.Ref(ctx, seen+run); err != nil {
			return err
		} else if known != tip {
			if err := x.w.SetRef(ctx, seen+run, tip); err != nil {
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

// pushOwn pushes without pulling. The push fails if the ref is no longer where this clone left it.
func (x *exchange) pushOwn(ctx context.Context, st protocol.State) error {
	run := st.ID()
	if run == "" {
		return nil
	}
	x.about(run)
	tip, err := x.w.Ref(ctx, seen+run)
	if err != nil {
		return err
	}
	var then snapshot
	if tip != "" {
		if then, err = load(ctx, x.w, tip); err != nil {
			return err
		}
	}
	err = x.push(ctx, run, then)
	if errors.Is(err, workspace.ErrRefMoved) {
		return x.overtaken(ctx, run, err)
	}
	return err
}

// overtaken returns the error of a clone that has lost the lease.
func (x *exchange) overtaken(ctx context.Context, run string, cause error) error {
	who := "another clone"
	if err := x.listRuns(ctx); err == nil && x.refs[run] != "" && x.fetch(ctx, []string{run}) == nil {
		if s, err := load(ctx, x.w, x.refs[run]); err == nil && s.meta.Lease != nil {
			who = s.meta.Lease.Who()
		}
	}
	return execution.Errorf(execution.CodeConfigLock, "%s has continued run %s in the meantime, so nothing was written: %s", who, run, strings.ReplaceAll(cause.Error(), "\n", " ")).
		WithHint("drawbar govern sync")
}

// listRuns lists the remote's runs.
func (x *exchange) listRuns(ctx context.Context) error {
	refs, err := x.r.Refs(ctx, x.t.o.Refs)
	x.refs = map[string]string{}
	for name, commit := range refs {
		x.refs[strings.TrimPrefix(name, x.t.o.Refs)] = commit
	}
	return err
}

// fetch fetches the commits of runs that are not here yet.
func (x *exchange) fetch(ctx context.Context, runs []string) error {
	var refs, missing []string
	for _, run := range runs {
		known, err := x.w.Ref(ctx, fetched+run)
		if err != nil {
			return err
		}
		if known != x.refs[run] {
			refs, missing = append(refs, x.t.o.Refs+run), append(missing, run)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	err := x.r.Fetch(ctx, refs)
	for _, run := range missing {
		if err == nil {
			err = x.w.SetRef(ctx, fetched+run, x.refs[run])
		}
	}
	return err
}

// tip returns the remote's commit of a run. It is an error if the commit does not descend from the one that this clone saw last, unless the
// request chooses a side.
func (x *exchange) tip(ctx context.Context, run string) (string, error) {
	known, err := x.w.Ref(ctx, seen+run)
	tip := x.refs[run]
	if err != nil || known == "" || known == tip {
		return tip, err
	}
	what := "deleted"
	if tip != "" {
		if err := x.fetch(ctx, []string{run}); err != nil {
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

// push pushes the record and the lease on top of then, the remote's commit.
func (x *exchange) push(ctx context.Context, run string, then snapshot) error {
	v, err := ledger.Read(x.t.o.Root)
	if err != nil {
		return err
	}
	if v.State.ID() != run {
		return nil // this clone has another run
	}
	now := x.t.o.Now()
	lease, ours := then.meta.Lease, false
	if lease != nil {
		ours = lease.Clone == x.t.o.Clone
	}
	draft := workspace.Draft{From: then.commit, Time: now, Files: map[string][]byte{}}
	next := meta{Format: metaFormat, Run: run, Code: then.meta.Code, Branch: then.meta.Branch}
	if !x.o.leaseOnly || then.commit == "" {
		h := x.now
		if h == nil {
			now, err := x.t.compare(ctx, then)
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
		return heldError(lease, run, now)
	}
	if next.Lease != nil && !x.o.lease && !now.Before(next.Lease.Until) {
		next.Lease = nil // it has expired
	}
	if !more && !x.o.leaseOnly && sameLease(next.Lease, lease) { // a lease that is the same proves only with a push that no other clone was faster
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
	return x.w.SetRef(ctx, seen+run, commit)
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
