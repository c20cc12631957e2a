// Package worktree gives runs git worktrees of their own: a directory and a branch, outside the repository and outside the directories
// of agents. A worktree in use is leased to one run. Nothing that is not in a commit is removed, and no commit loses its last name.
package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/pause"
)

// Tree is a worktree. The fields from State on say how it stands; List and Find look them up.
type Tree struct {
	Name       string    `json:"name"`
	Path       string    `json:"path"`
	Repository string    `json:"repository"` // the top of the work tree that it was made from
	Branch     string    `json:"branch"`
	Base       string    `json:"base"` // commit that it began at
	CreatedAt  time.Time `json:"createdAt"`
	Ready      bool      `json:"ready"`               // its making was not interrupted
	Restoring  bool      `json:"restoring,omitempty"` // its directory is being made again, or that was interrupted

	State    State    `json:"state,omitempty"`
	Changes  []string `json:"changes,omitempty"`  // files that are not committed
	Commits  int      `json:"commits,omitempty"`  // that only its branch has
	InBranch []string `json:"inBranch,omitempty"` // other names from which its commits are reachable

	Submodules []string `json:"submodules,omitempty"` // that were checked out in it, and have commits which none of their remotes has

	file string // of its record
	tip  string // commit of its branch when it was looked at; empty for none
}

// State says whether a worktree can be removed.
type State string

// The states.
const (
	Live     State = "live"     // a run, or another process, is in it
	Dirty    State = "dirty"    // it has changes that are not committed, or commits in submodules that are nowhere else
	Unmerged State = "unmerged" // its branch has commits that nothing else has
	Clean    State = "clean"    // nothing would be lost
	Missing  State = "missing"  // its directory is gone
	Partial  State = "partial"  // its making was interrupted; nobody has worked in it
	Unknown  State = "unknown"  // git does not say
)

// Manager has the worktrees below a directory.
type Manager struct {
	Dir   string
	Setup Setup // of those that it makes
}

// In returns the manager of the worktrees in a state directory.
func In(stateDir string) Manager { return Manager{Dir: filepath.Join(stateDir, "worktrees")} }

const (
	record    = ".json"
	origins   = ".origins" // directory of a file for each directory of worktrees, which names the repository
	lease     = ".lock"
	trash     = "trash"
	trashDays = 14
	branches  = "drawbar/"
)

var nameForm = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// CheckName refuses a name that cannot be that of a directory and a branch everywhere.
func CheckName(name string) error {
	if !nameForm().MatchString(name) || name == trash {
		return execution.Errorf(execution.CodeValidation, "%q cannot be the name of a worktree", name).
			WithHint("1 to 64 lower-case letters, digits, - or _; not %s", trash)
	}
	return nil
}

// Open returns the worktree with a name, of the repository that dir is in, and makes it if there is none. where is dir in it. The caller
// has it until release; meanwhile nobody else gets it.
func (m Manager) Open(ctx context.Context, dir, name string) (t Tree, where string, release func(), err error) {
	if err := CheckName(name); err != nil {
		return t, "", nil, err
	}
	place, err := find(ctx, dir)
	if err != nil {
		return t, "", nil, err
	}
	top, prefix := place.top, place.prefix
	home := m.home(top)
	if err = os.MkdirAll(home, 0o700); err == nil {
		err = m.note(home, top)
	}
	if err != nil {
		return t, "", nil, execution.Errorf(execution.CodeConfig, "make a worktree: %w", err)
	}
	unlock, err := take(filepath.Join(home, name+lease))
	if err != nil {
		if errors.Is(err, errTaken) {
			err = execution.Errorf(execution.CodeConfigLock, "the worktree %s is in use by another run", name).WithHint("choose another name, or wait: drawbar ps")
		}
		return t, "", nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	file := filepath.Join(home, name+record)
	t, err = read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t, err = m.create(ctx, top, name, file)
	case err == nil && !t.Ready:
		if err = t.discard(ctx); err == nil {
			t, err = m.create(ctx, top, name, file)
		}
	case err == nil && (t.Restoring || !exists(t.Path)):
		err = m.restore(ctx, top, &t)
	}
	if err != nil {
		return t, "", nil, err
	}
	where = filepath.Join(t.Path, filepath.FromSlash(prefix))
	if err := os.MkdirAll(where, 0o755); err != nil { // a directory without files is in no commit
		return t, "", nil, execution.Errorf(execution.CodeConfig, "the worktree %s: %w", name, err).WithHint("drawbar worktrees rm %s", name)
	}
	return t, where, unlock, nil
}

// home is the directory of a repository's worktrees.
func (m Manager) home(top string) string {
	sum := sha256.Sum256([]byte(top))
	return filepath.Join(m.Dir, filepath.Base(top)+"-"+hex.EncodeToString(sum[:4]))
}

