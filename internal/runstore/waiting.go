package runstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const (
	requestName = "request.json"
	decisions   = "decisions"
)

// KeepRequest stores how a run was asked for that ends waiting for a person, so that it can be continued. The caller has removed secrets.
func (w *Writer) KeepRequest(req execution.Request) error {
	if w == nil {
		return nil
	}
	b, err := json.Marshal(req)
	if err == nil {
		err = atomicfile.Write(filepath.Join(w.dir, requestName), append(b, '\n'), 0o600, false)
	}
	if err != nil {
		return fmt.Errorf("record run %s: the request that continues it: %w", w.meta.RunID, err)
	}
	return nil
}

// Request returns how a run was asked for that ended waiting for a person.
func (r Run) Request() (req execution.Request, err error) {
	b, err := os.ReadFile(filepath.Join(r.dir, requestName))
	if err != nil {
		return req, err
	}
	if err := json.Unmarshal(b, &req); err != nil {
		return req, fmt.Errorf("read %s: %w", filepath.Join(r.dir, requestName), err)
	}
	return req, nil
}

// Result returns the result of an ended run.
func (r Run) Result() (execution.Result, error) { return readResult(r.dir) }

// Unanswered is a run that ended because it waits for a person.
type Unanswered struct {
	Run
	Result execution.Result
}

// Unanswered returns the selected runs that ended because they wait for a person, and that nobody has decided about or continued, newest first.
func (s *Store) Unanswered(f Filter) ([]Unanswered, error) {
	f.open = true
	runs, err := s.List(f)
	if err != nil {
		return nil, err
	}
	var open []Unanswered
	for _, r := range runs {
		res, err := r.Result()
		if err != nil || res.Continuation == nil {
			continue // nothing can go on with it
		}
		path, err := s.decision(string(r.ID), res.Continuation.ApprovalID())
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			open = append(open, Unanswered{r, res})
		}
	}
	return open, nil
}

// decision is the file that takes note of a decision about what an approval of a run waits for.
func (s *Store) decision(of, approval string) (string, error) {
	key, err := json.Marshal([]string{of, approval})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(s.dir, decisions, hex.EncodeToString(sum[:16])+".json"), nil
}

// DecidedError says that something was decided before.
type DecidedError struct {
	By execution.RunID // the run that the decision went to
	At time.Time
}

func (e *DecidedError) Error() string {
	return fmt.Sprintf("it was decided at %s, in run %s", e.At.Format(time.RFC3339), e.By)
}

// Decide takes note that what an approval of a run waits for is decided, by another run. Only the first of all processes may: the others get a
// *DecidedError. undo takes it back, for a run that did not start.
func (s *Store) Decide(of, approval string, by execution.RunID) (undo func(), err error) {
	path, err := s.decision(of, approval)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	type note struct {
		Of       string          `json:"runId"`
		Approval string          `json:"approvalId"`
		By       execution.RunID `json:"decidedInRunId"`
		At       time.Time       `json:"at"`
	}
	b, err := json.Marshal(note{of, approval, by, time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the name is a hash
	if errors.Is(err, fs.ErrExist) {
		e := &DecidedError{}
		var n note
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &n) == nil { //nolint:gosec // the name is a hash
			e.By, e.At = n.By, n.At
		}
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return func() { _ = os.Remove(path) }, nil
}
