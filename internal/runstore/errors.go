package runstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// States that callers branch on. Errors of this package match them with errors.Is.
var (
	// ErrNotFound: no run has this id, or none begins with it. See NotFoundError.
	ErrNotFound = errors.New("no such run")
	// ErrAmbiguous: several runs begin with this prefix. See AmbiguousError.
	ErrAmbiguous = errors.New("ambiguous run id")
	// ErrBadID: the string cannot be the beginning of a run id.
	ErrBadID = errors.New("not a run id")
	// ErrExists: a run with this id is recorded already.
	ErrExists = errors.New("run exists")
	// ErrLost: the process that recorded the run is gone and left no result.
	ErrLost = errors.New("is lost")
	// ErrBadLine: one line of the record cannot be read; what follows can.
	ErrBadLine = errors.New("unreadable event")
	// ErrNewerSchema: the database was written by a newer version of this program.
	ErrNewerSchema = errors.New("newer schema")
	// ErrIncomplete: the run ended, but its record of events stops before its end.
	ErrIncomplete = errors.New("incomplete record")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("run store is closed")
)

// NotFoundError says that no run has an id, and which run comes nearest to it. It matches ErrNotFound.
type NotFoundError struct {
	ID      string
	Nearest execution.RunID // empty when nothing is recorded
}

// Error names the id and the nearest one.
func (e *NotFoundError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("%v %s: nothing is recorded", ErrNotFound, e.ID)
	}
	return fmt.Sprintf("%v %s; the nearest is %s; list runs with drawbar ps", ErrNotFound, e.ID, e.Nearest)
}

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// AmbiguousError lists the runs that a prefix stands for, newest first. It matches ErrAmbiguous.
type AmbiguousError struct {
	Prefix     string
	Candidates []execution.RunID
}

// Error names at most five candidates.
func (e *AmbiguousError) Error() string {
	const show = 5
	names := make([]string, 0, show)
	for _, id := range e.Candidates[:min(show, len(e.Candidates))] {
		names = append(names, string(id))
	}
	more := ""
	if n := len(e.Candidates) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%v %s: %d runs begin with it: %s%s; give more characters", ErrAmbiguous, e.Prefix, len(e.Candidates), strings.Join(names, ", "), more)
}

// Is matches ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }
