package process

import (
	"errors"
	"fmt"
)

// Reasons of a StartError and errors of the methods of a Process, for errors.Is.
var (
	// ErrNotFound means that there is no file at Spec.Path.
	ErrNotFound = errors.New("program not found")
	// ErrNotExecutable means that the file at Spec.Path cannot be run: no permission, a directory, an unknown format,
	// or a script whose interpreter is missing.
	ErrNotExecutable = errors.New("program cannot be executed")
	// ErrBadDir means that Spec.Dir is missing, not a directory or may not be entered.
	ErrBadDir = errors.New("working directory cannot be used")
	// ErrTooLong means that arguments and environment exceed the system's limit.
	ErrTooLong = errors.New("arguments or environment too long")
	// ErrInvalid means a Spec that no system can start, such as a NUL byte in an argument.
	ErrInvalid = errors.New("invalid process specification")
	// ErrUnsupported means that the platform does not support the request.
	ErrUnsupported = errors.New("not supported on this platform")
	// ErrInputClosed is returned by Write after CloseInput, or for a process started without KeepStdin.
	ErrInputClosed = errors.New("input is closed")
	// ErrEnded is returned when a signal is sent to a process that has ended.
	ErrEnded = errors.New("process has ended")
	// ErrKeeperLost means that the keeper of the run died; the tree was killed as far as it was found, and the exit
	// code of the process is unknown.
	ErrKeeperLost = errors.New("the keeper of the process was killed")
	// ErrSurvivors means that descendants could not be killed within the time limit.
	ErrSurvivors = errors.New("processes could not be killed")
)

// StartError is why a process was not started. It matches its Reason and its cause with errors.Is.
type StartError struct {
	Path   string
	Dir    string
	Reason error // ErrNotFound, ErrNotExecutable, ErrBadDir, ErrTooLong, ErrInvalid, ErrUnsupported; nil for any other cause
	Err    error // the cause; may be nil
}

func (e *StartError) Error() string {
	what := fmt.Sprintf("start %s", e.Path)
	if errors.Is(e.Reason, ErrBadDir) {
		what = fmt.Sprintf("start %s in %s", e.Path, e.Dir)
	}
	switch {
	case e.Reason == nil:
		return fmt.Sprintf("%s: %v", what, e.Err)
	case e.Err == nil:
		return fmt.Sprintf("%s: %v", what, e.Reason)
	}
	return fmt.Sprintf("%s: %v: %v", what, e.Reason, e.Err)
}

// Unwrap returns the reason and the cause.
func (e *StartError) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Reason, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
