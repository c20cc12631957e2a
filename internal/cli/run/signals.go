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

// signals forwards signals to a run.
type signals struct {
	app         *cli.App
	run         *agent.Run
	received    chan os.Signal
	interactive bool         // an interrupt ends the turn, not the conversation
	turns       atomic.Int64 // turns shown so far
}

// catch starts receiving signals, before the run starts, until its record is written: a signal would otherwise end this process and
// lose the run.
func catch() (received chan os.Signal, stop func()) {
	received = make(chan os.Signal, 4)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return received, func() { signal.Stop(received) }
}

// obey handles signals until ctx is done. The first interrupt of a turn interrupts it, the second aborts the run, and a third exits
// this process. Between the turns of a conversation, the first interrupt prints how to leave, and the second leaves.
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
	case err != nil && !idle: // between turns, closing the input ends the run
		s.run.Abort(errors.New("interrupted from the keyboard"))
	}
}
