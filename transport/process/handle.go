package process

import (
	"context"
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
