package agent_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// faulty decorates an adapter: each execution takes the next fault of the queue, or none if it is empty. It is safe
// for concurrent use.
type faulty struct {
	inner adapter.Adapter

	mu    sync.Mutex // guards queue
	queue []fault
}

// fault is a failure of one execution. It occurs at event number At, counted from 0, instead of or in addition to
// that event, or at the end of a shorter execution.
type fault struct {
	At        int
	Error     error         // the sequence yields this error and ends
	Panic     any           // the sequence panics with this value
	Delay     time.Duration // the event is delayed, or the end of the context is awaited
	Duplicate bool          // the event is repeated
	Truncate  bool          // the sequence ends without this and later events, including its result
}

// newFaulty decorates an adapter.
func newFaulty(inner adapter.Adapter, faults ...fault) *faulty {
	return &faulty{inner: inner, queue: faults}
}

// add queues faults for later executions.
func (f *faulty) add(faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, faults...)
}

// Unwrap implements adapter.Unwrapper.
func (f *faulty) Unwrap() adapter.Adapter { return f.inner }

// Capabilities implements adapter.Adapter.
func (f *faulty) Capabilities() execution.Capabilities { return f.inner.Capabilities() }

func (f *faulty) take() (fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return fault{}, false
	}
	first := f.queue[0]
	f.queue = f.queue[1:]
	return first, true
}

// Execute implements adapter.Adapter.
func (f *faulty) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		next, ok := f.take()
		if !ok {
			f.inner.Execute(ctx, req, in)(yield)
			return
		}
		n := 0
		for e, err := range f.inner.Execute(ctx, req, in) {
			if n == next.At || e.Terminal() && n < next.At {
				if !next.strike(ctx, e, yield) {
					return
				}
				n = next.At
			}
			n++
			if !yield(e, err) {
				return
			}
		}
	}
}

// strike applies the fault before e; false ends the sequence.
func (f fault) strike(ctx context.Context, e execution.Event, yield func(execution.Event, error) bool) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
		}
	}
	switch {
	case f.Panic != nil:
		panic(f.Panic)
	case f.Error != nil:
		yield(execution.Event{}, f.Error)
		return false
	case f.Truncate:
		return false
	case f.Duplicate:
		return yield(e, nil)
	}
	return true
}

func TestFaulty(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	f := newFaulty(&at.Fake{}, fault{At: 2, Error: boom})
	f.add(fault{At: 2, Panic: "boom"}, fault{At: 2, Truncate: true}, fault{At: 3, Duplicate: true},
		fault{At: 1, Delay: time.Millisecond}, fault{At: 1000, Truncate: true})
	want := []struct {
		status execution.Status
		code   execution.FailureCode
		text   string
	}{
		{execution.StatusFailed, execution.FailureBackendExecution, ""},
		{execution.StatusFailed, execution.FailureBackendExecution, ""},
		{execution.StatusFailed, execution.FailureInvalidBackendOutput, ""},
		{execution.StatusCompleted, "", "hhi"},
		{execution.StatusCompleted, "", "hi"},
		{execution.StatusFailed, execution.FailureInvalidBackendOutput, "hi"},
		{execution.StatusCompleted, "", "hi"}, // the queue is empty
	}
	req := at.PlayRequest(at.Simple)
	req.AssistantID, req.TurnID = "a", "t"
	for i, w := range want {
		res, err := agent.New(agent.Backend{Name: "faulty", Adapter: f}).Execute(t.Context(), req, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var code execution.FailureCode
		if res.Error != nil {
			code = res.Error.Code
		}
		if res.Status != w.status || code != w.code || res.Text != w.text {
			t.Errorf("execution %d: got %s %s %q, want %s %s %q", i, res.Status, code, res.Text, w.status, w.code, w.text)
		}
	}
}
