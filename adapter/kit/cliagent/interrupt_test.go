package cliagent

import (
	"runtime"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// deaf is a parser of an agent that takes no input.
type deaf struct{ *lineParser }

func (d deaf) Command(cmd execution.Command, s *Sink) error {
	if _, ok := cmd.(execution.EndInput); ok {
		return nil
	}
	return execution.Errorf(execution.CodeStdinNotAvailable, "it takes no input")
}

// TestInterruptBySignal: what cannot be said to an agent is signalled, and the end is an interrupt, no crash. An agent that
// ignores the signal is stopped when the time to end is over.
func TestInterruptBySignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no such signal")
	}
	t.Parallel()
	for _, fake := range []string{"hang", "stubborn"} {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			spec := fakeSpec(t, fake)
			spec.Linger, spec.Grace = 300*time.Millisecond, 100*time.Millisecond
			spec.NewParser = func(execution.Request) Parser { return deaf{&lineParser{oneShot: true}} }
			in := newInbox()
			time.AfterFunc(200*time.Millisecond, func() { in.commands <- execution.Interrupt{} })
			start := time.Now()
			o := execute(t, t.Context(), New(spec, Options{}), request(), in, nil)
			if o.result.Status != execution.StatusFailed || o.result.Error.ErrorCode() != execution.CodeInterrupted || o.result.ExitReason != execution.ExitInterrupted {
				t.Errorf("%s %+v %s", o.result.Status, o.result.Error, o.result.ExitReason)
			}
			if o.has("crash") || o.has("error") {
				t.Errorf("events %v", o.types())
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