func (m Manager) create(ctx context.Context, top, name, file string) (Tree, error) {
	t := Tree{Name: name, Path: strings.TrimSuffix(file, record), Repository: top, Branch: branches + name, CreatedAt: time.Now().UTC().Truncate(time.Second), file: file}
	var err error
	if t.Base, err = git(ctx, top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return t, execution.Errorf(execution.CodeValidation, "%s has no commit yet that a worktree can begin at", top).WithHint("commit something first")
	}
	if _, err := git(ctx, top, "rev-parse", "--verify", "--quiet", "refs/heads/"+t.Branch); err == nil {
		return t, execution.Errorf(execution.CodeValidation, "the branch %s exists already", t.Branch).WithHint("choose another name, or: git branch -d %s", t.Branch)
	}
	if exists(t.Path) {
		return t, execution.Errorf(execution.CodeConfig, "%s exists and is not a worktree of a run", t.Path).WithHint("choose another name, or move it away")
	}
	// The record comes first, so that a worktree whose making is interrupted is in the list.
	if err := t.write(); err != nil {
		return t, err
	}
	again := func() error { return errors.Join(t.discard(ctx), t.write()) }
	if err := manage(ctx, top, again, "worktree", "add", "--quiet", "-b", t.Branch, t.Path, t.Base); err != nil {
		_ = t.discard(context.WithoutCancel(ctx)) // the error says more
		return t, err
	}
	if err := m.Setup.apply(ctx, top, t.Path); err != nil {
		return t, errors.Join(err, t.discard(context.WithoutCancel(ctx)))
	}
	t.Ready = true
	return t, t.write()
}

// restore makes the directory of a worktree again, which somebody removed.
func (m Manager) restore(ctx context.Context, top string, t *Tree) error {
	remove := func() error {
		return manage(context.WithoutCancel(ctx), top, nil, "worktree", "remove", "--force", t.Path)
	}
	if t.Restoring && exists(t.Path) { // nobody has worked in it
		if err := remove(); err != nil {
			return err
		}
	}
	t.Restoring = true
	if err := t.write(); err != nil {
		return err
	}
	again := func() error { return os.RemoveAll(t.Path) }
	if err := manage(ctx, top, again, "worktree", "add", "--quiet", "--force", t.Path, t.Branch); err != nil { // --force, because git still has it
		return err
	}
	if err := m.Setup.apply(ctx, top, t.Path); err != nil {
		return errors.Join(err, remove())
	}
	t.Restoring = false
	return t.write()
}

// git worktree reads all worktrees, and fails if another git makes or removes one at that moment.
const (
	gitTries = 40
	gitPause = 25 * time.Millisecond
)

// manage runs git worktree. again, if there is one, undoes an attempt that met another git.
func manage(ctx context.Context, top string, again func() error, args ...string) error {
	for try := 1; ; try++ {
		_, err := git(ctx, top, args...)
		if err == nil || try == gitTries || !strings.Contains(err.Error(), "failed to read ") || !strings.Contains(err.Error(), "worktrees/") || ctx.Err() != nil {
			return err
		}
		if again != nil {
			if undone := again(); undone != nil {
				return errors.Join(err, undone)
			}
		}
		if pause.For(ctx, gitPause) != nil {
			return err
		}
	}
}

// write writes the record.
func (t *Tree) write() error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = atomicfile.Write(t.file, append(b, '\n'), 0o600, true)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "make a worktree: %w", err)
	}
	return nil
}

// discard removes what an interrupted making left. Nobody has worked in it.
func (t *Tree) discard(ctx context.Context) error {
	gitErr := manage(ctx, t.Repository, nil, "worktree", "remove", "--force", "--force", t.Path) // twice: git locks what it makes; it may not have it
	_, branchErr := git(ctx, t.Repository, "update-ref", "-d", "refs/heads/"+t.Branch, t.Base)   // only at its base; there may be none
	if err := errors.Join(os.RemoveAll(t.Path), os.Remove(t.file)); err != nil {
		return execution.Errorf(execution.CodeConfig, "discard a worktree that was not finished: %w", errors.Join(err, gitErr, branchErr))
	}
	return nil
}

func read(file string) (t Tree, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(b, &t); err != nil || t.Path == "" || t.Repository == "" || t.Branch == "" {
		return t, execution.Errorf(execution.CodeConfig, "the record of a worktree cannot be read: %s: %w", file, err).WithHint("move the file away; git worktree list shows the worktree")
	}
	t.file = file
	return t, nil
}

var errTaken = errors.New("taken")

// take takes the lease of a worktree; it ends with the process.
func take(path string) (release func(), err error) {
	for {
		lock := flock.New(path, flock.SetPermissions(0o600))
		ok, err := lock.TryLock()
		if err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "lease a worktree: %w", err)
		}
		if !ok {
			return nil, errTaken
		}
		mine, err := lock.Stat()
		now, errNow := os.Stat(path)
		if err == nil && errNow == nil && os.SameFile(mine, now) {
			return func() { _ = lock.Close() }, nil
		}
		_ = lock.Close() // Remove took the file away between its opening and the lock
	}
}

