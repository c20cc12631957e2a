package process

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Handle is a running process as kits use it. *Process is the real one; tests use fakes.
type Handle interface {
	Next(ctx context.Context) ([]Line, error)
	Write(p []byte) error
	CloseInput()
	Signal(sig os.Signal) error
	Interrupt() error
	Pause() error
	Resume() error
	Stop(grace time.Duration)
	Wait() Exit
	PID() int
}

// Runner starts a process. Launch is the real one.
type Runner func(ctx context.Context, s Spec) (Handle, error)

var (
	_ Handle = (*Process)(nil)
	_ Runner = Launch
)

// Launch is Start as a Runner.
func Launch(ctx context.Context, s Spec) (Handle, error) {
	p, err := Start(ctx, s)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ReadAll calls f with every line of a process's output until the output ends. A line is valid during its call; nil drops them
// all. A process whose output cannot be read is stopped, and the error returned.
func ReadAll(h Handle, f func(Line)) error {
	for {
		lines, err := h.Next(context.Background()) // ends with the process
		for _, l := range lines {
			if f != nil {
				f(l)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			h.Stop(-1)
			return err
		}
	}
}
