package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/flocked"
)

// Result is what became of an item: a line of the file of results.
type Result struct {
	ID   string `json:"id"`
	Hash string `json:"hash"` // of the item's line, by which a changed one is noticed

	Agent      string           `json:"agent"`
	RunID      execution.RunID  `json:"runId,omitempty"`
	SessionID  string           `json:"sessionId,omitempty"`
	Status     execution.Status `json:"status"`
	Text       string           `json:"text,omitempty"`
	Structured json.RawMessage  `json:"structured,omitempty"`
	Error      *execution.Error `json:"error,omitempty"`
	Cost       *execution.Cost  `json:"cost,omitempty"`
	Usage      *execution.Usage `json:"tokenUsage,omitempty"`
	DurationMs int64            `json:"durationMs"`
	ExitCode   int              `json:"exitCode"` // of drawbar run
	Attempts   int              `json:"attempts"` // more than one after usage limits
}

// Failed reports whether the item did not complete.
func (r *Result) Failed() bool { return r.Status != execution.StatusCompleted }

// ErrInUse reports results that another process adds to.
var ErrInUse = errors.New("another batch adds to it")

// Results is a file of results. A result is added with one write and is on the disk when Add returns. A line that a killed process left
// unfinished is no result. It is safe for concurrent use.
type Results struct {
	path string
	lock *flock.Flock

	mu   sync.Mutex
	file *os.File
	byID map[string]*Result
}

// maxResults bounds the bytes of a file of results.
const maxResults = 4 << 30

// Open opens the results in a file, which is created with mode 0600 if there is none, and holds it until Close.
func Open(path string) (_ *Results, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Results{path: path, file: file, byID: map[string]*Result{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: not a regular file", path)
	}
	r.lock = flock.New(flocked.Name(path), flock.SetPermissions(0o600))
	if held, err := r.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	} else if !held {
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	}
	return r, r.read()
}

// begins is how the line of a result begins.
const begins = `{"id":"`

// read reads what is in the file. An unfinished line at the end is dropped. Any other line that is not a result is an error, and the
// file stays unchanged.
func (r *Results) read() error {
	text, err := io.ReadAll(io.LimitReader(r.file, maxResults+1))
	if err != nil {
		return err
	}
	if len(text) > maxResults {
		return fmt.Errorf("%s has more than %d bytes", r.path, int64(maxResults))
	}
	n, size := 1, 0
	for line := range bytes.Lines(text) {
		whole := line[len(line)-1] == '\n'
		var one Result
		switch err := json.Unmarshal(line, &one); {
		case err == nil && one.ID != "" && one.Status != "":
			r.byID[one.ID] = &one
			if !whole { // an editor ends no last line
				_, err = r.file.WriteString("\n")
				return err
			}
		case !whole && err != nil && (bytes.HasPrefix(line, []byte(begins)) || bytes.HasPrefix([]byte(begins), line)):
			return r.file.Truncate(int64(size))
		default:
			return fmt.Errorf("%s:%d: it is not a result of a batch", r.path, n)
		}
		n, size = n+1, size+len(line)
	}
	return nil
}

// Of returns the result of an item, nil if there is none. The last one counts.
func (r *Results) Of(id string) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// Add adds a result.
func (r *Results) Add(one Result) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err := r.file.Write(append(line, '\n')); err != nil {
		if info, failed := r.file.Stat(); n > 0 && failed == nil {
			err = errors.Join(err, r.file.Truncate(info.Size()-int64(n)))
		}
		return err
	}
	r.byID[one.ID] = &one
	return r.file.Sync()
}

// Close closes the file.
func (r *Results) Close() error {
	err := r.file.Close()
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}
