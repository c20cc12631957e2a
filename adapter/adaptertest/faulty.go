package adaptertest

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

var (
	_ adapter.Adapter   = (*Faulty)(nil)
	_ adapter.Unwrapper = (*Faulty)(nil)
)

// Faulty decorates an adapter: each execution takes the next fault of the queue, or none if it is empty. It is safe
// for concurrent use.
type Faulty struct {
	inner adapter.Adapter

	mu    sync.Mutex // guards queue
	queue []Fault
}

// Fault is a failure of one execution. It occurs at event number At, counted from 0, instead of or in addition to
// that event, or at the end of a shorter execution.
type Fault struct {
	At        int
	Error     error         // the sequence yields this error and ends
	Panic     any           // the sequence panics with this value
	Delay     time.Duration // the event is delayed, or the end of the context is awaited
	Duplicate bool          // the event is repeated
	Truncate  bool          // the sequence ends without this and later events, including its result
}

// NewFaulty decorates an adapter.
func NewFaulty(inner adapter.Adapter, faults ...Fault) *Faulty {
	return &Faulty{inner: inner, queue: faults}
}

// Next queues faults for later executions.
func (f *Faulty) Next(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, faults...)
}

// Unwrap implements adapter.Unwrapper.
func (f *Faulty) Unwrap() adapter.Adapter { return f.inner }

// Capabilities implements adapter.Adapter.
func (f *Faulty) Capabilities() execution.Capabilities { return f.inner.Capabilities() }

func (f *Faulty) take() (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return Fault{}, false
	}
	fault := f.queue[0]
	f.queue = f.queue[1:]
	return fault, true
}

// Execute implements adapter.Adapter.
func (f *Faulty) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		fault, ok := f.take()
		if !ok {
			f.inner.Execute(ctx, req, in)(yield)
			return
		}
		n := 0
		for e, err := range f.inner.Execute(ctx, req, in) {
			if n == fault.At || e.Terminal() && n < fault.At {
				if !fault.strike(ctx, e, yield) {
					return
				}
				n = fault.At
			}
			n++
			if !yield(e, err) {
				return
			}
		}
	}
}

// strike applies the fault before e; false ends the sequence.
func (f Fault) strike(ctx context.Context, e execution.Event, yield func(execution.Event, error) bool) bool {
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
