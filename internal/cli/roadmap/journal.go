package roadmap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/runstore"
)

// entry is what is remembered of a task, so that a run that was killed can be taken up.
type entry struct {
	Failed   int    `json:"failed,omitempty"`   // attempts
	Running  bool   `json:"running,omitempty"`  // its marker is ours
	Worktree string `json:"worktree,omitempty"` // path
	Commit   string `json:"commit,omitempty"`   // that is about to be the branch's
}

// journal is the state of a project's roadmap. Close ends the lease that keeps other runs away.
type journal struct {
	dir   string
	tasks map[string]entry
	lock  *flock.Flock
}

// openJournal opens the journal of the project at root.
func openJournal(root string) (j *journal, err error) {
	state, err := runstore.DefaultDir()
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	sum := sha256.Sum256([]byte(real))
	j = &journal{dir: filepath.Join(state, "roadmaps", filepath.Base(real)+"-"+hex.EncodeToString(sum[:6])), tasks: map[string]entry{}}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "remember the tasks: %w", err)
	}
	j.lock = flock.New(filepath.Join(j.dir, "lock"), flock.SetPermissions(0o600))
	switch ok, err := j.lock.TryLock(); {
	case err != nil:
		return nil, execution.Errorf(execution.CodeConfig, "remember the tasks: %w", err)
	case !ok:
		return nil, execution.Errorf(execution.CodeConfigLock, "another command runs the tasks of %s", root).WithHint("wait for it: drawbar ps")
	}
	data, err := os.ReadFile(j.file())
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &j.tasks)
	}
	if err != nil || j.tasks == nil {
		j.Close()
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", j.file(), err).WithHint("move the file away; tasks in progress are then yours to mark")
	}
	return j, nil
}

func (j *journal) file() string { return filepath.Join(j.dir, "tasks.json") }

// Close ends the lease.
func (j *journal) Close() { _ = j.lock.Close() } // nothing was written to it

// put remembers an entry.
func (j *journal) put(id string, e entry) error {
	if j.tasks[id] = e; e == (entry{}) {
		delete(j.tasks, id)
	}
	b, err := json.MarshalIndent(j.tasks, "", "  ")
	if err == nil {
		err = atomicfile.Write(j.file(), append(b, '\n'), 0o600, true)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "remember task %s: %w", id, err)
	}
	return nil
}

// fresh returns empty directories for the context and the output of a task, which replace those of the attempt before.
func (j *journal) fresh(id string) (in, out string, err error) {
	dir := filepath.Join(j.dir, id)
	err = os.RemoveAll(dir)
	in, out = filepath.Join(dir, "context"), filepath.Join(dir, "output")
	if err == nil {
		err = os.MkdirAll(filepath.Join(out, "files"), 0o700)
	}
	if err != nil {
		err = execution.Errorf(execution.CodeConfig, "prepare task %s: %w", id, err)
	}
	return in, out, err
}
