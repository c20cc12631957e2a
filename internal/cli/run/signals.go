package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// signals passes signals on to a run.
type signals struct {
	app         *cli.App
	run         *agent.Run
	received    chan os.Signal
	interactive bool         // an interrupt ends the turn and not the conversation
	turns       atomic.Int64 // turns that were shown so far
}

// catch keeps signals from ending this process at once: a run that is recorded and not yet obeyed would be lost.
func catch() (received chan os.Signal, stop func()) {
	received = make(chan os.Signal, 4)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return received, func() { signal.Stop(received) }
}

// obey passes signals on until ctx is done. The first interrupt of a turn interrupts it, the second aborts the run, a third
// ends this process at once. Between the turns of a conversation the first interrupt says how to leave and the second leaves.
func (s *signals) obey(ctx context.Context) {
	interrupts, turn := 0, int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case got := <-s.received:
			if got != os.Interrupt {
				s.run.Abort(fmt.Errorf("signal %s", got))
				continue
			}
			if now := s.turns.Load(); s.interactive && now != turn {
				interrupts, turn = 0, now
			}
			interrupts++
			s.interrupt(interrupts)
		}
	}
}

func (s *signals) interrupt(count int) {
	if !s.interactive && count == 1 {
		s.run.CloseInput()
	}
	if count > 2 {
		os.Exit(execution.ExitInterruptedKey)
	}
	if count == 2 && !s.interactive {
		s.run.Abort(errors.New("interrupted twice from the keyboard"))
		return
	}
	err := s.run.Interrupt()
	idle := execution.CodeOf(err) == execution.CodeInvalidStateTransition && s.run.State() != execution.StatePaused
	switch {
	case s.interactive && idle && count == 1:
		s.app.Notef("\npress Ctrl-C again to quit, or type a message")
	case s.interactive && idle:
		s.app.Notef("")
		s.run.CloseInput()
	case count == 2:
		s.run.Abort(errors.New("interrupted twice from the keyboard"))
	case err != nil && !idle: // a run between its turns ends with its input
		s.run.Abort(errors.New("interrupted from the keyboard"))
	}
}