// List returns all worktrees and how they stand, newest first. Faults are of records that cannot be read.
func (m Manager) List(ctx context.Context) (list []Tree, faults []error) {
	files, _ := filepath.Glob(filepath.Join(m.Dir, "*", "*"+record)) // the pattern is valid
	for _, file := range files {
		t, err := read(file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		t.look(ctx)
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b Tree) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list, faults
}

// Of returns the worktrees that a path is in: one, or none.
func (m Manager) Of(path string) (list []Tree) {
	files, _ := filepath.Glob(filepath.Join(m.Dir, "*", "*"+record)) // the pattern is valid
	for _, file := range files {
		t, err := read(file)
		if err != nil {
			continue // List reports it
		}
		if rel, err := filepath.Rel(t.Path, path); err == nil && filepath.IsLocal(rel) {
			list = append(list, t)
		}
	}
	return list
}

// note keeps which repository the worktrees in home are of, also when the last is gone.
func (m Manager) note(home, top string) error {
	file := filepath.Join(m.Dir, origins, filepath.Base(home))
	if exists(file) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(top), 0o600, false)
}

// Origin returns the repository of the worktree that path is in, or was, empty for a path elsewhere.
func (m Manager) Origin(path string) string {
	rel, err := filepath.Rel(m.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	home, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	top, _ := os.ReadFile(filepath.Join(m.Dir, origins, home)) // missing: nothing was made there
	return string(top)
}

// Group is how the names of the worktrees of a race begin.
func Group(id string) string { return "race-" + id + "-" }

// With returns a worktree and those of its group.
func (m Manager) With(t Tree) (list []Tree) {
	parts := strings.SplitN(t.Name, "-", 3)
	if len(parts) < 3 || !strings.HasPrefix(t.Name, Group(parts[1])) {
		return []Tree{t}
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(t.file), Group(parts[1])+"*"+record)) // the pattern is valid
	for _, file := range files {
		if other, err := read(file); err == nil { // List reports an error
			list = append(list, other)
		}
	}
	return list
}

// Find returns the worktree with a name.
func (m Manager) Find(ctx context.Context, name string) (Tree, error) {
	list, faults := m.List(ctx)
	list = slices.DeleteFunc(list, func(t Tree) bool { return t.Name != name && t.Path != name })
	switch {
	case len(list) == 1:
		return list[0], nil
	case len(list) > 1:
		return Tree{}, execution.Errorf(execution.CodeValidation, "%d repositories have a worktree %s", len(list), name).WithHint("give its path: drawbar worktrees list")
	case len(faults) > 0:
		return Tree{}, errors.Join(faults...)
	}
	return Tree{}, execution.Errorf(execution.CodeSessionNotFound, "there is no worktree %s", name).WithHint("drawbar worktrees list")
}

// look finds out how the worktree stands.
func (t *Tree) look(ctx context.Context) {
	t.State = Unknown
	release, err := take(strings.TrimSuffix(t.file, record) + lease)
	if err != nil {
		t.State = Live
		return
	}
	defer release()
	t.judge(ctx)
}

// judge finds out how a worktree that no run has stands.
func (t *Tree) judge(ctx context.Context) {
	t.Changes, t.Commits, t.InBranch, t.Submodules = nil, 0, nil, nil
	if !t.Ready {
		t.State = Partial
		return
	}
	at := t.Path
	missing := !exists(t.Path)
	if missing {
		at = t.Repository
	} else if livedIn(t.Path) {
		t.State = Live
		return
	}
	tips := []string{"refs/heads/" + t.Branch}
	var err error
	if t.tip, err = git(ctx, t.Repository, "rev-parse", "--verify", "--quiet", tips[0]); err != nil {
		tips = nil // removed by hand
	}
	if !missing {
		if t.Changes, err = changes(ctx, at, "normal"); err != nil {
			return
		}
		tips = append(tips, "HEAD") // which an agent may have moved
	}
	if len(tips) > 0 {
		// What other worktrees have checked out without a branch does not count: it has no name.
		count, err := git(ctx, at, slices.Concat([]string{"rev-list", "--count"}, tips, []string{"--not", "--exclude=" + t.Branch, "--branches", "--remotes", "--tags"})...)
		if err != nil {
			return
		}
		if t.Commits, err = strconv.Atoi(count); err != nil {
			return
		}
		if t.Commits == 0 {
			t.InBranch = t.reachable(ctx, at, tips[0])
		}
	}
	t.Submodules = unpushed(ctx, t.modules(ctx))
	switch {
	case len(t.Changes)+len(t.Submodules) > 0:
		t.State = Dirty
	case t.Commits > 0:
		t.State = Unmerged
	case missing:
		t.State = Missing
	default:
		t.State = Clean
	}
}

// reachable returns up to three other names from which a commit is reachable.
func (t *Tree) reachable(ctx context.Context, at, tip string) (names []string) {
	out, err := git(ctx, at, "for-each-ref", "--contains", tip, "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil
	}
	for name := range strings.Lines(out) {
		if name = strings.TrimSpace(name); name != t.Branch && len(names) < 3 {
			names = append(names, name)
		}
	}
	return names
}

func some(files []string) string {
	const most = 5
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
